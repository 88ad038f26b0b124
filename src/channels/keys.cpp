// A key is a row here. FairMQ's keys come first, then the options of netio by their own names.
#include "channels/keys.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <span>
#include <utility>

#include "channels/bad_value.hpp"
#include "channels/values.hpp"
#include "channels/words.hpp"

namespace netio::detail {

namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t int_most = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t calls_most = 1U
                                     << 20U;  // RequestOptions::pending_max, ReplyOptions::open_max
constexpr std::uint64_t ranges_most = std::uint64_t{1} << 32U;

// The one of the words that the value is.
template <typename Value, std::size_t count>
Value choose(std::string_view text,
             const std::array<std::pair<std::string_view, Value>, count>& choices) {
  std::array<std::string_view, count> words;
  for (std::size_t i = 0; i < count; ++i) {
    if (choices[i].first == text) return choices[i].second;
    words[i] = choices[i].first;
  }
  if (text.empty()) throw BadValue("the value is missing", "it is one of " + listed(words));
  throw BadValue("there is no " + in_quotes(text), meant(text, words));
}

template <typename Value>
using Choice = std::pair<std::string_view, Value>;

constexpr std::array modes{Choice<Mode>{"buffered", Mode::buffered},
                           Choice<Mode>{"unbuffered", Mode::unbuffered}};
constexpr std::array distributions{Choice<Distribute>{"in_turn", Distribute::in_turn},
                                   Choice<Distribute>{"by_tag", Distribute::by_tag}};
constexpr std::array acknowledgements{Choice<Acknowledge>{"delivered", Acknowledge::delivered},
                                      Choice<Acknowledge>{"released", Acknowledge::released}};
constexpr std::array policies{
    Choice<Policy>{"block", Policy::block}, Choice<Policy>{"drop_new", Policy::drop_new},
    Choice<Policy>{"drop_old", Policy::drop_old}, Choice<Policy>{"sample", Policy::sample},
    Choice<Policy>{"disconnect", Policy::disconnect}};
constexpr std::array patterns{Choice<ChannelPattern>{"push", ChannelPattern::push},
                              Choice<ChannelPattern>{"pull", ChannelPattern::pull},
                              Choice<ChannelPattern>{"pair", ChannelPattern::pair},
                              Choice<ChannelPattern>{"pub", ChannelPattern::publish},
                              Choice<ChannelPattern>{"sub", ChannelPattern::subscribe},
                              Choice<ChannelPattern>{"req", ChannelPattern::request},
                              Choice<ChannelPattern>{"rep", ChannelPattern::reply},
                              Choice<ChannelPattern>{"publish", ChannelPattern::publish},
                              Choice<ChannelPattern>{"subscribe", ChannelPattern::subscribe},
                              Choice<ChannelPattern>{"request", ChannelPattern::request},
                              Choice<ChannelPattern>{"reply", ChannelPattern::reply}};
constexpr std::array methods{Choice<bool>{"bind", true}, Choice<bool>{"connect", false}};

void remark(ChannelConfig& channel, std::string_view key, std::string text) {
  channel.remarks.push_back({std::string(key), std::string(key) + std::move(text)});
}

// A number of FairMQ that has no effect here. It is not mentioned if it is `silent`, which asks for
// what netio does in any case.
struct NoEffect {
  std::string_view key;
  std::int64_t least;
  std::int64_t silent;
  std::string_view why;
};

template <const NoEffect& number>
void remark_on(ChannelConfig& channel, std::string_view value) {
  if (parse_number(value, number.least, int_most) == number.silent) return;
  remark(channel, number.key, " has no effect: " + std::string(number.why));
}

constexpr std::string_view no_kernel_buffers = "netio leaves the buffers of the kernel to it";
constexpr std::string_view no_waiting = "no call of a socket waits";
constexpr std::string_view no_port_range =
    "no other port is tried if one is taken; port 0 takes any that is free";
constexpr NoEffect send_buffer{
    "sndBufSize", 0, -1,
    "it counts messages, and netio bounds the bytes that wait (send_bytes_max)"};
constexpr NoEffect receive_buffer{
    "rcvBufSize", 0, -1,
    "it counts messages, and netio bounds the bytes that are kept (receive_bytes_max)"};
constexpr NoEffect send_kernel{"sndKernelSize", 0, 0, no_kernel_buffers};
constexpr NoEffect receive_kernel{"rcvKernelSize", 0, 0, no_kernel_buffers};
constexpr NoEffect send_timeout{"sndTimeoutMs", -1, -1, no_waiting};
constexpr NoEffect receive_timeout{"rcvTimeoutMs", -1, -1, no_waiting};
constexpr NoEffect port_min{"portRangeMin", 0, -1, no_port_range};
constexpr NoEffect port_max{"portRangeMax", 0, -1, no_port_range};

void set_auto_bind(ChannelConfig& channel, std::string_view value) {
  if (!parse_bool(value)) return;
  remark(channel, "autoBind", " has no effect: " + std::string(no_port_range));
}

// In milliseconds; -1 is for ever.
void set_linger(ChannelConfig& channel, std::string_view value) {
  const std::int64_t milliseconds = parse_number(value, -1, int_most);
  channel.linger = milliseconds < 0 ? nanoseconds(std::chrono::hours(365 * 24))
                                    : nanoseconds(std::chrono::milliseconds(milliseconds));
}

nanoseconds silence_of(std::string_view value) {
  const nanoseconds time = parse_time(value);
  if (time.count() != 0 && time < std::chrono::milliseconds(10)) {
    throw BadValue(in_quotes(value) + " is too short", "it is 10ms or more, or 0 for never");
  }
  return time;
}

template <typename Whole>
Whole parse_whole(std::string_view value, std::string_view units) {
  const nanoseconds time = parse_time(value);
  const Whole whole = std::chrono::duration_cast<Whole>(time);
  if (whole != time) {
    throw BadValue(in_quotes(value) + " is not in whole " + std::string(units),
                   "leave the fraction out");
  }
  return whole;
}

void set_keep_alive(ChannelConfig& channel, std::string_view value) {
  channel.socket.keep_alive_after = parse_whole<std::chrono::seconds>(value, "seconds");
  (void)parse_some_time(value);
}

void set_behind_bytes(ChannelConfig& channel, std::string_view value) {
  const std::size_t bytes = parse_bytes(value, 0);
  if (channel.pattern == ChannelPattern::publish) {
    channel.publish.behind_bytes_max = bytes;
  } else {
    channel.subscribe.behind_bytes_max = bytes;
  }
}

// An option of every socket.
template <auto member, auto parse>
void set(ChannelConfig& channel, std::string_view value) {
  channel.socket.*member = parse(value);
}
template <auto member, auto parse>
void set_publish(ChannelConfig& channel, std::string_view value) {
  channel.publish.*member = parse(value);
}

std::size_t some_bytes(std::string_view value) { return parse_bytes(value); }
std::size_t any_bytes(std::string_view value) { return parse_bytes(value, 0); }
std::size_t peer_count(std::string_view value) { return parse_count(value, 1, ranges_most); }
std::size_t range_count(std::string_view value) { return parse_count(value, 1, ranges_most); }
std::size_t subscriber_count(std::string_view value) { return parse_count(value, 0, ranges_most); }
Mode mode_of(std::string_view value) { return choose(value, modes); }
Distribute distribution_of(std::string_view value) { return choose(value, distributions); }
Acknowledge acknowledgement_of(std::string_view value) { return choose(value, acknowledgements); }

using S = SocketOptions;
using P = PublishOptions;
using enum KeyScope;

constexpr Key keys[] = {
    {"name"},
    {"type"},
    {"method"},
    {"address"},
    {"transport"},
    {"numSockets"},
    {send_buffer.key, all, remark_on<send_buffer>},
    {receive_buffer.key, all, remark_on<receive_buffer>},
    {send_kernel.key, all, remark_on<send_kernel>},
    {receive_kernel.key, all, remark_on<receive_kernel>},
    {send_timeout.key, all, remark_on<send_timeout>},
    {receive_timeout.key, all, remark_on<receive_timeout>},
    {"linger", all, set_linger},
    {"rateLogging", all,
     [](ChannelConfig& channel, std::string_view value) {
       channel.rate_every = std::chrono::seconds(parse_number(value, 0, 86400));
     }},
    {port_min.key, all, remark_on<port_min>},
    {port_max.key, all, remark_on<port_max>},
    {"autoBind", all, set_auto_bind},

    {"mode", all, set<&S::mode, mode_of>},
    {"distribute", push, set<&S::distribute, distribution_of>},
    {"flush_after", all, set<&S::flush_after, parse_time>},
    {"flush_when_idle", all, set<&S::flush_when_idle, parse_bool>},
    {"message_bytes_max", all, set<&S::message_bytes_max, some_bytes>},
    {"send_bytes_max", all, set<&S::send_bytes_max, some_bytes>},
    {"receive_bytes_max", all, set<&S::receive_bytes_max, some_bytes>},
    {"high_watermark", all, set<&S::high_watermark, parse_share>},
    {"low_watermark", all, set<&S::low_watermark, parse_share>},
    {"reconnect_after_min", all, set<&S::reconnect_after_min, parse_some_time>},
    {"reconnect_after_max", all, set<&S::reconnect_after_max, parse_some_time>},
    {"resume_bytes_max", all, set<&S::resume_bytes_max, any_bytes>},
    {"resume_within", all, set<&S::resume_within, parse_some_time>},
    {"handshake_within", all, set<&S::handshake_within, parse_some_time>},
    {"half_open_max", all, set<&S::half_open_max, peer_count>},
    {"peers_max", all, set<&S::peers_max, peer_count>},
    {"stall_after", all, set<&S::stall_after, parse_some_time>},
    {"keep_alive_after", all, set_keep_alive},
    {"heartbeat_after", all, set<&S::heartbeat_after, silence_of>},
    {"replace_silent_after", all, set<&S::replace_silent_after, silence_of>},
    {"acknowledge_after", all, set<&S::acknowledge_after, parse_some_time>},
    {"acknowledge", all, set<&S::acknowledge, acknowledgement_of>},

    {"block_allowed", publish, set_publish<&P::block_allowed, parse_bool>},
    {"block_for_max", publish, set_publish<&P::block_for_max, parse_time>},
    {"behind_bytes_max", listeners, set_behind_bytes},
    {"behind_bytes_all_max", publish, set_publish<&P::behind_bytes_all_max, some_bytes>},
    {"ranges_max", publish, set_publish<&P::ranges_max, range_count>},
    {"ranges_all_max", publish, set_publish<&P::ranges_all_max, range_count>},
    {"subscribers_min", publish, set_publish<&P::subscribers_min, subscriber_count>},
    {"subscribers_any_min", publish, set_publish<&P::subscribers_any_min, subscriber_count>},

    {"policy", subscribe,
     [](ChannelConfig& channel, std::string_view value) {
       channel.subscribe.policy = choose(value, policies);
     }},
    {"behind_for_max", subscribe,
     [](ChannelConfig& channel, std::string_view value) {
       channel.subscribe.behind_for_max =
           parse_whole<std::chrono::milliseconds>(value, "milliseconds");
     }},
    {"tags", subscribe,
     [](ChannelConfig& channel, std::string_view value) { channel.tags = parse_tags(value); }},

    {"pending_max", request,
     [](ChannelConfig& channel, std::string_view value) {
       channel.request.pending_max = parse_count(value, 1, calls_most);
     }},
    {"open_max", reply,
     [](ChannelConfig& channel, std::string_view value) {
       channel.reply.open_max = parse_count(value, 1, calls_most);
     }},
};

}  // namespace

