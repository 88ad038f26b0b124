// Set-up of a tcp link: resolving, connecting, and its end. The data path is link_datapath.cpp.
#include "transport/tcp/link.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <utility>

#include "base/system_error.hpp"

namespace netio::detail {

namespace {

void set_option(int fd, int level, int name, int value) noexcept {
  // All of these are improvements that a socket works without.
  (void)setsockopt(fd, level, name, &value, sizeof value);
}

// Three probes, a third of the idle time apart: a dead host is noticed after twice the idle time.
void set_keep_alive(int fd, std::chrono::seconds after) noexcept {
  const int idle = static_cast<int>(std::clamp<std::int64_t>(after.count(), 1, 32767));
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, idle / 3));
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

TcpLink::TcpLink(TcpShared& shared, const LinkOptions& options, const Url& url)
    : shared_(shared),
      resources_(shared.resources),
      options_(options),
      loop_(resources_.loop),
      dialed_(true),
      peer_address_(to_string(url)),
      url_(url),
      handshake_timer_(loop_, [this] { guarded([this] { on_handshake_late(); }); }),
      reader_(resources_, options),
      writer_(resources_.send_pool, options.queue_bytes_max) {}

TcpLink::TcpLink(TcpShared& shared, const LinkOptions& options, const std::string& scheme,
                 FileDescriptor connection)
    : shared_(shared),
      resources_(shared.resources),
      options_(options),
      loop_(resources_.loop),
      dialed_(false),
      handshake_timer_(loop_, [this] { guarded([this] { on_handshake_late(); }); }),
      reader_(resources_, options),
      writer_(resources_.send_pool, options.queue_bytes_max) {
  adopt(std::move(connection));
  peer_address_ = scheme + "://" + to_string(remote_address(fd_.get()));
}

std::string TcpLink::peer_host() const { return host_number(remote_address(fd_.get())); }

TcpLink::~TcpLink() {
  if (state_ != State::down) cut();
}

void TcpLink::adopt(FileDescriptor fd) {
  fd_ = std::move(fd);
  set_option(fd_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  set_keep_alive(fd_.get(), options_.keep_alive_after);
}

void TcpLink::start(LinkEvents& events) noexcept {
  assert(state_ == State::idle);
  events_ = &events;
  handshake_timer_.start_once(options_.handshake_within);
  // No event may come from inside this call.
  guard_memory([this] { begin(); },
               [this]() noexcept {
                 lacks_memory_ = true;
                 loop_.defer(*this);
               });
}

void TcpLink::begin() {
  if (!dialed_) {
    begin_greeting();
    return;
  }
  state_ = State::resolving;
  // Numbers are at hand now, but no event may come from inside this call.
  if (auto answer = look_up_number(url_->host, url_->port)) {
    race(std::move(answer->addresses));
    loop_.defer(*this);
  } else {
    handshake_timer_.start_once(options_.look_up_within);
    resolver_.emplace(
        resources_.inquiries, loop_, url_->host,
        [host = url_->host, port = url_->port] { return look_up_name(host, port); },
        [this](LookUp found) { guarded([&] { on_resolved(std::move(found)); }); });
  }
}

void TcpLink::on_resolved(LookUp answer) {
  if (answer.addresses.empty()) return go_down(std::move(answer.failure));
  race(std::move(answer.addresses));
  connect_to_any();
}

// The address that a link to there came up with last is tried first.
void TcpLink::race(std::vector<InternetAddress> addresses) {
  if (addresses.size() > 1) {
    chosen_.emplace();
    shared_.good_addresses.put_first(peer_address_, addresses);
  }
  race_.emplace(
      loop_, std::move(addresses), options_.handshake_within,
      [this](AddressRace::Outcome outcome) { guarded([&] { on_raced(std::move(outcome)); }); });
}

// The race has its own limits.
void TcpLink::connect_to_any() noexcept {
  state_ = State::connecting;
  handshake_timer_.stop();
  race_->start();
}

void TcpLink::on_raced(AddressRace::Outcome outcome) {
  if (!outcome.connection) {
    if (outcome.error != 0) return go_down(down_from_errno(outcome.error));
    return go_down({DownReason::unreachable, peer_address_ + " did not answer in time"});
  }
  if (chosen_) chosen_ = outcome.address;
  adopt(std::move(outcome.connection));
  handshake_timer_.start_once(options_.handshake_within);
  begin_greeting();
}

// It may be this thread that is late: a hello that waits in the kernel came in time.
void TcpLink::on_handshake_late() {
  if (state_ == State::greeting) {
    read_hello();
    if (state_ == State::finishing) handshake_timer_.start_once(options_.handshake_within);
    if (state_ != State::greeting) return;
  }
  if (state_ == State::resolving) {
    go_down(name_service_late(peer_address_));
    return;
  }
  go_down({DownReason::handshake_timeout,
           peer_address_ +
               (dialed_ ? " did not answer in time" : " connected but sent no hello in time")});
}

void TcpLink::go_down(Down down) noexcept {
  if (state_ == State::down) return;
  cut();
  events_->on_down(down);
}

// Possibly from inside an event: the reader may be on the stack, and keeps its block.
void TcpLink::cut() noexcept {
  state_ = State::down;
  paused_ = true;
  handshake_timer_.stop();
  resolver_.reset();
  race_.reset();
  watch_.reset();
  if (std::exchange(polled_, false)) {
    loop_.remove_source(*this);
    --shared_.links_polled;
  }
  cancel();
  stop_waiting();
  room_waiter_.stop_waiting();
  fd_.reset();
  writer_.clear();
}

Down TcpLink::down_from_errno(int error) const {
  const std::string what = errno_text(error);
  switch (error) {
    case ECONNREFUSED:
      return {DownReason::refused, "nobody listens at " + peer_address_};
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
      return {DownReason::unreachable, "no way to " + peer_address_ + ": " + what};
    case ETIMEDOUT:
      return {moves_pages() ? DownReason::lost : DownReason::unreachable,
              peer_address_ + " no longer answers: " + what};
    case EMFILE:
    case ENFILE:
      return {DownReason::resources,
              "this process may open no more descriptors (see ulimit -n): " + what};
    case ENOBUFS:
    case ENOMEM:
      return {DownReason::resources, "the system is out of memory for sockets: " + what};
    case ECONNRESET:
    case EPIPE:
    case ENOTCONN:
      return gone_silently(peer_address_, moves_pages());
    default:
      return {DownReason::lost, "the connection to " + peer_address_ + " broke: " + what};
  }
}

// Keep-alive does not run while data is under way, and the kernel would repeat that for a quarter
// of an hour. A host whose window is shut answers probes, however late its program reads.
std::chrono::milliseconds TcpLink::unanswered_for() const noexcept {
  constexpr int asked_often = 2;
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return {};
  const bool repeats = info.tcpi_unacked != 0 && info.tcpi_retransmits >= asked_often;
  const bool probes = info.tcpi_probes > asked_often;
  if (!repeats && !probes) return {};
  return std::chrono::milliseconds(info.tcpi_last_ack_recv);
}

}  // namespace netio::detail
