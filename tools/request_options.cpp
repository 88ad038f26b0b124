#include "request_options.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "call_help.hpp"
#include "channel_options.hpp"
#include "parsed_option.hpp"
#include "peer_options.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

// Of the library, for each peer (RequestOptions::pending_max).
constexpr std::uint64_t concurrent_most = 1U << 20U;

std::uint64_t parse_concurrent(const std::string& text) {
  const std::uint64_t count = parse_more_than_none(text);
  if (count > concurrent_most) {
    throw std::invalid_argument(fmt::format("is at most {}", grouped(concurrent_most)));
  }
  return count;
}

void add_call(CLI::App& app, CallArguments& call, const Side& side, const std::string& count) {
  add_parsed_to(app, "--count", "N", parse_more_than_none, call.count, count);
  add_parsed_to(app, "--seconds", "TIME", parse_more_than_no_time, call.seconds,
                fmt::format("End so long after the first {} came", side.peer));
  app.add_flag_callback(
      "--unbuffered", [&call] { call.mode = Mode::unbuffered; },
      side.binds ? "Post each answer at once instead of in pages"
                 : "Post each request at once instead of in pages");
}

}  // namespace

void add_request(CLI::App& app, RequestArguments& request, RequestChoice& choice) {
  const Side side{"replier", false};
  add_peer(app, request.peer, side);
  add_channel(app, request.peer, ChannelPattern::request, [&request](ChannelConfig& channel) {
    request.mode = channel.socket.mode;
    note_no_linger(channel);
  });
  app.add_option("FILE", choice.file, "What to ask, as one request; - or nothing: standard input")
      ->type_name("");
  add_parsed_to(
      app, "--text", "TEXT", [](const std::string& text) { return text; }, request.text,
      "What to ask, instead of FILE");
  add_parsed_to(app, "--within", "TIME", parse_more_than_no_time, request.within,
                "How long each request may take (10s). Without --connect-timeout a replier is "
                "waited for as long; with --bind for ever, or for --seconds");
  add_call(app, request, side,
           "Ask N times (as often as --concurrent says; with --seconds until these are over)");
  add_parsed_to(app, "--concurrent", "N", parse_concurrent, request.concurrent,
                "How many requests may be under way at a time (1)");
  app.add_flag("--idempotent", request.idempotent,
               "To execute a request twice does no harm: one that is in doubt or not executed is "
               "sent again, to any replier");
  app.add_option("--out,-o", request.out,
                 "Write the answers here, back to back; -: standard output. The default for one "
                 "request; answers to several are counted and discarded")
      ->type_name("FILE");
  app.add_flag("--verify", request.verify, "Check that each answer is the request again");
  add_summary(app, request.report);
  app.footer(std::string(help::request_footer));
}

void add_reply(CLI::App& app, ReplyArguments& reply) {
  const Side side{"requester", true};
  add_peer(app, reply.peer, side);
  add_channel(app, reply.peer, ChannelPattern::reply, [&reply](ChannelConfig& channel) {
    reply.mode = channel.socket.mode;
    note_no_linger(channel);
  });
  CLI::Option* const text = add_parsed_to(
      app, "--text", "TEXT", [](const std::string& said) { return said; }, reply.text,
      "Answer each request with this");
  app.add_flag_callback(
         "--echo", [] {}, "Answer each request with what it holds (the default)")
      ->excludes(text);
  add_call(app, reply, side, "End after N answers");
  add_summary(app, reply.report);
  app.footer(std::string(help::reply_footer));
}

void settle_reply(ReplyArguments& reply) { settle_peer(reply.peer); }

void settle_request(RequestArguments& request, RequestChoice& choice) {
  settle_peer(request.peer, &choice.file);
  if (!choice.file.empty()) {
    if (request.text) throw CLI::ValidationError("FILE", "either a file or --text, not both");
    request.input = choice.file;
  }
  if (request.text && request.text->size() > request.peer.message_bytes_max) {
    throw CLI::ValidationError("--text", fmt::format("is larger than --message-max, {}",
                                                     binary_bytes(request.peer.message_bytes_max)));
  }
  if (!request.count && !request.seconds) request.count = request.concurrent;
  if (!request.peer.connect_timeout) {
    // Nobody may ever connect to one that binds.
    request.peer.connect_timeout =
        request.peer.binds ? request.seconds : std::optional(request.within);
  }
  if (request.out == "-" && request.report.json == "-") {
    throw CLI::ValidationError("--json", "standard output carries the answers: use --json=FILE");
  }
  if (request.out.empty() && request.count == 1 && request.report.json != "-") request.out = "-";
}

}  // namespace netio::cli