const Key* find_key(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(keys, name, &Key::name);
  return found == std::end(keys) ? nullptr : found;
}

const std::vector<std::string_view>& key_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all_names;
    for (const Key& key : keys) all_names.push_back(key.name);
    return all_names;
  }();
  return names;
}

bool applies(const Key& key, ChannelPattern pattern) noexcept {
  switch (key.scope) {
    case all:
      return true;
    case push:
      return pattern == ChannelPattern::push;
    case publish:
      return pattern == ChannelPattern::publish;
    case subscribe:
      return pattern == ChannelPattern::subscribe;
    case request:
      return pattern == ChannelPattern::request;
    case reply:
      return pattern == ChannelPattern::reply;
    case listeners:
      return pattern == ChannelPattern::publish || pattern == ChannelPattern::subscribe;
  }
  return false;
}

std::string_view owners(KeyScope scope) noexcept {
  switch (scope) {
    case all:
      return "any type";
    case push:
      return "push";
    case publish:
      return "pub";
    case subscribe:
      return "sub";
    case request:
      return "req";
    case reply:
      return "rep";
    case listeners:
      return "pub and sub";
  }
  return {};
}

ChannelPattern parse_pattern(std::string_view text) {
  if (text == "xpub" || text == "xsub") {
    throw BadValue("netio has no " + std::string(text),
                   "write " + std::string(text.substr(1)) +
                       ": a publisher hears of subscriptions anyway (Publish::on_subscribe)");
  }
  if (text == "dealer" || text == "router") {
    throw BadValue("netio has no " + std::string(text),
                   std::string("write ") + (text == "dealer" ? "req" : "rep") +
                       ": any number of requests may be under way, and answers come in any order");
  }
  return choose(text, patterns);
}

bool parse_method(std::string_view text) { return choose(text, methods); }

}  // namespace netio::detail

namespace netio {

std::string_view to_string(ChannelPattern pattern) noexcept {
  switch (pattern) {
    case ChannelPattern::push:
      return "push";
    case ChannelPattern::pull:
      return "pull";
    case ChannelPattern::pair:
      return "pair";
    case ChannelPattern::publish:
      return "publish";
    case ChannelPattern::subscribe:
      return "subscribe";
    case ChannelPattern::request:
      return "request";
    case ChannelPattern::reply:
      return "reply";
  }
  return "no pattern";
}

}  // namespace netio
