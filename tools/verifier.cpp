#include "verifier.hpp"

#include <utility>

#include "stamp.hpp"

namespace netio::cli {

Verifier::Sender& Verifier::sender_of(std::uint64_t sender_id) {
  if (last_sender_ == nullptr || last_id_ != sender_id) {
    last_id_ = sender_id;
    last_sender_ = &senders_[sender_id];  // Stays where it is until erased.
  }
  return *last_sender_;
}

void Verifier::check(std::uint64_t sender_id, std::uint64_t tag,
                     std::span<const std::byte> message) {
  Sender& sender = sender_of(sender_id);
  const bool first = !std::exchange(sender.begun, true);
  std::uint64_t sequence = 0;
  if (!read_stamp(message, sequence)) {
    ++result_.corrupt;
    if (first) ++result_.unstamped_senders;
    return;
  }
  ++result_.intact;
  Stream& stream = sender.streams[tag];
  if (!std::exchange(stream.begun, true) && begin_ == Begin::anywhere) stream.next = sequence;
  if (sequence < stream.next) {
    ++result_.repeated;
    return;
  }
  if (sequence > stream.next) {
    ++result_.gaps;
    result_.missing += sequence - stream.next;
  }
  stream.next = sequence + 1;
}

void Verifier::expect(std::uint64_t sender_id, std::uint64_t sequence) {
  Sender& sender = sender_of(sender_id);
  sender.begun = sequence != 0;
  sender.streams.clear();
  if (begin_ == Begin::at_zero) sender.streams[0] = {sequence, true};
}

void Verifier::forget(std::uint64_t sender_id) {
  senders_.erase(sender_id);
  last_sender_ = nullptr;
}

}  // namespace netio::cli
