// See wire_choice.hpp.
#include "socket/wire_choice.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <netio/fabrics.hpp>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"
#include "transport/own_networks.hpp"

namespace netio::detail {

namespace {

constexpr std::chrono::nanoseconds decide_within = std::chrono::seconds(1);

std::size_t index_of(OfferedWire wire) noexcept {
  return static_cast<std::size_t>(std::ranges::find(other_wires, wire) - other_wires.begin());
}

}  // namespace

WireChoice::WireChoice(SocketCore& socket, Owner& owner, const Url& url)
    : socket_(socket),
      owner_(owner),
      asked_("connect", url),
      timer_(socket.context().loop, [this] { give_up_late(); }) {
  for (const OfferedWire wire : other_wires) {
    if (asked_.asks_for(wire)) make_ready(wire);
  }
}

// Memory is shared and libfabric is loaded now, so that the choice is quick.
void WireChoice::make_ready(OfferedWire wire) {
  if (wire == OfferedWire::verbs && !may_have_verbs()) {
    unusable_.at(index_of(wire)) = "there is no verbs device here";
    return;
  }
  try {
    (void)socket_.context().transport(std::string(scheme_of(wire)) + "://");
    if (wire != OfferedWire::verbs) return;
    for (const FabricDevice& device : fabric_devices()) {
      if (device.scheme != scheme_of(wire)) continue;
      verbs_hosts_.insert(verbs_hosts_.end(), device.hosts.begin(), device.hosts.end());
    }
  } catch (const Error& error) {
    unusable_.at(index_of(wire)) = "cannot be used here: " + error.cause();
  }
}

// Of the wires that are better than the one that is taken.
void WireChoice::decide() noexcept {
  const std::size_t better = moved_ ? index_of(*wire_) : other_wires.size();
  guard_memory(
      [&] {
        for (std::size_t i = 0; i < better; ++i) {
          if (why_not_.at(i).empty()) continue;
          if (!reason_.empty()) reason_ += "; ";
          reason_.append(scheme_of(other_wires.at(i))).append(": ").append(why_not_.at(i));
        }
      },
      [this]() noexcept { reason_ = "no memory"; });
}

bool WireChoice::begin(const Hello& theirs, const std::string& host) noexcept {
  end();
  reason_.clear();
  for (std::string& each : why_not_) each.clear();
  guard_memory(
      [&] {
        gather(theirs, host);
        pending_ = try_next();
      },
      [this]() noexcept {
        end();
        reason_ = "no memory";
      });
  if (!pending_) decide();
  return pending_;
}

void WireChoice::gather(const Hello& theirs, const std::string& host) {
  if (asked_.tcp_only()) {
    reason_ = "tcp was asked for";
    return;
  }
  if (theirs.offers.count == 0) {
    reason_ = "the other end offers no other wire";
    return;
  }
  token_ = theirs.offers.token;
  decide_by_ns_ = socket_.context().loop.now().count() +
                  std::min(decide_within, socket_.options().handshake_within / 2).count();
  for (const OfferedWire wire : other_wires) {
    if (!asked_.asks_for(wire)) continue;
    const auto end =
        theirs.offers.offers.begin() + static_cast<std::ptrdiff_t>(theirs.offers.count);
    const auto offer = std::find_if(theirs.offers.offers.begin(), end,
                                    [wire](const WireOffer& each) { return each.wire == wire; });
    std::string& why = why_not_.at(index_of(wire));
    why = offer == end ? "not offered there" : why_not(*offer, theirs.offers.place, host);
    if (!why.empty()) continue;
    Url url;
    if (wire == OfferedWire::shm) {
      url = shm_url(offer->name);
    } else {
      url.scheme = scheme_of(wire);
      url.host = host;
      url.port = offer->port;
    }
    candidates_.insert(candidates_.begin(), {wire, std::move(url)});
  }
}

std::string WireChoice::why_not(const WireOffer& offer, const HostPlace& there,
                                const std::string& host) const {
  const std::size_t index = index_of(offer.wire);
  if (!unusable_.at(index).empty()) return unusable_.at(index);
  if (!blamed_.at(index).empty()) return blamed_.at(index);
  if (offer.wire == OfferedWire::shm) return why_apart(place_of_this_thread(), there);
  if (offer.port == 0) return "offered without a port";
  if (offer.wire == OfferedWire::verbs && !in_network_of(verbs_hosts_, host)) {
    return "no verbs device here is in the network of " + host;
  }
  return {};
}

// The next wire gets its share of the time that is left. False if there is none.
bool WireChoice::try_next() {
  timer_.stop();
  link_.reset();
  wire_.reset();
  greeted_ = failed_ = false;
  while (!candidates_.empty()) {
    const Candidate candidate = std::move(candidates_.back());
    const std::int64_t left_ns = decide_by_ns_ - socket_.context().loop.now().count();
    const auto sharers = static_cast<std::int64_t>(candidates_.size());
    candidates_.pop_back();
    if (left_ns <= 0) {
      why_not_.at(index_of(candidate.wire)) = "there was no time to try it";
      continue;
    }
    try {
      link_ = socket_.context()
                  .transport(candidate.url.scheme + "://")
                  .connect(candidate.url, socket_.link_options());
    } catch (const Error& error) {
      why_not_.at(index_of(candidate.wire)) = error.cause();
      continue;
    }
    wire_ = candidate.wire;
    owner_.begin_other_connection();
    timer_.start_once(std::chrono::nanoseconds(left_ns / sharers));
    link_->start(*this);
    return true;
  }
  return false;
}

WireChoice::Step WireChoice::step() noexcept {
  if (failed_) {
    bool more = false;
    guard_memory(
        [&] {
          why_not_.at(index_of(*wire_)) = failure_;
          more = try_next();
        },
        [&]() noexcept {
          cut();
          link_.reset();
          reason_ = "no memory";
        });
    pending_ = more;
    if (more) return Step::wait;
    decide();
    return Step::stay;
  }
  if (!greeted_) return Step::wait;
  timer_.stop();
  pending_ = false;
  moved_ = true;
  decide();
  return Step::move;
}

std::unique_ptr<Link> WireChoice::take_link() noexcept { return std::move(link_); }

bool WireChoice::blame(const Down& down) noexcept {
  if (!wire_ || (!pending_ && !moved_)) return false;
  guard_memory([&] { blamed_.at(index_of(*wire_)) = "failed before it was up: " + down.detail; },
               [this]() noexcept { blamed_.at(index_of(*wire_)) = "failed"; });
  return true;
}

void WireChoice::came_up() noexcept {
  for (std::string& each : blamed_) each.clear();
}

void WireChoice::cut() noexcept {
  timer_.stop();
  pending_ = false;
  if (link_) link_->cut();
}

void WireChoice::end() noexcept {
  cut();
  link_.reset();
  wire_.reset();
  candidates_.clear();
  greeted_ = failed_ = moved_ = false;
}

void WireChoice::give_up_late() noexcept {
  link_->cut();
  failed("did not come up in time");
}

void WireChoice::failed(std::string why) noexcept {
  if (failed_) return;
  failed_ = true;
  failure_ = std::move(why);
  owner_.choice_changed();
}

Hello WireChoice::greet(const Hello*) noexcept {
  Hello hello = owner_.greet_on_other(*link_);
  hello.token = token_;
  return hello;
}

std::optional<Down> WireChoice::judge(const Hello& theirs) noexcept {
  return owner_.judge_other(theirs);
}

void WireChoice::on_up(const Hello& theirs) noexcept {
  guard_memory(
      [&] {
        their_hello_ = theirs;
        greeted_ = true;
      },
      [this]() noexcept {
        link_->cut();
        failed("no memory");
      });
  owner_.choice_changed();
}

// Before this side has confirmed, only grants of a fabric may come, which the link takes.
void WireChoice::on_page(const PageHeader& header, Block&, std::span<const std::byte>) noexcept {
  if (header.bytes == 0) return;
  link_->cut();
  failed("sent messages before it may");
}

void WireChoice::on_down(const Down& down) noexcept {
  guard_memory([&] { failed(down.detail); }, [this]() noexcept { failed("failed"); });
}

}  // namespace netio::detail
