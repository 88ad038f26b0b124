// Rings of connections that have gone, of which users still keep something: one message keeps the
// memory of the whole ring. Owner thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include <netio/loop.hpp>

#include "transport/ofi/ring.hpp"

namespace netio::detail {

class OfiRingGraves final : private Deferred {
 public:
  // With so many bytes in graves there are no new rings.
  OfiRingGraves(Loop& loop, std::size_t bytes_max) : loop_(loop), bytes_max_(bytes_max) {}

  // What users keep of it stays charged to their quota. Without memory for the grave it does not.
  void bury(std::unique_ptr<OfiRing> ring) noexcept;
  // One sentence that says why there is no new ring, or an empty string.
  [[nodiscard]] std::string why_full() const;

 private:
  struct Grave {
    Grave(std::unique_ptr<OfiRing> of, std::function<void()> released)
        : ring(std::move(of)), waiter(std::move(released)) {}
    std::unique_ptr<OfiRing> ring;
    CallingWaiter waiter;
  };
  void run_deferred() noexcept override;

  Loop& loop_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::list<Grave> graves_;
};

}  // namespace netio::detail
