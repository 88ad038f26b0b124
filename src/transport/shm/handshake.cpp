// A shm link's greeting: a hello each way with three descriptors, the board, the memory that pages
// lie in, and the bell.
#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <netio/status.hpp>

#include "base/system_error.hpp"
#include "transport/shm/link.hpp"

namespace netio::detail {

namespace {
enum Passed : std::uint8_t { board, memory, bell, lifeline, passed_count };

// What only a descriptor without a file can be rung at: a pipe or a file may block who writes, or
// end the process with a signal; an eventfd that is full says so.
bool makes_a_bell(int fd) noexcept {
  struct stat status {};
  if (fstat(fd, &status) != 0 || (status.st_mode & S_IFMT) != 0) return false;
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}
}  // namespace

ShmLink::Wire::Wire(ShmLink& link, SharedMemory board, SharedMemory their_memory,
                    FileDescriptor lifeline)
    : ours(*reinterpret_cast<ShmBoard*>(link.board_->bytes().data())),
      their_board(std::move(board)),
      theirs(*reinterpret_cast<const ShmBoard*>(their_board.bytes().data())),
      doorbell(ShmBell{ours, theirs, link.their_bell_.get()}),
      came_home(link.loop_, [this] { memory->serve_waiters(); }),
      memory(ShmPeerMemory::create(std::move(their_memory), std::move(lifeline), ours, link)),
      sends(ours, theirs, *link.shared_.memory, *link.shared_.arena, *link.shared_.loans,
            link.shared_.links),
      receives(ours, theirs, *memory, link.shared_.resources.receive_pool, link.options_) {
  memory->set_wake([this] { came_home.notify(); });
}

// Everything that is passed is made before the first hello. Throws Error.
void ShmLink::begin() {
  board_.emplace(SharedMemory::create("netio board", sizeof(ShmBoard), sizeof(ShmBoard)));
  bell_.reset(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "make an eventfd"));
  std::array<int, 2> ends{};
  (void)checked(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), "make a pipe");
  lifeline_.reset(ends[0]);
  lifeline_to_pass_.reset(ends[1]);
  watch_.emplace(loop_, socket_.get(), EPOLLIN, [this](std::uint32_t) { on_readable(); });
}

void ShmLink::send_hello(const Hello& hello) {
  std::array<std::byte, hello_bytes_max> bytes;
  const std::size_t used = encode(hello, bytes);
  const std::array<int, passed_count> passed{board_->fd(), shared_.memory->fd(), bell_.get(),
                                             lifeline_to_pass_.get()};
  if (const int error = send_message(socket_.get(), {bytes.data(), used}, passed); error != 0) {
    // What the peer had to say before it went is still read.
    if (error != EPIPE && error != ECONNRESET) {
      failure_ = {DownReason::resources,
                  "cannot greet " + peer_address_ + ": " + errno_text(error)};
      loop_.defer(*this);
    }
  }
  lifeline_to_pass_.reset();
}

void ShmLink::on_readable() {
  std::array<std::byte, hello_bytes_max> bytes;
  UnixMessage message;
  const int error = receive_message(socket_.get(), bytes, message);
  if (error == EAGAIN || error == EWOULDBLOCK) return;
  if (state_ != State::greeting) {
    if (error == 0 && message.bytes != 0) {
      go_bad(DownReason::protocol_error, "sent a second hello");
    } else {
      on_ended();
    }
    return;
  }
  if (error == EMSGSIZE) {
    go_bad(DownReason::foreign_protocol, "does not speak netio: its first message is too long");
    return;
  }
  if (error == EMFILE) {
    go_bad(DownReason::resources,
           "passed more descriptors than this process may have open "
           "(ulimit -n raises that)");
    return;
  }
  if (error != 0 || message.bytes == 0) {
    go_bad(DownReason::lost, "closed the connection without a hello");
    return;
  }
  Hello theirs;
  const HelloResult result = parse({bytes.data(), message.bytes}, theirs);
  if (result.state == HelloParse::foreign) {
    go_bad(DownReason::foreign_protocol, "does not speak netio: " + result.what);
  } else if (result.state != HelloParse::done || result.bytes != message.bytes) {
    go_bad(DownReason::protocol_error, "sent a damaged hello: " + result.what);
  } else {
    take_hello(theirs, message);
  }
}

void ShmLink::take_hello(const Hello& theirs, UnixMessage& message) {
  if (url_) {
    if (auto objection = events_->judge(theirs)) {
      go_down(std::move(*objection));
    } else {
      come_up(theirs, message);
    }
    return;
  }
  const Hello ours = events_->greet(&theirs);
  send_hello(ours);
  if (state_ == State::down) return;
  // The reason must reach the peer, which then ends the connection; or the timer does.
  if (ours.refusal != Refusal::none) {
    state_ = State::refusing;
  } else {
    come_up(theirs, message);
  }
}

void ShmLink::come_up(const Hello& theirs, UnixMessage& message) {
  if (message.passed.size() != passed_count) {
    go_bad(DownReason::protocol_error, "sent a hello without its memory");
    return;
  }
  if (!makes_a_bell(message.passed[bell].get())) {
    go_bad(DownReason::protocol_error, "passed a bell that cannot be rung");
    return;
  }
  const std::size_t page =
      std::min<std::size_t>(shared_.resources.page_bytes, theirs.page_bytes_max) &
      ~(wire_align - 1);
  const std::size_t block = shared_.arena->block_bytes();
  try {
    SharedMemory their_board = SharedMemory::open(
        std::move(message.passed[board]), sizeof(ShmBoard), sizeof(ShmBoard) + small_page_bytes);
    SharedMemory their_memory =
        SharedMemory::open(std::move(message.passed[memory]), 1, shm_memory_bytes_max);
    their_bell_ = std::move(message.passed[bell]);
    wire_.emplace(*this, std::move(their_board), std::move(their_memory),
                  std::move(message.passed[lifeline]));
    ++shared_.links;
    loop_.add_source(*this);
    polled_ = true;
  } catch (const UnsoundMemory& error) {
    go_bad(DownReason::protocol_error,
           std::string("passed memory that cannot be used: ") + error.what());
    return;
  } catch (const Error& error) {
    go_bad(DownReason::resources, std::string("cannot be connected to: ") + error.what());
    return;
  }
  handshake_timer_.stop();
  limits_.page_bytes_max = page;
  limits_.inject_bytes_max = page - page_header_bytes - frame_prefix_bytes_max;
  // A message that fits into a block is copied once; of a larger one each part.
  limits_.lent_page_bytes_max = std::max(page, block);
  limits_.queue_bytes_max = options_.queue_bytes_max;
  limits_.message_bytes_max = theirs.message_bytes_max;
  state_ = State::up;
  events_->on_up(theirs);
}

}  // namespace netio::detail
