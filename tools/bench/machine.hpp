// What this machine is, as far as figures depend on it: hardware, or a guest; and which RDMA
// devices are software.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/meeting.hpp"

namespace netio::cli {

struct Machine {
  std::string hypervisor;  // "KVM", "QEMU"; empty: none that says so
  bool emulated = false;   // its CPU is a program: figures of speed say nothing
  // Of the devices that an RDMA address of this machine uses, those that are programs: "rxe0".
  std::vector<std::string> software_rdma;

  [[nodiscard]] bool speed_means_nothing() const noexcept {
    return emulated || !software_rdma.empty();
  }
  // "in a virtual machine (KVM)", "EMULATED: ..."; empty: hardware. One line, without its end.
  [[nodiscard]] std::string sentence() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;
};

[[nodiscard]] Machine this_machine(const Meeting& meeting);

}  // namespace netio::cli
