// See publish_forward.hpp.
#include "forward/publish_forward.hpp"

#include <chrono>
#include <new>
#include <vector>

#include "base/out_of_memory.hpp"
#include "base/tag_set.hpp"
#include "pattern/publish/publish_core.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

PublishForward::PublishForward(Receiving& from, PublishCore& to, Subscribe* source)
    : StreamForward(from, to.socket().context().loop),
      to_(to),
      source_(source),
      retry_(to.socket().context().loop, [this] { follow_all(); }) {
  if (source_ != nullptr) {
    if (to_.subscribers.follower) {
      throw Error("cannot forward to this publisher", "another subscriber feeds it",
                  "use one Subscribe that is connected to all publishers");
    }
    wanted_.add(source_->subscribed());  // what the user wants stays
    to_.subscribers.for_each(
        [this](const Subscriber& subscriber) { follow(subscriber.set.ranges(), {}); });
  }
  to_.writable.add(*this);
  if (source_ != nullptr) {
    to_.subscribers.follower = [this](std::span<const TagRange> added,
                                      std::span<const TagRange> removed) {
      follow(added, removed);
    };
  }
  start();
}

PublishForward::~PublishForward() {
  to_.writable.remove(*this);
  if (source_ == nullptr) return;
  to_.subscribers.follower = {};
  follow_no_more();
}

Status PublishForward::pass(MessageCursor& messages, const From&) {
  std::uint64_t bytes = 0;
  const Status status = to_.send(messages, bytes);
  count_bytes(bytes);
  return status;
}

// What two subscribers want is subscribed once, and until both have given it up.
void PublishForward::follow(std::span<const TagRange> added, std::span<const TagRange> removed) {
  if (follows_all_) return;
  try {
    wanted_.add(added);
    source_->subscribe(added);
    const std::vector<TagRange> gone = wanted_.remove(removed);
    source_->unsubscribe(gone);
  } catch (const std::bad_alloc&) {
    follows_all_ = true;
    follow_all();
  }
}

void PublishForward::follow_all() noexcept {
  guard_memory([this] { source_->subscribe_all(); },
               [this]() noexcept { retry_.start_once(retry_after); });
}

// What only the subscribers of the output want is given up.
void PublishForward::follow_no_more() noexcept {
  if (follows_all_) return;
  guard_memory(
      [this] {
        TagSet gone;
        to_.subscribers.for_each([&](const Subscriber& subscriber) {
          gone.add(wanted_.remove(subscriber.set.ranges()));
        });
        source_->unsubscribe(gone.ranges());
      },
      []() noexcept {});
}

}  // namespace netio::detail
