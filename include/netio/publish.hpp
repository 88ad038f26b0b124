// Publish: sends each message to all subscribers of its tag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include <netio/message.hpp>
#include <netio/socket.hpp>
#include <netio/subscription.hpp>

namespace netio {

namespace detail {
class PublishCore;
struct Audience;

// A tag, who wants it (null: nobody), and how many messages nobody wanted: counted here, as one sum
// for all tags would be what each call waits for.
struct TagRow {
  Audience* audience = nullptr;
  std::uint64_t tag = 0;
  std::uint64_t unwanted = 0;
};
}  // namespace detail

// A tag that was looked up once. Valid as long as its socket; to be copied at will.
class NETIO_API PublishTag {
 public:
  PublishTag() noexcept = default;  // of no socket: may only be assigned to

  // As Publish::send():
  [[nodiscard]] Status send(std::span<const std::byte> message) const noexcept {
    if (row_->audience == nullptr) {
      ++row_->unwanted;
      return Status::ok;
    }
    return send_wanted(message);
  }

  // The same, of a text.
  [[nodiscard]] Status send(std::string_view text) const noexcept {
    return send(std::as_bytes(std::span(text)));
  }
  // Somebody has subscribed, or is waited for (PublishOptions::subscribers_min): whether it is
  // worth making the message.
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

// A message is taken for all its subscribers, or (any answer but ok) for none. One that nobody
// wants is ok, and counted in Counters::unwanted; but while there are fewer subscribers with
// Policy::block than PublishOptions::subscribers_min, every call that sends, lends or allocates
// answers `again`. books() counts each message once for each subscriber it is for.
// SocketOptions::mode is not looked at: each subscriber chooses.
class NETIO_API Publish : public Socket {
 public:
  // Throws Error for options that make no sense.
  explicit Publish(Context& context, const PublishOptions& publishing = {},
                   const SocketOptions& options = {});
  ~Publish() = default;

  // Copies the bytes (unbuffered: unless the wire took them at once). `again` only if a subscriber
  // with Policy::block is behind or missing, or memory is short: on_writable tells when to try
  // again:
  [[nodiscard]] Status send(std::span<const std::byte> message, std::uint64_t tag) noexcept;
  [[nodiscard]] Status send(std::string_view text, std::uint64_t tag) noexcept {
    return send(std::as_bytes(std::span(text)), tag);
  }

  // Lets all subscribers of message.tag() read the one copy. Emptied on ok, untouched otherwise.
  [[nodiscard]] Status send(Message&& message) noexcept;
  // As Sending::lend(): on_released comes once the last subscriber has been served.
  [[nodiscard]] Status lend(std::span<const std::byte> message, std::uint64_t token,
                            std::uint64_t tag) noexcept;
  // What was lent with this token is the caller's again.
  void on_released(std::function<void(std::uint64_t token)> call);
  // As Sending::allocate(): in memory that the wire of the first subscriber of `tag` reads where it
  // lies; in ordinary memory if there is none.
  [[nodiscard]] Message allocate(std::size_t bytes, Status& status, std::uint64_t tag) noexcept;

  // Looks `tag` up once: what is sent through the result costs no look-up. Throws std::bad_alloc.
  [[nodiscard]] PublishTag tag(std::uint64_t tag);

  // Hands open pages to the wire now.
  void flush() noexcept;
  // It is worth trying again: once after send() answered again, however often.
  void on_writable(std::function<void()> call);

  // A subscriber's set gained or lost these tags: sorted, without overlaps, valid during the call.
  // When a subscriber goes, its whole set is unsubscribed, before on_down:
  void on_subscribe(std::function<void(const PeerInfo&, std::span<const TagRange>)> call);
  void on_unsubscribe(std::function<void(const PeerInfo&, std::span<const TagRange>)> call);

  // A subscriber is behind: when a turn ended, messages for it waited in its queue above the wire,
  // and they still do 0 to 10 ms later. It has caught up: its queue is empty again. The two take
  // turns, and at least 100 ms pass between them, so a subscriber that is behind for short moments
  // may be told of once for several. For one that goes on_down comes, and no on_caught_up:
  void on_behind(std::function<void(const PeerSnapshot&)> call);
  void on_caught_up(std::function<void(const PeerSnapshot&)> call);
  // A subscriber, or its host, has held the publisher up for longer than
  // PublishOptions::block_for_max allows: messages that do not fit the subscriber's queue are
  // dropped from now on (PeerSnapshot::demoted). Or the subscriber has taken what waited for it
  // then, and has Policy::block again:
  void on_policy_changed(std::function<void(const PeerSnapshot&)> call);

 private:
  detail::PublishCore* publish_core_;
};

}  // namespace netio
