#include "build_report.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

// Over less time a rate says more about the start than about the wires.
constexpr double rated_seconds_min = 0.01;
constexpr std::size_t units_listed_max = 10;

std::string bytes_text(std::uint64_t bytes) { return scaled(static_cast<double>(bytes), "B"); }

// "sent      10,000 fragments, 10.2 MB in 1.2 s: 8.3 k fragments/s, 8.5 MB/s"
std::string first_line(std::string_view verb, std::uint64_t count, std::string_view noun,
                       const BuildSummary& summary) {
  std::string text = fmt::format("{:<9} {}, {} in {}", verb, counted(count, noun),
                                 bytes_text(summary.bytes), duration_text(summary.seconds));
  if (summary.seconds >= rated_seconds_min) {
    text += fmt::format(
        ": {}, {}",
        scaled(static_cast<double>(count) / summary.seconds, fmt::format("{}s/s", noun)),
        scaled(static_cast<double>(summary.bytes) / summary.seconds, "B/s"));
  }
  if (summary.code == ExitCode::interrupted) text += ", interrupted";
  return text + "\n";
}

// "assigned  10,000 events in 1.2 s: 8.3 k events/s"
std::string first_line(const ManagerSummary& summary) {
  const std::uint64_t events = summary.books.events;
  std::string text = fmt::format("{:<9} {} in {}", "assigned", counted(events, "event"),
                                 duration_text(summary.seconds));
  if (summary.seconds >= rated_seconds_min) {
    text += ": " + scaled(static_cast<double>(events) / summary.seconds, "events/s");
  }
  if (summary.code == ExitCode::interrupted) text += ", interrupted";
  return text + "\n";
}

std::string row(std::string_view name, const std::string& text) {
  return fmt::format("  {:<11} {}\n", name, text);
}

std::string peers_row(std::string_view name, const PeerCounts& peers, std::uint64_t refused) {
  std::string text = peers_text(peers);
  if (peers.restarted != 0) {
    text += fmt::format(", {} anew (restarted, or by another address)",
                        counted(peers.restarted, "return"));
  }
  if (refused != 0) text += fmt::format(", refused {}", counted(refused, "time"));
  return row(name, text);
}

std::string peers_row(std::string_view name, const BuildSummary& summary) {
  return peers_row(name, summary.peers, summary.refused);
}

std::string manager_row(const BuildSummary& summary) {
  if (!summary.manager) return {};
  return peers_row("manager", summary.manager->counts, summary.manager->refused);
}

struct FragmentSums {
  std::uint64_t received = 0;
  std::uint64_t built = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t late = 0;
  std::uint64_t open = 0;
};

FragmentSums sums_of(const BuilderBooks& books) {
  FragmentSums sums;
  for (const BuilderBooks::Source& each : books.sources) {
    sums.received += each.received;
    sums.built += each.built;
    sums.incomplete += each.incomplete;
    sums.late += each.late;
    sums.open += each.open;
  }
  return sums;
}

std::string missing_of(const BuilderBooks::Source& source) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < source.missing_by.size(); ++i) {
    if (source.missing_by[i] == 0) continue;
    reasons.push_back(
        fmt::format("{} {}", grouped(source.missing_by[i]), missing_word(static_cast<Missing>(i))));
  }
  return fmt::format("{}", fmt::join(reasons, ", "));
}

// "event 1,000 of run 7"
std::string position_text(EventId position) {
  return position.number > event_number_max
             ? fmt::format("the end of run {}", position.run)
             : fmt::format("event {} of run {}", grouped(position.number), position.run);
}

ordered_json event_json(EventId event) { return {{"run", event.run}, {"number", event.number}}; }

ordered_json common_json(std::string_view command, const BuildSummary& summary) {
  const ordered_json error = summary.error.empty() ? ordered_json() : ordered_json(summary.error);
  return {{"command", command},
          {"netio", NETIO_VERSION},
          {"outcome", outcome(summary.code)},
          {"exit_code", static_cast<int>(summary.code)},
          {"error", error},
          {"plan",
           {{"sources", summary.plan.sources},
            {"builders", summary.plan.builders},
            {"range_events", summary.plan.range_events},
            {"managed", summary.plan.managed}}}};
}

