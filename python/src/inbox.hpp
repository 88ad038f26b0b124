// Pages that came and were not taken. They are bounded: when there are enough, the socket reads no
// more, and its peers are held back, until all of them were taken. Owner thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <netio/batch.hpp>
#include <netio/receiving.hpp>

namespace netio::python {

// A batch, and the peer that it came from (PeerInfo::id).
struct ReceivedBatch {
  KeptBatch batch;
  std::uint64_t sender = 0;
};

class Inbox {
 public:
  // Of this socket, from now on; `happened` is called when something came, without the lock.
  template <class Happened>
  void open(Receiving& receiving, Happened&& happened) {
    receiving_ = &receiving;
    pages_.reserve(pages_max);
    receiving.on_batch([this, happened](const Batch& batch) {
      pages_.push_back({batch.keep(), receiving_->sender_id()});
      bytes_ += pages_.back().batch.page_bytes();
      if (pages_.size() == pages_max || bytes_ >= bytes_max) receiving_->pause();
      happened();
    });
  }
  // The socket is about to go. What came may still be taken.
  void detach() noexcept;
  // The user wants nothing to be read for now, or goes on. What came may still be taken.
  void pause(bool paused) noexcept;
  [[nodiscard]] bool paused() const noexcept { return paused_; }

  // What is left of the page at hand, or the next one; empty if there is none.
  ReceivedBatch take_batch();
  // The next message; empty if there is none.
  Message take_message(std::uint64_t& sender);
  // Whether messages stream in: the last time that all was taken, it was more than a page.
  [[nodiscard]] bool streams() const noexcept { return streams_; }
  [[nodiscard]] bool empty() const noexcept {
    return cursor_.left() == 0 && next_ == pages_.size();
  }

 private:
  // Some turns' worth: what one call of the system brings is 256 KiB at most, or a large message.
  static constexpr std::size_t pages_max = 64;
  static constexpr std::size_t bytes_max = std::size_t{4} << 20U;

  bool open_next() noexcept;
  void taken_all() noexcept;

  Receiving* receiving_ = nullptr;
  std::vector<ReceivedBatch> pages_;
  std::size_t next_ = 0;
  std::size_t bytes_ = 0;
  bool paused_ = false;  // by the user
  bool streams_ = false;
  ReceivedBatch at_hand_;
  detail::MessageCursor cursor_;  // of it
};

}  // namespace netio::python
