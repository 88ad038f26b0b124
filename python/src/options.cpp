// One row for each option: its name in Python, and where its value goes.
#include "options.hpp"

#include <cmath>
#include <limits>
#include <nanobind/stl/string.h>
#include <string>

namespace netio::python {

namespace {

constexpr double seconds_max = 9.0e9;  // what fits the nanoseconds of 64 bits

template <class Options>
struct Option {
  std::string_view pattern;  // empty: of every socket
  std::string_view name;
  void (*set)(Options& options, nb::handle value);
};

std::size_t count(nb::handle value) { return nb::cast<std::size_t>(value); }
std::chrono::nanoseconds time(nb::handle value) {
  const double seconds = nb::cast<double>(value);
  if (seconds < 0) throw nb::value_error("a time cannot be negative");
  return duration(seconds);
}
template <class Duration>
Duration whole(nb::handle value) {
  return std::chrono::duration_cast<Duration>(time(value));
}

// `what` says for people what the number is.
std::uint64_t number_of(nb::handle given, const char* what) {
  const nb::object number = nb::steal(PyNumber_Index(given.ptr()));
  const std::uint64_t value = number.is_valid() ? PyLong_AsUnsignedLongLong(number.ptr()) : 0;
  if (PyErr_Occurred() == nullptr) return value;
  const bool no_number = PyErr_ExceptionMatches(PyExc_TypeError) != 0;
  PyErr_Clear();
  const std::string range = " from 0 to 2**64 - 1";
  if (no_number) throw nb::type_error((what + (" is a number," + range)).c_str());
  throw nb::value_error((what + (" is" + range)).c_str());
}
std::uint32_t number(nb::handle value) { return nb::cast<std::uint32_t>(value); }

// A value of another type than the option needs; `needed` says for people what that is.
struct WrongType {
  std::string needed;
};

template <class T>
std::string needed_for() {
  if constexpr (std::is_same_v<T, bool>) return "True or False";
  if constexpr (std::is_enum_v<T>) {
    return "a " + nb::cast<std::string>(nb::str("netio.{}").format(nb::type<T>().attr("__name__")));
  }
  if constexpr (std::is_same_v<T, std::string>) return "a str of valid Unicode";
  if constexpr (std::is_same_v<T, double>) return "a number";
  if constexpr (std::is_unsigned_v<T>) {
    return "a whole number from 0 to 2**" + std::to_string(std::numeric_limits<T>::digits) + " - 1";
  }
  if constexpr (std::is_signed_v<T>) {
    const std::string limit = "2**" + std::to_string(std::numeric_limits<T>::digits);
    return "a whole number from -" + limit + " to " + limit + " - 1";
  }
  return "a number of seconds";
}

template <class T>
void assign(T& field, T (*convert)(nb::handle), nb::handle value) {
  try {
    field = convert(value);
  } catch (const std::bad_cast&) {
    throw WrongType{needed_for<T>()};
  }
}
template <class T>
T as(nb::handle value) {
  return nb::cast<T>(value);
}

#define NETIO_OPTION(pattern, name, field, convert)                     \
  {                                                                     \
    pattern, name, [](auto& o, nb::handle value) {                      \
      assign<std::decay_t<decltype(o.field)>>(o.field, convert, value); \
    }                                                                   \
  }

using Seconds = std::chrono::seconds;
using Milliseconds = std::chrono::milliseconds;

const Option<ContextOptions> of_contexts[] = {
    NETIO_OPTION("", "idle", idle, as<IdlePolicy>),
    NETIO_OPTION("", "page_bytes", page_bytes, count),
    NETIO_OPTION("", "send_pool_bytes", send_pool_bytes, count),
    NETIO_OPTION("", "receive_pool_bytes", receive_pool_bytes, count),
    NETIO_OPTION("", "large_bytes_max", large_bytes_max, count),
    NETIO_OPTION("", "large_kept_bytes_max", large_kept_bytes_max, count),
    NETIO_OPTION("", "cpu", cpu, as<int>),
    NETIO_OPTION("", "numa_node", numa_node, as<int>),
};

const Option<AllOptions> of_sockets[] = {
    NETIO_OPTION("", "name", socket.name, as<std::string>),
    NETIO_OPTION("", "mode", socket.mode, as<Mode>),
    NETIO_OPTION("", "distribute", socket.distribute, as<Distribute>),
    NETIO_OPTION("", "flush_after_s", socket.flush_after, time),
    NETIO_OPTION("", "flush_when_idle", socket.flush_when_idle, as<bool>),
    NETIO_OPTION("", "message_bytes_max", socket.message_bytes_max, count),
    NETIO_OPTION("", "send_bytes_max", socket.send_bytes_max, count),
    NETIO_OPTION("", "receive_bytes_max", socket.receive_bytes_max, count),
    NETIO_OPTION("", "high_watermark", socket.high_watermark, as<double>),
    NETIO_OPTION("", "low_watermark", socket.low_watermark, as<double>),
    NETIO_OPTION("", "reconnect_after_min_s", socket.reconnect_after_min, time),
    NETIO_OPTION("", "reconnect_after_max_s", socket.reconnect_after_max, time),
    NETIO_OPTION("", "resume_bytes_max", socket.resume_bytes_max, count),
    NETIO_OPTION("", "resume_within_s", socket.resume_within, time),
    NETIO_OPTION("", "handshake_within_s", socket.handshake_within, time),
    NETIO_OPTION("", "half_open_max", socket.half_open_max, count),
    NETIO_OPTION("", "peers_max", socket.peers_max, count),
    NETIO_OPTION("", "stall_after_s", socket.stall_after, time),
    NETIO_OPTION("", "keep_alive_after_s", socket.keep_alive_after, whole<Seconds>),
    NETIO_OPTION("", "heartbeat_after_s", socket.heartbeat_after, time),
    NETIO_OPTION("", "replace_silent_after_s", socket.replace_silent_after, time),
    NETIO_OPTION("", "acknowledge_after_s", socket.acknowledge_after, time),
    NETIO_OPTION("", "acknowledge", socket.acknowledge, as<Acknowledge>),
};

// The pattern "plan" is of all three units of event building.
const Option<AllOptions> of_patterns[] = {
    NETIO_OPTION("publish", "block_allowed", publish.block_allowed, as<bool>),
    NETIO_OPTION("publish", "block_for_max_s", publish.block_for_max, time),
    NETIO_OPTION("publish", "behind_bytes_max", publish.behind_bytes_max, count),
    NETIO_OPTION("publish", "behind_bytes_all_max", publish.behind_bytes_all_max, count),
    NETIO_OPTION("publish", "ranges_max", publish.ranges_max, count),
    NETIO_OPTION("publish", "ranges_all_max", publish.ranges_all_max, count),
    NETIO_OPTION("publish", "subscribers_min", publish.subscribers_min, count),
    NETIO_OPTION("publish", "subscribers_any_min", publish.subscribers_any_min, count),
    NETIO_OPTION("subscribe", "policy", subscribe.policy, as<Policy>),
    NETIO_OPTION("subscribe", "behind_bytes_max", subscribe.behind_bytes_max, count),
    NETIO_OPTION("subscribe", "behind_for_max_s", subscribe.behind_for_max, whole<Milliseconds>),
    NETIO_OPTION("request", "pending_max", request.pending_max, count),
    NETIO_OPTION("reply", "open_max", reply.open_max, count),
    NETIO_OPTION("plan", "sources", plan.sources, number),
    NETIO_OPTION("plan", "builders", plan.builders, number),
    NETIO_OPTION("plan", "range_events", plan.range_events, count),
    NETIO_OPTION("plan", "managed", plan.managed, as<bool>),
    NETIO_OPTION("readout", "source", readout.source, number),
    NETIO_OPTION("readout", "store_bytes_max", readout.store_bytes_max, count),
    NETIO_OPTION("readout", "when_full", readout.when_full, as<WhenFull>),
    NETIO_OPTION("builder", "builder", builder.builder, number),
    NETIO_OPTION("builder", "deadline_s", builder.deadline, time),
    NETIO_OPTION("builder", "meet_within_s", builder.meet_within, time),
    NETIO_OPTION("builder", "window_bytes", builder.window_bytes, count),
    NETIO_OPTION("builder", "keep_bytes_max", builder.keep_bytes_max, count),
    NETIO_OPTION("builder", "settle_released", builder.settle_released, as<bool>),
    NETIO_OPTION("builder", "turns", builder.turns, number),
    NETIO_OPTION("builder", "weight", builder.weight, number),
    NETIO_OPTION("builder", "credit", builder.credit, number),
    NETIO_OPTION("manager", "lease_s", manager.lease, time),
    NETIO_OPTION("manager", "wait_s", manager.wait, time),
};
#undef NETIO_OPTION

// Sets it if one of the options has the name.
template <class Options, class Rows>
bool set(Options& options, const Rows& rows, std::string_view pattern, const std::string& name,
         nb::handle value) {
  for (const auto& row : rows) {
    if (row.name != name || row.pattern != pattern) continue;
    try {
      row.set(options, value);
    } catch (const WrongType& wrong) {
      PyErr_Format(PyExc_TypeError, "%s is %s, not %.100R", name.c_str(), wrong.needed.c_str(),
                   value.ptr());
      throw nb::python_error();
    } catch (const nb::builtin_exception& wrong) {
      throw nb::builtin_exception(wrong.type(), (name + ": " + wrong.what()).c_str());
    }
    return true;
  }
  return false;
}

bool has_plan(std::string_view pattern) {
  return pattern == "readout" || pattern == "builder" || pattern == "manager";
}

[[noreturn]] void refuse(const std::string& name) {
  throw nb::type_error(("there is no option " + name +
                        " here (times are numbers of seconds, and their names end in _s)")
                           .c_str());
}

}  // namespace

std::uint64_t tag_of(nb::handle given) { return number_of(given, "a tag"); }
std::uint64_t peer_of(nb::handle given) { return number_of(given, "the id of a peer"); }

std::chrono::nanoseconds duration(double seconds) {
  if (std::isnan(seconds)) throw nb::value_error("a time cannot be NaN");
  if (seconds < 0) return std::chrono::nanoseconds(-1);
  if (seconds > seconds_max) return std::chrono::nanoseconds::max();
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

ContextOptions context_options(const nb::kwargs& given) {
  ContextOptions options;
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    if (!set(options, of_contexts, "", name, value)) refuse(name);
  }
  return options;
}

AllOptions socket_options(const nb::kwargs& given, std::string_view pattern) {
  AllOptions options;
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    if (!set(options, of_sockets, "", name, value) &&
        !set(options, of_patterns, pattern, name, value) &&
        !(has_plan(pattern) && set(options, of_patterns, "plan", name, value))) {
      refuse(name);
    }
  }
  return options;
}

}  // namespace netio::python
