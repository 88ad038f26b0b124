// Checks stamped messages as they arrive: every checksum, and the numbers of each stream, which is
// what one sender sends with one tag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

namespace netio::cli {

struct Verification {
  std::uint64_t intact = 0;             // messages with a right checksum
  std::uint64_t corrupt = 0;            // a wrong one, or too short to have one
  std::uint64_t gaps = 0;               // times numbers were skipped
  std::uint64_t missing = 0;            // numbers skipped, in all
  std::uint64_t announced = 0;          // messages that a publisher said are missing
  std::uint64_t repeated = 0;           // numbers not higher than the stream's one before
  std::uint64_t unstamped_senders = 0;  // whose first message was corrupt
  bool shared = false;                  // senders spread over several receivers: gaps are no fault

  [[nodiscard]] bool passed() const noexcept {
    return corrupt == 0 && repeated == 0 && (shared || missing <= announced);
  }
};

class Verifier {
 public:
  // Where a stream begins: with the number 0, or with whatever came first.
  enum class Begin : std::uint8_t { at_zero, anywhere };

  Verifier(Begin begin, bool shared) : begin_(begin) { result_.shared = shared; }

  void check(std::uint64_t sender_id, std::uint64_t tag, std::span<const std::byte> message);
  // The next number of a sender (of one stream, with tag 0) that is not new, behind what the books
  // have as missed: that is known and not counted again. Without it, 0.
  void expect(std::uint64_t sender_id, std::uint64_t sequence);
  // It ended, or will have another id when it returns.
  void forget(std::uint64_t sender_id);
  // How many messages the publishers said are missing.
  void announce(std::uint64_t messages) noexcept { result_.announced = messages; }

  [[nodiscard]] const Verification& result() const noexcept { return result_; }

 private:
  struct Stream {
    std::uint64_t next = 0;  // number
    bool begun = false;
  };
  struct Sender {
    std::unordered_map<std::uint64_t, Stream> streams;  // by tag
    bool begun = false;
  };
  Sender& sender_of(std::uint64_t sender_id);

  Begin begin_;
  Verification result_;
  std::unordered_map<std::uint64_t, Sender> senders_;
  // Messages come in runs from one sender.
  std::uint64_t last_id_ = 0;
  Sender* last_sender_ = nullptr;
};

}  // namespace netio::cli
