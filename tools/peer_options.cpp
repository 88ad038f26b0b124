#include "peer_options.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "parsed_option.hpp"
#include "units.hpp"

namespace netio::cli {

std::size_t parse_message_bytes(const std::string& text) {
  const std::uint64_t bytes = parse_bytes(text);
  // Far above any memory, and far from where sums of sizes wrap.
  if (bytes == 0 || bytes > (std::uint64_t{1} << 46U)) {
    throw std::invalid_argument("a message has 1 byte to 64 TiB, not " + text);
  }
  return static_cast<std::size_t>(bytes);
}

std::uint64_t parse_more_than_none(const std::string& text) {
  const std::uint64_t count = parse_count(text);
  if (count == 0) throw std::invalid_argument("is at least 1");
  return count;
}

std::chrono::nanoseconds parse_more_than_no_time(const std::string& text) {
  const auto time = parse_duration(text);
  if (time.count() == 0)
    throw std::invalid_argument(fmt::format("is more than 0, not \"{}\"", text));
  return time;
}

std::string why_no_address(const std::string& address) {
  if (!address.starts_with("inproc://")) return {};
  return "inproc:// is between threads of one process: two commands meet at shm://NAME";
}

namespace {

std::size_t parse_resume_bytes(const std::string& text) {
  const std::uint64_t bytes = parse_bytes(text);
  if (bytes > (std::uint64_t{1} << 40U)) throw std::invalid_argument("is at most 1 TiB");
  return static_cast<std::size_t>(bytes);
}

std::chrono::nanoseconds parse_heartbeat(const std::string& text) {
  const auto time = parse_duration(text);
  if (time.count() != 0 && time < std::chrono::milliseconds(10)) {
    throw std::invalid_argument(fmt::format("is 10ms or more, or 0s for none, not \"{}\"", text));
  }
  return time;
}

void add_network_failures(CLI::App& app, PeerArguments& peer, const Side& side) {
  add_parsed_to(app, "--heartbeat", "TIME", parse_heartbeat, peer.heartbeat_after,
                fmt::format("Lost after three times TIME without a word from the {} (default: only "
                            "the network tells)",
                            side.peer))
      ->group("When a peer hangs");
  if (!side.resumes) return;
  const std::string group = "When the network fails (tcp and fabrics)";
  add_parsed_to(
      app, "--resume", "BYTES", parse_resume_bytes, peer.resume_bytes_max,
      side.sends
          ? fmt::format("Keep up to BYTES that a {} has not acknowledged, and send them "
                        "again when a lost connection is back (default: nothing). 8MiB "
                        "is a good value; less than 1MiB slows it down{}",
                        side.peer,
                        side.peer == "subscriber" ? ". One with --policy block may be away for "
                                                    "--block-for-max before messages are dropped"
                                                  : "")
          : fmt::format("For {0}s with --resume: wait for one that is lost (60s, or "
                        "--connect-timeout), and acknowledge often. Any BYTES but 0 say "
                        "so; how much is kept is up to the {0}",
                        side.peer))
      ->group(group);
  if (!side.sends) return;
  add_parsed_to(app, "--resume-within", "TIME", parse_more_than_no_time, peer.resume_within,
                fmt::format("Give up what is kept for a {} that is away for longer; at the end, "
                            "too, one is waited for so long (60s)",
                            side.peer))
      ->group(group)
      ->needs("--resume");
}

// Also of a channel, which was read before.
void set_method(PeerArguments& peer, bool binds) {
  peer.binds = binds;
  if (!peer.channel) return;
  for (ChannelEndpoint& endpoint : peer.channel->endpoints) endpoint.binds = binds;
}

}  // namespace

void add_peer(CLI::App& app, PeerArguments& peer, const Side& side) {
  peer.binds = side.binds;
  app.add_option(
         "ADDRESS", peer.address,
         "Where to meet: netio://host:5555, which takes the best wire that both ends have (or "
         "?wire=tcp|shm|verbs|ofi+tcp); tcp://host:5555; on one machine shm://name or "
         "shm:///path; over a fabric verbs://host:5555 or ofi+PROVIDER://host:5555, which may end "
         "in ?window=PAGES (netio info lists what is here); to bind, the host may be * and the "
         "port 0, or the name *")
      ->type_name("")
      ->check(why_no_address)
      ->required();
  auto* const bind = app.add_flag_callback(
      "--bind", [&peer] { set_method(peer, true); },
      side.binds ? "Listen at ADDRESS (the default)"
                 : fmt::format("Listen at ADDRESS for {}s", side.peer));
  auto* const connect = app.add_flag_callback(
      "--connect", [&peer] { set_method(peer, false); },
      side.binds ? fmt::format("Connect to a {} at ADDRESS", side.peer)
                 : "Connect to ADDRESS (the default)");
  bind->excludes(connect);
  add_settings(app, peer, side);
}

void add_settings(CLI::App& app, PeerArguments& peer, const Side& side) {
  app.add_option("--name", peer.name, "What the other end calls this one in what it reports")
      ->type_name("NAME")
      ->check([](const std::string& name) {
        const bool good =
            !name.empty() && name.size() <= 63 && name.front() != ' ' && name.back() != ' ' &&
            std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
        return good
                   ? std::string()
                   : std::string(
                         "a name has 1 to 63 bytes of printable ASCII, without spaces at the ends");
      });
  add_parsed_to(app, "--connect-timeout", "TIME", parse_duration, peer.connect_timeout,
                side.binds
                    ? fmt::format("Give up when no {} came for so long (for ever; connecting: 10s)",
                                  side.peer)
                    : fmt::format("Give up when no {} came, or a lost one did not return, for "
                                  "so long ({}s; binding: for ever)",
                                  side.peer, peer.usual_timeout.count()));
  add_wait(app, peer.wait);
  add_parsed_to(app, "--message-max", "BYTES", parse_message_bytes, peer.message_bytes_max,
                "The largest message (1GiB)");
  add_network_failures(app, peer, side);
}

}  // namespace netio::cli