void add_rates(ordered_json& json, std::uint64_t events, const BuildSummary& summary) {
  const auto rate = [&](std::uint64_t amount) {
    return summary.seconds >= rated_seconds_min
               ? ordered_json(static_cast<double>(amount) / summary.seconds)
               : ordered_json();
  };
  json["bytes"] = summary.bytes;
  json["seconds"] = summary.seconds;
  json["events_per_second"] = rate(events);
  json["bytes_per_second"] = rate(summary.bytes);
}

ordered_json peers_json(const PeerCounts& peers, std::uint64_t refused) {
  return {{"came", peers.came},           {"ended", peers.ended},         {"lost", peers.lost},
          {"connected", peers.connected}, {"restarted", peers.restarted}, {"refused", refused}};
}

ordered_json peers_json(const BuildSummary& summary) {
  return peers_json(summary.peers, summary.refused);
}

ordered_json manager_json(const BuildSummary& summary) {
  if (!summary.manager) return nullptr;
  ordered_json json{{"address", summary.manager->address}};
  json.update(peers_json(summary.manager->counts, summary.manager->refused));
  return json;
}

ordered_json unit_json(std::size_t number, const ManagerBooks::Unit& unit) {
  return {{"source", number},
          {"connected", unit.connected},
          {"behind", unit.behind},
          {"busy", unit.busy},
          {"produced", event_json(unit.produced)}};
}

ordered_json builder_json(std::size_t number, const ManagerBooks::Builder& builder) {
  return {{"builder", number},
          {"connected", builder.connected},
          {"lease", to_string(builder.lease)},
          {"addresses", builder.addresses},
          {"weight", builder.weight},
          {"credit", builder.credit},
          {"open", builder.open},
          {"done", builder.done}};
}

ordered_json held_json(std::size_t number, const HeldForBuilder& held) {
  return {{"builder", number},
          {"connected", held.connected},
          {"held", held.fragments},
          {"held_bytes", held.bytes},
          {"oldest", held.fragments == 0 ? ordered_json() : event_json(held.oldest)}};
}

ordered_json source_json(std::size_t number, const BuilderBooks::Source& source,
                         std::uint64_t without) {
  ordered_json missing = ordered_json::object();
  for (std::size_t i = 1; i < source.missing_by.size(); ++i) {
    missing[std::string(to_string(static_cast<Missing>(i)))] = source.missing_by[i];
  }
  return {{"source", number},          {"connected", source.connected},
          {"busy", source.busy},       {"received", source.received},
          {"built", source.built},     {"incomplete", source.incomplete},
          {"late", source.late},       {"open", source.open},
          {"events_without", without}, {"missing", missing}};
}

}  // namespace

std::string mostly_for(const std::vector<HeldForBuilder>& held, std::uint64_t held_bytes) {
  if (held.size() < 2) return {};
  const auto most = std::ranges::max_element(held, {}, &HeldForBuilder::bytes);
  if (most->bytes <= held_bytes / 2) return {};
  return fmt::format(", {:.0f} % of it for builder {}",
                     100 * static_cast<double>(most->bytes) / static_cast<double>(held_bytes),
                     most - held.begin());
}

std::string missing_word(Missing missing) {
  std::string word(to_string(missing));
  std::ranges::replace(word, '_', ' ');
  return word;
}

std::string missing_text(const BuilderBooks& books, std::size_t units_max) {
  std::vector<std::string> units;
  std::size_t more = 0;
  for (std::size_t number = 0; number < books.sources.size(); ++number) {
    const std::string text = missing_of(books.sources[number]);
    if (text.empty()) continue;
    if (units.size() == units_max) {
      ++more;
    } else {
      units.push_back(fmt::format("unit {}: {}", number, text));
    }
  }
  if (more != 0) units.push_back(fmt::format("and {}", counted(more, "more unit")));
  return fmt::format("{}", fmt::join(units, "; "));
}

// Builders tell their units what became of fragments, and a manager does not.
std::string settled_text(const ReadoutBooks& books, bool managed) {
  if (managed) return grouped(books.settled) + " settled";
  std::string text = fmt::format("{} built, {} in incomplete events", grouped(books.built),
                                 grouped(books.incomplete));
  const std::uint64_t untold = books.settled - books.built - books.incomplete;
  if (untold != 0) text += fmt::format(", {} settled by an earlier builder", grouped(untold));
  return text;
}

