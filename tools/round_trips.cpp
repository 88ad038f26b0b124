#include "round_trips.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "units.hpp"

namespace netio::cli {

namespace {

// By three digits, but never outside of what there was.
std::uint64_t percentile_ns(const RoundTrips& trips, double share) {
  return std::clamp(trips.times.at(share), trips.least_ns, trips.most_ns);
}

}  // namespace

std::string to_text(const RoundTrips& trips) {
  std::string text = fmt::format("pings      {} sent, {} answered, {} lost", grouped(trips.sent),
                                 grouped(trips.answered), grouped(trips.lost()));
  if (trips.late != 0) text += fmt::format(" ({} late)", grouped(trips.late));
  if (trips.pending) text += ", 1 not waited for";
  text += fmt::format(" in {}{}\n", duration_text(trips.seconds),
                      trips.code == ExitCode::interrupted ? ", interrupted" : "");
  if (trips.answered == 0) return text;
  text += fmt::format("times      min {}, median {}, mean {}, p99 {}, max {}\n",
                      time_text(trips.least_ns), time_text(percentile_ns(trips, 0.5)),
                      time_text(trips.sum_ns / trips.answered),
                      time_text(percentile_ns(trips, 0.99)), time_text(trips.most_ns));
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
                                 {"rtt_us", nullptr}};
  if (!trips.error.empty()) json["error"] = trips.error;
  if (trips.answered != 0) {
    const auto us = [](double ns) { return ns / 1000; };
    const auto whole_us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1000; };
    json["rtt_us"] = {
        {"min", whole_us(trips.least_ns)},
        {"p50", whole_us(percentile_ns(trips, 0.5))},
        {"mean", us(static_cast<double>(trips.sum_ns) / static_cast<double>(trips.answered))},
        {"p99", whole_us(percentile_ns(trips, 0.99))},
        {"max", whole_us(trips.most_ns)}};
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace netio::cli
