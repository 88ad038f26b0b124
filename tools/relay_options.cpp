#include "relay_options.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "channel_options.hpp"
#include "parsed_option.hpp"
#include "peer_options.hpp"
#include "relay_help.hpp"
#include "tags.hpp"

namespace netio::cli {

namespace {

using Pattern = RelayArguments::Pattern;

void add_more(CLI::App& app, RelayEnd& end, const std::string& name, const std::string& what) {
  app.add_option(name, end.more, what)->type_name("ADDRESS")->allow_extra_args(false);
}

void add_channel_of(CLI::App& app, RelayEnd& end, const std::string& name,
                    const std::string& argument) {
  add_parsed_to(
      app, name, "CHANNEL", [](const std::string& text) { return text; }, end.channel_text,
      "In place of " + argument +
          ", a channel as netio send --channel takes it, with the options of its socket");
}

// Who takes messages in, and who sends them out.
std::pair<ChannelPattern, ChannelPattern> patterns_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::push:
      return {ChannelPattern::pull, ChannelPattern::push};
    case Pattern::publish:
      return {ChannelPattern::subscribe, ChannelPattern::publish};
    case Pattern::pair:
      return {ChannelPattern::pair, ChannelPattern::pair};
    case Pattern::request:
      return {ChannelPattern::reply, ChannelPattern::request};
  }
  return {};
}

void settle_end(RelayEnd& end, ChannelPattern pattern, const std::string& option,
                const std::string& argument) {
  if (end.channel_text.empty()) {
    if (end.address.empty()) {
      throw CLI::ValidationError(argument, "is needed: where to meet the peers at this side");
    }
    return;
  }
  if (!end.address.empty() || !end.more.empty()) {
    throw CLI::ValidationError(option, "either a channel or addresses (" + argument + ", --more-" +
                                           (argument == "TO" ? "to" : "from") + "), not both");
  }
  try {
    end.channel = choose_channel(end.channel_text, pattern);
  } catch (const std::invalid_argument& error) {
    throw CLI::ValidationError(
        option, std::string(error.what()) + "; of a relay, --pattern says which types go together");
  }
  for (const ChannelEndpoint& each : end.channel->endpoints) end.more.push_back(each.address);
}

std::vector<std::string> all_addresses(const RelayEnd& end, const char* argument) {
  std::vector<std::string> all = end.more;
  if (!end.address.empty()) all.push_back(end.address);
  for (const std::string& address : all) {
    const std::string why = why_no_address(address);
    if (!why.empty()) throw CLI::ValidationError(argument, why);
  }
  return all;
}

void add_publish(CLI::App& app, RelayArguments& relay) {
  const std::string group = "With --pattern publish";
  app.add_option_function<std::vector<std::string>>(
         "--tag,--tags",
         [&relay](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             try {
               const auto ranges = parse_tags(text);
               relay.tags.insert(relay.tags.end(), ranges.begin(), ranges.end());
             } catch (const std::invalid_argument& error) {
               throw CLI::ValidationError("--tag", error.what());
             }
           }
         },
         "Subscribe to these at FROM even while nobody wants them (what the subscribers at TO want "
         "is subscribed in any case)")
      ->type_name("TAGS")
      ->allow_extra_args(false)
      ->group(group);
  add_choice_to(app, "--policy", policies(), relay.subscription.policy,
                "What the publisher at FROM does when this relay is slow (block; see netio sub)")
      ->group(group);
  add_parsed_to(app, "--behind", "BYTES", parse_bytes, relay.subscription.behind_bytes_max,
                "How much may wait for this relay at the publisher (4MiB)")
      ->group(group);
}

}  // namespace

void add_relay(CLI::App& app, RelayArguments& relay) {
  app.add_option("FROM", relay.from.address,
                 "Where messages come from: an address, as for netio send")
      ->type_name("");
  app.add_option("TO", relay.to.address, "Where they go")->type_name("");
  const Choices<bool> ways = {{"bind", true}, {"connect", false}};
  add_choice_to(app, "--from", ways, relay.from.binds,
                "Listen at FROM (bind, the default) or connect");
  add_choice_to(app, "--to", ways, relay.to.binds, "Listen at TO, or connect (the default)");
  add_more(app, relay.from, "--more-from", "One more FROM; may be given again");
  add_channel_of(app, relay.from, "--from-channel", "FROM");
  add_channel_of(app, relay.to, "--to-channel", "TO");
  add_more(app, relay.to, "--more-to", "One more TO; messages go to those that are ready, in turn");
  add_choice_to(app, "--pattern",
                Choices<Pattern>{{"push", Pattern::push},
                                 {"publish", Pattern::publish},
                                 {"pair", Pattern::pair},
                                 {"request", Pattern::request}},
                relay.pattern, "What is relayed (push)");
  app.add_flag_callback(
      "--by-tag", [&relay] { relay.distribute = Distribute::by_tag; },
      "Send messages with the same tag to the same receiver");
  app.add_flag_callback(
      "--unbuffered", [&relay] { relay.mode = Mode::unbuffered; },
      "Post each message at once instead of in pages");
  app.add_flag("--stay", relay.stay, "Go on when all peers of one side have ended");
  add_parsed_to(app, "--seconds", "TIME", parse_more_than_no_time, relay.seconds,
                "End so long after both sides had a peer");
  add_parsed_to(app, "--linger", "TIME", parse_duration, relay.linger,
                "At the end, how long to wait until all is passed on and acknowledged (5s)");
  relay.peer.resume_bytes_max = relay_resume_bytes_default;
  add_settings(app, relay.peer, {"peer", true, true, true});
  CLI::Option* const resume = app.get_option("--resume");
  resume->description(
      "Keep up to BYTES that TO has not acknowledged, and send them again when a lost connection "
      "is "
      "back (8MiB; 0: nothing)");
  app.get_option("--resume-within")->remove_needs(resume);
  app.get_option("--connect-timeout")
      ->description(
          "How long this waits while a side has no peer, at the start or later (for ever)");
  add_publish(app, relay);
  add_summary(app, relay.report);
  app.footer(std::string(help::relay_footer));
}

void settle_relay(RelayArguments& relay) {
  if (relay.pattern != Pattern::push && relay.distribute == Distribute::by_tag) {
    throw CLI::ValidationError("--by-tag", "needs --pattern push");
  }
  const bool asks_publishers =
      !relay.tags.empty() || relay.subscription.policy != Policy::block ||
      relay.subscription.behind_bytes_max != SubscribeOptions().behind_bytes_max;
  if (relay.pattern != Pattern::publish && asks_publishers) {
    throw CLI::ValidationError("--tag, --policy and --behind", "need --pattern publish");
  }
  // The one address that is left is TO.
  if (!relay.from.channel_text.empty() && relay.to.channel_text.empty() &&
      relay.to.address.empty()) {
    relay.to.address = std::exchange(relay.from.address, {});
  }
  const auto [input, output] = patterns_of(relay.pattern);
  settle_end(relay.from, input, "--from-channel", "FROM");
  settle_end(relay.to, output, "--to-channel", "TO");
  const std::vector<std::string> from = all_addresses(relay.from, "FROM");
  const std::vector<std::string> to = all_addresses(relay.to, "TO");
  if (relay.pattern == Pattern::pair && (from.size() > 1 || to.size() > 1)) {
    throw CLI::ValidationError("--pattern", "a pair has one peer, and one address, at each side");
  }
  for (const std::string& address : from) {
    if (std::ranges::find(to, address) != to.end()) {
      throw CLI::ValidationError("TO",
                                 address + " is FROM as well: what is passed on would come back");
    }
  }
}

}  // namespace netio::cli
