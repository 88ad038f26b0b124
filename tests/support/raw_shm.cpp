#include "support/raw_shm.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include "base/url.hpp"
#include "transport/shm/unix_socket.hpp"
#include "wire/frame.hpp"

namespace netio::test {

using detail::FileDescriptor;
using detail::SharedMemory;
using detail::ShmBoard;
using detail::ShmSlot;

namespace {

int check(int answer, const char* what) {
  if (answer < 0) throw std::system_error(errno, std::generic_category(), what);
  return answer;
}

detail::UnixAddress address_of(std::string_view text) {
  return detail::UnixAddress::of("test", detail::parse_url(text, detail::UrlForm::name));
}

}  // namespace

FileDescriptor memory_of(std::size_t bytes, int seals, bool allocated) {
  if (seals == sound_seals) {
    seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
  }
  FileDescriptor made(check(memfd_create("raw", MFD_CLOEXEC | MFD_ALLOW_SEALING), "memfd"));
  check(ftruncate(made.get(), static_cast<off_t>(bytes)), "ftruncate");
  if (allocated && bytes != 0) {
    check(fallocate(made.get(), 0, 0, static_cast<off_t>(bytes)), "fallocate");
  }
  check(fcntl(made.get(), F_ADD_SEALS, seals), "seal");
  return made;
}

RawShm::RawShm(std::string_view address)
    : RawShm(FileDescriptor(
          check(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket"))) {
  const detail::UnixAddress to = address_of(address);
  check(::connect(socket_.get(), to.get(), to.bytes), "connect");
  connected_ = true;
}

RawShm::RawShm(FileDescriptor socket)
    : socket_(std::move(socket)),
      board_(SharedMemory::create("raw board", sizeof(ShmBoard), sizeof(ShmBoard))),
      memory_(SharedMemory::create("raw pages", memory_bytes, memory_bytes)),
      ours_(reinterpret_cast<ShmBoard*>(board_.bytes().data())) {
  std::array<int, 2> ends{};
  check(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), "pipe");
  lifeline_ = {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::array<int, 3> RawShm::descriptors() const {
  return {board_.fd(), memory_.fd(), lifeline_[1].get()};
}

bool RawShm::send(std::span<const std::byte> bytes, std::span<const int> passed) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  std::vector<cmsghdr> control(CMSG_SPACE(passed.size_bytes()) / sizeof(cmsghdr) + 1);
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!passed.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(passed.size_bytes());
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(passed.size_bytes());
    std::memcpy(CMSG_DATA(head), passed.data(), passed.size_bytes());
  }
  return sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0;
}

bool RawShm::answered() {
  if (theirs_ != nullptr || ended_) return theirs_ != nullptr;
  std::array<std::byte, detail::hello_bytes_max> bytes{};
  detail::UnixMessage message;
  const int error = detail::receive_message(socket_.get(), bytes, message, 3);
  if (error == EAGAIN) return false;
  ended_ = error != 0 || message.bytes == 0;
  if (ended_ || message.passed.size() != 3) return false;
  their_board_.emplace(
      SharedMemory::open(std::move(message.passed[0]), sizeof(ShmBoard), 2 * sizeof(ShmBoard)));
  their_lifeline_ = std::move(message.passed[2]);
  theirs_ = reinterpret_cast<const ShmBoard*>(their_board_->bytes().data());
  nonce_ = hello_in(bytes).nonce;
  if (!greeting_.empty()) {
    send(greeting_);
    confirm();
  }
  return true;
}

bool RawShm::ended() {
  std::array<std::byte, detail::hello_bytes_max> bytes{};
  while (!ended_) {
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) continue;
    if (got < 0 && errno == EAGAIN) return false;
    ended_ = true;
  }
  return ended_;
}

void RawShm::post(std::span<const std::byte> page) {
  const std::size_t bytes = page.size() - detail::page_header_bytes;
  if (bytes <= sizeof(ShmSlot::body)) {
    post_at(page, ShmSlot::inline_body, 0);
    return;
  }
  if (used_bytes_ + bytes > memory_bytes) used_bytes_ = 0;
  const std::span<const std::byte> body = page.subspan(detail::page_header_bytes);
  std::copy(body.begin(), body.end(), memory().data() + used_bytes_);
  post_at(page, used_bytes_, sent_ % detail::shm_pages);
  used_bytes_ += bytes;
}

void RawShm::post_at(std::span<const std::byte> page, std::uint64_t place, std::uint64_t number) {
  ShmSlot& slot = next_slot();
  std::copy_n(page.data(), slot.header.size(), slot.header.data());
  const std::span<const std::byte> body = page.subspan(slot.header.size());
  std::copy_n(body.data(), std::min(body.size(), slot.body.size()), slot.body.data());
  if (place != ShmSlot::inline_body) detail::store_u64(slot.body.data(), number);
  slot.place = place;
  slot.turn.store(++sent_, std::memory_order_release);
  ring();
}

void RawShm::ring() const {
  const std::byte one{};
  (void)!::send(socket_.get(), &one, sizeof one, MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::uint64_t RawShm::waiting() const {
  std::uint64_t slot = ours_->consumed.load();
  const std::uint64_t first = slot;
  while (theirs_->slots[slot % detail::shm_slots].turn.load() == slot + 1) ++slot;
  return slot - first;
}

std::uint64_t RawShm::page_in(std::uint64_t slot) const {
  return detail::load_u64(theirs_->slots[slot % detail::shm_slots].body.data());
}

RawShmListener::RawShmListener(std::string address, int type)
    : address_(std::move(address)),
      socket_(check(::socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket")) {
  const detail::UnixAddress at = address_of(address_);
  check(::bind(socket_.get(), at.get(), at.bytes), "bind");
  if (type != SOCK_DGRAM) check(::listen(socket_.get(), 16), "listen");
}

std::unique_ptr<RawShm> RawShmListener::accept() {
  FileDescriptor fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  return fd ? std::make_unique<RawShm>(std::move(fd)) : nullptr;
}

}  // namespace netio::test
