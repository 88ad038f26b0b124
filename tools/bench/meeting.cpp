#include "bench/meeting.hpp"

#include <charconv>
#include <unistd.h>

#include <fmt/format.h>

#include "exit_code.hpp"

namespace netio::cli {

namespace {

constexpr std::string_view of_provider = "ofi+";

[[noreturn]] void refuse(const std::string& address) {
  throw Failure(fmt::format("\"{}\" is not an address that can be measured", address),
                "Give an IP number and a port, such as tcp://127.0.0.1:0 or tcp://[::1]:0; on a "
                "fabric verbs://10.0.0.1:0 or ofi+PROVIDER://10.0.0.1:0; a name in memory, such "
                "as shm://bench or inproc://bench.",
                ExitCode::usage);
}

}  // namespace

Meeting meeting_of(const std::string& address) {
  Meeting meeting;
  const std::size_t slashes = address.find("://");
  if (slashes == std::string::npos) refuse(address);
  meeting.scheme = address.substr(0, slashes);
  if (meeting.scheme == "shm" || meeting.scheme == "inproc") {
    meeting.name = address.substr(slashes + 3);
    if (meeting.name.empty() || meeting.name.find('?') != std::string::npos) refuse(address);
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
  return meeting;
}

}  // namespace netio::cli
