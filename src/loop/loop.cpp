// The loop: the order of a turn, when it sleeps, and nothing else. Owner thread, except post().
// A turn that handles one descriptor makes one system call, the epoll's.
#include <algorithm>
#include <cassert>
#include <cerrno>
#include <string>
#include <sys/epoll.h>
#include <unistd.h>

#include <netio/loop.hpp>
#include <netio/status.hpp>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "base/fork_watch.hpp"
#include "base/misuse.hpp"
#include "base/on_core.hpp"
#include "base/owner_thread.hpp"
#include "base/point.hpp"
#include "base/system_error.hpp"
#include "loop/loop_inbox.hpp"
#include "loop/loop_wake.hpp"
#include "loop/timer_heap.hpp"

namespace netio {
namespace {

using detail::never_ns;

// Descriptors taken from the kernel at once: 128 x 12 B = 1.5 KiB. More ready ones wait a turn.
constexpr int batch_size = 128;

// Items a source may handle per turn. More gives better batches and a longer wait for all others:
// 64 pages of 64 KiB at 10 GB/s are 0.4 ms.
constexpr int source_budget = 64;

// A spinning loop with sources looks at timers and descriptors every so many polls. A look costs a
// system call and a clock (about 0.2 us), a poll that finds nothing 10 ns in shared memory: what
// comes should find the loop polling, not looking. One that worked counts as several, as it may
// take its full budget: a descriptor or timer waits for 16 of these, or 128 of the others.
constexpr int source_polls_per_look = 128;
constexpr int polls_of_work = 9;

// How long IdlePolicy::adaptive polls after the last work: a few times what being woken costs
// (4 to 10 us), so that request and reply do not pay it, and an idle loop burns next to nothing.
constexpr std::int64_t spin_before_sleep_ns = 50'000;

// Deferred work that defers more is run again at once so often, then waits for the next turn.
constexpr int deferred_passes_max = 16;

}  // namespace

// The loop is the calling thread's while this lives, and nobody's before and after.
class Loop::Owning {
 public:
  // Throws Error if another thread runs it, if it is a copy, and in a turn.
  explicit Owning(Loop& loop) : loop_(loop) {
    loop_.require_owner("run the loop");
    if (loop_.runs_here()) {
      throw Error("run the loop", "this is one of its call-backs", "return from it");
    }
    if (!loop_.owner_->claim()) loop_.refuse("run the loop", {});  // another began just now
    if (loop_.at_begin_) loop_.at_begin_();
  }
  ~Owning() { loop_.owner_->release(); }
  Owning(const Owning&) = delete;
  Owning& operator=(const Owning&) = delete;

