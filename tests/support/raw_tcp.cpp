#include "support/raw_tcp.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include "wire/frame.hpp"

namespace netio::test {

namespace {

int check(int answer, const char* what) {
  if (answer < 0) throw std::system_error(errno, std::generic_category(), what);
  return answer;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int new_socket() { return check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"); }

void do_not_block(int fd) {
  check(::fcntl(fd, F_SETFL, check(::fcntl(fd, F_GETFL), "fcntl") | O_NONBLOCK), "fcntl");
}

}  // namespace

RawTcp RawTcp::connect(std::string_view address, std::uint8_t host) {
  RawTcp made(new_socket());
  if (host != 1) {
    sockaddr_in from = loopback(0);
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host);
    check(::bind(made.fd_, reinterpret_cast<const sockaddr*>(&from), sizeof from), "bind");
  }
  const sockaddr_in to = endpoint_of(address);
  check(::connect(made.fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to), "connect");
  do_not_block(made.fd_);
  const int on = 1;
  check(::setsockopt(made.fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
  return made;
}

RawTcp::~RawTcp() { close(); }

std::size_t RawTcp::send(std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t sent = ::send(fd_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      break;
    }
    done += static_cast<std::size_t>(sent);
  }
  return done;
}

const Bytes& RawTcp::received() {
  std::array<std::byte, 16384> chunk{};
  while (fd_ >= 0 && !ended_) {
    const ssize_t got = ::recv(fd_, chunk.data(), chunk.size(), 0);
    if (got > 0) {
      append(received_, std::span(chunk).first(static_cast<std::size_t>(got)));
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      ended_ = true;
    } else if (errno == EAGAIN) {
      break;
    }
  }
  return received_;
}

void RawTcp::confirm(std::uint64_t next, std::uint64_t next_expected, std::uint64_t missed) {
  send(confirm_page({.nonce = hello_in(received()).nonce,
                     .next = next,
                     .next_expected = next_expected,
                     .oldest_kept = next,
                     .missed = missed}));
}

template <typename Condition>
bool RawTcp::wait_for(Condition&& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    pollfd waited{fd_, POLLIN, 0};
    (void)::poll(&waited, 1, 10);
    if (ended() || std::chrono::steady_clock::now() > until) return condition();
  }
  return true;
}

bool RawTcp::greet(const detail::Hello& hello) {
  send(hello_of(hello));
  if (!wait_for([this] { return hello_in(received()).nonce != 0; })) return false;
  confirm();
  return true;
}

bool RawTcp::answer(detail::WirePattern pattern) {
  if (!wait_for([this] { return hello_in(received()).epoch != 0; })) return false;
  const detail::Hello hello = answer_to(hello_in(received()), pattern);
  const std::size_t before = received().size();
  send(hello_of(hello));
  if (!wait_for([&] { return received().size() > before; })) return false;
  send(confirm_page(hello.nonce));
  return true;
}

bool RawTcp::ended() {
  (void)received();
  return ended_;
}

void RawTcp::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void RawTcp::reset() noexcept {
  const linger now{1, 0};
  (void)::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

RawListener::RawListener(std::uint16_t port) : RawListener(loopback(port)) {}

RawListener::RawListener(const sockaddr_in& address) : fd_(new_socket()), bound_(address) {
  const int on = 1;
  check(::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "SO_REUSEADDR");
  socklen_t size = sizeof bound_;
  check(::bind(fd_, reinterpret_cast<const sockaddr*>(&bound_), size), "bind");
  check(::listen(fd_, 64), "listen");
  check(::getsockname(fd_, reinterpret_cast<sockaddr*>(&bound_), &size), "getsockname");
  do_not_block(fd_);
}

RawListener::~RawListener() { ::close(fd_); }

std::uint16_t free_port() {
  // Below what Linux gives away, and four for each process that runs.
  constexpr int of_each = 4;
  static int next = 0;
  for (int tried = 0; tried < of_each; ++tried) {
    const int port = 8'000 + ::getpid() % 6'000 * of_each + next++ % of_each;
    try {
      return RawListener(static_cast<std::uint16_t>(port)).port();
    } catch (const std::system_error&) {  // taken: the next one
    }
  }
  throw std::runtime_error("the ports of this process are taken");
}

std::string free_address() { return "tcp://127.0.0.1:" + std::to_string(free_port()); }

std::string RawListener::address() const {
  return "tcp://" + std::string(::inet_ntoa(bound_.sin_addr)) + ":" + std::to_string(port());
}

std::optional<RawTcp> RawListener::accept() {
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return std::nullopt;
  return RawTcp(fd);
}

std::uint16_t port_of(std::string_view address) {
  const std::string_view digits = address.substr(address.rfind(':') + 1);
  std::uint16_t port = 0;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return port;
}

sockaddr_in endpoint_of(std::string_view address) {
  sockaddr_in endpoint = loopback(port_of(address));
  const std::size_t scheme = address.find("://");
  if (scheme == std::string_view::npos) throw std::invalid_argument("an address has a scheme");
  const std::string host(address.substr(0, address.rfind(':')).substr(scheme + 3));
  in_addr number{};
  if (::inet_pton(AF_INET, host.c_str(), &number) == 1) endpoint.sin_addr = number;
  return endpoint;
}

std::string own_host() {
  const int pid = ::getpid();  // at most 22 bits; 127.0 is left to who is there for everybody
  return "127." + std::to_string(1 + (pid >> 16 & 0x7f)) + "." + std::to_string(pid >> 8 & 0xff) +
         "." + std::to_string(pid & 0xff);
}

Bytes hello_of(const detail::Hello& hello) {
  Bytes bytes(detail::hello_bytes_max);
  bytes.resize(detail::encode(hello, bytes));
  return bytes;
}

detail::Hello sound_hello(detail::WirePattern pattern, std::uint8_t stream) {
  detail::Hello hello;
  hello.pattern = pattern;
  hello.page_bytes_max = 64U << 10U;
  hello.message_bytes_max = std::uint64_t{1} << 30U;
  hello.run.fill(stream);
  hello.stream.fill(stream);
  hello.run.back() = hello.stream.back() = 0x5e;  // neither is zeros
  hello.epoch = 1;
  const bool asks =
      pattern == detail::WirePattern::request || pattern == detail::WirePattern::reply;
  if (asks) hello.can = detail::ability::requests;
  return hello;
}

detail::Hello answer_to(const detail::Hello& theirs, detail::WirePattern pattern,
                        std::uint8_t run) {
  detail::Hello hello = sound_hello(pattern, run);
  hello.stream = theirs.stream;
  hello.epoch = theirs.epoch;
  hello.nonce = 0x6e6f6e6365;
  return hello;
}

detail::Hello hello_in(std::span<const std::byte> received) {
  detail::Hello hello;
  const bool done = detail::parse(received, hello).state == detail::HelloParse::done;
  return done ? hello : detail::Hello();
}

Bytes confirm_page(const detail::ConfirmFrame& where) {
  Bytes payload(detail::confirm_bytes);
  detail::encode(where, payload);
  const auto kind = static_cast<std::uint32_t>(detail::ControlKind::confirm);
  const Bytes frame =
      frame_of(payload, detail::frame_flag::control | (kind << detail::frame_flag::control_shift));
  detail::PageHeader header;
  header.bytes = static_cast<std::uint32_t>(frame.size());
  header.flags = detail::page_flag::control;
  header.sequence = where.next;
  return page_of(header, frame);
}

Bytes page_of(const detail::PageHeader& header, std::span<const std::byte> body) {
  Bytes bytes(detail::page_header_bytes);
  detail::store(bytes.data(), header);
  append(bytes, body);
  return bytes;
}

Bytes frame_of(std::span<const std::byte> payload, std::uint32_t flags) {
  Bytes bytes(detail::frame_word_bytes);
  detail::store_u64(bytes.data(),
                    detail::frame_word(static_cast<std::uint32_t>(payload.size()), flags));
  append(bytes, payload);
  bytes.resize(detail::wire_padded(bytes.size()));
  return bytes;
}

Bytes message_page(std::uint64_t sequence, std::span<const std::byte> payload) {
  const Bytes body = frame_of(payload);
  detail::PageHeader header;
  header.bytes = static_cast<std::uint32_t>(body.size());
  header.messages = 1;
  header.sequence = sequence;
  return page_of(header, body);
}

void append(Bytes& to, std::span<const std::byte> more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace netio::test
