#include "transfer_options.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "channel_options.hpp"
#include "help.hpp"
#include "parsed_option.hpp"
#include "peer_options.hpp"
#include "stamp.hpp"
#include "tags.hpp"

namespace netio::cli {

namespace {

std::chrono::milliseconds parse_milliseconds(std::string_view text) {
  const auto time = parse_duration(text);
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(time);
  if (whole != time) throw std::invalid_argument("is in whole milliseconds");
  return whole;
}

TagRange parse_one_range(std::string_view text) {
  if (text.find(',') == std::string_view::npos) return parse_tag_range(text);
  throw std::invalid_argument(
      fmt::format("\"{}\": what a publisher sends has one tag, or those of one range", text));
}

void add_generated(CLI::App& app, SendArguments& send, SendChoice& choice, const Side& side) {
  const std::string group = "Generated load (instead of FILE)";
  const auto generate = [&choice](auto& target) {
    return [&choice, &target](const auto& value) {
      target = value;
      choice.generated = true;
    };
  };
  add_parsed(app, "--size", "BYTES", parse_message_bytes, generate(choice.load.message_bytes),
             "Size of each message (64)")
      ->group(group);
  add_parsed(app, "--count", "N", parse_count, generate(choice.load.count),
             "How many messages (until Ctrl-C)")
      ->group(group);
  add_parsed(app, "--seconds", "TIME", parse_duration, generate(send.seconds),
             fmt::format("For how long, counted from the first {}", side.peer))
      ->group(group);
  app.add_flag_callback(
         "--verify", [&choice] { choice.load.stamped = choice.generated = true; },
         side.binds ? "Number the messages of each tag and add a checksum, for sub --verify"
                    : "Number each message and add a checksum, for recv --verify")
      ->group(group);
}

// What send and pub have in common.
void add_sending(CLI::App& app, SendArguments& send, SendChoice& choice, const Side& side) {
  add_peer(app, send.peer, side);
  app.add_option("FILE", choice.file, "What to send; - or nothing: standard input")->type_name("");
  add_parsed(
      app, "--frame", "HOW", FrameSpec::parse,
      [&](const FrameSpec& spec) {
        send.frame = spec;
        choice.framed = true;
      },
      "How the input becomes messages: whole (default), line, fixed:BYTES, "
      "length:OFFSET,WIDTH,ADJUST");
  add_generated(app, send, choice, side);
  add_parsed_to(app, "--rate", "RATE", parse_rate, send.rate,
                "Send at most so much: 50k messages a second, 1GB/s, 10Gb/s");
  add_parsed_to(
      app, "--linger", "TIME", parse_duration, send.linger,
      fmt::format("At the end, wait for acknowledgements at most so long (as long as the {} "
                  "is connected; after Ctrl-C: 1s)",
                  side.peer));
  add_summary(app, send.report);
}

// What recv and sub have in common.
void add_receiving(CLI::App& app, RecvArguments& recv, const Side& side) {
  add_peer(app, recv.peer, side);
  app.add_option("--out,-o", recv.out,
                 "Write the messages here, back to back; -: standard output. "
                 "Without it they are counted and discarded")
      ->type_name("FILE");
  app.add_flag("--keep", recv.keep,
               fmt::format("Stay for more {}s after the last one has ended", side.peer));
  add_parsed_to(app, fmt::format("--{}s", side.peer), "N", parse_count, recv.senders_min,
                fmt::format("Do not end before so many {}s have come (1)", side.peer));
  add_parsed_to(app, "--count", "N", parse_more_than_none, recv.count, "End after N messages");
  add_parsed_to(app, "--seconds", "TIME", parse_duration, recv.seconds,
                fmt::format("End so long after the first {} came", side.peer));
  app.add_flag("--verify", recv.verify,
               side.binds ? "Check numbers and checksums of messages from send --verify"
                          : "Check numbers and checksums of messages from pub --verify; what is "
                            "missing must have been announced by the publisher");
  add_summary(app, recv.report);
}

void check_size(std::size_t message_bytes, const PeerArguments& peer) {
  if (message_bytes <= peer.message_bytes_max) return;
  throw CLI::ValidationError(
      "--size", fmt::format("{} is larger than --message-max, {}", binary_bytes(message_bytes),
                            binary_bytes(peer.message_bytes_max)));
}

// What echo and ping have in common.
void add_pair(CLI::App& app, PairArguments& pair, const Side& side, const std::string& count) {
  add_peer(app, pair.peer, side);
  add_parsed_to(app, "--count", "N", parse_more_than_none, pair.count, count);
  add_parsed_to(app, "--seconds", "TIME", parse_duration, pair.seconds,
                fmt::format("End so long after the first {} came", side.peer));
}

}  // namespace

void add_send(CLI::App& app, SendArguments& send, SendChoice& choice) {
  add_sending(app, send, choice, {"receiver", false});
  add_channel(app, send.peer, ChannelPattern::push, [&send](const ChannelConfig& channel) {
    send.mode = channel.socket.mode;
    send.linger = channel.linger;
  });
  add_choice_to(app, "--mode", modes(), send.mode,
                "buffered (most messages a second; default) or unbuffered (least latency)");
  add_parsed_to(app, "--head", "BYTES", parse_message_bytes, send.head_bytes,
                "Send each message as two segments: its first BYTES, and the rest");
  app.add_flag("--to-all", send.to_all,
               "Send each message to every receiver that is connected: all take it, or nobody gets "
               "it yet")
      ->excludes(app.get_option("--head"));
  add_parsed_to(app, "--wait-for", "N", parse_more_than_none, send.wait_for,
                "Begin when so many receivers are connected (1)");
  app.footer(std::string(help::send_footer));
}

void add_pub(CLI::App& app, PubArguments& pub, SendChoice& choice) {
  add_parsed_to(app, "--tag,--tags", "TAGS", parse_one_range, pub.tags,
                "The tag of all messages, such as 7 or 0x1f (0); of several, 3-9, each message "
                "gets the next in turn");
  add_sending(app, pub, choice, {"subscriber", true});
  add_channel(app, pub.peer, ChannelPattern::publish, [&pub](const ChannelConfig& channel) {
    pub.no_block = !channel.publish.block_allowed;
    pub.subscribers_min = channel.publish.subscribers_min;
    pub.subscribers_any_min = channel.publish.subscribers_any_min;
    pub.block_for_max = channel.publish.block_for_max;
    pub.linger = channel.linger;
  });
  add_parsed_to(app, "--wait-for", "N", parse_count, pub.wait_for,
                "Begin when so many have subscribed (1); 0: at once, whoever is there");
  CLI::Option* const min =
      add_parsed_to(app, "--subscribers-min", "N", parse_count, pub.subscribers_min,
                    "Publish only while so many subscribers with the policy block are there (0); "
                    "when one of them goes, wait until another one comes");
  add_parsed_to(app, "--subscribers-any-min", "N", parse_count, pub.subscribers_any_min,
                "The same for subscribers of whatever policy (0)");
  app.add_flag("--no-block", pub.no_block,
               "Let no subscriber hold the publisher up: who asks for the policy block gets "
               "drop_new")
      ->excludes(min);
  add_parsed_to(
      app, "--block-for-max", "TIME", parse_duration, pub.block_for_max,
      "A subscriber with the policy block that takes nothing holds the publisher up for "
      "so long (10s) at most, and then has drop_new until it has taken what waited for it; 0s: "
      "for ever");
  app.footer(std::string(help::pub_footer));
}

void add_recv(CLI::App& app, RecvArguments& recv) {
  add_receiving(app, recv, {"sender", true, false});
  add_channel(app, recv.peer, ChannelPattern::pull, note_no_linger);
  app.add_flag("--shared", recv.shared,
               "The senders spread over several receivers: numbers they skip are no fault")
      ->needs("--verify");
  app.footer(std::string(help::recv_footer));
}

void add_sub(CLI::App& app, SubArguments& sub) {
  app.add_option_function<std::vector<std::string>>(
         "--tag,--tags",
         [&sub](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             try {
               const auto ranges = parse_tags(text);
               sub.tags.insert(sub.tags.end(), ranges.begin(), ranges.end());
             } catch (const std::invalid_argument& error) {
               throw CLI::ValidationError("--tag", error.what());
             }
           }
         },
         "What to subscribe to: 7 or 0x1f, 3-9, several as 3-9,12 or by more --tag (all tags)")
      ->type_name("TAGS")
      ->allow_extra_args(false);
  add_receiving(app, sub, {"publisher", false, false});
  add_channel(app, sub.peer, ChannelPattern::subscribe, [&sub](ChannelConfig& channel) {
    sub.subscription = channel.subscribe;
    sub.mode = channel.socket.mode;
    note_no_linger(channel);
  });
  const std::string group = "When this side is slow";
  add_choice_to(app, "--policy", policies(), sub.subscription.policy,
                "block: the publisher waits, nothing is lost; drop_new (default): what does not "
                "fit the queue is dropped; drop_old: what has waited longest is; sample: of each "
                "tag only the latest message is kept; disconnect: the connection is ended")
      ->group(group);
  add_parsed_to(app, "--behind", "BYTES", parse_bytes, sub.subscription.behind_bytes_max,
                "The queue: how much may wait at the publisher beyond what the wire holds (4MiB)")
      ->group(group);
  add_parsed_to(app, "--behind-for", "TIME", parse_milliseconds, sub.subscription.behind_for_max,
                "With --policy disconnect: for how long it may be behind (the amount decides)")
      ->group(group);
  app.add_flag_callback(
      "--unbuffered", [&sub] { sub.mode = Mode::unbuffered; },
      "Ask for each message at once (least latency) instead of in pages (most messages a second)");
  app.footer(std::string(help::sub_footer));
}

