// Fragments that a read-out unit has taken without asking its protocol for each, of events that
// follow each other: frames in the rest of the open page of their builder. The store and the
// protocol are told of them together. Owner thread only.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/prefetch.hpp"
#include "build/stored_run.hpp"
#include "build/unit_protocol.hpp"
#include "units/unit_store.hpp"

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
    assert(number != 0);  // its frame has no number; what flows begins behind another event
    if (run_.empty()) {
      run_.begin(flow_.from, rest_.name_of(number));
      frame_bytes_ = 0;
    }
    const std::size_t frame_bytes = UnitStore::write_frame(rest_.frame, number, fragment);
    // A store that is full has its pages in no cache.
    if (fragment.size() <= prefetch_bytes_max && rest_.bytes > 2 * prefetch_distance) {
      prefetch_to_write(rest_.frame + prefetch_distance, fragment.size());
    }
    run_.add(fragment.size());
    rest_.frame += frame_bytes;
    rest_.bytes -= frame_bytes;
    rest_.begin += frame_bytes;
    frame_bytes_ += frame_bytes;
    ++flow_.from.number;
    flow_.cost -= window_cost(fragment.size());
  }

  // Since begin_anew():
  [[nodiscard]] const StoredRun& run() const noexcept { return run_; }
  [[nodiscard]] std::uint32_t builder() const noexcept { return flow_.builder; }
  // What was written to the open page.
  [[nodiscard]] std::size_t frame_bytes() const noexcept { return frame_bytes_; }
  // What was gathered was passed on. What the protocol takes now, and where it goes.
  void begin_anew(const UnitProtocol::Flow& flow, const UnitStore::Rest& rest) noexcept {
    run_.clear();
    flow_ = flow;
    rest_ = rest;
  }
  // Takes nothing until begin_anew(). It is empty.
  void stop() noexcept { flow_ = {}; }

 private:
  static constexpr std::size_t prefetch_distance = 2048;

  UnitProtocol::Flow flow_;  // what is left of it
  UnitStore::Rest rest_;     // of the page
  StoredRun run_;
  std::size_t frame_bytes_ = 0;  // of the run
};

}  // namespace netio::detail
