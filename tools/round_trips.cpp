#include "round_trips.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "times_json.hpp"
#include "units.hpp"

namespace netio::cli {

std::string times_text(const RoundTrips& trips) {
  return fmt::format("min {}, median {}, mean {}, p99 {}, max {}", time_text(trips.least_ns),
                     time_text(trips.percentile_ns(0.5)), time_text(trips.sum_ns / trips.answered),
                     time_text(trips.percentile_ns(0.99)), time_text(trips.most_ns));
}

nlohmann::ordered_json times_json(const RoundTrips& trips) {
  if (trips.answered == 0) return nullptr;
  const auto us = [](auto ns) { return static_cast<double>(ns) / 1000; };
  return {{"min", us(trips.least_ns)},
          {"p50", us(trips.percentile_ns(0.5))},
          {"mean", us(static_cast<double>(trips.sum_ns) / static_cast<double>(trips.answered))},
          {"p99", us(trips.percentile_ns(0.99))},
          {"max", us(trips.most_ns)}};
}

std::string to_text(const RoundTrips& trips) {
  std::string text = fmt::format("pings      {} sent, {} answered, {} lost", grouped(trips.sent),
                                 grouped(trips.answered), grouped(trips.lost()));
  if (trips.late != 0) text += fmt::format(" ({} late)", grouped(trips.late));
  if (trips.pending) text += ", 1 not waited for";
  text += fmt::format(" in {}{}\n", duration_text(trips.seconds),
                      trips.code == ExitCode::interrupted ? ", interrupted" : "");
  if (trips.answered == 0) return text;
  text += fmt::format("times      {}\n", times_text(trips));
  return text;
}

std::string to_json(const RoundTrips& trips) {
  nlohmann::ordered_json json = {{"command", "ping"},
                                 {"netio", NETIO_VERSION},
                                 {"outcome", outcome(trips.code)},
                                 {"exit_code", static_cast<int>(trips.code)},
                                 {"error", nullptr},
                                 {"address", trips.address},
                                 {"message_bytes", trips.message_bytes},
                                 {"seconds", trips.seconds},
                                 {"sent", trips.sent},
                                 {"answered", trips.answered},
                                 {"lost", trips.lost()},
                                 {"late", trips.late},
                                 {"pending", trips.pending ? 1 : 0},
                                 {"rtt_us", times_json(trips)}};
  if (!trips.error.empty()) json["error"] = trips.error;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace netio::cli
