// Fragments that a read-out unit has taken without asking its protocol for each, of events that
// follow each other: frames in the rest of the open page of their builder. The store and the
// protocol are told of them together. Owner thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "build/fragment_run.hpp"
#include "build/unit_protocol.hpp"
#include "units/unit_store.hpp"
#include "wire/frame_sums.hpp"

namespace netio::detail {

class GatheredFragments {
 public:
  [[nodiscard]] bool empty() const noexcept { return run_.empty(); }
  [[nodiscard]] bool full() const noexcept { return run_.full(); }
  // As far as the protocol and the page have room. Numbers are compared one by one: gcc 12 stores
  // an EventId in halves and loads it as a whole at once, which waits for both stores.
  [[nodiscard]] bool takes(std::uint64_t run, std::uint64_t number,
                           std::size_t bytes) const noexcept {
    return number == flow_.from.number && run == flow_.from.run && number != flow_.below.number &&
           window_cost(bytes) <= flow_.cost &&
           frame_prefix_bytes_max + wire_padded(bytes) <= rest_.bytes;
  }
  // It takes the fragment of this event.
  void add(std::uint64_t number, std::span<const std::byte> fragment) noexcept {
    if (run_.empty()) {
      run_.begin(flow_.from, 0);
      frames_ = rest_.frame;
      largest_ = 0;
    }
    const std::size_t frame_bytes = UnitStore::write_frame(rest_.frame, number, fragment);
    run_.add(fragment.size(), rest_.name, FragmentStatus::good);
    rest_.frame += frame_bytes;
    rest_.bytes -= frame_bytes;
    rest_.name += frame_bytes;
    largest_ = std::max(largest_, static_cast<std::uint32_t>(fragment.size()));
    ++flow_.from.number;
    flow_.cost -= window_cost(fragment.size());
  }

  // Since begin_anew():
  [[nodiscard]] FragmentRun& run() noexcept { return run_; }
  [[nodiscard]] std::uint32_t builder() const noexcept { return flow_.builder; }
  [[nodiscard]] std::span<const std::byte> frames() const noexcept {
    return {frames_, rest_.frame};
  }
  [[nodiscard]] FrameSums sums() const noexcept {
    const std::size_t count = run_.fragments().size();
    FrameSums sums;
    sums.messages = static_cast<std::uint32_t>(count);
    sums.largest = largest_;
    sums.bytes = run_.cost() - count * fragment_cost;
    return sums;
  }
  // What was gathered was passed on. What the protocol takes now, and where it goes.
  void begin_anew(const UnitProtocol::Flow& flow, const UnitStore::Rest& rest) noexcept {
    run_.clear();
    flow_ = flow;
    rest_ = rest;
  }
  // Takes nothing until begin_anew(). It is empty.
  void stop() noexcept { flow_ = {}; }

 private:
  UnitProtocol::Flow flow_;  // what is left of it
  UnitStore::Rest rest_;     // of the page
  FragmentRun run_;
  const std::byte* frames_ = nullptr;  // where the first one is
  std::uint32_t largest_ = 0;
};

}  // namespace netio::detail
