// What a provider offers for an address: one fi_info, owned. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rdma/fabric.h>

namespace netio::detail {

class Info {
 public:
  Info() noexcept = default;
  // Takes it over; of a list, it must be the only one.
  explicit Info(fi_info* info) noexcept : info_(info) {}

  // Connected endpoints towards `host`, a number; may block for seconds where the way to it is
  // looked up. Throws FabricError: no such provider or device, no way to the host.
  static Info to_connect(const std::string& provider, const std::string& host, std::uint16_t port);
  // For a passive endpoint; an empty host is every address.
  static Info to_listen(const std::string& provider, const std::string& host, std::uint16_t port);
  // Everything there is; of one provider if it is not empty. Nothing is no error here; throws
  // Error where there is no libfabric.
  static std::vector<Info> all(const std::string& provider);

  // Writes into the peer's memory carry a word of 32 bits for it, and arrive in the order in which
  // they are posted, also among sends.
  [[nodiscard]] bool writes_with_immediates() const noexcept;
  // The same, for an endpoint with queues no deeper than that. Throws FabricError.
  [[nodiscard]] Info with_depths(std::size_t transmits, std::size_t receives) const;

  [[nodiscard]] fi_info* get() const noexcept { return info_.get(); }
  fi_info* operator->() const noexcept { return info_.get(); }
  explicit operator bool() const noexcept { return info_ != nullptr; }

 private:
  struct Free {
    void operator()(fi_info* info) const noexcept;
  };
  std::unique_ptr<fi_info, Free> info_;
};

// The version of the interface that netio was written for.
inline constexpr std::uint32_t fabric_api = FI_VERSION(1, 17);

}  // namespace netio::detail