 private:
  Loop& loop_;
};

void detail::Deferred::cancel() noexcept {
  if (next_ == nullptr) return;
  prev_->next_ = next_;
  next_->prev_ = prev_;
  next_ = prev_ = nullptr;
}

Loop::Loop(IdlePolicy policy)
    : policy_(policy),
      owner_(std::make_shared<detail::OwnerThread>()),
      batch_(std::make_unique<epoll_event[]>(batch_size)),
      timers_(std::make_unique<detail::TimerHeap>()),
      process_(::getpid()) {
  deferred_.next_ = deferred_.prev_ = &deferred_;
  endings_.next_ = endings_.prev_ = &endings_;
  detail::FileDescriptor epoll = detail::opened(
      [] { return detail::checked(::epoll_create1(EPOLL_CLOEXEC), "create epoll"); });
  epoll_fd_ = epoll.get();
  wake_ = std::make_unique<detail::LoopWake>(epoll_fd_);
  inbox_ = std::make_unique<detail::LoopInbox>(*this);
  fork_watch_ = std::make_unique<detail::ForkWatch>([this] { become_copy(); });
  static_cast<void>(epoll.release());
}

// What was posted goes first: it may own timers and watches of this loop.
Loop::~Loop() {
  assert(!in_turn_ || copied_);
  owner_->release();
  run_endings();
  inbox_.reset();
  assert(sources_.empty());
  while (has_deferred()) deferred_.next_->cancel();
  // In a copy they may be those of a thread that is not here, which nobody can destroy.
  if (!copied_ && (timers_->timer_count() != 0 || watches_count_ != 0)) {
    detail::die(
        "a loop is destroyed before the timers, watches or signals in it; destroy those first");
  }
  detail::FileDescriptor(epoll_fd_).reset();
}

void Loop::run() { run_from(nullptr); }

void Loop::run_from(const std::function<void()>& begun) {
  const Owning owning(*this);
  if (begun) begun();
  const detail::OnCore on_core(cpu_);
  while (!stopped_) turn(std::chrono::nanoseconds(-1));
  stopped_ = false;
}

bool Loop::run_once(std::chrono::nanoseconds timeout) {
  const Owning owning(*this);
  return turn(timeout);
}

// Throws Error where the loop became a copy in it.
bool Loop::turn(std::chrono::nanoseconds timeout) {
  in_turn_ = true;
  turn_ns_ = 0;
  if (policy_ == IdlePolicy::adaptive && worked_) last_work_ns_ = turn_ns();
  const std::int64_t timeout_ns = timeout.count();
  std::int64_t give_up_ns = timeout_ns < 0 ? never_ns : 0;
  if (timeout_ns > 0) give_up_ns = turn_ns() + std::min(timeout_ns, never_ns - turn_ns());
  worked_ = gather(give_up_ns);
  worked_ |= dispatch();
  worked_ |= inbox_->run();
  worked_ |= run_deferred();
  if (foreign_ && !copied_) settle_foreign();
  in_turn_ = false;
  if (copied_) refuse("go on with the loop", {});
  return worked_;
}

void Loop::stop() noexcept {
  assert(on_owner_thread());
  stopped_ = true;
  if (foreign_ && !in_turn_ && !copied_) wake_->set_readable(true);  // whoever drives it is to look
}

void Loop::post(std::function<void()> work) {
  if (copied_) refuse("post to the loop", {});
  inbox_->post(std::move(work));
}

int Loop::fd() {
  require_owner("get the loop's descriptor");
  if (!foreign_) wake_->set_readable(true);  // the first turn finds out how things stand
  foreign_ = true;
  return epoll_fd_;
}

std::chrono::nanoseconds Loop::now() const noexcept {
  return std::chrono::nanoseconds(in_turn_ ? turn_ns() : detail::monotonic_ns());
}

bool Loop::on_owner_thread() const noexcept { return !owner_->elsewhere(); }

bool Loop::runs_here() const noexcept { return owner_->here(); }

// The parent's descriptors are not touched, and the turn that may be under way finds nothing more
// to do. The owner thread may be another one, which is not here: whoever is may let go of things.
// The thread sanitizer would take a write to the child's copy for a race with the parent's threads.
__attribute__((no_sanitize("thread"))) void Loop::become_copy() noexcept {
  const bool by_owner = on_owner_thread();  // else that one may have been in the middle of anything
  copied_ = true;
  owner_->release();
  ready_count_ = 0;
  sources_.clear();
  if (by_owner && at_fork_) at_fork_();
}

void Loop::refuse(std::string_view operation, std::string_view what) const {
  std::string tried(operation);
  if (!what.empty()) tried.append(" ").append(what);
  if (copied_) {
    throw Error(std::move(tried),
                "its loop was made before fork, in process " + std::to_string(process_) +
                    ", and process " + std::to_string(::getpid()) + " has only a copy of it",
                "make a context of its own in this process");
  }
  throw Error(std::move(tried), "called from another thread than the one that runs the loop",
              "use Loop::post() or a Signal to get there, or wait until run() has returned");
}

void Loop::add_source(Source& source) {
  require_owner("add a source");
  const int fd = source.fd();
  sources_.reserve(sources_.size() + 1);
  if (fd >= 0) {
    epoll_event event{};  // no pointer in its data: it wakes, and poll() does the work
    event.events = EPOLLIN | EPOLLET;
    detail::checked(::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event), "watch a source");
  }
  sources_.push_back({&source, fd});
  if (foreign_) wake_->set_readable(true);
}

void Loop::remove_source(Source& source) noexcept {
  assert(on_owner_thread());
  const auto found = std::find_if(sources_.begin(), sources_.end(),
                                  [&](const auto& entry) { return entry.source == &source; });
  if (found == sources_.end()) return;
  if (found->fd >= 0) ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, found->fd, nullptr);
  if (found - sources_.begin() <= source_index_) --source_index_;  // poll_sources() may be at it
  sources_.erase(found);
}

void Loop::defer(detail::Deferred& work) noexcept {
  assert(on_owner_thread());
  if (work.scheduled()) return;
  work.next_ = &deferred_;
  work.prev_ = deferred_.prev_;
  work.prev_->next_ = deferred_.prev_ = &work;
  if (foreign_ && !in_turn_ && !copied_) wake_->set_readable(true);
}

// Read when first asked for: a turn without timers needs no clock.
std::int64_t Loop::turn_ns() const noexcept {
  if (turn_ns_ == 0) turn_ns_ = detail::monotonic_ns();
  return turn_ns_;
}

// Timers, sources, and ready descriptors into batch_. Waits for them until give_up_ns (0: not at
// all) if there is nothing else to do. Time moves on only when nothing was done so far, so it is
// constant for all that the turn does.
bool Loop::gather(std::int64_t give_up_ns) noexcept {
  for (bool slept = false;;) {
    turn_ns_ = 0;
    const bool sources_only = polls_sources_only();
    bool worked = !sources_only && expire_timers();
    worked |= poll_sources();
    const bool timed_out = give_up_ns != never_ns && (give_up_ns == 0 || give_up_ns <= turn_ns());
    const bool done = worked || timed_out || has_deferred() || copied_;
    if (done && (sources_only || slept)) return worked;
    if (sources_only) continue;
    if (copied_) return worked;
    slept = !done && wants_sleep() && sources_may_sleep();
    const bool any_watch = look(slept, give_up_ns);
    // What woke the loop may be the bell of a source: its work does not wait for another turn,
    // which would ask the epoll once more.
    if (slept && any_watch) worked |= poll_sources();
    if (done || any_watch) return worked;
  }
}