void add_echo(CLI::App& app, PairArguments& echo) {
  add_pair(app, echo, {"peer", true, true, false}, "End after N messages have been sent back");
  add_summary(app, echo.report);
  app.footer(std::string(help::echo_footer));
}

void add_ping(CLI::App& app, PingArguments& ping) {
  // The place of a peer that hangs is free after SocketOptions::replace_silent_after and a look.
  ping.peer.usual_timeout = std::chrono::seconds(15);
  add_pair(app, ping, {"peer", false, true, false}, "End after N pings");
  add_parsed_to(
      app, "--size", "BYTES",
      [](const std::string& text) {
        const std::size_t bytes = parse_message_bytes(text);
        if (bytes < stamp_bytes) {
          throw std::invalid_argument(fmt::format("a ping has at least {} bytes", stamp_bytes));
        }
        return bytes;
      },
      ping.message_bytes, "Size of each message (64)");
  add_parsed_to(app, "--interval", "TIME", parse_duration, ping.interval,
                "From one ping to the next (1s); 0: as soon as the last is answered, and no line "
                "for each");
  add_parsed_to(app, "--timeout", "TIME", parse_more_than_no_time, ping.timeout,
                "How long to wait for each answer (5s)");
  add_result(app, ping.report);
  app.footer(std::string(help::ping_footer));
}

