// See wire_menu.hpp.
#include "socket/wire_menu.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <netio/status.hpp>

#include "socket/context_core.hpp"
#include "transport/own_networks.hpp"

namespace netio::detail {

std::size_t WireMenu::index_of(OfferedWire wire) noexcept {
  return static_cast<std::size_t>(std::ranges::find(other_wires, wire) - other_wires.begin());
}

WireMenu::WireMenu(ContextCore& context, const Url& url) : asked_("connect", url) {
  for (const OfferedWire wire : other_wires) {
    if (asked_.asks_for(wire)) make_ready(context, wire);
  }
}

// Memory is shared and libfabric is loaded now, so that the choice is quick.
void WireMenu::make_ready(ContextCore& context, OfferedWire wire) {
  std::string& unusable = unusable_.at(index_of(wire));
  if (wire == OfferedWire::verbs && !may_have_verbs()) {
    unusable = "there is no verbs device here";
    return;
  }
  try {
    (void)context.transport(std::string(scheme_of(wire)) + "://");
    if (wire == OfferedWire::verbs) verbs_hosts_ = context.verbs_hosts();
    if (wire == OfferedWire::shm) here_ = place_of_this_thread();
  } catch (const Error& error) {
    unusable = "cannot be used here: " + error.cause();
  }
}

WireMenu::Choice WireMenu::look_at(const WireOffers& offers, const std::string& host) const {
  Choice choice;
  if (asked_.tcp_only()) {
    choice.why_none = "tcp was asked for";
  } else if (offers.count == 0) {
    choice.why_none = "the other end offers no other wire";
  }
  if (!choice.why_none.empty()) return choice;
  const std::span all = std::span(offers.offers).first(offers.count);
  for (const OfferedWire wire : other_wires) {
    if (!asked_.asks_for(wire)) continue;
    const auto offer = std::ranges::find(all, wire, &WireOffer::wire);
    std::string& why = choice.why_not.at(index_of(wire));
    why = offer == all.end() ? "not offered there" : why_not(*offer, offers.place, host);
    if (!why.empty()) continue;
    Url url;
    if (wire == OfferedWire::shm) {
      url = shm_url(offer->name);
    } else {
      url.scheme = scheme_of(wire);
      url.host = host;
      url.port = offer->port;
    }
    choice.candidates.push_back({wire, std::move(url)});
  }
  return choice;
}

std::string WireMenu::why_not(const WireOffer& offer, const HostPlace& there,
                              const std::string& host) const {
  const std::string& unusable = unusable_.at(index_of(offer.wire));
  if (!unusable.empty()) return unusable;
  if (offer.wire == OfferedWire::shm) return why_apart(here_, there);
  if (offer.port == 0) return "offered without a port";
  if (offer.wire == OfferedWire::verbs && !in_network_of(verbs_hosts_, host)) {
    return "no verbs device here is in the network of " + host;
  }
  return {};
}

std::string WireMenu::reason(const Choice& choice, std::optional<OfferedWire> taken) {
  std::string text = choice.why_none;
  const std::size_t better = taken ? index_of(*taken) : other_wires.size();
  for (std::size_t i = 0; i < better; ++i) {
    if (choice.why_not.at(i).empty()) continue;
    if (!text.empty()) text += "; ";
    text.append(scheme_of(other_wires.at(i))).append(": ").append(choice.why_not.at(i));
  }
  return text;
}

}  // namespace netio::detail
