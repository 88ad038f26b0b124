// See other_wires.hpp.
#include "socket/other_wires.hpp"

#include <algorithm>
#include <cstddef>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include <netio/fabrics.hpp>
#include <netio/status.hpp>

#include "base/file_descriptor.hpp"
#include "base/hex.hpp"

namespace netio::detail {

namespace {

// "f0e1d2c3-...", 32 digits with hyphens between.
std::array<std::uint8_t, 16> boot_id() {
  std::array<char, 36> text{};
  const FileDescriptor file =
      opened([] { return open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); });
  if (!file || read(file.get(), text.data(), text.size()) != std::ssize(text)) return {};
  std::array<std::uint8_t, 16> id{};
  std::size_t digits = 0;
  for (const char each : text) {
    if (each == '-') continue;
    const std::size_t at = std::string_view("0123456789abcdef").find(each);
    if (at == std::string_view::npos || digits == 2 * id.size()) return {};
    auto& byte = id.at(digits++ / 2);
    byte = static_cast<std::uint8_t>(std::size_t{byte} << 4U | at);
  }
  return digits == 2 * id.size() ? id : std::array<std::uint8_t, 16>{};
}

}  // namespace

std::string_view scheme_of(OfferedWire wire) noexcept {
  switch (wire) {
    case OfferedWire::shm:
      return "shm";
    case OfferedWire::verbs:
      return "verbs";
    case OfferedWire::ofi_tcp:
      return "ofi+tcp";
  }
  return {};
}

Url shm_url(std::uint64_t name) {
  Url url;
  url.scheme = "shm";
  url.name = "offer-";
  for (unsigned shift = 64; shift != 0; shift -= 8) {
    append_hex(url.name, static_cast<std::uint8_t>(name >> (shift - 8)));
  }
  return url;
}

WireOption::WireOption(const char* verb, const Url& url) : value_("best") {
  for (const auto& [key, value] : url.options) {
    const std::string operation = std::string(verb) + " " + to_string(url);
    if (key != "wire") {
      throw AddressError(operation, "netio addresses have no option '" + key + "'",
                         "known is wire=best|tcp|shm|verbs|ofi+tcp");
    }
    value_ = value;
    const auto is_value = [this](OfferedWire wire) { return names(wire); };
    if (value_ != "best" && value_ != "tcp" && std::ranges::none_of(other_wires, is_value)) {
      throw AddressError(operation, "there is no wire '" + value_ + "'",
                         "known are best, tcp, shm, verbs and ofi+tcp");
    }
  }
}

bool WireOption::asks_for(OfferedWire wire) const noexcept {
  return names(wire) || (value_ == "best" && wire != OfferedWire::ofi_tcp);
}

bool WireOption::names(OfferedWire wire) const noexcept { return value_ == scheme_of(wire); }

Url without_options_of_netio(const Url& url) {
  Url plain = url;
  if (is_netio(url)) plain.options.clear();
  return plain;
}

HostPlace place_of_this_thread() {
  HostPlace place;
  place.boot = boot_id();
  struct stat status {};
  if (stat("/proc/thread-self/ns/net", &status) == 0) place.network = status.st_ino;
  place.user = geteuid();
  return place;
}

std::string why_apart(const HostPlace& here, const HostPlace& there) {
  if (here.boot == HostPlace().boot || here.network == 0) {
    return "this system does not tell which host and which network namespace this is";
  }
  if (here.boot != there.boot) return "the other end is on another host";
  if (here.network != there.network) return "the other end is in another network namespace";
  if (here.user != there.user) {
    return "the other end is of another user, " + std::to_string(there.user);
  }
  return {};
}

bool may_have_verbs() {
  if (!fabrics_built()) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/sys/class/infiniband"), closedir);
  if (!folder) return false;
  while (const dirent* const entry = readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe)
    if (entry->d_name[0] != '.') return true;
  }
  return false;
}

}  // namespace netio::detail
