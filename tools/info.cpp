#include "info.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <netio/context.hpp>
#include <netio/pull.hpp>
#include <netio/status.hpp>

#include "fabrics.hpp"
#include "interfaces.hpp"
#include "limits.hpp"
#include "report.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

struct Transport {
  std::string scheme;
  std::string form;   // of its addresses
  std::string error;  // why it cannot be used here; empty: it can
};

struct Info {
  std::vector<Transport> transports;
  std::vector<Interface> interfaces;
  Fabrics fabrics;
  Limits limits;
  // Those in force of a context with default options; or why there cannot be one.
  std::optional<ContextOptions> context;
  std::string no_context;
};

// Asked by making one.
void read_context(Info& info) {
  try {
    info.context = Context().options();
  } catch (const Error& error) {
    info.no_context = error.what();
  }
}

// Asked by using it, which is the only answer that is never wrong.
std::string try_bind(std::string_view address) {
  try {
    ContextOptions options;
    options.send_pool_bytes = options.receive_pool_bytes = std::size_t{1} << 20U;
    Context context(options);
    Pull pull(context);
    pull.on_message([](const MessageView&) {});
    pull.bind(address);
    return {};
  } catch (const Error& error) {
    return error.cause().empty() ? error.what() : error.cause();
  }
}

Info gather() {
  Info info{{{"tcp", "tcp://HOST:PORT", try_bind("tcp://127.0.0.1:0")}},
            read_interfaces(),
            read_fabrics(),
            read_limits(),
            {},
            {}};
  read_context(info);
  info.transports.push_back(
      {"shm", "shm://NAME or shm:///PATH, between processes of one user", try_bind("shm://*")});
  info.transports.push_back(
      {"inproc", "inproc://NAME, between threads of one process", try_bind("inproc://info")});
  const Fabrics& fabrics = info.fabrics;
  info.transports.push_back({"verbs", "verbs://HOST:PORT", fabrics.why_not("verbs")});
  info.transports.push_back({"ofi+", "ofi+PROVIDER://HOST:PORT", fabrics.why_not("ofi+")});
  return info;
}

std::string_view compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "an unknown compiler";
#endif
}

std::vector<std::string> features() {
  std::vector<std::string> list;
#if defined(NDEBUG)
  list.emplace_back("optimised");
#else
  list.emplace_back("assertions");
#endif
#if defined(__SANITIZE_ADDRESS__)
  list.emplace_back("address sanitizer");
#endif
#if defined(__SANITIZE_THREAD__)
  list.emplace_back("thread sanitizer");
#endif
  return list;
}

std::string_view state_of(const Interface& one) {
  if (!one.up) return "down";
  return one.running ? "up" : "no carrier";
}

std::string limit_text(const SoftHard& limit, bool bytes) {
  const auto text = [bytes](const std::optional<std::uint64_t>& value) {
    if (!value) return std::string("unlimited");
    return bytes ? binary_bytes(*value) : grouped(*value);
  };
  if (limit.soft == limit.hard) return text(limit.soft);
  return fmt::format("{} (at most {})", text(limit.soft), text(limit.hard));
}

std::string locked_text(const Limits& limits) {
  std::string text = limit_text(limits.locked_bytes, true);
  if (limits.locked_bytes.soft && limits.locks_without_limit) {
    text += "; not a limit for this process (CAP_IPC_LOCK)";
  } else if (!locks_enough(limits)) {
    text += fmt::format(
        "; too little for RDMA: a context with default options takes about {} (ulimit -l)",
        binary_bytes(fabric_locked_bytes));
  }
  return text;
}

std::string huge_pages_text(const Limits& limits) {
  std::string text = "not known";
  if (limits.huge_pages && limits.huge_page_bytes) {
    text = fmt::format("{} of {} reserved, {} free", grouped(*limits.huge_pages),
                       binary_bytes(*limits.huge_page_bytes),
                       grouped(limits.huge_pages_free.value_or(0)));
  }
  if (!limits.transparent_huge_pages.empty()) {
    text += fmt::format("; transparent: {}", limits.transparent_huge_pages);
  }
  return text;
}

// In whole MiB; limits that are no power of two would be read as something else otherwise.
std::string rounded_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;
  return bytes < mebibyte ? binary_bytes(bytes) : fmt::format("{} MiB", bytes / mebibyte);
}

std::string context_text(const Info& info) {
  if (!info.context) return info.no_context;
  return fmt::format(
      "takes up to {} to send from and {} to receive into, as they are used; {} for "
      "large messages",
      rounded_bytes(info.context->send_pool_bytes), rounded_bytes(info.context->receive_pool_bytes),
      rounded_bytes(info.context->large_bytes_max));
}

