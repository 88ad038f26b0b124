// Set-up of a shm link, and its end. The data path is link_datapath.cpp.
#include "transport/shm/link.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>

#include <netio/status.hpp>

#include "base/system_error.hpp"
#include "memory/mapping.hpp"

namespace netio::detail {

namespace {
// A message as large as a page has a head of its own, and fits into a block too.
std::size_t block_bytes(std::size_t page_bytes) noexcept {
  return page_bytes +
         std::max(page_bytes / 16 / small_page_bytes, std::size_t{1}) * small_page_bytes;
}
}  // namespace

ShmShared::ShmShared(const TransportResources& its_resources)
    : resources(its_resources),
      memory_came_home(resources.loop,
                       [this] {
                         arena->serve_waiters();
                         loans->serve_waiters();
                       }),
      graves(resources.loop) {
  const std::size_t block = block_bytes(resources.page_bytes);
  const std::size_t blocks = resources.send_pool.blocks();
  const std::size_t pages_bytes = blocks * block;
  const std::size_t loans_bytes =
      std::min(resources.large_pool.bytes_max(),
               shm_memory_bytes_max - std::min(pages_bytes, shm_memory_bytes_max));
  memory = std::make_shared<SharedMemory>(
      SharedMemory::create("netio pages", pages_bytes + loans_bytes, 0));
  leave_out_of_core_files(memory->bytes());
  arena = Pool::create_as_used(block, blocks, &resources.room, resources.loop.owner(), memory);
  if (!arena->take_step()) throw resources.room.error("take shared memory for pages");
  loans = RangePool::create(memory, pages_bytes, resources.loop.owner(), &resources.room);
  empty = std::make_shared<EmptyMemory>(resources.large_pool.bytes_max());
  arena->set_wake([this] { memory_came_home.notify(); });
  loans->set_wake([this] { memory_came_home.notify(); });
  resources.room.add(*this);
}

ShmLink::ShmLink(ShmShared& shared, const LinkOptions& options, const Url& url)
    : shared_(shared),
      options_(options),
      loop_(shared.resources.loop),
      peer_address_(to_string(url)),
      url_(url),
      place_(shared.closing),
      handshake_timer_(
          loop_, [this] { go_bad(DownReason::handshake_timeout, "did not answer in time"); }) {
  fit_.pages = shared.arena.get();
}

ShmLink::ShmLink(ShmShared& shared, const LinkOptions& options, std::string address,
                 FileDescriptor& fd)
    : shared_(shared),
      options_(options),
      loop_(shared.resources.loop),
      peer_address_(std::move(address)),
      place_(shared.closing),
      handshake_timer_(loop_, [this] {
        go_bad(DownReason::handshake_timeout, their_hello_
                                                  ? "did not map this side's memory in time"
                                                  : "connected but sent no hello in time");
      }) {
  stranger_ = true;
  fit_.pages = shared.arena.get();
  socket_ = std::move(fd);
}

ShmLink::~ShmLink() { cut(); }

void ShmLink::start(LinkEvents& events) noexcept {
  assert(state_ == State::idle);
  events_ = &events;
  state_ = State::greeting;
  handshake_timer_.start_once(options_.handshake_within);
  guard_memory([this] { connect(); }, [this]() noexcept { failure_ = out_of_memory(); });
  if (failure_) loop_.defer(*this);
}

void ShmLink::connect() {
  try {
    if (url_) {
      const UnixAddress address = UnixAddress::of("connect", *url_);
      socket_ = make_unix_socket();
      int error = socket_ ? 0 : errno;
      if (error == 0 && ::connect(socket_.get(), address.get(), address.bytes) != 0) error = errno;
      if (error != 0) failure_ = why_not_connected(error);
    }
    std::string other;
    stranger_ = !failure_ && !same_user(socket_.get(), other);
    if (stranger_) {
      failure_ = refusal(DownReason::rejected,
                         "user " + std::to_string(geteuid()) + " and another user, " + other +
                             ", do not share memory: run both ends as one user, or use tcp://");
    } else if (std::string full = failure_
                                      ? std::string()
                                      : shared_.graves.why_full(*shared_.arena, *shared_.loans);
               !full.empty()) {
      failure_ = refusal(DownReason::resources, full);
    }
    if (!failure_) {
      begin();
      if (url_) send_hello(events_->greet(nullptr));
    }
  } catch (const Error& error) {
    failure_ = refusal(DownReason::resources, error.what());
  }
}

Down ShmLink::why_not_connected(int error) const {
  const std::string what = errno_text(error);
  switch (error) {
    case ENOENT:
    case ECONNREFUSED:
      return {DownReason::refused,
              "nobody listens at " + peer_address_ +
                  (url_->scheme == "inproc" ? " (such a name is known to its process alone)"
                   : url_->name.starts_with('/')
                       ? ""
                       : " (such a name is known within one network namespace; a path, "
                         "shm:///run/name, is known wherever the file is seen)")};
    case EAGAIN:
      return {DownReason::refused, peer_address_ + " has too many connections waiting"};
    case EPROTOTYPE:
      return {DownReason::foreign_protocol,
              "what listens at " + peer_address_ + " does not speak netio: " + what};
    case EACCES:
      return {DownReason::refused,
              "no right to connect to " + peer_address_ + ": " + what +
                  "; its file is another user's, or in a folder of one, and memory is shared by "
                  "processes of one user only"};
    default:
      return {DownReason::resources, "cannot connect to " + peer_address_ + ": " + what};
  }
}

void ShmLink::go_down(Down down) noexcept {
  if (state_ == State::down) return;
  cut();
  events_->on_down(down);
}

void ShmLink::go_bad(DownReason reason, std::string_view what) noexcept {
  Down down = out_of_memory(reason);
  guard_memory([&] { down.detail = std::string(peer_address_).append(" ").append(what); },
               []() noexcept {});
  go_down(std::move(down));
}

// Possibly from inside an event: what is on the stack stays mapped until the destructor.
void ShmLink::cut() noexcept {
  if (std::exchange(state_, State::down) == State::down) return;
  paused_ = true;
  handshake_timer_.stop();
  watch_.reset();
  if (std::exchange(polled_, false)) loop_.remove_source(*this);
  cancel();
  stop_starving();
  room_waiter_.stop_waiting();
  home_waiter_.stop_waiting();
  if (stranger_) {
    shared_.closing.close_unread(std::move(socket_));
  } else {
    shared_.closing.close_emptied(std::move(socket_));
  }
  if (!wire_) return;
  --shared_.links;
  shared_.memory_came_home.notify();  // who had its share may have more
  wire_->memory->forget_owner();
  if (wire_->sends.pages_out() == 0) return;
  ShmGrave& grave = wire_->grave.front();
  grave.lifeline = std::move(lifeline_);
  grave.arena_bytes = wire_->sends.arena_bytes_out();
  grave.loan_bytes = wire_->sends.loan_bytes_out();
  grave.holds = wire_->sends.take_holds();
  shared_.graves.bury(std::move(wire_->grave));
}

std::size_t ShmLink::queued_bytes() const noexcept {
  // All that may wait, while there is no memory for what was posted.
  if (lacks_memory_) return options_.queue_bytes_max;
  return wire_ ? wire_->sends.taken_of(options_.queue_bytes_max) : 0;
}

}  // namespace netio::detail
