// Of an address netio://host:port?wire=...: which of the wires that the other end offers can be
// tried from here, and why the others cannot. Owner thread only.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/url.hpp"
#include "socket/other_wires.hpp"
#include "wire/offers.hpp"

namespace netio::detail {

class ContextCore;

class WireMenu {
 public:
  // Why a wire is not taken, in the order of other_wires; empty: it is, or nobody asks for it.
  using Reasons = std::array<std::string, other_wires.size()>;
  struct Candidate {
    OfferedWire wire;
    Url url;
  };
  struct Choice {
    std::vector<Candidate> candidates;  // that can be tried, the best first
    Reasons why_not;                    // of the others
    std::string why_none;               // where no wire is looked at
  };

  // Makes ready what may be tried, which takes its time. Throws AddressError for an option that
  // makes no sense.
  WireMenu(ContextCore& context, const Url& url);

  // Of what was offered at this host, a number.
  [[nodiscard]] Choice look_at(const WireOffers& offers, const std::string& host) const;
  // Why a connection goes over no better wire than this one, or than tcp: for a person.
  [[nodiscard]] static std::string reason(const Choice& choice, std::optional<OfferedWire> taken);
  [[nodiscard]] static std::size_t index_of(OfferedWire wire) noexcept;

 private:
  void make_ready(ContextCore& context, OfferedWire wire);
  [[nodiscard]] std::string why_not(const WireOffer& offer, const HostPlace& there,
                                    const std::string& host) const;

  WireOption asked_;
  Reasons unusable_;  // why a wire cannot be used here at all
  HostPlace here_;
  std::vector<std::string> verbs_hosts_;  // the addresses of this host's devices
};

}  // namespace netio::detail