bool Loop::polls_sources_only() noexcept {
  if (policy_ == IdlePolicy::sleep || sources_.empty() || foreign_) return false;
  source_polls_ += sources_worked_ ? polls_of_work : 1;
  if (source_polls_ < source_polls_per_look) return true;
  source_polls_ = 0;
  return false;
}

bool Loop::wants_sleep() noexcept {
  if (policy_ == IdlePolicy::sleep) return true;
  return policy_ == IdlePolicy::adaptive && turn_ns() - last_work_ns_ >= spin_before_sleep_ns;
}

bool Loop::expire_timers() noexcept {
  const std::int64_t next_ns = timers_->next_deadline_ns();
  if (next_ns == never_ns || next_ns > turn_ns()) return false;
  const std::uint64_t mark = timers_->mark();
  while (Timer* timer = copied_ ? nullptr : timers_->take_due(turn_ns(), mark)) timer->expire();
  return true;
}

// Another source is the first each time: what several want of one store must not go to the same one
// always. remove_source() moves the index when a source leaves the list from within.
bool Loop::poll_sources() noexcept {
  sources_worked_ = false;
  if (++first_polled_ >= std::ssize(sources_)) first_polled_ = 0;
  poll_sources(first_polled_, std::ssize(sources_));
  if (first_polled_ != 0) poll_sources(0, first_polled_);
  return sources_worked_;
}

void Loop::poll_sources(std::ptrdiff_t begin, std::ptrdiff_t end) noexcept {
  for (source_index_ = begin; source_index_ < std::min(end, std::ssize(sources_));
       ++source_index_) {
    sources_worked_ |=
        sources_[static_cast<std::size_t>(source_index_)].source->poll(source_budget);
  }
}

bool Loop::sources_may_sleep() noexcept {
  return std::all_of(sources_.begin(), sources_.end(),
                     [](const SourceEntry& entry) { return entry.source->may_sleep(); });
}

// Fills batch_, and takes the loop's own wake-ups out of it. True if a watch is left.
bool Loop::look(bool sleep, std::int64_t give_up_ns) noexcept {
  if (sleep) {
    wake_->set_readable(false);
    wake_->arm(std::min(give_up_ns, timers_->next_deadline_ns()));
    NETIO_POINT(asleep);
  }
  NETIO_POINT(look);
  ready_count_ = ::epoll_wait(epoll_fd_, batch_.get(), batch_size, sleep ? -1 : 0);
  NETIO_POINT(looked);
  assert(ready_count_ >= 0 || errno == EINTR);
  if (sleep) turn_ns_ = 0;
  bool any_watch = false;
  for (int i = 0; i < ready_count_; ++i) {
    epoll_event& event = batch_[static_cast<std::size_t>(i)];
    if (event.data.ptr == wake_.get()) {
      wake_->on_timer_fired();
      event.data.ptr = nullptr;
    }
    any_watch |= event.data.ptr != nullptr;
  }
  return any_watch;
}

bool Loop::dispatch() noexcept {
  bool worked = false;
  for (ready_next_ = 0; ready_next_ < ready_count_;) {
    const epoll_event& event = batch_[static_cast<std::size_t>(ready_next_++)];
    const std::uint32_t ready = event.events;
    auto* watch = static_cast<Watch*>(event.data.ptr);
    if (watch == nullptr) continue;  // destroyed since, or there only to wake
    watch->dispatch(ready);
    worked = true;
  }
  ready_count_ = ready_next_ = 0;
  return worked;
}

void Loop::watch_destroyed(const Watch& watch) noexcept {
  if (calling_ == &watch) calling_ = nullptr;
  for (int i = ready_next_; i < ready_count_; ++i) {
    epoll_event& event = batch_[static_cast<std::size_t>(i)];
    if (event.data.ptr == &watch) event.data.ptr = nullptr;
  }
}

// Each pass runs what stood before its mark. Whatever is run has left the list before, so it may
// be deferred again, cancelled or destroyed at any moment.
bool Loop::run_deferred() noexcept {
  const bool any = has_deferred();
  for (int pass = 0; pass < deferred_passes_max && has_deferred() && !copied_; ++pass) {
    detail::DeferredMark mark;
    defer(mark);
    while (deferred_.next_ != &mark && !copied_) {
      detail::Deferred& work = *deferred_.next_;
      work.cancel();
      work.run_deferred();
    }
  }
  return any;
}

// Leaves fd() readable if there may be more to do, and the next deadline armed.
void Loop::settle_foreign() noexcept {
  const bool quiet = !has_deferred() && !sources_worked_ && sources_may_sleep();
  wake_->set_readable(!quiet);
  wake_->arm(timers_->next_deadline_ns());
}

// In a turn its end sees to it, and in our own run() the next sleep.
void Loop::timer_started() noexcept {
  if (foreign_ && !in_turn_ && !copied_) wake_->arm(timers_->next_deadline_ns());
}

}  // namespace netio
