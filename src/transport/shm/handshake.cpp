// A shm link's greeting: a hello each way with three descriptors; then the one that connected says
// that it has mapped what it got. Nobody is up before both have, and who cannot says why.
#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <netio/status.hpp>

#include "base/system_error.hpp"
#include "transport/shm/link.hpp"

namespace netio::detail {

namespace {
enum Passed : std::uint8_t { board, memory, lifeline, passed_count };
static_assert(passed_count == PassedDescriptors::room);

// Of shared memory, and not more than is mapped in any case; 0 of anything else, which may be a
// file whose system does not answer.
std::size_t size_of(int fd) noexcept {
  struct stat status {};
  if (fcntl(fd, F_GET_SEALS) < 0 || fstat(fd, &status) != 0 || status.st_size < 0) return 0;
  return std::min(static_cast<std::size_t>(status.st_size), shm_memory_bytes_max);
}

// What is sent for each sleep of the peer's: one byte, 0.
bool is_ring(std::span<const std::byte> bytes, const UnixMessage& message) noexcept {
  return message.bytes == 1 && bytes[0] == std::byte{};
}

// None of what could wait when it is closed. They ask nothing that a file could answer late, as
// fstat() would.
bool is_pipe(int fd) noexcept { return fcntl(fd, F_GETPIPE_SZ) >= 0; }
bool is_memory(int fd) noexcept { return fcntl(fd, F_GET_SEALS) >= 0; }
}  // namespace

ShmLink::Wire::Wire(ShmLink& link, SharedMemory board, ShmPeerMemory::Passed passed)
    : ours(*reinterpret_cast<ShmBoard*>(link.board_->bytes().data())),
      their_board(std::move(board)),
      theirs(*reinterpret_cast<const ShmBoard*>(their_board.bytes().data())),
      doorbell(ShmBell{ours, theirs, link.socket_.get()}),
      came_home(link.loop_, [this] { memory->serve_waiters(); }),
      memory(ShmPeerMemory::create(std::move(passed), link.shared_.empty, ours, link,
                                   link.loop_.owner())),
      sends(ours, theirs, *link.shared_.memory, *link.shared_.arena, *link.shared_.loans,
            link.shared_.links, link.options_.copies),
      receives(ours, theirs, *memory, link.shared_.resources.receive_pool,
               link.shared_.resources.page_bytes, link.options_) {
  memory->set_wake([this] { came_home.notify(); });
}

// Everything that is passed is made before our hello. Who accepts waits for the peer's until then:
// a connection that says nothing takes one descriptor. Throws Error.
void ShmLink::begin() {
  if (url_) make_what_is_passed();
  watch_.emplace(loop_, socket_.get(), EPOLLIN,
                 [this](std::uint32_t) { guarded([this] { on_readable(); }); });
}

void ShmLink::make_what_is_passed() {
  board_.emplace(SharedMemory::create("netio board", sizeof(ShmBoard), sizeof(ShmBoard)));
  std::array<int, 2> ends{};
  const DescriptorChange change;
  (void)checked(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), "make a pipe");
  lifeline_.reset(ends[0]);
  lifeline_to_pass_.reset(ends[1]);
}

int ShmLink::say(const Hello& hello, std::span<const int> passed) noexcept {
  std::array<std::byte, hello_bytes_max> bytes;
  const std::size_t used = encode(hello, bytes);
  return send_message(socket_.get(), {bytes.data(), used}, passed);
}

void ShmLink::send_hello(const Hello& hello) {
  const std::array<int, passed_count> passed{board_->fd(), shared_.memory->fd(),
                                             lifeline_to_pass_.get()};
  // What a peer that went had to say before is still read.
  if (const int error = say(hello, passed); error != 0 && error != EPIPE && error != ECONNRESET) {
    failure_ = {DownReason::resources, "cannot greet " + peer_address_ + ": " + errno_text(error)};
    loop_.defer(*this);
  }
  lifeline_to_pass_.reset();
}

// Tells the peer why there is no connection; what the owner is to be told.
Down ShmLink::refusal(DownReason reason, const std::string& why) {
  Hello hello = events_->greet(nullptr);
  hello.refusal = Refusal::other;
  hello.text = why;
  (void)say(hello, {});
  return {reason, peer_address_ + " cannot be connected to: " + why};
}

// Only the first hello passes something. While the descriptors of others cannot be closed, no more
// are taken.
void ShmLink::on_readable() {
  const bool first = state_ == State::greeting;
  const bool full = first && shared_.closing.full();
  const std::size_t passed_max = first && !full ? passed_count : 0;
  std::array<std::byte, hello_bytes_max> bytes;
  UnixMessage message;
  int error = receive_message(socket_.get(), bytes, message, passed_max);
  // Of a peer that did not read our hello; what it had said is behind that.
  if (error == ECONNRESET) error = receive_message(socket_.get(), bytes, message, passed_max);
  if (error == EAGAIN || error == EWOULDBLOCK) return;
  // What was not asked for, or not wanted, may be anything.
  struct Rest {
    UnixMessage& message;
    ClosingLine& closing;
    ~Rest() {
      for (FileDescriptor& each : message.passed) closing.close(std::move(each));
    }
  } const rest{message, shared_.closing};
  if (full && error == E2BIG) {
    go_down(refusal(DownReason::resources, closing_is_full));
  } else {
    hear(bytes, message, error);
  }
}

