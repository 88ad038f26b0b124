#include "summary.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "books_json.hpp"
#include "call_books.hpp"
#include "times_json.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

// Over less time a rate says more about the start than about the wire.
constexpr double rated_seconds_min = 0.01;

// Of what arrived.
std::optional<double> per_second(const Summary& summary, std::uint64_t amount) {
  if (summary.seconds < rated_seconds_min) return std::nullopt;
  const double share = summary.kind == Summary::Kind::sent ? acknowledged_share(summary.books) : 1;
  return static_cast<double>(amount) * share / summary.seconds;
}

ordered_json json_of(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

// Who is at the other end.
std::string_view peer_word(const Summary& summary) {
  switch (summary.kind) {
    case Summary::Kind::published:
      return "subscriber";
    case Summary::Kind::echoed:
      return "peer";
    case Summary::Kind::subscribed:
      return "publisher";
    case Summary::Kind::asked:
      return "replier";
    case Summary::Kind::replied:
      return "requester";
    default:
      return "sender";
  }
}
std::string peers_word(const Summary& summary) { return fmt::format("{}s", peer_word(summary)); }

std::string books_text(const Summary& summary) {
  const Books& books = summary.books;
  const auto with_reasons = [](const MissedBy& by) {
    const std::string reasons = drop_reasons(by);
    return reasons.empty() ? reasons : fmt::format(" ({})", reasons);
  };
  if (summary.receiving()) {
    std::string text = fmt::format("{} delivered, {} missed{}", grouped(books.delivered),
                                   grouped(books.missed), with_reasons(summary.missed_by));
    if (summary.peers.lost != 0) {
      text += fmt::format("; not known: what {} still held",
                          counted(summary.peers.lost, fmt::format("lost {}", peer_word(summary))));
    }
    return text;
  }
  const std::string dropped =
      grouped(books.dropped()) + " dropped" + with_reasons(books.dropped_by);
  const std::string in_doubt =
      books.in_doubt != 0 ? fmt::format(", {} in doubt", grouped(books.in_doubt)) : std::string();
  return fmt::format("{} sent: {} acknowledged, {}{}, {} unacknowledged", grouped(books.sent),
                     grouped(books.acknowledged), dropped, in_doubt, grouped(books.unacknowledged));
}

std::string verification_text(const Verification& checked) {
  const bool announced = checked.missing != 0 && checked.missing <= checked.announced;
  return fmt::format("{}: {} intact, {} corrupt, {} missing in {}{}, {} repeated",
                     checked.passed() ? "passed" : "FAILED", grouped(checked.intact),
                     grouped(checked.corrupt), grouped(checked.missing),
                     counted(checked.gaps, "gap"),
                     checked.shared ? " (shared)"
                     : announced    ? " (as announced)"
                                    : "",
                     grouped(checked.repeated));
}

ordered_json books_json(const Summary& summary) {
  const Books& books = summary.books;
  if (!summary.receiving()) return sent_json(books);
  ordered_json json = received_json(books);
  if (summary.kind == Summary::Kind::subscribed) {
    json["missed_by"] = reasons_json(summary.missed_by);
  }
  return json;
}

std::string peer_text(const PeerLine& line) {
  const Books& books = line.last.books;
  std::string text = name_of(line.last) + ":";
  auto add = [&text, first = true](const std::string& part) mutable {
    text += (std::exchange(first, false) ? " " : ", ") + part;
  };
  if (books.dropped() != 0) {
    add(fmt::format("{} dropped ({})", grouped(books.dropped()), drop_reasons(books.dropped_by)));
  }
  if (books.missed != 0) add(grouped(books.missed) + " missed");
  if (books.in_doubt != 0) add(grouped(books.in_doubt) + " in doubt");
  if (books.unacknowledged != 0) add(grouped(books.unacknowledged) + " unacknowledged");
  if (line.behind_longest.count() != 0) {
    add(fmt::format("behind for {}, {} at a time", duration_text(seconds_of(line.behind)),
                    duration_text(seconds_of(line.behind_longest))));
  }
  return text;
}

// The worst first; those that had all their messages in time are not named.
std::vector<std::string> slow_peers_text(const Summary& summary) {
  static constexpr std::size_t named_max = 10;
  std::vector<const PeerLine*> slow;
  for (const PeerLine& line : summary.per_peer) {
    if (line.slow()) slow.push_back(&line);
  }
  std::stable_sort(slow.begin(), slow.end(), [](const PeerLine* a, const PeerLine* b) {
    return std::pair(a->lost(), a->behind) > std::pair(b->lost(), b->behind);
  });
  std::vector<std::string> text;
  for (std::size_t i = 0; i < std::min(slow.size(), named_max); ++i) {
    text.push_back(peer_text(*slow[i]));
  }
  if (slow.size() > named_max) text.push_back(fmt::format("and {} more", slow.size() - named_max));
  return text;
}

std::string hex(const std::array<std::uint8_t, 16>& bytes) {
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

ordered_json json_of(const PeerLine& line, bool receiving) {
  const Books& books = line.last.books;
  ordered_json json = {{"id", line.last.id},
                       {"address", line.last.address},
                       {"name", line.last.name},
                       {"run", hex(line.last.run)},
                       {"dialed", line.last.dialed},
                       {"wire", line.last.wire},
                       {"wire_reason", line.last.wire_reason},
                       {"connected", line.connected},
                       {"restarts", line.last.restarts}};
  if (receiving) {
    json["delivered"] = books.delivered;
    json["missed"] = books.missed;
    return json;
  }
  if (line.last.policy) json["policy"] = to_string(*line.last.policy);
  if (line.last.policy) json["demoted"] = line.last.demoted;
  json["sent"] = books.sent;
  json["acknowledged"] = books.acknowledged;
  json["dropped"] = books.dropped();
  json["dropped_by"] = reasons_json(books.dropped_by);
  json["in_doubt"] = books.in_doubt;
  json["unacknowledged"] = books.unacknowledged;
  json["behind_seconds"] = seconds_of(line.behind);
  json["behind_seconds_longest"] = seconds_of(line.behind_longest);
  return json;
}

ordered_json json_of(const Counters& counters) {
  return {{"bytes_sent", counters.bytes_sent},
          {"bytes_received", counters.bytes_received},
          {"bytes_arrived", counters.bytes_arrived},
          {"pages_sent", counters.pages_sent},
          {"pages_received", counters.pages_received},
          {"agains", counters.agains},
          {"connects", counters.connects},
          {"disconnects", counters.disconnects},
          {"rejected", counters.rejected},
          {"resent", counters.resent},
          {"resume_given_up", counters.resume_given_up},
          {"ring_writes", counters.ring_writes},
          {"starved", counters.starved},
          {"copies", counters.copies},
          {"bytes_copied", counters.bytes_copied},
          {"published", counters.published},
          {"unwanted", counters.unwanted},
          {"demoted", counters.demoted},
          {"bodies_encoded", counters.bodies_encoded}};
}

ordered_json json_of(const Verification& checked) {
  return {{"passed", checked.passed()},   {"intact", checked.intact},
          {"corrupt", checked.corrupt},   {"gaps", checked.gaps},
          {"missing", checked.missing},   {"announced", checked.announced},
          {"repeated", checked.repeated}, {"shared", checked.shared}};
}

// What is counted are answers, and no other messages.
bool counts_answers(const Summary& summary) {
  return summary.kind == Summary::Kind::asked || summary.kind == Summary::Kind::replied;
}

std::string_view first_word(const Summary& summary) {
  if (counts_answers(summary)) return "answered";
  if (summary.kind == Summary::Kind::published) return "published";
  if (summary.kind == Summary::Kind::echoed) return "echoed";
  return summary.receiving() ? "received" : "sent";
}

std::string reach_text(const ToAllOutlet::Reach& reach) {
  if (reach.receivers_max == 0) return "no message was sent";
  const std::string receivers =
      reach.receivers_min == reach.receivers_max
          ? counted(reach.receivers_max, "receiver")
          : fmt::format("{} to {} receivers", reach.receivers_min, reach.receivers_max);
  const std::string away =
      reach.away_max == 0 ? std::string()
                          : fmt::format("; up to {} away, which did not get it", reach.away_max);
  return fmt::format("each message to {}{}", receivers, away);
}

ordered_json json_of(const ToAllOutlet::Reach& reach) {
  return {{"receivers_min", reach.receivers_min},
          {"receivers_max", reach.receivers_max},
          {"away_max", reach.away_max}};
}

std::string away_text(const PeerCounts& peers) {
  std::string text =
      fmt::format("{}, {} in all", counted(peers.away, "time"), duration_text(peers.away_seconds));
  if (peers.restarted != 0) {
    text += fmt::format("; {} another run came back", counted(peers.restarted, "time"));
  }
  return text;
}

// Empty if no connection was lost. A publisher's subscribers have a line of their own, which says
// all if nothing was kept for them.
std::string lost_text(const Summary& summary) {
  const Counters& counters = summary.counters;
  const bool said = summary.kind == Summary::Kind::published && !summary.resumes;
  if (summary.connections_lost == 0 || said) return {};
  std::string text =
      fmt::format("{}; {} sent again", counted(summary.connections_lost, "connection"),
                  counted(counters.resent, "message"));
  if (counters.resume_given_up != 0) {
    text += fmt::format(", {} given up ({}, memory was short, or this ended)",
                        grouped(counters.resume_given_up),
                        summary.kind == Summary::Kind::published
                            ? "for a subscriber that may lose messages, or was away for too long"
                            : "it was away for too long");
  }
  return text;
}

ordered_json json_of(const PeerCounts& peers, const Summary& summary) {
  ordered_json json = {{"came", peers.came}, {"ended", peers.ended}, {"lost", peers.lost}};
  if (summary.kind == Summary::Kind::published) json["slow"] = peers.slow;
  if (summary.receiving()) {
    json["away"] = peers.away;
    json["away_seconds"] = peers.away_seconds;
    json["restarted"] = peers.restarted;
  }
  return json;
}

ordered_json json_of(const TagCounts& tags) {
  ordered_json json = ordered_json::object();
  for (const auto& [tag, count] : tags.sorted()) json[fmt::format("{}", tag)] = count;
  if (tags.others() != 0) json["others"] = tags.others();
  return json;
}

}  // namespace

std::string peers_text(const PeerCounts& peers) {
  std::string text =
      fmt::format("{} came, {} ended in order, {} lost", peers.came, peers.ended, peers.lost);
  if (peers.connected != 0) text += fmt::format(", {} connected at the end", peers.connected);
  if (peers.slow != 0) text += fmt::format(", {} disconnected for being slow", peers.slow);
  return text;
}

double acknowledged_share(const Books& books) noexcept {
  if (books.sent == 0) return 1;
  return static_cast<double>(books.acknowledged) / static_cast<double>(books.sent);
}

std::string drop_reasons(const MissedBy& dropped_by) {
  std::string text;
  for (std::size_t i = 0; i < dropped_by.size(); ++i) {
    if (dropped_by[i] == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", to_string(static_cast<DropReason>(i)), grouped(dropped_by[i]));
  }
  return text;
}

std::string to_text(const Summary& summary) {
  const auto messages = per_second(summary, summary.messages);
  const auto bytes = per_second(summary, summary.bytes);
  const bool published = summary.kind == Summary::Kind::published;
  const std::string_view noun = counts_answers(summary) ? "answer" : "message";
  std::string text;
  const auto row = [&text, published](std::string_view name, const std::string& value) {
    text += fmt::format("{:<{}} {}\n", name, published ? 11 : 10, value);
  };
  row(first_word(summary),
      fmt::format("{}, {}{}{}", counted(summary.messages, noun),
                  scaled(static_cast<double>(summary.bytes), "B"),
                  summary.timed ? " in " + duration_text(summary.seconds) : "",
                  summary.code == ExitCode::interrupted ? ", interrupted" : ""));
  if (messages && *messages > 0) {
    row("rate", fmt::format("{}, {} ({})", scaled(*messages, fmt::format("{}s/s", noun)),
                            scaled(*bytes, "B/s"), scaled(*bytes * 8, "b/s")));
  }
  if (summary.segmented != 0) {
    row("segments", counted(summary.segmented, "message") + " of several");
  }
  if (summary.asked) row("requests", to_text(*summary.asked));
  if (summary.replied) row("requests", to_text(*summary.replied));
  if (summary.trips && summary.trips->answered != 0) row("times", times_text(*summary.trips));
  if (published) row("unwanted", counted(summary.counters.unwanted, "message"));
  if (summary.kind != Summary::Kind::sent) {
    row(peers_word(summary), peers_text(summary.peers));
    if (summary.peers.away != 0) row("away", away_text(summary.peers));
  }
  if (summary.to_all) row("to all", reach_text(*summary.to_all));
  row("books", books_text(summary));
  if (const std::string lost = lost_text(summary); !lost.empty()) row("lost", lost);
  if (summary.kept_bytes != 0) {
    row("kept", scaled(static_cast<double>(summary.kept_bytes), "B") + " of receive memory");
  }
  for (std::string_view name = summary.receiving() ? "missed" : "slow";
       const std::string& line : slow_peers_text(summary)) {
    row(std::exchange(name, ""), line);
  }
  if (summary.tags) row("tags", summary.tags->text());
  if (summary.verification) row("verify", verification_text(*summary.verification));
  if (summary.differ) {
    row("verify", *summary.differ == 0
                      ? "passed: each answer was the request again"
                      : fmt::format("FAILED: {} not the request", grouped(*summary.differ)));
  }
  if (summary.output) {
    row("written", fmt::format("{}, {} to {}", counted(summary.output->messages, noun),
                               counted(summary.output->bytes, "byte"), summary.output->name));
  }
  return text;
}

std::string to_json(const Summary& summary) {
  ordered_json json = {{"command", summary.command},
                       {"netio", NETIO_VERSION},
                       {"outcome", outcome(summary.code)},
                       {"exit_code", static_cast<int>(summary.code)},
                       {"error", nullptr},
                       {"address", summary.address}};
  const bool published = summary.kind == Summary::Kind::published;
  if (!summary.error.empty()) json["error"] = summary.error;
  if (!summary.mode.empty()) json["mode"] = summary.mode;
  json["messages"] = summary.messages;
  json["bytes"] = summary.bytes;
  json["seconds"] = summary.seconds;
  json["messages_per_second"] = json_of(per_second(summary, summary.messages));
  json["bytes_per_second"] = json_of(per_second(summary, summary.bytes));
  if (published) json["unwanted"] = summary.counters.unwanted;
  if (summary.asked) {
    json["request_bytes"] = summary.request_bytes;
    json["requests"] = to_json(*summary.asked);
  }
  if (summary.replied) json["requests"] = to_json(*summary.replied);
  if (summary.trips) json["rtt_us"] = times_json(*summary.trips);
  if (summary.to_all) json["to_all"] = json_of(*summary.to_all);
  json["books"] = books_json(summary);
  json["counters"] = json_of(summary.counters);
  if (summary.kind == Summary::Kind::sent || summary.kind == Summary::Kind::published) {
    json["connections_lost"] = summary.connections_lost;
  }
  if (summary.receiving()) json["segmented"] = summary.segmented;
  if (summary.receiving()) json["kept_bytes"] = summary.kept_bytes;
  if (summary.kind != Summary::Kind::sent) {
    json[peers_word(summary)] = json_of(summary.peers, summary);
  }
  if (summary.kind != Summary::Kind::echoed && !counts_answers(summary)) {
    ordered_json& per_peer = json["per_peer"] = ordered_json::array();
    for (const PeerLine& line : summary.per_peer) {
      per_peer.push_back(json_of(line, summary.receiving()));
    }
    json["peers_left_out"] = summary.peers_left_out;
  }
  if (summary.tags) json["tags"] = json_of(*summary.tags);
  if (summary.verification) json["verification"] = json_of(*summary.verification);
  if (summary.differ) json["differ"] = *summary.differ;
  if (summary.output) {
    json["output"] = {{"name", summary.output->name},
                      {"messages", summary.output->messages},
                      {"bytes", summary.output->bytes}};
  }
  // Names and causes may hold bytes that are not UTF-8: shown as such, never thrown over.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace netio::cli
