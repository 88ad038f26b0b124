#include "relay_options.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "parsed_option.hpp"
#include "peer_options.hpp"
#include "relay_help.hpp"
#include "tags.hpp"

namespace netio::cli {

namespace {

// Much is under way between two wires: less would make both wait for acknowledgements.
constexpr std::size_t resume_bytes_default = std::size_t{8} << 20U;

void add_end(CLI::App& app, RelayEnd& end, const std::string& name, const std::string& what) {
  app.add_option_function<std::string>(
         name,
         [&end](const std::string& address) {
           end.addresses.insert(end.addresses.begin(), address);
         },
         what)
      ->type_name("")
      ->required();
}

void add_more(CLI::App& app, RelayEnd& end, const std::string& name, const std::string& what) {
  app.add_option_function<std::vector<std::string>>(
         name,
         [&end](const std::vector<std::string>& more) {
           end.addresses.insert(end.addresses.end(), more.begin(), more.end());
         },
         what)
      ->type_name("ADDRESS")
      ->allow_extra_args(false);
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
  using Pattern = RelayArguments::Pattern;
  add_end(app, relay.from, "FROM", "Where messages come from: an address, as for netio send");
  add_end(app, relay.to, "TO", "Where they go");
  const Choices<bool> ways = {{"bind", true}, {"connect", false}};
  add_choice_to(app, "--from", ways, relay.from.binds,
                "Listen at FROM (bind, the default) or connect");
  add_choice_to(app, "--to", ways, relay.to.binds, "Listen at TO, or connect (the default)");
  add_more(app, relay.from, "--more-from", "One more FROM; may be given again");
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
  relay.peer.resume_bytes_max = resume_bytes_default;
  add_settings(app, relay.peer, {"peer", true, true, true});
  add_publish(app, relay);
  add_summary(app, relay.report);
  app.footer(std::string(help::relay_footer));
}

void settle_relay(const RelayArguments& relay) {
  using Pattern = RelayArguments::Pattern;
  if (relay.pattern != Pattern::push && relay.distribute == Distribute::by_tag) {
    throw CLI::ValidationError("--by-tag", "needs --pattern push");
  }
  if (relay.pattern != Pattern::publish && !relay.tags.empty()) {
    throw CLI::ValidationError("--tag", "needs --pattern publish");
  }
  if (relay.pattern == Pattern::pair &&
      (relay.from.addresses.size() > 1 || relay.to.addresses.size() > 1)) {
    throw CLI::ValidationError(
        "--pattern", "a pair has one peer at each side: leave out --more-from and --more-to");
  }
  for (const std::string& address : relay.from.addresses) {
    if (std::ranges::find(relay.to.addresses, address) != relay.to.addresses.end()) {
      throw CLI::ValidationError("TO",
                                 address + " is FROM as well: what is passed on would come back");
    }
  }
}

}  // namespace netio::cli
