// The messages of one page: a Batch while the call-back runs, a KeptBatch for as long as you like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>

#include <netio/export.hpp>
#include <netio/message.hpp>

namespace netio {

namespace detail {

// For the library: the messages of one page, one after the other. A peer may own the memory and
// change it at any time. So each word is read once and checked against the end of the page, each
// time that the page is walked, and no more messages come than were counted when it arrived. A page
// that does not hold them any more ends early.
class MessageCursor {
 public:
  MessageCursor() noexcept = default;  // of no messages
  // `page`: whole frames; or, if `framed` is false, one message that came in parts.
  MessageCursor(const MessageView& page, std::uint32_t messages, bool framed) noexcept
      : page_(page),
        next_(page.data()),
        end_(framed ? next_ + page.size() : next_),
        left_(messages),
        whole_(!framed) {}

  struct Place {
    const std::byte* payload = nullptr;
    std::size_t bytes = 0;
    std::uint64_t tag = 0;
    std::uint32_t segments = 0;  // their number and one more; 0: it was not sent in segments
  };
  // The next message; false if there is none.
  bool next(Place& place) noexcept {
    if (left_ == 0) return false;
    const auto here = static_cast<std::size_t>(end_ - next_);
    if (here < word_bytes) [[unlikely]]
      return take_whole(place);
    const std::uint64_t word = load_word(next_);
    std::size_t prefix = word_bytes;
    place.bytes = static_cast<std::uint32_t>(word);
    place.tag = 0;
    place.segments = 0;
    const std::uint64_t flags = word >> 32U;
    if (flags != 0) {
      if (flags != tagged || here < 2 * word_bytes) [[unlikely]] {
        if ((flags & ~(tagged | segmented | segments_mask)) != 0) return end();
        if ((flags & segmented) == 0 || ((flags & tagged) != 0 && here < 2 * word_bytes)) {
          return end();
        }
        place.segments = static_cast<std::uint32_t>((flags & segments_mask) >> segments_shift) + 1;
      }
      if ((flags & tagged) != 0) [[likely]] {
        place.tag = load_word(next_ + prefix);
        prefix += word_bytes;
      }
    }
    // The sum of a 32-bit size and 7 cannot wrap.
    const std::size_t padded = (place.bytes + (word_bytes - 1)) & ~(word_bytes - 1);
    if (padded > here - prefix) [[unlikely]]
      return end();
    place.payload = next_ + prefix;
    next_ = place.payload + padded;
    --left_;
    if (place.segments != 0) [[unlikely]]
      return has_segments(place.payload, place.bytes, place.segments - 1) || end();
    return true;
  }
  // What next() gave.
  [[nodiscard]] MessageView view(const Place& place) const noexcept {
    const MessageView message = page_.at({place.payload, place.bytes}, place.tag);
    if (place.segments == 0) [[likely]]
      return message;
    return place.segments == itself ? page_ : message.behind_table(place.segments - 1);
  }
  // As in docs/wire.md.
  static constexpr std::size_t word_bytes = 8;
  // What next() has not given: so many messages, and, unless they are one that came in parts, the
  // frames of them.
  [[nodiscard]] std::uint32_t left() const noexcept { return left_; }
  [[nodiscard]] bool framed() const noexcept { return !whole_; }
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return {next_, end_}; }
  [[nodiscard]] const MessageView& page() const noexcept { return page_; }

  static constexpr std::uint64_t tagged = 1;
  static constexpr std::uint64_t segmented = 1U << 5U;
  static constexpr unsigned segments_shift = 8;
  static constexpr std::uint64_t segments_mask = std::uint64_t{0xff} << segments_shift;

 private:
  static constexpr std::uint32_t itself = UINT32_MAX;  // segments of the page that is the message
  static std::uint64_t load_word(const std::byte* from) noexcept {
    using Word [[gnu::may_alias]] = std::uint64_t;
    return __atomic_load_n(reinterpret_cast<const Word*>(from), __ATOMIC_RELAXED);
  }
  bool end() noexcept {
    left_ = 0;
    return false;
  }
  bool take_whole(Place& place) noexcept {
    left_ = 0;
    if (!whole_) return false;
    place = {page_.data(), page_.size(), page_.tag(), page_.segmented() ? itself : 0};
    return true;
  }

  MessageView page_{nullptr, {}, 0};
  const std::byte* next_ = nullptr;
  const std::byte* end_ = nullptr;
  std::uint32_t left_ = 0;
  bool whole_ = false;
};

}  // namespace detail

// Goes over the messages of a Batch or a KeptBatch: a forward iterator, with MessageViews for
// values.
class BatchIterator {
 public:
  // What an iterator says of itself:
  using value_type = MessageView;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::forward_iterator_tag;

