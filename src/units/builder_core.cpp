// See builder_core.hpp.
#include "units/builder_core.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/clock.hpp"
#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

BuilderCore::BuilderCore(Context& context, const BuilderOptions& options)
    : BuilderCore(context, parts_of(options, context.core().options())) {}

BuilderCore::BuilderCore(Context& context, const BuilderParts& parts)
    : loop_(context.loop()),
      socket_(context, parts.socket),
      pages_({context.core().receive_pool(), context.core().large_pool(),
              socket_.core().receive_quota(), socket_.core().copies(),
              parts.settings.building.plan.sources, parts.spare_bytes}),
      protocol_(parts.settings, *this, *this),
      sources_(parts.settings.building.plan.sources),
      releases_(std::make_shared<EventReleases>(loop_,
                                                [this] {
                                                  look_at_time();
                                                  take_releases();
                                                  rearm();
                                                })),
      timer_(loop_, [this] {
        armed_ns_ = INT64_MAX;
        look_at_time();
        rearm();
      }) {
  if (protocol_.is_managed()) {
    membership_ =
        std::make_unique<Membership>(context, parts.socket, static_cast<Membership::Owner&>(*this));
  }
  socket_.on_up([this](const PeerInfo& peer) { came_up(peer); });
  socket_.on_down([this](const PeerInfo& peer, const Down& down) { went_down(peer, down); });
  socket_.on_batch([this](const Batch& batch) { take(batch); });
  socket_.on_writable([this] {
    for (auto& [peer, unit] : units_) accept(peer, unit);
    for (std::uint32_t source = 0; source < sources_.size(); ++source) protocol_.writable(source);
  });
  socket_.on_closed([this](const Books&) { ended(); });
  socket_.context().enter(*this);
}

BuilderCore::~BuilderCore() { socket_.context().leave(*this); }

void BuilderCore::abandon() noexcept {
  abandoned_ = closing_ = true;
  releases_->end();
  socket_.abandon();
  if (membership_) membership_->abandon();
  for (auto& [peer, unit] : units_) unit.ending = true;
  timer_.stop();
  cancel();
}

void BuilderCore::on_event(std::function<void(const Event&)> call) {
  set_calls({std::move(call), {}});
}

void BuilderCore::on_range(std::function<void(const EventRange&)> call) {
  const BuilderSettings& settings = protocol_.building().settings();
  if (settings.done_with_release) {
    throw Error("cannot hand over events by range",
                "BuilderOptions::settle_released is set, and only single events are kept: use "
                "on_event()");
  }
  if (!part_) part_ = std::make_unique<EventPart>(settings.plan);
  set_calls({{}, std::move(call)});
}

void BuilderCore::set_calls(Calls calls) {
  if (hands_over_) {
    next_calls_ = std::move(calls);
    return;
  }
  calls_ = std::move(calls);
  protocol_.settle_together(calls_.on_range ? part_->events_max()
                                            : BuilderProtocol::closed_untold_default);
  if (calls_.on_event || calls_.on_range) retry_soon();
}

// The protocol may be on the stack.
void BuilderCore::retry_soon() noexcept {
  retry_due_ = true;
  loop_.defer(*this);
}

void BuilderCore::resume() noexcept {
  if (std::exchange(paused_, false)) retry_soon();
}

// A call of the user has returned.
void BuilderCore::note_handed_over() {
  hands_over_ = false;
  if (next_calls_ && !abandoned()) set_calls(*std::exchange(next_calls_, std::nullopt));
}

void BuilderCore::came_up(const PeerInfo& peer) noexcept {
  guard_memory(
      [&] {
        Unit unit;
        unit.info = peer;
        units_.insert_or_assign(peer.id, std::move(unit));
      },
      [&]() noexcept { fail(peer.id, out_of_memory()); });
}

void BuilderCore::went_down(const PeerInfo& peer, const Down& down) {
  const auto found = units_.find(peer.id);
  if (found == units_.end()) {
    return tell(on_refused, peer, down.detail);
  }
  const std::uint32_t source = found->second.source;
  units_.erase(found);
  if (source == no_source || sources_[source].peer != peer.id) return;
  sources_[source].peer = 0;
  look_at_time();
  protocol_.disconnected(source);
  rearm();
  tell(on_down, source, peer, down);
}

// Between two messages of another kind all fragments are of one run.
[[gnu::always_inline]] inline void BuilderCore::take_fragment(Unit& unit,
                                                              const MessageCursor::Place& place) {
  if (!fragments_.continues(place.tag)) [[unlikely]] {
    add_fragments(unit.source);
    fragments_.begin({unit.run, place.tag}, unit.fragments);
  }
  fragments_.add(place.bytes, pages_.name(place), unit.status);
  ++unit.fragments;
  unit.status = FragmentStatus::good;
  if (fragments_.full()) [[unlikely]]
    add_fragments(unit.source);
}

