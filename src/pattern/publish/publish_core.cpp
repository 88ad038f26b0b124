// The user's calls of a Publish socket, and the turn in which its pages leave.
#include "pattern/publish/publish_core.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <utility>

#include "base/out_of_memory.hpp"
#include "memory/copy_thresholds.hpp"
#include "memory/scarcity.hpp"
#include "socket/context_core.hpp"
#include "socket/own_copy.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {
// How often is looked for subscribers that are behind for too long.
constexpr std::chrono::milliseconds slow_look_after{10};
constexpr const char* too_slow_text = "was behind for longer, or by more, than it asked for";
}  // namespace

PublishCore::PublishCore(SocketCore& socket, const PublishOptions& options)
    : subscribers(socket, options),
      behind_watch(socket),
      hold_ups(socket, subscribers, options.block_for_max),
      socket_(socket),
      changes_(socket, subscribers,
               [this](Subscriber& subscriber, std::span<const std::byte> payload) {
                 return take_change(subscriber, payload);
               }),
      slow_timer_(socket.context().loop, [this] { look_after_slow(); }),
      may_block_for_ever_(options.block_for_max.count() == 0) {
  subscribers.groups.on_group_gone = [this](Group& group) { std::erase(active_, &group); };
  hold_ups.on_held_up_no_more = [this] {
    worth_trying_ = true;
    tell_writable();
  };
}

TagRow* PublishCore::row_of(std::uint64_t tag) noexcept try {
  return &subscribers.groups.row(tag, false);
} catch (const std::bad_alloc&) {
  worth_trying_ = true;
  socket_.touch();
  return nullptr;
}

Status PublishCore::send_first(std::span<const std::byte> message, std::uint64_t tag) noexcept {
  if (stopped_) return Status::closed;
  TagRow* const row = row_of(tag);
  if (row == nullptr) return refuse(nullptr);
  return send_any(*row, {message, tag, nullptr});
}

Status PublishCore::send_wanted(TagRow& row, std::span<const std::byte> message) noexcept {
  Group* const only = row.audience->only;
  if (only == nullptr || !only->gather_at_once(message, row.tag)) [[unlikely]] {
    return send_slow(row, {message, row.tag, nullptr});
  }
  ++sent_;
  bytes_sent_ += message.size();
  return Status::ok;
}

Status PublishCore::send_slow(TagRow& row, Outgoing message) noexcept {
  if (stopped_) return Status::closed;
  if (message.bytes.size() > socket_.options().message_bytes_max) return Status::too_big;
  if (subscribers.too_few()) return refuse(nullptr);
  // More groups than may have an open page each at the same time.
  const std::vector<Group*>& groups = subscribers.groups.of(*row.audience);
  message.alone =
      groups.size() > 1 && groups.size() > groups.front()->kind().fit.pages->blocks() / 2;
  for (Group* const group : groups) {
    activate(*group);
    Store* short_of = nullptr;
    const Status status = group->prepare(message, staging_, short_of);
    if (status == Status::ok) continue;
    staging_.clear();
    if (status != Status::again) return status;
    if (short_of != nullptr && short_of == group->kind().fit.pages) {
      pages_short_of_ = group->kind().fit.pages;
      pages_wanted_ = 0;
      for (const Group* const each : groups) {
        pages_wanted_ += each->wants_page(message, *pages_short_of_) ? 1U : 0U;
      }
    }
    return refuse(short_of);
  }
  for (Group* const group : groups) group->write(message, staging_, socket_.copies());
  staging_.clear();
  ++sent_;
  bytes_sent_ += message.bytes.size();
  return Status::ok;
}

// Answers again. The user is called when a member has caught up, a missing subscriber has come, or
// memory has come home.
Status PublishCore::refuse(Store* short_of) noexcept {
  wanted_ = true;
  ++agains_;
  lacks_memory_ = short_of != nullptr;
  if (lacks_memory_) {
    wait_for(*short_of);  // first: memory that comes home now ends the wait
    subscribers.give_up_what_waits_for_absent();
  }
  hold_ups.lacks_memory(lacks_memory_);
  hold_ups.watch();
  socket_.fill_changed();
  for (Group* const group : active_) {
    for (Subscriber* const member : group->members) {
      if (!member->feed.away) member->peer->link()->flush();
    }
  }
  return Status::again;
}

