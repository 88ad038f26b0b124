// Subscribe: receives what publishers send with the tags it asked for.
#pragma once

#include <functional>

#include <netio/receiving.hpp>
#include <netio/socket.hpp>
#include <netio/subscription.hpp>

namespace netio {

namespace detail {
class SubscribeCore;
}

// May have any number of publishers: connect() to each, or bind() and let them connect. Every
// publisher gets the same set of tags, when it comes and each time it comes back. Each publisher
// decides by itself whether this subscriber is slow. Two connections to one publisher are two
// subscriptions. SocketOptions::mode says what the publishers are asked for: buffered or
// unbuffered.
class NETIO_API Subscribe : public Socket, public Receiving {
 public:
  // Throws Error for options that make no sense.
  explicit Subscribe(Context& context, const SubscribeOptions& subscription = {},
                     const SocketOptions& options = {});
  ~Subscribe() = default;

  // Change the set of tags, which is empty at first. May be called at any time, also before there
  // is a publisher. The changes of one loop turn take effect together; on_subscribed tells when:
  void subscribe(std::uint64_t tag) { subscribe(TagRange{tag, tag}); }
  void subscribe(TagRange range) { subscribe(std::span(&range, 1)); }
  void subscribe_all() { subscribe(every_tag); }
  void unsubscribe(std::uint64_t tag) { unsubscribe(TagRange{tag, tag}); }
  void unsubscribe(TagRange range) { unsubscribe(std::span(&range, 1)); }
  void unsubscribe_all() { unsubscribe(every_tag); }

  // The same for many ranges at once, in any order. They may overlap each other and the set. Throws
  // Error if a range ends before it begins:
  void subscribe(std::span<const TagRange> ranges);
  void unsubscribe(std::span<const TagRange> ranges);

  // The set of tags: sorted, without overlaps or neighbours. Valid until the next change.
  [[nodiscard]] std::span<const TagRange> subscribed() const noexcept;

  // Sets the call for the answer of a publisher: it took the set as it is now, or refused it. The
  // call comes again with the same revision when the publisher changes the policy
  // (PublishOptions::block_for_max). When a connection is back, the publisher is told the set
  // again, and answers it with a new revision. If it goes on with the set that it had
  // (SocketOptions::resume_bytes_max), the call comes for that first, with its old revision:
  // nothing is missing between the two.
  void on_subscribed(std::function<void(const PeerInfo&, const Subscribed&)> call);

 private:
  detail::SubscribeCore* subscribe_core_;
};

}  // namespace netio
