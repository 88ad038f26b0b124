#include "verifier.hpp"

#include <utility>

#include "stamp.hpp"

namespace netio::cli {

Verifier::Stream& Verifier::stream_of(std::uint64_t sender_id) {
  if (last_stream_ == nullptr || last_sender_ != sender_id) {
    last_sender_ = sender_id;
    last_stream_ = &streams_[sender_id];  // Stays where it is until erased.
  }
  return *last_stream_;
}

void Verifier::check(std::uint64_t sender_id, std::span<const std::byte> message) {
  Stream& stream = stream_of(sender_id);
  const bool first = !std::exchange(stream.begun, true);
  std::uint64_t sequence = 0;
  if (!read_stamp(message, sequence)) {
    ++result_.corrupt;
    if (first) ++result_.unstamped_senders;
    return;
  }
  ++result_.intact;
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
  streams_[sender_id] = {sequence, sequence != 0};
}

void Verifier::forget(std::uint64_t sender_id) {
  streams_.erase(sender_id);
  last_stream_ = nullptr;
}

}  // namespace netio::cli