void PublishCore::wait_for(Store& store) noexcept {
  const auto found =
      std::find_if(waiters_.begin(), waiters_.end(),
                   [&store](const MemoryWaiter& waiter) { return &waiter.store == &store; });
  if (found != waiters_.end()) return store.wait(*found);
  guard_memory([&] { store.wait(waiters_.emplace_back(*this, store)); },
               [this]() noexcept {
                 worth_trying_ = true;
                 lacks_memory_ = false;
                 socket_.touch();
               });
}

// What was refused takes a page for each group that has none, and gives them back unless it gets
// all of them. If the user were called for fewer, he would be refused again, and called again for
// the pages that he gave back.
void PublishCore::MemoryWaiter::on_memory() noexcept {
  if (&store == core_.pages_short_of_ &&
      core_.pages_short_of_->blocks_free() < core_.pages_wanted_) {
    return store.wait(*this);
  }
  core_.pages_short_of_ = nullptr;
  core_.worth_trying_ = true;
  core_.lacks_memory_ = false;
  core_.hold_ups.lacks_memory(false);
  core_.socket_.fill_changed();
  core_.tell_writable();
}

Status PublishCore::send(Message& message) noexcept {
  if (!message) return Status::invalid;
  if (stopped_) return Status::closed;
  TagRow* const row = row_of(message.tag());
  if (row == nullptr) return refuse(nullptr);
  if (may_change(message)) {
    Message copy = own_copy(message);
    if (!copy) return refuse(nullptr);
    const Status status = send(copy);
    if (status == Status::ok) {
      socket_.copies().add(message.size());
      message = Message();
    }
    return status;
  }
  const Label label = label_of(message);
  const std::span<const std::byte> bytes = payload_of(message);
  Lease lease = Lease::adopt(message.release_block());
  const Status status = send_any(*row, {bytes, label, &lease});
  if (status == Status::ok) {
    message = Message();
  } else {
    message.take_back(lease.release());
  }
  return status;
}

// A subscriber that is behind would hold the memory that others are read into.
Status PublishCore::send(const MessageView& view) noexcept {
  const bool copies = is_scarce(*view.block());
  if (copies && !view.segmented()) {
    const Status status = send(view.bytes(), view.tag());
    if (status == Status::ok) socket_.copies().add(view.size());
    return status;
  }
  // A small one is gathered at once; to keep it would be to copy it twice.
  const bool small = view.size() < view.block()->capacity() / shared_block_part;
  Message message = small || copies ? view.share() : view.keep();
  if (copies) message = own_copy(message);
  if (!message) return refuse(nullptr);
  const Status status = send(message);
  if (copies && status == Status::ok) socket_.copies().add(view.size());
  return status;
}

Status PublishCore::send(MessageCursor& messages, std::uint64_t& bytes) noexcept {
  MessageCursor next = messages;
  for (MessageCursor::Place place; next.next(place); messages = next) {
    const MessageView view = next.view(place);
    if (const Status status = send(view); status != Status::ok) return status;
    bytes += view.size();
  }
  messages = {};
  return Status::ok;
}

// Put together once, for all subscribers.
Status PublishCore::send(const SegmentList& segments, std::uint64_t tag) noexcept {
  if (!segments.make_sense()) return Status::invalid;
  if (stopped_) return Status::closed;
  if (segments.bytes() > socket_.options().message_bytes_max) return Status::too_big;
  const bool copied = segments.roomy() == nullptr;
  Message whole = segments.joined(tag);
  if (!whole) return refuse(nullptr);
  const Status status = send(whole);
  if (status == Status::ok) {
    if (copied) segments.each_message([this](std::size_t bytes) { socket_.copies().add(bytes); });
    segments.take_messages();
  } else {
    segments.part(whole);
  }
  return status;
}

Status PublishCore::send_any(TagRow& row, const Outgoing& message) noexcept {
  if (row.audience != nullptr) return send_slow(row, message);
  ++row.unwanted;
  return Status::ok;
}

Status PublishCore::lend(std::span<const std::byte> message, std::uint64_t token,
                         std::uint64_t tag) noexcept {
  if (stopped_) return Status::closed;
  TagRow* const row = row_of(tag);
  if (row == nullptr) return refuse(nullptr);
  Lease lease = socket_.sending.lent().lend(message, token);
  if (!lease) return refuse(nullptr);
  const Status status = send_any(*row, {message, tag, &lease});
  if (status != Status::ok) socket_.sending.lent().take_back(std::move(lease));
  return status;
}