void ShmLink::hear(std::span<std::byte> bytes, UnixMessage& message, int error) {
  if (state_ != State::greeting && state_ != State::answered) {
    if (error == 0 && is_ring(bytes, message)) return;  // the loop is awake, and polls next
    if (error == E2BIG || (error == 0 && message.bytes != 0)) {
      go_bad(DownReason::protocol_error, "sent a second hello, or what is no ring");
    } else {
      on_ended();
    }
    return;
  }
  if (error == EMSGSIZE) {
    go_bad(DownReason::foreign_protocol, "does not speak netio: its first message is too long");
    return;
  }
  if (error == E2BIG) {
    go_bad(DownReason::protocol_error,
           state_ == State::answered ? "passed its memory twice" : "passed more than its memory");
    return;
  }
  if (error == EMFILE) {
    go_down(
        refusal(DownReason::resources,
                "too few descriptors are left for what is passed; raise the limit of open files "
                "(ulimit -n)"));
    return;
  }
  if (error != 0 || message.bytes == 0) {
    go_bad(DownReason::lost, state_ == State::answered ? "closed the connection before it was up"
                                                       : "closed the connection without a hello");
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

bool ShmLink::hear_greeting() noexcept {
  if ((state_ == State::greeting || state_ == State::answered) && !failure_) {
    guarded([this] { on_readable(); });
  }
  return state_ != State::greeting;
}

void ShmLink::take_hello(const Hello& theirs, UnixMessage& message) {
  if (url_ || state_ == State::answered || theirs.refusal != Refusal::none) {
    if (auto objection = events_->judge(theirs)) {
      go_down(std::move(*objection));
      return;
    }
  }
  if (state_ == State::answered) {
    come_up(*their_hello_);
    return;
  }
  if (url_) {
    if (!map_theirs(message)) return;
    // Before the owner may send, which changes what its hello says.
    (void)say(events_->greet(nullptr), {});
    come_up(theirs);
    return;
  }
  const Hello ours = events_->greet(&theirs);
  // The reason must reach the peer, which then ends the connection; or the timer does.
  if (ours.refusal != Refusal::none) {
    (void)say(ours, {});
    state_ = State::refusing;
  } else if (map_theirs(message)) {
    their_hello_ = theirs;
    state_ = State::answered;
    send_hello(ours);
  }
}

// False if it cannot be; the link is down then.
bool ShmLink::map_theirs(UnixMessage& message) {
  if (message.passed.size() != passed_count) {
    go_bad(DownReason::protocol_error, "sent a hello without its memory");
    return false;
  }
  if (!is_memory(message.passed[board].get()) || !is_memory(message.passed[memory].get())) {
    go_bad(DownReason::protocol_error, "passed what is no shared memory");
    return false;
  }
  if (!is_pipe(message.passed[lifeline].get())) {
    go_bad(DownReason::protocol_error, "passed a lifeline that is no pipe");
    return false;
  }
  try {
    if (!url_) make_what_is_passed();
    SharedMemory their_board = SharedMemory::open(
        std::move(message.passed[board]), sizeof(ShmBoard), sizeof(ShmBoard) + small_page_bytes);
    // Of what could still change: open() holds it to what was taken.
    const std::size_t bytes = size_of(message.passed[memory].get());
    PeerAddressSpace space = PeerAddressSpace::take(bytes);
    SharedMemory their_memory = SharedMemory::open(std::move(message.passed[memory]), 1, bytes);
    wire_.emplace(*this, std::move(their_board),
                  ShmPeerMemory::Passed{std::move(space), std::move(their_memory),
                                        std::move(message.passed[lifeline])});
    ++shared_.links;
    loop_.add_source(*this);
    polled_ = true;
  } catch (const UnsoundMemory& error) {
    go_bad(DownReason::protocol_error,
           std::string("passed memory that cannot be used: ") + error.what());
    return false;
  } catch (const Error& error) {
    go_down(refusal(DownReason::resources, error.what()));
    return false;
  }
  return true;
}

void ShmLink::come_up(const Hello& theirs) {
  const std::size_t page =
      std::min<std::size_t>(shared_.resources.page_bytes, theirs.page_bytes_max) &
      ~(wire_align - 1);
  handshake_timer_.stop();
  limits_.page_bytes_max = page;
  fit_ = {.pages = shared_.arena.get(),
          .loans = shared_.loans.get(),
          .large = &shared_.resources.large_pool};
  fit_.short_body_bytes_max = std::tuple_size_v<decltype(ShmSlot::body)>;
  fit_.borrowed_bytes_max = page - page_header_bytes - frame_prefix_bytes_max;
  // A message that fits into a block is copied there, and a larger one into the loans.
  fit_.whole_page_bytes_max = std::max(page, shared_.arena->block_bytes());
  limits_.queue_bytes_max = options_.queue_bytes_max;
  limits_.message_bytes_max = theirs.message_bytes_max;
  state_ = State::up;
  events_->on_up(theirs);
}

}  // namespace netio::detail
