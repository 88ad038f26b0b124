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

// Any number of publishers: connect() to each, or bind() for them to connect. All get the same set
// of tags, at once and again whenever one comes back; each decides by itself who is slow. Two
// connections to one publisher are two subscriptions. SocketOptions::mode is what is asked of the
// publisher: buffered or unbuffered.
class NETIO_API Subscribe : public Socket, public Receiving {
 public:
  // Throws Error for options that make no sense.
  explicit Subscribe(Context& context, const SubscribeOptions& subscription = {},
                     const SocketOptions& options = {});
  ~Subscribe() = default;

  // Changes the set of tags, at first empty. At any time, also before there is a publisher. The
  // changes of one loop turn take effect together; on_subscribed tells when:
  void subscribe(std::uint64_t tag) { subscribe(TagRange{tag, tag}); }
  void subscribe(TagRange range) { subscribe(std::span(&range, 1)); }
  void subscribe_all() { subscribe(every_tag); }
  void unsubscribe(std::uint64_t tag) { unsubscribe(TagRange{tag, tag}); }
  void unsubscribe(TagRange range) { unsubscribe(std::span(&range, 1)); }
  void unsubscribe_all() { unsubscribe(every_tag); }

  // Many at once. In any order; they may overlap each other and what is subscribed. Throws Error
  // for a range that ends before it begins:
  void subscribe(std::span<const TagRange> ranges);
  void unsubscribe(std::span<const TagRange> ranges);

  // The set, sorted, without overlaps or neighbours. Valid until the next change.
  [[nodiscard]] std::span<const TagRange> subscribed() const noexcept;

  // A publisher took the set as it is now, or refused it. It comes again, with the same revision,
  // when the publisher changes the policy: PublishOptions::block_for_max.
  void on_subscribed(std::function<void(const PeerInfo&, const Subscribed&)> call);
  // A publisher dropped messages, or they were lost with the connection. Comes between the last
  // message before them and the first behind. Once all publishers are connected again, the sum of
  // all counts is books().missed.
  void on_gap(std::function<void(const PeerInfo&, const Gap&)> call);

 private:
  detail::SubscribeCore* subscribe_core_;
};

}  // namespace netio