void BuilderCore::take(const Batch& batch) noexcept {
  const std::uint64_t peer = socket_.sender_id();
  const auto found = units_.find(peer);
  if (closing_ || found == units_.end() || found->second.ending) return;
  Unit& unit = found->second;
  look_at_time();
  guard_memory(
      [&] {
        pages_.begin(batch);
        const char* wrong = nullptr;
        MessageCursor messages = batch.cursor();
        for (MessageCursor::Place place; messages.next(place) && !unit.ending;) {
          if (place.tag != build_control_tag) {
            if (unit.source != no_source) [[likely]] {
              if (place.segments != 0) [[unlikely]]
                place = pages_.with_table(place);
              take_fragment(unit, place);
              continue;
            }
            wrong = "sent a fragment before its hello";
          } else {
            if (unit.source != no_source) added(unit);
            wrong = take_control(peer, unit, {place.payload, place.bytes});
          }
          if (wrong != nullptr) refuse(peer, unit, wrong);
        }
        if (unit.source != no_source) added(unit);
      },
      [&]() noexcept { fail(peer, out_of_memory()); });
  pages_.end(unit.source);
  rearm();
}

void BuilderCore::add_fragments(std::uint32_t source) {
  const std::span<const OpenFragment> all = fragments_.fragments();
  pages_.hold(all.size());
  std::size_t taken = 0;
  try {
    if (!all.empty() && protocol_.add(source, fragments_)) taken = all.size();
    for (; taken < all.size(); ++taken) {
      const OpenFragment& each = all[taken];
      protocol_.add(source,
                    {fragments_.event(taken), each.bytes, fragments_.before() + taken, each.status},
                    each.memory);
    }
  } catch (...) {
    for (const OpenFragment& each : all.subspan(taken)) pages_.drop(each.memory);
    fragments_.clear();
    throw;
  }
  fragments_.clear();
}

// All fragments that came so far.
void BuilderCore::added(const Unit& unit) {
  add_fragments(unit.source);
  protocol_.added(unit.source);
}

// Null, or what is wrong with it.
const char* BuilderCore::take_control(std::uint64_t peer, Unit& unit,
                                      std::span<const std::byte> message) {
  UnitSaid said;
  if (const char* const wrong = decode(message, said); wrong != nullptr) return wrong;
  return std::visit(
      [&]<typename Message>(const Message& each) -> const char* {
        if constexpr (std::is_same_v<Message, UnitIntroduces>) {
          return take_introduction(peer, unit, each);
        } else if constexpr (std::is_same_v<Message, UnitHello>) {
          return take_hello(peer, unit, each);
        } else if constexpr (std::is_same_v<Message, NextRun>) {
          unit.run = each.run;
        } else if constexpr (std::is_same_v<Message, NextStatus>) {
          unit.status = each.status;
        } else if constexpr (std::is_same_v<Message, Refused>) {
          refuse(peer, unit, "refuses this builder: " + std::string(each.why));
        } else {
          if (unit.source == no_source) return "did not begin with a hello";
          protocol_.received(unit.source, each);
        }
        return nullptr;
      },
      said);
}

const char* BuilderCore::take_introduction(std::uint64_t peer, Unit& unit,
                                           const UnitIntroduces& unit_is) {
  if (std::exchange(unit.introduced, true)) return "introduced itself twice";
  Objection objection =
      protocol_.building().objection_to(unit_is.plan, unit_is.source, unit_is.builder);
  if (objection) {
    if (objection.number_taken) {
      socket_.give_number_up(sources_[unit_is.source].peer, objection);
    }
    refuse(peer, unit, objection.why, ": ");
  } else {
    unit.accept_due = true;
    accept(peer, unit);
  }
  return nullptr;
}

void BuilderCore::accept(std::uint64_t peer, Unit& unit) noexcept {
  if (!unit.accept_due || unit.ending) return;
  const BuildBytes message{BuilderAccepts()};
  unit.accept_due = socket_.send_to(peer, message.bytes(), build_control_tag) != Status::ok;
}

const char* BuilderCore::take_hello(std::uint64_t peer, Unit& unit, const UnitHello& hello) {
  if (unit.source != no_source) return "said hello twice";
  // say() is called from within connected().
  const bool there_is = hello.source < sources_.size();
  const std::uint64_t before = there_is ? sources_[hello.source].peer : 0;
  if (there_is && before == 0) sources_[hello.source].peer = peer;
  Objection objection;
  try {
    objection = protocol_.connected(hello);
  } catch (...) {
    if (there_is) sources_[hello.source].peer = before;
    throw;
  }
  if (objection) {
    if (there_is) sources_[hello.source].peer = before;
    socket_.give_number_up(before, objection);
    refuse(peer, unit, objection.why, ": ");
    return nullptr;
  }
  unit.source = hello.source;
  tell(on_up, unit.source, unit.info);
  return nullptr;
}

bool BuilderCore::say(std::uint32_t source, const BuilderMessage& message) noexcept {
  const std::uint64_t peer = sources_[source].peer;
  return peer != 0 &&
         socket_.send_to(peer, BuildBytes(message).bytes(), build_control_tag) == Status::ok;
}