Status PublishCore::lend(std::span<const Segment> segments, std::uint64_t token,
                         std::uint64_t tag) noexcept {
  if (segments.empty() || segments.back().message() != nullptr) return Status::invalid;
  LentMemory& lent = socket_.sending.lent();
  Lease lease = lent.lend(segments.back().bytes(), token);
  if (!lease) return refuse(nullptr);
  Block* memory = lease.get();
  const Status status = send(SegmentList(segments, &memory), tag);
  if (status != Status::ok) lent.take_back(std::move(lease));
  return status;
}

Message PublishCore::allocate(std::size_t bytes, Status& status, std::uint64_t tag,
                              std::size_t head_bytes) noexcept {
  const std::size_t room = head_room(head_bytes);
  status = stopped_ ? Status::closed : Status::ok;
  if (room > UINT32_MAX || bytes > socket_.options().message_bytes_max) status = Status::too_big;
  TagRow* const row = row_of(tag);
  if (status == Status::ok && (row == nullptr || subscribers.too_few())) status = refuse(nullptr);
  if (status != Status::ok) return {};
  Fit fit{.large = &socket_.context().large_pool()};  // if nobody wants it
  if (row->audience != nullptr) fit = subscribers.groups.of(*row->audience).front()->kind().fit;
  status = staging_.take(fit, room + bytes);
  if (status == Status::again) status = refuse(&staging_.waited_in());
  if (status != Status::ok) return {};
  Lease lease = staging_.take_memory();
  std::byte* const payload = lease->data() + loan_headroom + room;
  Message message = Message::writable(lease.release(), {payload, bytes}, tag);
  message.set_head_room(room);
  return message;
}

void PublishCore::activate(Group& group) noexcept {
  socket_.touch();  // also when a flush between two turns has left the group active
  if (group.active) return;
  group.active = true;
  active_.push_back(&group);
}

std::uint64_t PublishCore::gathered_for(const Peer& peer) const noexcept {
  const Subscriber* const known = subscribers.find(peer);
  if (known == nullptr || known->group == nullptr) return 0;
  return known->group->open_messages();
}

// With block_for_max 0 the publisher waits for subscribers with Policy::block for ever.
bool PublishCore::bears_with(const Peer& peer) const noexcept {
  if (!may_block_for_ever_) return false;
  const Subscriber* const known = subscribers.find(peer);
  return known != nullptr && known->feed.backlog.policy() == Policy::block;
}

void PublishCore::describe(const Peer& peer, PeerSnapshot& snapshot) const {
  const Subscriber* const known = subscribers.find(peer);
  if (known == nullptr) return;
  if (known->revision != 0) snapshot.policy = known->feed.backlog.policy();
  snapshot.demoted = known->demoted;
  if (known->group == nullptr) return;
  snapshot.waiting_messages += known->group->open_messages();
  snapshot.waiting_bytes += known->group->open_bytes();
}

void PublishCore::tell_writable() noexcept {
  if (!wanted_ || !worth_trying_ || stopped_ || subscribers.too_few()) return;
  wanted_ = worth_trying_ = false;
  writable.call();
}

bool PublishCore::end_turn() noexcept {
  const bool when_idle = socket_.options().flush_when_idle;
  std::size_t open = 0;
  for (Group* const group : active_) {
    group->end_turn();
    for (Subscriber* const member : group->members) {
      member->peer->outgoing.end_turn(when_idle);
      look_at_backlog(*member);
    }
    if (when_idle) group->close_page_if_idle();
    group->active = group->holds_messages();
    if (group->active) active_[open++] = group;
  }
  active_.resize(open);
  if (std::exchange(failed_, false)) end_failed();
  if (subscribers.groups.incomplete()) {
    if (subscribers.groups.complete_again()) {
      worth_trying_ = true;
    } else if (!slow_timer_.running()) {
      slow_timer_.start_periodic(slow_look_after);
    }
  }
  if (subscribers.any_disconnects() && !slow_timer_.running()) look_after_slow();
  tell_writable();
  return open != 0 && !stopped_;
}

