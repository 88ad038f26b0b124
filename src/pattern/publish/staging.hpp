// Copies of one message that is too large for a page, or is to lie where peers read it: one for
// each memory that wires want it in, however many groups want it. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <netio/status.hpp>

#include "memory/copies.hpp"
#include "memory/store.hpp"
#include "transport/fit.hpp"

namespace netio::detail {

class Staging {
 public:
  Staging() { copies_.reserve(16); }

  // Memory for a copy that all peers of this kind read. On `again`, waited_in() says where it
  // lacked.
  Status take(const Fit& fit, std::size_t bytes);
  // The copy, made at the first call, and counted in `copies` if that is not null. take() was ok.
  struct Copy {
    Lease lease;
    const std::byte* data = nullptr;
  };
  [[nodiscard]] const Copy& copy(const Fit& fit, std::span<const std::byte> message,
                                 Copies* copies) noexcept;
  [[nodiscard]] Store& waited_in() const noexcept { return *waited_in_; }
  // What take() was the last to find, for somebody else to write to.
  [[nodiscard]] Lease take_memory() noexcept {
    Lease memory = std::move(copies_.back().copy.lease);
    copies_.clear();
    return memory;
  }
  // The message is done with, or was not taken.
  void clear() noexcept { copies_.clear(); }

 private:
  struct Place {
    const Store* store = nullptr;
    Copy copy;
  };
  Store* waited_in_ = nullptr;
  std::vector<Place> copies_;
};

}  // namespace netio::detail
