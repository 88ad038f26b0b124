// Channels in texts of key=value pairs with commas between them. A value ends at the comma: FairMQ
// knows no quotation marks either.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "channels/draft.hpp"
#include "channels/words.hpp"

namespace netio {

using detail::ChannelDraft;
using detail::in_quotes;
using detail::whereabouts;

namespace {

constexpr std::string_view example =
    "write it like name=data,type=push,method=bind,address=tcp://*:5555";

[[noreturn]] void refuse(std::string_view channel, std::string cause, std::string_view advice) {
  throw Error(whereabouts({}, channel), std::move(cause), std::string(advice));
}

// Takes "data:" off the front, where no '=' comes before the colon.
std::string_view take_name(std::string_view& text) {
  const std::size_t end = text.find_first_of(":=");
  if (end == std::string_view::npos || text[end] == '=') return {};
  if (text.substr(end).starts_with("://")) {
    refuse({}, in_quotes(text) + " is an address",
           "a channel has a name and a type too: " + std::string(example));
  }
  const std::string_view name = text.substr(0, end);
  text.remove_prefix(end + 1);
  return name;
}

void add(ChannelDraft& draft, std::string_view key, std::string_view value) {
  if (key == "address") {
    draft.sockets.emplace_back();
    draft.add(draft.sockets.back(), {std::string(key), std::string(value), {}});
  } else {
    draft.add(draft.common, {std::string(key), std::string(value), {}});
  }
}

// The name is looked for first, so that all other errors can say it.
std::string_view name_in(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view pair = text.substr(begin, end - begin);
    if (pair.starts_with("name=")) return pair.substr(5);
    begin = end + 1;
  }
  return {};
}

}  // namespace

std::vector<ChannelConfig> parse_channel(std::string_view text) {
  if (text.empty()) refuse({}, "the text is empty", example);
  ChannelDraft draft;
  std::string_view rest = text;
  const std::string_view front = take_name(rest);
  draft.name = front.empty() ? name_in(rest) : front;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
    if (pair.empty()) {
      refuse(draft.name, "there is a comma with nothing behind it or in front of it",
             "leave it out");
    }
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      refuse(draft.name, in_quotes(pair) + " is not key=value", example);
    }
    const std::string_view key = pair.substr(0, equals);
    if (key == "name" && !front.empty()) {
      refuse(draft.name, "the name is given twice", "leave name= out, or the name in front");
    }
    add(draft, key, pair.substr(equals + 1));
  }
  // A single address is common to as many sockets as numSockets says.
  if (draft.sockets.size() == 1) {
    std::ranges::move(draft.sockets.front(), std::back_inserter(draft.common));
    draft.sockets.clear();
  }
  return settle(draft);
}

std::string to_string(const ChannelConfig& channel) {
  if (channel.index == 0) return channel.name;
  return channel.name + '[' + std::to_string(channel.index) + ']';
}

}  // namespace netio
