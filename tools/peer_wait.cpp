#include "peer_wait.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "peer_name.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

// In shared memory what went wrong says itself what to do, where there is more to it than this.
std::string_view advice_in_memory(DownReason reason) {
  switch (reason) {
    case DownReason::refused:
      return "start the other side there; --connect-timeout waits longer";
    case DownReason::foreign_protocol:
      return "something other than netio is there (ss -xlp shows what): take another name or path";
    case DownReason::handshake_timeout:
      return "something took the connection and said nothing: is it netio, and alive? (ss -xlp)";
    default:
      return {};
  }
}

std::string_view advice_for(DownReason reason) {
  switch (reason) {
    case DownReason::refused:
      return "start the other side there, or check host and port; --connect-timeout waits longer";
    case DownReason::unreachable:
      return "check the host, and the network and firewalls on the way to it";
    case DownReason::name_unknown:
      return "check how the host name is spelt; --connect-timeout waits longer";
    case DownReason::name_temporary:
      return "the name service does not answer: check the resolver, or give a numeric address";
    case DownReason::foreign_protocol:
      return "something other than netio is there: check the port";
    case DownReason::version_mismatch:
      return "use the same version of netio on both sides";
    case DownReason::pattern_mismatch:
      return "netio send (push) pairs with netio recv (pull), netio pub (publish) with netio sub "
             "(subscribe), netio ping with netio echo (both pair), netio request with netio reply, "
             "netio build readout with netio build builder, both with netio build manager "
             "(--manager)";
    case DownReason::handshake_timeout:
      return "something took the connection and said nothing: is it netio, alive, and not held up "
             "by other connections that say nothing? (ss -tn shows them)";
    case DownReason::message_too_big:
      return "raise --message-max on both sides";
    case DownReason::resources:
      return "raise the limit of open files (ulimit -n), or free memory";
    case DownReason::rejected:
      return "it may take another peer later: --connect-timeout waits longer";
    case DownReason::closed_by_peer:
    case DownReason::closed_here:
    case DownReason::lost:
    case DownReason::protocol_error:
    case DownReason::too_slow:
    case DownReason::stalled:
      break;
  }
  return {};
}

}  // namespace

std::string_view advice_for(std::string_view address, DownReason reason) {
  const bool memory = address.starts_with("shm://");
  const std::string_view in_memory = memory ? advice_in_memory(reason) : std::string_view();
  // In memory they say what to do themselves.
  const bool said = reason == DownReason::resources || reason == DownReason::rejected;
  if (!in_memory.empty() || (memory && said)) return in_memory;
  return advice_for(reason);
}

std::string why(const PeerInfo& peer, const Down& down) {
  std::string_view text = down.detail.empty() ? to_string(down.reason) : down.detail;
  const std::string name = named(peer);
  for (const std::string& front : {name, peer.address}) {
    if (!text.starts_with(front)) continue;
    text.remove_prefix(std::min(text.find_first_not_of(": ", front.size()), text.size()));
    break;
  }
  std::string said(text);
  const std::string there = " at " + peer.address;
  const std::size_t at = said.find(there);
  if (at == std::string::npos) return said;
  const std::size_t behind = at + there.size();
  if (behind == said.size() || said[behind] == ',' || said[behind] == ' ') {
    said.erase(at, there.size());
  }
  return said;
}

PeerWait::PeerWait(Loop& loop, const PeerArguments& arguments, std::function<void()> on_give_up)
    : address_(arguments.address),
      dials_(!arguments.binds && !arguments.address.starts_with("shm://")),
      usual_(arguments.usual_timeout),
      limit_(arguments.connect_timeout),
      on_give_up_(std::move(on_give_up)),
      timer_(loop, [this] { give_up(); }) {
  by_user_ = limit_.has_value();
  if (!limit_ && !arguments.binds) limit_ = usual_;
}

void PeerWait::wait_for_lost(std::chrono::nanoseconds limit) noexcept {
  if (!by_user_) lost_limit_ = limit;
}

void PeerWait::begin() { wait(limit_); }

void PeerWait::up(bool enough) {
  met_ = true;
  gathers_ = !enough;
  if (enough) timer_.stop();
}

void PeerWait::enough() {
  gathers_ = false;
  timer_.stop();
}

void PeerWait::down(const PeerInfo& peer, const Down& down, std::size_t connected) {
  last_down_ = down;
  last_why_ = why(peer, down);
  if (peer.was_up) ended_ = ended_in_order(down);
  if (connected != 0) return;
  if (peer.dialed && !peer.retrying && !closing_) {
    // The only peer there could be will not come. (When closing, the socket knows what is owed.)
    timer_.stop();
    waited_.reset();
    give_up();
    return;
  }
  if (gathers_) return;  // within the limit of begin(), if there is one
  const auto limit = lost_limit_ ? lost_limit_ : limit_;
  if (met_ && !timer_.running()) wait(closing_ && !limit ? usual_ : limit);
}

void PeerWait::closing(std::size_t connected) {
  closing_ = true;
  const auto limit = lost_limit_ ? lost_limit_ : limit_;
  if (connected == 0 && !timer_.running()) wait(limit ? limit : usual_);
}

void PeerWait::wait(std::optional<std::chrono::nanoseconds> limit) {
  waited_ = limit;
  if (limit) timer_.start_once(*limit);
}

void PeerWait::give_up() {
  if (!std::exchange(gave_up_, true)) on_give_up_();
}

std::string PeerWait::cause() const {
  std::string text =
      met_ ? fmt::format("the peer at {} {}", address_, ended_ ? "has ended" : "was lost")
           : fmt::format("no peer at {}", address_);
  if (waited_) text += (met_ ? " and none came back" : "") + within();
  return text + last_reason();
}

std::string PeerWait::cause(std::string_view gathered) const {
  return fmt::format("{} at {}{}{}", gathered, address_, within(), last_reason());
}

std::string PeerWait::last_reason() const {
  return last_down_ && !ended_in_order(*last_down_) ? ": " + last_why_ : std::string();
}

std::string PeerWait::within() const {
  if (!waited_) return {};
  return " within " + duration_text(std::chrono::duration<double>(*waited_).count());
}

std::string PeerWait::advice() const {
  const bool some_left = gathers_ && (!last_down_ || ended_in_order(*last_down_));
  if (some_left) return "start the others; --connect-timeout waits longer";
  if (!last_down_ && met_) return {};
  if (!last_down_) {
    return dials_
               ? "start the other side; does anything answer for its host (getent ahosts, ping)? "
                 "--connect-timeout waits longer"
               : "start the other side; --connect-timeout waits longer";
  }
  return std::string(advice_for(address_, last_down_->reason));
}

}  // namespace netio::cli