void settle_send(SendArguments& send, SendChoice& choice) {
  settle_peer(send.peer, &choice.file);
  if (send.wait_for > 1 && !send.peer.binds && !send.peer.channel) {
    throw CLI::ValidationError("--wait-for",
                               "only one peer is at an address that this side connects to; with "
                               "--bind several can come");
  }
  if (choice.generated) {
    if (!choice.file.empty() || choice.framed) {
      throw CLI::ValidationError(
          "FILE",
          "either a file with --frame, or generated load (--size, --count, --seconds, "
          "--verify), not both");
    }
    if (choice.load.stamped && choice.load.message_bytes < stamp_bytes) {
      throw CLI::ValidationError("--verify", "needs messages of at least " +
                                                 counted(stamp_bytes, "byte") + " (see --size)");
    }
    check_size(choice.load.message_bytes, send.peer);
    send.load = choice.load;
  } else if (!choice.file.empty()) {
    send.input = choice.file;
  }
}

void settle_pub(PubArguments& pub, SendChoice& choice) {
  // Wraps to 0 for all tags there are, which no load goes round.
  choice.load.streams = std::max<std::uint64_t>(pub.tags.last - pub.tags.first + 1, 1);
  settle_send(pub, choice);
}

void settle_recv(RecvArguments& recv) {
  settle_peer(recv.peer);
  if (recv.out == "-" && recv.report.json == "-") {
    throw CLI::ValidationError("--json", "standard output carries the messages: use --json=FILE");
  }
}

void settle_sub(SubArguments& sub) {
  settle_recv(sub);
  const SubscribeOptions& asked = sub.subscription;
  if (asked.behind_for_max.count() != 0 && asked.policy != Policy::disconnect) {
    throw CLI::ValidationError("--behind-for",
                               "says when to disconnect: needs --policy disconnect");
  }
  if (!sub.tags.empty()) return;
  sub.tags = sub.peer.channel ? sub.peer.channel->tags : std::vector<TagRange>{every_tag};
  if (sub.tags.empty()) {
    throw CLI::ValidationError("--channel", "it has tags=none: say with --tag which are wanted");
  }
}

void settle_ping(const PingArguments& ping) { check_size(ping.message_bytes, ping.peer); }

}  // namespace netio::cli
