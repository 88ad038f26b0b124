#include "verifier.hpp"

#include "stamp.hpp"

namespace netio::cli {

void Verifier::check(std::uint64_t sender_id, std::span<const std::byte> message) {
  std::uint64_t sequence = 0;
  if (!read_stamp(message, sequence)) {
    ++result_.corrupt;
    return;
  }
  ++result_.intact;
  if (last_next_ == nullptr || last_sender_ != sender_id) {
    last_sender_ = sender_id;
    last_next_ = &next_by_sender_[sender_id];  // Stays where it is until erased.
  }
  std::uint64_t& next = *last_next_;
  if (sequence < next) {
    ++result_.repeated;
    return;
  }
  if (sequence > next) {
    ++result_.gaps;
    result_.missing += sequence - next;
  }
  next = sequence + 1;
}

void Verifier::expect(std::uint64_t sender_id, std::uint64_t sequence) {
  next_by_sender_[sender_id] = sequence;
}

void Verifier::forget(std::uint64_t sender_id) {
  next_by_sender_.erase(sender_id);
  last_next_ = nullptr;
}

}  // namespace netio::cli
