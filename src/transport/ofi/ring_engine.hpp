// The engine of ?engine=ring: each page is written into a slot of the peer's memory, and a word
// that comes with it says which. No message is sent once the link is up.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transport/ofi/engine.hpp"
#include "transport/ofi/ring.hpp"

namespace netio::detail {

// The slots of the peer's ring that this side may write to.
class PeerRing {
 public:
  explicit PeerRing(const WireRing& ring);

  [[nodiscard]] bool has_slot() const noexcept { return !free_.empty(); }
  // The one that was given back last: it is the warmest.
  [[nodiscard]] std::uint32_t next() const noexcept { return free_.back(); }
  void use_next() noexcept;
  // It is free again. False if it was free already, or is none.
  [[nodiscard]] bool returned(std::uint32_t slot) noexcept;

  [[nodiscard]] RemotePlace slot(std::uint32_t index) const noexcept {
    return {ring_.address + std::uint64_t{index} * ring_.slot_bytes, ring_.key};
  }
  [[nodiscard]] RemotePlace notice(std::uint32_t index) const noexcept {
    return {ring_.notices_address + index * sizeof(RingNotice), ring_.notices_key};
  }
  [[nodiscard]] std::uint32_t notices() const noexcept { return ring_.notices; }

 private:
  WireRing ring_;
  std::vector<std::uint16_t> free_;
  std::vector<bool> is_free_;
};

class RingEngine final : public OfiEngine {
 public:
  RingEngine(const OfiParts& parts, OfiRing& ring, const WireRing& theirs);

  bool may_post(const PageHeader& header) const noexcept override;
  bool may_send_next() const noexcept override;
  long inject(const PageHeader& header, const Post& post) noexcept override;
  long send_next(const PageHeader& tells) noexcept override;
  long tell(const PageHeader& header) noexcept override;
  bool has_much_to_tell(std::size_t window) const noexcept override;
  bool has_to_tell() const noexcept override;

  long replenish(std::size_t window) noexcept override;
  bool lacks_memory() const noexcept override { return ring_.waits_for_others(); }
  bool is_stopped() const noexcept override { return ring_.peer_has_none() && ring_.untold() == 0; }
  Store& memory() noexcept override { return ring_.store(); }

  std::byte* data(std::size_t place) noexcept override { return ring_.data(place); }
  Block& block(std::size_t place) noexcept override { return ring_.block(place); }
  bool lend_out(std::size_t place) noexcept override { return ring_.lend_out(place); }
  void give_back(std::size_t place) noexcept override { ring_.give_back(place); }

  // Into slots of the peer's.
  [[nodiscard]] std::uint64_t writes() const noexcept { return writes_; }

  // What a notice of the peer's says: its page, and null; or what is wrong with it.
  const char* take_notice(RingWord word, RingNotice& notice) noexcept;

 private:
  void noticed() noexcept {
    if (++next_notice_ == peer_.notices()) next_notice_ = 0;
  }
  // The write into the peer's next slot was taken.
  void wrote() noexcept {
    peer_.use_next();
    ++writes_;
  }

  OfiRing& ring_;
  PeerRing peer_;
  // They are used in turn. The one that comes again has been read: no more are on their way than
  // there are credits.
  std::uint32_t next_notice_ = 0;
  std::uint64_t writes_ = 0;
};

}  // namespace netio::detail
