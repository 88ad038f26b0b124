// What came of the messages from one peer, over all its connections. A connection is confirmed by
// its first page: only then has the peer read where we stood, and settled its own books.
#pragma once

#include <cstdint>

#include <netio/books.hpp>

namespace netio::detail {

class ReceiveBooks {
 public:
  std::uint64_t expected = 0;  // the sequence of the next message; acknowledgements say it
  std::uint64_t delivered = 0;

  // What a hello says is expected: until a connection is confirmed, where the last one ended.
  [[nodiscard]] std::uint64_t next_expected() const noexcept {
    return confirmed_ ? expected : resume_at_;
  }
  // A connection begins on which `sequence` comes first: the same stream goes on.
  void resume(std::uint64_t sequence) noexcept {
    if (confirmed_) resume_at_ = missed_from_ = expected;
    begin(sequence);
  }
  // The same, of a stream not heard before, of which all from `first` on were for us.
  void restart(std::uint64_t first, std::uint64_t sequence) noexcept {
    resume_at_ = 0;
    missed_from_ = first;
    begin(sequence);
  }
  void confirm() noexcept {
    if (confirmed_) return;
    missed_ += unconfirmed_missed();
    confirmed_ = true;
  }
  void add_to(Books& books) const noexcept {
    books.delivered += delivered;
    books.missed += missed_ + (confirmed_ ? 0 : unconfirmed_missed());
  }

 private:
  [[nodiscard]] std::uint64_t unconfirmed_missed() const noexcept {
    return expected > missed_from_ ? expected - missed_from_ : 0;
  }
  void begin(std::uint64_t sequence) noexcept {
    expected = sequence;
    confirmed_ = false;
  }

  std::uint64_t missed_ = 0;
  bool confirmed_ = true;
  std::uint64_t resume_at_ = 0;
  std::uint64_t missed_from_ = 0;
};

}  // namespace netio::detail