std::string to_text(const Info& info) {
  std::string text = fmt::format("netio {}\n", NETIO_VERSION);
  const auto row = [&text](std::string_view name, std::string_view value) {
    text += fmt::format("  {:<16} {}\n", name, value);
  };
  std::string built = fmt::format("{}, C++{}", compiler(), __cplusplus / 100 % 100);
  for (const std::string& feature : features()) built += ", " + feature;
  row("built with", built);
  text += "transports\n";
  for (const Transport& one : info.transports) {
    row(one.scheme, one.error.empty() ? one.form : "not usable here: " + one.error);
  }
  text += "interfaces\n";
  for (const Interface& one : info.interfaces) {
    std::string line = fmt::format("{:<10}", state_of(one));
    for (const std::string& host : one.hosts) line += fmt::format("  tcp://{}:PORT", host);
    row(one.name, line);
  }
  text += "fabrics\n";
  for (const auto& [name, value] : rows_of(info.fabrics)) row(name, value);
  const Limits& limits = info.limits;
  text += "limits\n";
  row("CPUs", fmt::format("{} usable, {} online", limits.cpus_usable, limits.cpus_online));
  row("memory", scaled(static_cast<double>(limits.memory_bytes), "B"));
  if (limits.control_group) {
    const MemoryLimit& group = *limits.control_group;
    row("control group", fmt::format("{} of memory, {} left: {}", rounded_bytes(group.limit_bytes),
                                     rounded_bytes(group.left_bytes), group.group));
  }
  row("a context", context_text(info));
  row("open files", limit_text(limits.open_files, false));
  row("locked memory", locked_text(limits));
  row("huge pages", huge_pages_text(limits));
  if (limits.receive_buffer_bytes_max && limits.send_buffer_bytes_max) {
    row("socket buffers", fmt::format("receive up to {}, send up to {}",
                                      binary_bytes(*limits.receive_buffer_bytes_max),
                                      binary_bytes(*limits.send_buffer_bytes_max)));
  }
  return text;
}

ordered_json json_of(const std::optional<std::uint64_t>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json json_of(const SoftHard& limit) {
  return {{"soft", json_of(limit.soft)}, {"hard", json_of(limit.hard)}};
}

ordered_json json_of(const std::optional<MemoryLimit>& group) {
  if (!group) return nullptr;
  return {{"path", group->group},
          {"limit_bytes", group->limit_bytes},
          {"left_bytes", group->left_bytes}};
}

ordered_json json_of_context(const Info& info) {
  if (!info.context) return {{"error", info.no_context}};
  return {{"error", nullptr},
          {"send_pool_bytes", info.context->send_pool_bytes},
          {"receive_pool_bytes", info.context->receive_pool_bytes},
          {"large_bytes_max", info.context->large_bytes_max},
          {"large_kept_bytes_max", info.context->large_kept_bytes_max}};
}

ordered_json json_of(const Limits& limits) {
  return {{"cpus_usable", limits.cpus_usable},
          {"cpus_online", limits.cpus_online},
          {"memory_bytes", limits.memory_bytes},
          {"memory_available_bytes", json_of(limits.memory_available_bytes)},
          {"control_group", json_of(limits.control_group)},
          {"open_files", json_of(limits.open_files)},
          {"locked_bytes", json_of(limits.locked_bytes)},
          {"locks_without_limit", limits.locks_without_limit},
          {"locks_enough_for_rdma", locks_enough(limits)},
          {"huge_page_bytes", json_of(limits.huge_page_bytes)},
          {"huge_pages", json_of(limits.huge_pages)},
          {"huge_pages_free", json_of(limits.huge_pages_free)},
          {"transparent_huge_pages", limits.transparent_huge_pages},
          {"receive_buffer_bytes_max", json_of(limits.receive_buffer_bytes_max)},
          {"send_buffer_bytes_max", json_of(limits.send_buffer_bytes_max)}};
}

std::string to_json(const Info& info) {
  ordered_json json = {{"command", "info"},
                       {"netio", NETIO_VERSION},
                       {"compiler", compiler()},
                       {"features", features()},
                       {"transports", ordered_json::array()},
                       {"interfaces", ordered_json::array()}};
  for (const Transport& one : info.transports) {
    ordered_json row = {{"scheme", one.scheme},
                        {"form", one.form},
                        {"usable", one.error.empty()},
                        {"error", nullptr}};
    if (!one.error.empty()) row["error"] = one.error;
    json["transports"].push_back(std::move(row));
  }
  for (const Interface& one : info.interfaces) {
    json["interfaces"].push_back({{"name", one.name},
                                  {"state", state_of(one)},
                                  {"loopback", one.loopback},
                                  {"hosts", one.hosts}});
  }
  json["fabrics"] = json_of(info.fabrics);
  json["limits"] = json_of(info.limits);
  json["context"] = json_of_context(info);
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace

ExitCode run_info(const InfoArguments& arguments) {
  Report report(arguments.report, false);
  const Info info = gather();
  report.publish(to_text(info), [&info] { return to_json(info); });
  return ExitCode::done;
}

}  // namespace netio::cli
