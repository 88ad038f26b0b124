// The fabrics and devices of one provider that a context uses, opened when first needed. Owner
// thread only.
#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <utility>

#include "fabric/info.hpp"
#include "transport/internet_address.hpp"
#include "transport/ofi/device.hpp"
#include "transport/ofi/ring_graves.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

// One of those that share something: its part is in the sum while it lives.
class Sharer {
 public:
  explicit Sharer(std::size_t& sum, std::size_t part = 1) noexcept : sum_(sum), part_(part) {
    sum_ += part_;
  }
  ~Sharer() { sum_ -= part_; }
  Sharer(const Sharer&) = delete;
  Sharer& operator=(const Sharer&) = delete;
  [[nodiscard]] std::size_t sum() const noexcept { return sum_; }

 private:
  std::size_t& sum_;
  std::size_t part_;
};

// Who asks libfabric on a thread of its own holds it shared meanwhile. It is shut when the set
// goes: nobody must be inside a library that is being unloaded with the process.
struct FabricGate {
  std::shared_mutex mutex;
  bool open = true;
};

class FabricSet {
 public:
  // `scheme` as users write it, `provider` as libfabric does: verbs and verbs, ofi+tcp and tcp.
  FabricSet(const TransportResources& resources, std::string scheme, std::string provider)
      : resources_(resources), scheme_(std::move(scheme)), provider_(std::move(provider)) {}

  // Waits for those who are asking; seconds at the most.
  ~FabricSet();
  FabricSet(const FabricSet&) = delete;
  FabricSet& operator=(const FabricSet&) = delete;

  [[nodiscard]] const std::shared_ptr<FabricGate>& gate() const noexcept { return gate_; }
  [[nodiscard]] const TransportResources& resources() const noexcept { return resources_; }
  [[nodiscard]] const std::string& scheme() const noexcept { return scheme_; }
  [[nodiscard]] const std::string& provider() const noexcept { return provider_; }
  // Throw Error.
  FabricPort& port_of(const Info& info);
  Device& device_of(const Info& info);
  // Where to ask for the way to `host`. Numbers have a line of their own, so that they never wait
  // behind names that a name service does not find.
  [[nodiscard]] InquiryLine& line_for(const std::string& host, std::uint16_t port) {
    return look_up_number(host, port) ? ways_ : resources_.inquiries;
  }
  [[nodiscard]] OfiRingGraves& ring_graves() noexcept { return ring_graves_; }
  // Of the pool that pages are received into.
  [[nodiscard]] std::size_t& links() noexcept { return links_; }

 private:
  TransportResources resources_;
  std::shared_ptr<FabricGate> gate_ = std::make_shared<FabricGate>();
  InquiryLine ways_;
  OfiRingGraves ring_graves_{resources_.loop, resources_.receive_pool.region().size()};
  std::size_t links_ = 0;
  std::string scheme_;
  std::string provider_;
  std::map<std::string, std::unique_ptr<FabricPort>> ports_;  // by the fabric's name
  std::map<std::pair<FabricPort*, std::string>, std::unique_ptr<Device>> devices_;
};

}  // namespace netio::detail
