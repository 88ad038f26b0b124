// Checks stamped messages as they arrive: each sender's sequence numbers, every checksum.
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
  std::uint64_t repeated = 0;           // numbers not higher than the sender's one before
  std::uint64_t unstamped_senders = 0;  // whose first message was corrupt
  bool shared = false;                  // senders spread over several receivers: gaps are no fault

  [[nodiscard]] bool passed() const noexcept {
    return corrupt == 0 && repeated == 0 && (shared || gaps == 0);
  }
};

class Verifier {
 public:
  explicit Verifier(bool shared) { result_.shared = shared; }

  void check(std::uint64_t sender_id, std::span<const std::byte> message);
  // The next number of a sender that is not new (without it, 0), behind what the books have as
  // missed: that is known and not counted again.
  void expect(std::uint64_t sender_id, std::uint64_t sequence);
  // It ended, or will have another id when it returns.
  void forget(std::uint64_t sender_id);

  [[nodiscard]] const Verification& result() const noexcept { return result_; }

 private:
  struct Stream {
    std::uint64_t next = 0;  // number
    bool begun = false;
  };
  Stream& stream_of(std::uint64_t sender_id);

  Verification result_;
  std::unordered_map<std::uint64_t, Stream> streams_;
  // Messages come in runs from one sender.
  std::uint64_t last_sender_ = 0;
  Stream* last_stream_ = nullptr;
};

}  // namespace netio::cli
