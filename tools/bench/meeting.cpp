#include "bench/meeting.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "exit_code.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

constexpr std::string_view of_provider = "ofi+";

[[noreturn]] void refuse(const std::string& address) {
  throw Failure(fmt::format("\"{}\" is not an address that can be measured", address),
                "Give an IP number and a port, such as tcp://127.0.0.1:0 or tcp://[::1]:0; on a "
                "fabric verbs://10.0.0.1:0 or ofi+PROVIDER://10.0.0.1:0, with a ring "
                "ofi+PROVIDER://10.0.0.1:0?engine=ring; a name in memory, such as shm://bench or "
                "inproc://bench.",
                ExitCode::usage);
}

[[noreturn]] void refuse_option(const std::string& option) {
  throw Failure(
      fmt::format("\"{}\" is not what an address that is measured may say", option),
      fmt::format("Known are engine=ring, and with it slots=N (1 to {}) and slot_bytes=BYTES (1KiB "
                  "to 512MiB), on a fabric; a window is given by --window.",
                  slots_max),
      ExitCode::usage);
}

// "engine=ring&slots=8", what follows the question mark of an address.
void read_ring(const std::string& options, Meeting& meeting) {
  bool ring = false;
  meeting.slots = slots_default;
  meeting.slot_bytes = slot_bytes_default;
  for (const std::string& option : CLI::detail::split(options, '&')) {
    const std::size_t equals = std::min(option.find('='), option.size());
    const std::string key = option.substr(0, equals);
    const std::string value = option.substr(std::min(equals + 1, option.size()));
    try {
      if (option == "engine=ring") {
        ring = true;
      } else if (key == "slots") {
        meeting.slots = parse_count(value);
      } else if (key == "slot_bytes") {
        meeting.slot_bytes = parse_bytes(value);
      } else {
        refuse_option(option);
      }
    } catch (const std::invalid_argument&) {
      refuse_option(option);
    }
    if (meeting.slots == 0 || meeting.slots > slots_max || meeting.slot_bytes == 0) {
      refuse_option(option);
    }
  }
  if (!ring || !meeting.on_fabric()) refuse_option(options);
}

}  // namespace

std::string Meeting::wire() const {
  if (!has_ring()) return scheme;
  return fmt::format("{} by a ring of {} slots of {}", scheme, slots, binary_bytes(slot_bytes));
}

Meeting meeting_without_ring(const std::string& address, std::string_view of) {
  Meeting meeting = meeting_of(address);
  if (!meeting.has_ring()) return meeting;
  throw Failure(fmt::format("{} is not measured by a ring", of),
                "netio bench throughput, latency, scan, breakdown and mesh are; leave out the "
                "options of the address.",
                ExitCode::usage);
}

Meeting meeting_of(const std::string& whole) {
  Meeting meeting;
  const std::size_t question = std::min(whole.find('?'), whole.size());
  const std::string address = whole.substr(0, question);
  const std::size_t slashes = address.find("://");
  if (slashes == std::string::npos) refuse(address);
  meeting.scheme = address.substr(0, slashes);
  if (meeting.scheme == "shm" || meeting.scheme == "inproc") {
    meeting.name = address.substr(slashes + 3);
    if (meeting.name.empty() || question != whole.size()) refuse(whole);
    if (meeting.name == "*") meeting.name = fmt::format("bench-{}", getpid());
    return meeting;
  }
  const std::size_t colon = address.rfind(':');
  if (colon <= slashes + 3) refuse(address);
  if (meeting.scheme.starts_with(of_provider)) {
    meeting.provider = meeting.scheme.substr(of_provider.size());
    if (meeting.provider.empty()) refuse(address);
  } else if (meeting.scheme == "verbs") {
    meeting.provider = meeting.scheme;
  } else if (meeting.scheme != "tcp") {
    refuse(address);
  }
  std::string& host = meeting.host;
  host = address.substr(slashes + 3, colon - slashes - 3);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  const std::string port = address.substr(colon + 1);
  const char* const end = port.data() + port.size();
  const auto parsed = std::from_chars(port.data(), end, meeting.port);
  if (parsed.ec != std::errc() || parsed.ptr != end) refuse(address);
  if (port.size() > 1 && port.front() == '0') refuse(address);
  if (question != whole.size()) read_ring(whole.substr(question + 1), meeting);
  return meeting;
}

}  // namespace netio::cli
