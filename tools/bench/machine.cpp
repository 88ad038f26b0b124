#include "bench/machine.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "interfaces.hpp"

namespace netio::cli {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The twelve letters by which a hypervisor names itself to its guest; empty: there is none.
std::string hypervisor_letters() {
#if defined(__x86_64__)
  constexpr unsigned features = 1;
  constexpr unsigned hypervisor_bit = 1U << 31U;
  constexpr unsigned hypervisor_leaf = 0x40000000;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(features, &a, &b, &c, &d) == 0 || (c & hypervisor_bit) == 0) return {};
  __cpuid(hypervisor_leaf, a, b, c, d);
  std::array<char, 13> letters{};
  std::memcpy(letters.data(), &b, 4);
  std::memcpy(letters.data() + 4, &c, 4);
  std::memcpy(letters.data() + 8, &d, 4);
  return letters.data();
#else
  return {};
#endif
}

void find_hypervisor(Machine& machine) {
  const std::string letters = hypervisor_letters();
  const std::string vendor = first_line("/sys/class/dmi/id/sys_vendor");
  // Software emulation of qemu. With KVM the same qemu is "KVMKVMKVM".
  machine.emulated = letters.starts_with("TCG");
  if (machine.emulated) {
    machine.hypervisor = "QEMU without KVM";
  } else if (letters.starts_with("KVM")) {
    machine.hypervisor = "KVM";
  } else if (!letters.empty()) {
    machine.hypervisor = letters;
  } else if (vendor == "QEMU") {
    machine.hypervisor = vendor;
  }
}

// The network interface of a device, where the kernel says it: not of every driver.
std::string interface_of(const fs::path& device) {
  const std::string parent = first_line(device / "parent");
  return !parent.empty() ? parent : first_line(device / "ports/1/gid_attrs/ndevs/0");
}

// The network interface that has the address; empty: none.
std::string interface_with(const std::string& host) {
  const std::string wanted = host.find(':') == std::string::npos ? host : "[" + host + "]";
  for (const Interface& one : read_interfaces()) {
    if (std::find(one.hosts.begin(), one.hosts.end(), wanted) != one.hosts.end()) return one.name;
  }
  return {};
}

std::vector<std::string> software_devices(const std::string& host) {
  std::vector<std::string> found;
  std::error_code error;
  const std::string wanted = interface_with(host);
  for (const auto& entry : fs::directory_iterator("/sys/class/infiniband", error)) {
    // What hangs on no bus is a program: soft-RoCE and soft-iWARP.
    const std::string place = fs::canonical(entry.path(), error).string();
    if (error || place.find("/devices/virtual/") == std::string::npos) continue;
    const std::string its = interface_of(entry.path());
    if (its.empty() || wanted.empty() || its == wanted) {
      found.push_back(entry.path().filename().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::string Machine::sentence() const {
  const std::string devices =
      software_rdma.empty()
          ? ""
          : fmt::format("the RDMA device is software ({})", fmt::join(software_rdma, ", "));
  if (emulated) {
    return fmt::format(
        "EMULATED: the CPU of this guest is a program ({}){}{}. The figures say that "
        "it works, and nothing of speed.",
        hypervisor, devices.empty() ? "" : ", and ", devices);
  }
  if (!devices.empty()) {
    return fmt::format("SOFTWARE RDMA: {}{}. The figures say nothing of a card.", devices,
                       hypervisor.empty() ? "" : ", in a virtual machine (" + hypervisor + ")");
  }
  if (hypervisor.empty()) return {};
  return fmt::format("Measured in a virtual machine ({}), whose host others may use.", hypervisor);
}

nlohmann::ordered_json Machine::to_json() const {
  return {{"virtual", !hypervisor.empty()},
          {"hypervisor", hypervisor},
          {"emulated", emulated},
          {"software_rdma", software_rdma}};
}

Machine this_machine(const Meeting& meeting) {
  Machine machine;
  find_hypervisor(machine);
  if (meeting.provider == "verbs") machine.software_rdma = software_devices(meeting.host);
  return machine;
}

}  // namespace netio::cli