  BatchIterator() noexcept = default;  // of no batch
  // For the library.
  explicit BatchIterator(const detail::MessageCursor& cursor) noexcept : cursor_(cursor) {
    ++*this;
  }

  // The message. It lies in the memory of the batch.
  MessageView operator*() const noexcept { return cursor_.view(place_); }
  // To the next one:
  BatchIterator& operator++() noexcept {
    if (!cursor_.next(place_)) place_.payload = nullptr;
    return *this;
  }
  BatchIterator operator++(int) noexcept {
    BatchIterator before = *this;
    ++*this;
    return before;
  }
  // Of iterators over the same batch; and whether this one is at its end:
  bool operator==(const BatchIterator& other) const noexcept {
    return place_.payload == other.place_.payload;
  }
  bool operator==(std::default_sentinel_t) const noexcept { return place_.payload == nullptr; }

 private:
  detail::MessageCursor cursor_;  // behind the message
  detail::MessageCursor::Place place_;
};
static_assert(std::forward_iterator<BatchIterator>);

// The messages of one page, in order, which it owns by a count on the memory they lie in. They may
// be walked any number of times; their MessageViews are valid as long as the batch is, also when it
// was moved to another KeptBatch. Movable; may be destroyed on any thread, also after the socket
// and the context are gone. Empty when default-constructed or moved from.
class KeptBatch {
 public:
  KeptBatch() noexcept = default;  // empty
  // For the library: what Batch::keep() gives.
  KeptBatch(Message&& page, std::uint32_t messages, bool framed) noexcept
      : page_(std::move(page)), messages_(messages), framed_(framed) {}
  [[nodiscard]] detail::MessageCursor cursor() const noexcept {
    return {MessageView::of_kept(page_.block(), page_.bytes(), page_.tag())
                .with_table(page_.segmented()),
            messages_, framed_};
  }
  // For the library: the same on the thread of the socket, while that lives. Its small messages are
  // kept apart from the page.
  [[nodiscard]] detail::MessageCursor own_cursor() const noexcept {
    return {MessageView(page_.block(), page_.bytes(), page_.tag()).with_table(page_.segmented()),
            messages_, framed_};
  }
  // For the library: keeps what is left, and gives the others up.
  void reduce_to(const detail::MessageCursor& left) noexcept {
    if (left.left() == 0) {
      *this = KeptBatch();
    } else if (left.framed()) {
      messages_ = left.left();
      const std::uint64_t tag = page_.tag();
      page_ = Message(page_.release_block(), left.rest(), tag);
    }
  }

  // Leaves the other empty:
  KeptBatch(KeptBatch&& other) noexcept
      : page_(std::move(other.page_)),
        messages_(std::exchange(other.messages_, 0)),
        framed_(other.framed_) {}
  KeptBatch& operator=(KeptBatch&& other) noexcept {
    page_ = std::move(other.page_);
    messages_ = std::exchange(other.messages_, 0);
    framed_ = other.framed_;
    return *this;
  }
  ~KeptBatch() = default;

  // The messages:
  [[nodiscard]] BatchIterator begin() const noexcept { return BatchIterator(cursor()); }
  [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

  // How many there are. On shm a peer that breaks the rules may change its page later: then there
  // may be fewer, never more.
  [[nodiscard]] std::size_t size() const noexcept { return messages_; }
  // Bytes of the page, with what stands before each message and behind it.
  [[nodiscard]] std::size_t page_bytes() const noexcept { return page_.size(); }
  // Not empty.
  explicit operator bool() const noexcept { return messages_ != 0; }

 private:
  Message page_;
  std::uint32_t messages_ = 0;
  bool framed_ = true;
};

// The messages of one page, in order. Valid during its call-back, as the views in it are; keep() it
// to have all of them longer. What is not walked counts as delivered all the same.
class Batch {
 public:
  // For the library.
  Batch(const MessageView& page, std::uint32_t messages, bool framed) noexcept
      : page_(page), messages_(messages), framed_(framed) {}
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch() = default;

  // The messages, any number of times:
  [[nodiscard]] BatchIterator begin() const noexcept {
    return BatchIterator(detail::MessageCursor(page_, messages_, framed_));
  }
  [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

  // How many there are.
  [[nodiscard]] std::size_t size() const noexcept { return messages_; }

  // For the library.
  [[nodiscard]] detail::MessageCursor cursor() const noexcept {
    return {page_, messages_, framed_};
  }

  // Keeps all of them, as MessageView::keep() does with a message of the page's size: never fails,
  // and takes no memory from the heap.
  [[nodiscard]] KeptBatch keep() const noexcept { return {page_.keep(), messages_, framed_}; }

 private:
  MessageView page_;  // its body, as if that were one message
  std::uint32_t messages_;
  bool framed_;
};

}  // namespace netio
