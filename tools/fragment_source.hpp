// What `netio build readout` sends: each message of a source becomes the fragment of the next
// event, and generated fragments say which one they are. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <netio/readout_unit.hpp>

#include "outlet.hpp"
#include "source.hpp"

namespace netio::cli {

class FragmentOutlet : public Outlet {
 public:
  FragmentOutlet(ReadoutUnit& unit, EventId first) noexcept : unit_(unit), next_(first) {}

  Status send(std::span<const std::byte> fragment) noexcept override {
    const Status status = unit_.send(next_, fragment);
    if (status == Status::ok) next_ = next_.next();
    return status;
  }
  // The unit copies: nothing is lent.
  Status lend(std::span<const std::byte> fragment, std::uint64_t) noexcept override {
    return send(fragment);
  }
  void on_released(std::function<void(std::uint64_t)>) override {}

  // Before the first fragment.
  void begin(EventId first) noexcept { next_ = first; }
  // The event of the next fragment.
  [[nodiscard]] EventId next() const noexcept { return next_; }

 private:
  ReadoutUnit& unit_;
  EventId next_;
};

// Fragments of one size without end, one behind the other in one piece of memory.
class FragmentLoad : public MessageSource {
 public:
  // `outlet` says which event is next.
  FragmentLoad(std::size_t fragment_bytes, std::uint32_t source, const FragmentOutlet& outlet);
  Turn send_some(Outlet& outlet, Allowance allowance) override;

 private:
  std::size_t fragment_bytes_;
  std::uint32_t source_;
  const FragmentOutlet& numbers_;
  std::unique_ptr<std::byte[]> fragment_;
};

}  // namespace netio::cli