std::string to_text(const ReadoutSummary& summary) {
  const ReadoutBooks& books = summary.books;
  std::string text = first_line("sent", books.sent, "fragment", summary);
  if (summary.next != summary.first) {
    text += row("events", fmt::format("{} to {} of run {}", grouped(summary.first.number),
                                      grouped(summary.next.number - 1), summary.first.run));
  }
  text +=
      row("books", fmt::format("{}, {} dropped, {} late, {} held; {} sent again",
                               settled_text(books, summary.plan.managed), grouped(books.dropped),
                               grouped(books.late), grouped(books.held), grouped(books.resent)));
  if (summary.busy != 0) {
    text +=
        row("busy", fmt::format("the store was full {}, {} in all", counted(summary.busy, "time"),
                                duration_text(summary.busy_seconds)));
  }
  if (summary.stop) {
    text += row("stop", "in front of " + position_text(*summary.stop));
  }
  return text + peers_row("builders", summary) + manager_row(summary);
}

std::string to_text(const BuilderSummary& summary) {
  const BuilderBooks& books = summary.books;
  std::string text = first_line("built", books.complete + books.incomplete, "event", summary);
  text += row(
      "events",
      fmt::format("{} complete, {} incomplete, {} open{}", grouped(books.complete),
                  grouped(books.incomplete), grouped(books.open),
                  books.again == 0 ? "" : fmt::format("; {} of them again", grouped(books.again))));
  if (summary.left != 0) text += row("left", counted(summary.left, "event") + " to the units");
  if (const std::string missing = missing_text(books, units_listed_max); !missing.empty()) {
    text += row("missing", missing);
  }
  const FragmentSums sums = sums_of(books);
  text += row("fragments",
              fmt::format("{} received: {} built, {} in incomplete events, {} late, {} open",
                          grouped(sums.received), grouped(sums.built), grouped(sums.incomplete),
                          grouped(sums.late), grouped(sums.open)));
  std::uint64_t without = 0;
  for (const std::uint64_t each : summary.without) without += each;
  if (without != 0) {
    text += row("without", counted(without, "time") + " a unit had no fragment of an event");
  }
  text += peers_row("units", summary) + manager_row(summary);
  text += row("memory", fmt::format("{} of open events at most", bytes_text(books.open_bytes_max)));
  if (summary.verification) {
    const EventVerification& checked = *summary.verification;
    text += row("verified", fmt::format("{} right, {} wrong; events: {} skipped, {} out of order",
                                        counted(checked.right, "fragment"), grouped(checked.wrong),
                                        grouped(checked.skipped), grouped(checked.order)));
  }
  if (summary.written) {
    const BuilderSummary::Written& written = *summary.written;
    text += row("written", fmt::format("{}, {} to {}{}", counted(written.events, "event"),
                                       bytes_text(written.bytes), written.folder,
                                       written.events_there == 0
                                           ? ""
                                           : fmt::format(", behind {} of earlier runs",
                                                         grouped(written.events_there))));
  }
  return text;
}

std::string to_text(const ManagerSummary& summary) {
  const ManagerBooks& books = summary.books;
  std::string text = first_line(summary);
  text += row("ranges",
              fmt::format("{} assigned, {} again; {} done, {} taken away, {} open",
                          grouped(books.assigned), grouped(books.again), grouped(books.settled),
                          grouped(books.revoked), grouped(books.open)));
  text += row("events",
              fmt::format("assigned up to {}, produced up to {}",
                          position_text(books.assigned_below), position_text(books.produced)));
  text += peers_row("units", summary);
  text += peers_row("builders", summary.builders, 0);
  for (std::size_t i = 0; i < std::min(books.builders.size(), units_listed_max); ++i) {
    if (books.builders[i].done == 0) continue;
    text +=
        row("", fmt::format("builder {}: {} done", i, counted(books.builders[i].done, "range")));
  }
  return text;
}

