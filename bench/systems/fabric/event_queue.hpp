// What happens to connections: somebody asks for one, one is up, one has ended.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

#include <rdma/fi_eq.h>

#include "systems/fabric/handle.hpp"
#include "systems/fabric/offer.hpp"

namespace netio::bench::fabric {

struct Event {
  std::uint32_t kind = 0;  // FI_CONNREQ, FI_CONNECTED or FI_SHUTDOWN
  fid* of = nullptr;
  Info info;   // of who asks
  Offer ring;  // the other end's; no slots: it has none
};

class EventQueue {
 public:
  explicit EventQueue(fid_fabric& fabric);

  // Never waits. Throws why a connection could not be made.
  [[nodiscard]] std::optional<Event> read();
  // Of who cannot go on without the other end: takes all events, and throws if it has gone.
  void refuse_end();
  // Waits so long.
  [[nodiscard]] std::optional<Event> await(std::chrono::milliseconds within);

  [[nodiscard]] fid_eq& get() const noexcept { return *queue_; }
  [[nodiscard]] int wait_fd() const;

 private:
  // An fi_eq_cm_entry, and what the other end says with it.
  struct alignas(fi_eq_cm_entry) Entry {
    std::array<std::byte, sizeof(fi_eq_cm_entry) + 64> bytes;
  };
  [[nodiscard]] std::optional<Event> event_of(ssize_t got, std::uint32_t kind, const Entry& entry);
  Handle<fid_eq> queue_;
};

}  // namespace netio::bench::fabric