// The next message asks for the end of its turn again.
void PublishCore::flush() noexcept {
  if (stopped_) return;  // closing has flushed; a copy in a child of fork() must not
  for (Group* const group : active_) {
    group->close_page();
    // Gives back a page that a refused message has opened. Otherwise later messages would be
    // gathered in it, and nothing would post them.
    group->end_turn();
    for (Subscriber* const member : group->members) {
      member->peer->outgoing.flush();
      look_at_backlog(*member);
    }
    group->active = false;
  }
  active_.clear();
  // Who is slow is looked for, and the user called, at the end of a turn.
  if ((wanted_ && worth_trying_) || subscribers.any_disconnects()) socket_.touch();
}

void PublishCore::end_failed() noexcept {
  subscribers.for_each([this](Subscriber& subscriber) {
    if (!subscriber.feed.failed()) return;
    if (subscriber.feed.away) {
      subscriber.feed.begin_backlog_anew();
      worth_trying_ = true;
    } else {
      subscriber.peer->fail(out_of_memory());
    }
  });
}

// Ends the subscribers that asked to be disconnected if they are behind for too long.
void PublishCore::look_after_slow() noexcept {
  const std::int64_t now_ns = socket_.context().loop.now().count();
  const std::int64_t within_ns = socket_.options().handshake_within.count();
  bool behind = false;
  subscribers.for_each([&](Subscriber& subscriber) {
    if (subscriber.feed.backlog.policy() != Policy::disconnect || subscriber.feed.away) return;
    if (subscriber.dismissed_since_ns == 0) {
      const bool stays = !stopped_ && !subscriber.peer->leaving();
      if (stays && too_slow(subscriber, now_ns)) dismiss(subscriber, now_ns);
    } else if (now_ns - subscriber.dismissed_since_ns > within_ns) {
      subscriber.peer->fail(DownReason::too_slow, too_slow_text);
    }
    behind = behind || subscriber.dismissed_since_ns != 0 ||
             (!stopped_ && subscriber.peer->behind_since_ns != 0);
  });
  if (subscribers.groups.incomplete()) {
    behind = true;
    socket_.touch();
  }
  if (behind && !slow_timer_.running()) {
    slow_timer_.start_periodic(slow_look_after);
  } else if (!behind) {
    slow_timer_.stop();
  }
}

// The reason is sent behind the pages that the link has already. A subscriber that stops reading is
// ended all the same.
void PublishCore::dismiss(Subscriber& subscriber, std::int64_t now_ns) noexcept {
  Peer& peer = *subscriber.peer;
  subscriber.dismissed_since_ns = now_ns;
  not_ready(peer);
  subscriber.feed.drop_backlog(DropReason::not_sent);
  std::array<std::byte, ending_bytes> payload;
  encode(EndingFrame{EndingReason::too_slow}, payload);
  subscriber.feed.tell(ControlKind::ending, payload);
  guard_memory([&] { peer.dismiss(too_slow_text, DownReason::too_slow); },
               [&]() noexcept { peer.fail(out_of_memory(DownReason::too_slow)); });
}

bool PublishCore::too_slow(Subscriber& subscriber, std::int64_t now_ns) noexcept {
  look_at_backlog(subscriber);
  if (subscriber.feed.backlog.take_overrun()) return true;
  const std::int64_t most_ns = subscriber.behind_for_max_ns;
  const std::int64_t since_ns = subscriber.peer->behind_since_ns;
  return most_ns != 0 && since_ns != 0 && now_ns - since_ns > most_ns;
}

void PublishCore::stop() noexcept {
  if (socket_.abandoned()) slow_timer_.stop();  // else it ends those that were dismissed
  if (std::exchange(stopped_, true)) return;
  behind_watch.stop();
  hold_ups.stop();
  changes_.stop();
  waiters_.clear();
  subscribers.end_with(closed_);
}

// Open pages are left as they are: they may lie in memory that the parent's peers see.
void PublishCore::freeze() noexcept {
  subscribers.for_each([](Subscriber& subscriber) { subscriber.feed.away = false; });
  if (std::exchange(stopped_, true)) return;
  subscribers.groups.answer_with(closed_);
}

void PublishCore::add_to(Counters& counters) const noexcept {
  counters.bytes_sent += bytes_sent_;
  counters.agains += agains_;
  const std::uint64_t unwanted = subscribers.groups.unwanted();
  counters.published += sent_ + unwanted;
  counters.unwanted += unwanted;
  counters.demoted += hold_ups.demoted();
  counters.bodies_encoded += subscribers.groups.bodies_encoded();
}

}  // namespace netio::detail