std::string to_json(const ManagerSummary& summary) {
  const ManagerBooks& books = summary.books;
  ordered_json json = common_json("build manager", summary);
  json["addresses"] = summary.addresses;
  json["term"] = books.term;
  json["events"] = books.events;
  json["seconds"] = summary.seconds;
  json["events_per_second"] =
      summary.seconds >= rated_seconds_min
          ? ordered_json(static_cast<double>(books.events) / summary.seconds)
          : ordered_json();
  json["assigned"] = books.assigned;
  json["again"] = books.again;
  json["settled"] = books.settled;
  json["revoked"] = books.revoked;
  json["open"] = books.open;
  json["waiting"] = books.waiting;
  json["assigned_below"] = event_json(books.assigned_below);
  json["produced"] = event_json(books.produced);
  json["units"] = peers_json(summary);
  json["builders"] = peers_json(summary.builders, 0);
  json["builders"].erase("refused");  // among the units
  json["per_unit"] = ordered_json::array();
  for (std::size_t i = 0; i < books.units.size(); ++i) {
    json["per_unit"].push_back(unit_json(i, books.units[i]));
  }
  json["per_builder"] = ordered_json::array();
  for (std::size_t i = 0; i < books.builders.size(); ++i) {
    json["per_builder"].push_back(builder_json(i, books.builders[i]));
  }
  return json.dump(2) + "\n";
}

std::string to_json(const ReadoutSummary& summary) {
  const ReadoutBooks& books = summary.books;
  ordered_json json = common_json("build readout", summary);
  json["addresses"] = summary.addresses;
  json["source"] = summary.source;
  json["first"] = event_json(summary.first);
  json["next"] = event_json(summary.next);
  json["stop"] = summary.stop ? event_json(*summary.stop) : ordered_json();
  json["sent"] = books.sent;
  add_rates(json, books.sent, summary);
  json["settled"] = books.settled;
  json["built"] = books.built;
  json["incomplete"] = books.incomplete;
  json["dropped"] = books.dropped;
  json["late"] = books.late;
  json["held"] = books.held;
  json["held_bytes"] = books.held_bytes;
  json["resent"] = books.resent;
  json["busy"] = summary.busy;
  json["busy_seconds"] = summary.busy_seconds;
  json["builders"] = peers_json(summary);
  json["per_builder"] = ordered_json::array();
  for (std::size_t i = 0; i < summary.held_for.size(); ++i) {
    json["per_builder"].push_back(held_json(i, summary.held_for[i]));
  }
  json["manager"] = manager_json(summary);
  return json.dump(2) + "\n";
}

std::string to_json(const BuilderSummary& summary) {
  const BuilderBooks& books = summary.books;
  ordered_json json = common_json("build builder", summary);
  json["address"] = summary.addresses.empty() ? "" : summary.addresses.front();
  json["addresses"] = summary.addresses;
  json["builder"] = summary.builder;
  json["events"] = books.complete + books.incomplete;
  json["left"] = summary.left;
  json["complete"] = books.complete;
  json["incomplete"] = books.incomplete;
  json["again"] = books.again;
  json["open"] = books.open;
  add_rates(json, books.complete + books.incomplete, summary);
  json["open_bytes"] = books.open_bytes;
  json["open_bytes_max"] = books.open_bytes_max;
  json["units"] = peers_json(summary);
  json["manager"] = manager_json(summary);
  json["sources"] = ordered_json::array();
  for (std::size_t i = 0; i < books.sources.size(); ++i) {
    json["sources"].push_back(source_json(i, books.sources[i], summary.without[i]));
  }
  json["verification"] = nullptr;
  if (summary.verification) {
    json["verification"] = {{"right", summary.verification->right},
                            {"wrong", summary.verification->wrong},
                            {"skipped", summary.verification->skipped},
                            {"out_of_order", summary.verification->order},
                            {"passed", summary.verification->passed()}};
  }
  json["output"] = nullptr;
  if (summary.written) {
    json["output"] = {{"folder", summary.written->folder},
                      {"events", summary.written->events},
                      {"bytes", summary.written->bytes},
                      {"events_of_earlier_runs", summary.written->events_there}};
  }
  return json.dump(2) + "\n";
}

}  // namespace netio::cli
