// A simulated link's greeting and end.
#include "simulation/sim_link.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "simulation/during_event.hpp"
#include "simulation/run.hpp"
#include "simulation/world.hpp"

namespace netio::test {

using detail::Hello;
using detail::HelloParse;

SimLink::SimLink(SimTransport& transport, const detail::LinkOptions& options,
                 const detail::Url& url, Dial& dial)
    : transport_(transport),
      resources_(transport.resources()),
      options_(options),
      world_(transport.world()),
      dial_(&dial),
      side_(0),
      peer_address_(to_string(url)) {
  transport_.add(*this);
}

SimLink::SimLink(SimTransport& transport, const detail::LinkOptions& options, Wire& wire)
    : transport_(transport),
      resources_(transport.resources()),
      options_(options),
      world_(transport.world()),
      wire_(&wire),
      side_(1),
      peer_address_(wire.accepted_address()) {
  wire.ends[1] = this;
  transport_.add(*this);
}

SimLink::~SimLink() {
  if (state_ != State::down) cut();
  transport_.remove(*this);
}

void SimLink::start(detail::LinkEvents& events) noexcept {
  if (state_ != State::idle) world_.fail("a link was started twice");
  events_ = &events;
  handshake_until_ns_ = World::now_ns() + options_.handshake_within.count();
  if (side_ == 1) {
    state_ = State::greeting;
    return;
  }
  state_ = State::connecting;
  wire_ = &world_.add_wire(*dial_);
  wire_->ends[0] = this;
  wire_->runs[0] = dial_->by;
  world_.say("  wire ", wire_->number, " is dialed by ", dial_->by->name(), " to ", dial_->url);
}

bool SimLink::poll() {
  bool worked = false;
  if (state_ == State::connecting) worked |= look_at_attempt();
  if (state_ == State::greeting) worked |= look_at_greeting();
  if (state_ == State::up || state_ == State::finishing) {
    worked |= pump();
    worked |= complete();
    if (state_ == State::up) worked |= tell_room();
    if (state_ == State::up) worked |= read();
    if (state_ == State::up) look_for_stall();
    if (state_ == State::finishing) worked |= shut_when_written();
    if (state_ == State::finishing) worked |= discard();
  }
  if (state_ != State::idle && state_ != State::down) worked |= told_of_end();
  return worked;
}

// A page that is begun and does not go on must not stay for ever. The socket looks at its links
// four times in stall_after. One look sees the last bytes, four more pass, and the second look that
// finds the page late ends the connection.
void SimLink::look_for_stall() {
  const std::int64_t now_ns = World::now_ns();
  if (!mid_page() || !reading() || bytes_received_ != stalled_bytes_) {
    stalled_bytes_ = bytes_received_;
    stalled_since_ns_ = stalled_look_ns_ = now_ns;
    stalled_looks_ = 0;
    return;
  }
  const std::int64_t after_ns =
      wire_->runs[static_cast<std::size_t>(side_)]->actor().options.stall_after.count();
  const std::int64_t period_ns = std::max(after_ns / 4, 10 * ms);
  if (now_ns - stalled_look_ns_ <= period_ns || now_ns - stalled_since_ns_ <= after_ns) return;
  stalled_look_ns_ = now_ns;
  constexpr unsigned looks_enough = 8;
  if (++stalled_looks_ > looks_enough) {
    world_.fail("wire " + test::text(wire_->number) + " is in the middle of a page for ever");
  }
}

std::string SimLink::text() const {
  static constexpr std::array<const char*, 6> states{"idle", "connecting", "greeting",
                                                     "up",   "finishing",  "down"};
  std::string all = std::string("a link that is ") + states[static_cast<std::size_t>(state_)];
  if (paused_) all += ", paused";
  if (starved_) all += ", without memory";
  if (assembling_) all += ", inside a message in parts";
  if (block_) all += ", with a block";
  return all;
}

bool SimLink::look_at_attempt() {
  const std::int64_t now_ns = World::now_ns();
  const std::string address = dial_->url.substr(6, dial_->url.find('?') - 6);
  if (now_ns < wire_->answer_ns) {
    if (now_ns < handshake_until_ns_) return false;
    go_down({DownReason::unreachable, peer_address_ + " did not answer in time"});
    return true;
  }
  SimListener* const listener = world_.find_listener(address);
  if (wire_->answer == Wire::Answer::connects && listener != nullptr) {
    state_ = State::greeting;
    wire_->waits_since_ns = now_ns;
    handshake_until_ns_ = now_ns + options_.handshake_within.count();
    listener->knock(*wire_);
    send_hello(events_->greet(nullptr));
  } else if (wire_->answer == Wire::Answer::unreachable) {
    go_down({DownReason::unreachable, "no way to " + peer_address_});
  } else if (wire_->answer == Wire::Answer::lost) {
    go_down({DownReason::lost, "the connection to " + peer_address_ + " broke"});
  } else {
    go_down({DownReason::refused, "nobody listens at " + peer_address_});
  }
  return true;
}

bool SimLink::look_at_greeting() {
  bool worked = pump();
  worked |= read_hello();
  if (state_ != State::greeting || World::now_ns() < handshake_until_ns_) return worked;
  go_down({DownReason::handshake_timeout, peer_address_ + " sent no hello in time"});
  return true;
}

// Encoded and parsed as on any wire.
void SimLink::send_hello(Hello hello) {
  hello.message_bytes_max =
      std::min(hello.message_bytes_max, detail::largest_copied(resources_, options_));
  Packet packet;
  packet.kind = Packet::Kind::hello;
  packet.copy.resize(detail::hello_bytes_max);
  packet.bytes = encode(hello, packet.copy);
  packet.copy.resize(packet.bytes);
  refused_ = hello.refusal != detail::Refusal::none;
  hello_sent_ = true;
  wire_->put(side_, std::move(packet));
  pump();
}

bool SimLink::hear_greeting() noexcept {
  if (state_ == State::greeting) read_hello();
  return state_ != State::greeting || !hello_in_.empty();
}

bool SimLink::read_hello() {
  Direction& from = in();
  if (from.taken == 0 || from.packets.front().kind != Packet::Kind::hello) return false;
  Packet& packet = from.packets.front();
  const std::size_t here = packet.arrived(World::now_ns());
  if (here <= packet.seen) return false;
  hello_in_.insert(hello_in_.end(), packet.copy.begin() + static_cast<std::ptrdiff_t>(packet.seen),
                   packet.copy.begin() + static_cast<std::ptrdiff_t>(here));
  packet.seen = here;
  Hello theirs;
  const detail::HelloResult result = parse(hello_in_, theirs);
  if (result.state == HelloParse::need_more) return true;
  if (result.state != HelloParse::done || result.bytes != packet.bytes) {
    world_.fail("a hello cannot be read: " + result.what);
    return true;
  }
  (void)from.pop_read();
  hello_in_ = {};
  take_hello(theirs);
  return true;
}

void SimLink::take_hello(const Hello& theirs) {
  if (side_ == 0) {
    std::optional<Down> objection;
    during_event([&] { objection = events_->judge(theirs); });
    if (state_ == State::down) return;
    if (objection) {
      world_.tally.add(Happened::turned_away);
      go_down(std::move(*objection));
    } else {
      come_up(theirs);
    }
    return;
  }
  // As a stream tells: the end stands behind the hello.
  if (World::now_ns() >= wire_->told_ns(1)) {
    go_down({DownReason::handshake_timeout, peer_address_ + " gave up before it was accepted"});
    return;
  }
  look_for_others();
  Hello hello;
  during_event([&] { hello = events_->greet(&theirs); });
  if (state_ == State::down) return;
  send_hello(hello);
  if (!refused_) {
    come_up(theirs);
    return;
  }
  // The reason must reach the peer: our side ends, and we wait for theirs, or for the time to pass.
  state_ = State::finishing;
  shut_when_written();
}

void SimLink::come_up(const Hello& theirs) {
  const std::size_t page = std::min<std::size_t>({resources_.page_bytes, theirs.page_bytes_max,
                                                  traits().page_bytes_max}) &
                           ~(detail::wire_align - 1);
  limits_.page_bytes_max = page;
  fit_ = {.pages = &resources_.send_pool, .large = &resources_.large_pool};
  fit_.borrowed_bytes_max = page - detail::page_header_bytes - detail::frame_prefix_bytes_max;
  limits_.queue_bytes_max = std::min(options_.queue_bytes_max, traits().queue_bytes_max);
  limits_.message_bytes_max = theirs.message_bytes_max;
  fit_.whole_page_bytes_max = std::max(page, traits().lent_page_bytes_max);
  state_ = State::up;
  handshake_until_ns_ = never;
  if (!wire_->was_up[0] && !wire_->was_up[1]) ++wire_->dial.connections;
  wire_->was_up[static_cast<std::size_t>(side_)] = true;
  world_.tally.add(Happened::connected);
  during_event([&] { events_->on_up(theirs); });
}

// Other connections of the same dial that this side takes for alive.
void SimLink::look_for_others() {
  for (const auto& other : world_.wires()) {
    if (&other->dial != &wire_->dial || !other->was_up[1] || other->runs[1] != wire_->runs[1])
      continue;
    if (other->ends[1] != nullptr) world_.tally.add(Happened::twin);
  }
}

// The connection is broken, and it is time for this side to learn of it.
bool SimLink::told_of_end() {
  const std::int64_t now_ns = World::now_ns();
  if (state_ == State::finishing && handshake_until_ns_ != never && now_ns >= handshake_until_ns_) {
    go_down({DownReason::handshake_timeout, peer_address_ + " did not end the connection"});
    return true;
  }
  if (wire_ == nullptr || now_ns < wire_->told_ns(side_)) return false;
  if (world_.settings.lie == Lie::end_untold && wire_->number % 4 == 0) return false;
  const Direction& from = in();
  if (!wire_->told_ahead(side_) && state_ != State::connecting) {
    // Behind what still comes, or waits to be read.
    if (from.taken != 0 && !from.packets.front().lost) {
      const Packet& next = from.packets.front();
      if (next.cut_at > next.bytes || next.arrived(now_ns) < next.cut_at) return false;
      if (next.seen < next.cut_at) return false;
    }
  }
  go_down(gone_silently(peer_address_, state_ == State::up || state_ == State::finishing));
  return true;
}

// The last event.
void SimLink::go_down(Down down) noexcept {
  if (state_ == State::down) return;
  cut();
  during_event([&] { events_->on_down(down); });
}

// Possibly inside an event, or a call of the user's.
void SimLink::cut() noexcept {
  const bool begun = state_ != State::down && wire_ != nullptr;
  state_ = State::down;
  cancel();
  stop_waiting();
  if (!begun) return;
  for (std::size_t i = outstanding_.size(); i-- > 0;) let_go(i);
  outstanding_.clear();
  outstanding_bytes_ = 0;
  block_.reset();
  large_.reset();
  aside_.reset();
  wire_->leave(side_);
}

void SimLink::finish() noexcept {
  if (state_ != State::up) return;
  state_ = State::finishing;
  paused_ = false;
  if (std::exchange(starved_, false)) stop_waiting();
  resources_.loop.defer(*this);
}

void SimLink::pause(bool paused) noexcept {
  if (state_ == State::up) paused_ = paused;
}

std::chrono::milliseconds SimLink::unanswered_for() const noexcept {
  const bool known = state_ == State::up && out().silent && wire_->fate.tells_unanswered;
  if (!known || out().silent_since_ns == never) return std::chrono::milliseconds(0);
  const auto silent_ms = (World::now_ns() - out().silent_since_ns) / ms;
  if (silent_ms > 0) world_.tally.add(Happened::unanswered);
  return std::chrono::milliseconds(silent_ms);
}

}  // namespace netio::test
