// How much of a store one socket may hold. Owner thread only; lives until its last block is home.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "memory/ring.hpp"

namespace netio::detail {

// Memory that is held in advance, or for somebody who may not come, in the ring of its pool while
// there is any. Owner thread only.
class Reserve : protected RingNode {
 public:
  // Somebody lacks memory: what is not used is given up now, the rest as soon as it is not used.
  virtual void give_up() noexcept = 0;
  virtual ~Reserve() = default;

 private:
  friend class Pool;
};

class Quota {
  struct Drop {
    void operator()(Quota* quota) const noexcept { quota->drop(); }
  };

 public:
  // The socket's hold on its quota. `wake` must have the waiters of all stores served from the
  // loop; it outlives the stores.
  using Ptr = std::unique_ptr<Quota, Drop>;
  static Ptr create(std::size_t bytes_max, std::function<void()> wake = {}) {
    return Ptr(new Quota(bytes_max, std::move(wake), false));
  }
  // The same, for messages of several peers: one of them must leave room for those of others. It
  // may take a piece if as much is left behind it, or a quarter, or if nothing else is out.
  static Ptr create_shared(std::size_t bytes_max, std::function<void()> wake) {
    return Ptr(new Quota(bytes_max, std::move(wake), true));
  }

  [[nodiscard]] std::size_t bytes_used() const noexcept { return bytes_used_; }
  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }
  // Who is answered no may wait in a store: once some of the quota is free again, wherever it was
  // spent, those who wait are served.
  [[nodiscard]] bool fits(std::size_t bytes) noexcept {
    if (has_room(bytes)) return true;
    if (reserve != nullptr) {
      reserve->give_up();
      if (has_room(bytes)) return true;
    }
    waited_for_ = true;
    return false;
  }
  void wait() noexcept { waited_for_ = true; }
  // Somebody was answered no, or waits, and nothing has come back since.
  [[nodiscard]] bool waited_for() const noexcept { return waited_for_; }

  std::size_t links = 0;       // that take of it what they need in advance
  Reserve* reserve = nullptr;  // charged to this quota, and given up when it is spent

  // Blocks in which a message was kept, from then on until the block is home. The rest of
  // bytes_used() is what the links themselves read into.
  void keep(std::size_t bytes) noexcept { kept_bytes_ += bytes; }
  void forget_kept(std::size_t bytes) noexcept { kept_bytes_ -= bytes; }
  [[nodiscard]] std::size_t kept_bytes() const noexcept { return kept_bytes_; }

  // For stores: a block of `bytes` leaves, or is home again.
  void charge(std::size_t bytes) noexcept {
    bytes_used_ += bytes;
    ++holders_;
  }
  void discharge(std::size_t bytes) noexcept {
    bytes_used_ -= bytes;
    if (std::exchange(waited_for_, false) && wake_) wake_();
    drop();
  }

 private:
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
    const std::size_t left = bytes_max_ - std::min(bytes_used_, bytes_max_);
    const std::size_t others = shared_ && bytes_used_ != 0 ? std::min(bytes, bytes_max_ / 4) : 0;
    return bytes <= left && left - bytes >= others;
  }
  Quota(std::size_t bytes_max, std::function<void()> wake, bool shared) noexcept
      : bytes_max_(bytes_max), shared_(shared), wake_(std::move(wake)) {}
  void drop() noexcept {
    if (--holders_ == 0) delete this;
  }

  std::size_t bytes_used_ = 0;
  std::size_t bytes_max_;
  std::size_t kept_bytes_ = 0;
  bool shared_;
  std::size_t holders_ = 1;  // the socket, and each block out
  std::function<void()> wake_;
  bool waited_for_ = false;
};

}  // namespace netio::detail
