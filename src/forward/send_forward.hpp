// Passes pages on to a Push or Pair, and acknowledges at the input what the peers of the output
// have acknowledged. Owner thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/growing_ring.hpp"
#include "forward/stream_forward.hpp"
#include "socket/send_core.hpp"

namespace netio::detail {

class SendForward final : public StreamForward, private SendCore::PageTakers {
 public:
  SendForward(Receiving& from, SendCore& to);
  ~SendForward() override;

  [[nodiscard]] ForwardBooks books() const noexcept override;

 private:
  // Messages of one input that went to one peer, in order. They are settled once `settled_at`
  // messages to that peer are, and acknowledged once it has acknowledged `acknowledged_at`, which
  // leaves out what was lost before them.
  struct Sent {
    std::uint64_t peer = 0;
    std::uint64_t settled_at = 0;
    std::uint64_t acknowledged_at = 0;
    std::uint64_t page = 0;    // which page of the input they are of
    std::optional<From> ends;  // a place of the input, if the page ends with them
  };
  using Input = GrowingRing<Sent>;

  Status pass(MessageCursor& messages, const From& from) override;
  void passed(const From& from) noexcept override;
  void passed_later() noexcept override;
  void took(const Peer& peer) noexcept override;
  void note_totals() noexcept;
  [[nodiscard]] bool inputs_are_apart() const noexcept override { return to_.by_tag(); }
  [[nodiscard]] bool ended() override;

  [[nodiscard]] Input* input_of(std::uint64_t id) noexcept;
  void look(Input& input) noexcept;
  [[nodiscard]] bool look_at_all() noexcept;
  // What became of messages to a peer.
  struct Fate {
    std::uint64_t peer = 0;
    std::uint64_t settled = 0;  // those that are not on their way any more
    std::uint64_t acknowledged = 0;
  };
  using LookedAt = std::optional<Fate>;
  [[nodiscard]] const Fate& fate_of(std::uint64_t peer, LookedAt& looked_at) const noexcept;

  SendCore& to_;
  const bool until_settled_;
  std::unordered_map<std::uint64_t, Input> inputs_;  // by the peer's id
  Input* input_ = nullptr;                           // of the page at hand
  std::uint64_t pages_ = 0;
  LookedAt looked_at_;
  Timer retry_;
};

}  // namespace netio::detail
