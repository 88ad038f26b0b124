// Publish: sends each message to all subscribers of its tag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>

#include <netio/batch.hpp>
#include <netio/message.hpp>
#include <netio/socket.hpp>
#include <netio/subscription.hpp>

namespace netio {

namespace detail {
class PublishCore;
struct Audience;

// A tag, who wants it (null: nobody), and how many of its messages nobody wanted. They are counted
// here, because one sum for all tags would be a word that each call has to wait for.
struct TagRow {
  Audience* audience = nullptr;
  std::uint64_t tag = 0;
  std::uint64_t unwanted = 0;
};
}  // namespace detail

// A tag that was looked up once. Valid as long as its socket; may be copied.
class NETIO_API PublishTag {
 public:
  PublishTag() noexcept = default;  // belongs to no socket: may only be assigned to

  // As Publish::send():
  [[nodiscard]] Status send(std::span<const std::byte> message) const noexcept {
    if (row_->audience == nullptr) {
      ++row_->unwanted;
      return Status::ok;
    }
    return send_wanted(message);
  }

  // The same for a text.
  [[nodiscard]] Status send(std::string_view text) const noexcept {
    return send(std::as_bytes(std::span(text)));
  }
  // Two texts in braces would be one text, from the first to the second.
  void send(std::initializer_list<const char*> texts) const = delete;
  // Whether it is worth making the message: somebody has subscribed the tag, or too few subscribers
  // are there (PublishOptions::subscribers_min, subscribers_any_min).
  [[nodiscard]] bool wanted() const noexcept { return row_->audience != nullptr; }
  // The tag itself.
  [[nodiscard]] std::uint64_t value() const noexcept { return row_->tag; }

 private:
  friend class detail::PublishCore;
  PublishTag(detail::TagRow* row, detail::PublishCore* core) noexcept : row_(row), core_(core) {}
  [[nodiscard]] Status send_wanted(std::span<const std::byte> message) const noexcept;

  detail::TagRow* row_ = nullptr;
  detail::PublishCore* core_ = nullptr;
};

// A message is taken for all its subscribers, or (on any answer but ok) for none. If nobody wants
// it, the answer is ok, and it is counted in Counters::unwanted. While there are fewer subscribers
// with Policy::block than PublishOptions::subscribers_min, or fewer of any policy than
// subscribers_any_min, every call that sends, lends or allocates answers `again`. books() counts
// each message once for each subscriber that it is for. SocketOptions::mode has no meaning here:
// each subscriber chooses.
class NETIO_API Publish : public Socket {
 public:
  // Throws Error for options that make no sense.
  explicit Publish(Context& context, const PublishOptions& publishing = {},
                   const SocketOptions& options = {});
  ~Publish() = default;

  // Copies the bytes (unbuffered: unless the wire took them at once). They are the caller's again
  // on return, whatever the answer. It is `again` only if a subscriber with Policy::block is behind
  // or missing, or if memory is short; on_writable tells when to try again:
  [[nodiscard]] Status send(std::span<const std::byte> message, std::uint64_t tag) noexcept;
  [[nodiscard]] Status send(std::string_view text, std::uint64_t tag) noexcept {
    return send(std::as_bytes(std::span(text)), tag);
  }

  // Two texts in braces would be one text, from the first to the second: see send_segments().
  void send(std::initializer_list<const char*> texts, std::uint64_t tag) = delete;

  // Sends one message of several segments, as Push::send_segments() does. It is put together once,
  // for all subscribers.
  [[nodiscard]] Status send_segments(std::span<const Segment> segments, std::uint64_t tag) noexcept;
  // The same with a list in braces.
  [[nodiscard]] Status send_segments(std::initializer_list<Segment> segments,
                                     std::uint64_t tag) noexcept {
    return send_segments(std::span(segments.begin(), segments.size()), tag);
  }
  // Sends a message that was kept or allocated to all subscribers of message.tag(), which share the
  // one copy. `message` is empty afterwards if the answer is ok, and untouched otherwise.
  [[nodiscard]] Status send(Message&& message) noexcept;
  // Publishes the messages of a batch that was kept, one by one. `batch` is empty afterwards if the
  // answer is ok; otherwise the answer is about the first message of what is left in it.
  [[nodiscard]] Status send(KeptBatch&& batch) noexcept;
  // As Sending::lend(). on_released comes when the wires of all subscribers are done with the
  // bytes.
  [[nodiscard]] Status lend(std::span<const std::byte> message, std::uint64_t token,
                            std::uint64_t tag) noexcept;
  // As Sending::lend_segments(). All of it is copied once, for all subscribers, and the loan ends
  // at once. So the last segment is better a message of allocate() with room for the others.
  [[nodiscard]] Status lend_segments(std::span<const Segment> segments, std::uint64_t token,
                                     std::uint64_t tag) noexcept;
  // The same with a list in braces.
  [[nodiscard]] Status lend_segments(std::initializer_list<Segment> segments, std::uint64_t token,
                                     std::uint64_t tag) noexcept {
    return lend_segments(std::span(segments.begin(), segments.size()), token, tag);
  }
  // Sets the call for the end of a loan: what was lent with this token is the caller's again.
  void on_released(std::function<void(std::uint64_t token)> call);
  // As Sending::allocate(), in memory that the wire of the first subscriber of `tag` reads in
  // place; in ordinary memory if there is no subscriber.
  [[nodiscard]] Message allocate(std::size_t bytes, Status& status, std::uint64_t tag,
                                 std::size_t head_bytes = 0) noexcept;

  // Looks `tag` up once: sending through the result needs no look-up. Throws std::bad_alloc.
  [[nodiscard]] PublishTag tag(std::uint64_t tag);

  // Hands open pages to the wire now.
  void flush() noexcept;
  // Sets the call that says: try again. It comes once after send() answered again, however often
  // that was.
  void on_writable(std::function<void()> call);

  // Set the calls for tags that a subscriber's set gained or lost: sorted, without overlaps, valid
  // during the call. If SocketOptions::resume_bytes_max is set, one whose connection broke is not
  // gone while resume_within lasts: its set is unsubscribed after that, and the PeerInfo has its
  // last books. When a subscriber goes otherwise, its whole set is unsubscribed, before on_down:
  void on_subscribe(std::function<void(const PeerInfo&, std::span<const TagRange>)> call);
  void on_unsubscribe(std::function<void(const PeerInfo&, std::span<const TagRange>)> call);

  // Set the calls for a subscriber that begins to be behind, and for one that has caught up. A
  // subscriber is behind if messages waited in its queue above the wire when a turn ended, and
  // still wait there 0 to 10 ms later. It has caught up when its queue is empty again. The two
  // calls take turns, and at least 100 ms pass between them, so a subscriber that is often behind
  // for a short time may be told of only once. When a subscriber goes, on_down comes, and no
  // on_caught_up:
  void on_behind(std::function<void(const PeerSnapshot&)> call);
  void on_caught_up(std::function<void(const PeerSnapshot&)> call);
  // Sets the call for a change of a subscriber's policy. If the subscriber, or its host, has held
  // the publisher up for longer than PublishOptions::block_for_max allows, messages that do not fit
  // its queue are dropped from now on (PeerSnapshot::demoted). When it has taken what waited for it
  // then, it has Policy::block again:
  void on_policy_changed(std::function<void(const PeerSnapshot&)> call);

  // For the library.
  [[nodiscard]] detail::PublishCore& publish_core() noexcept { return *publish_core_; }

 private:
  detail::PublishCore* publish_core_;
};

}  // namespace netio