// The user may close the builder in the call for what is in front of this event.
bool BuilderCore::may_hand_over(EventId position) noexcept {
  if (part_ && !part_->takes(position)) handed_over();
  if (!takes_more()) return false;
  if (on_run_end_ && run_ != position.run && !closing_) [[unlikely]] {
    if (run_) end_run(*run_);
    run_ = position.run;
  }
  return (calls_.on_event || calls_.on_range) && !paused_ && !closing_;
}

// The user may pause in the call for what is in front of it.
bool BuilderCore::may_end_range() noexcept {
  handed_over();
  return takes_more();
}

void BuilderCore::handed_over() noexcept {
  if (!part_ || part_->empty()) return;
  hands_over_ = true;
  calls_.on_range(EventRange(*part_));
  part_->drop(pages_);
  note_handed_over();
}

bool BuilderCore::hand_over(const BuiltEvent& event, EventId position) noexcept {
  bytes_ += event.bytes;
  if (!event.full) {
    for (std::size_t source = 0; source < sources_.size(); ++source) {
      if (event.fragments[source].here) continue;
      ++sources_[source].missing_by[static_cast<std::size_t>(event.missing[source])];
    }
  }
  if (calls_.on_range) {
    part_->add(event, position, pages_);
    return false;
  }
  position_ = position;
  keeps_ = false;
  hands_over_ = true;
  calls_.on_event(Event(*this, event));
  note_handed_over();
  for (const OpenFragment& fragment : event.fragments) {
    if (fragment.here) pages_.drop(fragment.memory);
  }
  return keeps_;
}

KeptEvent BuilderCore::keep(const BuiltEvent& event) {
  KeptEvent kept;
  if (keeps_) return kept;
  kept.fragments_.resize(event.fragments.size());
  kept.id_ = event.id;
  kept.position_ = position_;
  kept.complete_ = event.complete;
  kept.again_ = event.again;
  for (std::size_t source = 0; source < event.fragments.size(); ++source) {
    const EventFragment view = fragment(event, source);
    kept.fragments_[source] = {view.message.keep(), view.status, view.missing, view.here};
  }
  releases_->make_room();
  kept.releases_ = releases_;
  keeps_ = true;
  note_fill();
  return kept;
}

void BuilderCore::drop(std::uint32_t, EventId, std::uint64_t memory) noexcept {
  pages_.drop(memory);
}

void BuilderCore::refuse(std::uint32_t source, std::string why) {
  const std::uint64_t peer = sources_[source].peer;
  const auto found = units_.find(peer);
  if (found != units_.end()) refuse(peer, found->second, why);
}

void BuilderCore::refuse(std::uint64_t peer, Unit& unit, const std::string& why,
                         const char* joint) {
  if (unit.ending) return;
  const std::string who =
      unit.source == no_source ? "a unit" : "unit " + std::to_string(unit.source);
  unit.refused = who + joint + why;
  unit.ending = true;
  // If it does not get there, the connection ends all the same.
  static_cast<void>(socket_.send_to(peer, BuildBytes(Refused{why}).bytes(), build_control_tag));
  loop_.defer(*this);
}

void BuilderCore::run_deferred() noexcept {
  socket_.flush();
  if (std::exchange(ends_, false)) end();
  if (std::exchange(retry_due_, false) && takes_more()) {
    protocol_.retry();
    rearm();
  }
  // A connection that fails leaves units_ in another turn of the loop.
  for (auto& [peer, unit] : units_) {
    if (unit.refused.empty()) continue;
    const std::string why = std::move(unit.refused);
    unit.refused.clear();
    fail(peer, rejected(why));
    tell(on_refused, unit.info, why);
  }
  if (watermarks.watched()) {
    if (CallBack<void()>* const call = watermarks.crossed(fill(), socket_.core().options())) {
      tell(*call);
    }
  }
  ended();
}

void BuilderCore::fail(std::uint64_t peer, Down down) noexcept {
  if (abandoned()) return;
  Peer* const found = socket_.core().find_peer(peer);
  if (found != nullptr) found->fail(std::move(down));
}

// A lease is measured by a clock that also runs while the machine sleeps.
std::int64_t BuilderCore::now_ns() noexcept {
  return protocol_.is_managed() ? boottime_ns() : loop_.now().count();
}

void BuilderCore::look_at_time() noexcept { protocol_.at(now_ns()); }

// The timer may expire too early: it is set anew then.
void BuilderCore::rearm() {
  const std::int64_t next = protocol_.next_ns();
  if (next >= armed_ns_) return;
  armed_ns_ = next;
  timer_.start_once(std::chrono::nanoseconds(std::max<std::int64_t>(next - now_ns(), 0)));
}

EventId BuilderCore::settled() const noexcept {
  return protocol_.is_managed() ? EventId{} : protocol_.building().settled();
}

}  // namespace netio::detail
