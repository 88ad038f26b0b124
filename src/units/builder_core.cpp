// See builder_core.hpp.
#include "units/builder_core.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/out_of_memory.hpp"
#include "base/random.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"
#include "units/plan.hpp"
#include "units/window.hpp"

namespace netio::detail {

BuilderCore::BuilderCore(Context& context, const BuilderOptions& options)
    : loop_(context.loop()),
      options_(with_windows(options, context)),
      socket_(context, options_.socket),
      protocol_({plan_of(options.plan, "make a builder unit"), options.builder, random_run(),
                 options_.window_bytes, options.deadline.count(), options_.keep_bytes_max,
                 options.settle_released, options.turns},
                *this),
      sources_(options.plan.sources),
      releases_(std::make_shared<EventReleases>(loop_,
                                                [this] {
                                                  look_at_time();
                                                  releases_->take([this](EventId event) {
                                                    static_cast<void>(protocol_.release(event));
                                                  });
                                                  rearm();
                                                })),
      timer_(loop_, [this] {
        armed_ns_ = INT64_MAX;
        look_at_time();
        rearm();
      }) {
  require_below(options.builder, options.plan.builders, "make a builder unit", "builder");
  socket_.on_up([this](const PeerInfo& peer) { came_up(peer); });
  socket_.on_down([this](const PeerInfo& peer, const Down& down) { went_down(peer, down); });
  socket_.on_writable([this] {
    for (std::uint32_t source = 0; source < sources_.size(); ++source) protocol_.writable(source);
  });
}

BuilderCore::~BuilderCore() { releases_->end(); }

void BuilderCore::on_event(std::function<void(const Event&)> call) {
  on_event_ = std::move(call);
  if (on_event_) {
    socket_.on_batch([this](const Batch& batch) { take(batch); });
    if (!hands_over_) protocol_.retry();
  } else {
    socket_.on_batch({});
  }
}

void BuilderCore::came_up(const PeerInfo& peer) {
  Unit& unit = units_[peer.id];
  unit = Unit();
  unit.info = peer;
}

void BuilderCore::went_down(const PeerInfo& peer, const Down& down) {
  const auto found = units_.find(peer.id);
  if (found == units_.end()) {
    if (on_refused) on_refused(peer, down.detail);
    return;
  }
  const std::uint32_t source = found->second.source;
  units_.erase(found);
  if (source == no_source || sources_[source].peer != peer.id) return;
  sources_[source].peer = 0;
  look_at_time();
  protocol_.disconnected(source);
  rearm();
  if (on_down) on_down(source, peer, down);
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
              take_fragment(unit, place);
              continue;
            }
            wrong = "sent a fragment before its hello";
          } else {
            if (unit.source != no_source) protocol_.added(unit.source);
            wrong = take_control(peer, unit, {place.payload, place.bytes});
          }
          if (wrong != nullptr) refuse(peer, unit, wrong);
        }
        if (unit.source != no_source) protocol_.added(unit.source);
      },
      [&]() noexcept { fail(peer, out_of_memory()); });
  pages_.end();
  rearm();
}

void BuilderCore::take_fragment(Unit& unit, const MessageCursor::Place& place) {
  const Fragment fragment{{unit.run, place.tag}, place.bytes, unit.fragments, unit.status};
  const FragmentPages::Name name = pages_.name(place);
  try {
    protocol_.add(unit.source, fragment, name);
  } catch (...) {
    pages_.drop(name);
    throw;
  }
  ++unit.fragments;
  unit.status = FragmentStatus::good;
}

// Null, or what is wrong with it.
const char* BuilderCore::take_control(std::uint64_t peer, Unit& unit,
                                      std::span<const std::byte> message) {
  UnitSaid said;
  if (const char* const wrong = decode(message, said); wrong != nullptr) return wrong;
  return std::visit(
      [&]<typename Message>(const Message& each) -> const char* {
        if constexpr (std::is_same_v<Message, UnitHello>) {
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

const char* BuilderCore::take_hello(std::uint64_t peer, Unit& unit, const UnitHello& hello) {
  if (unit.source != no_source) return "said hello twice";
  // say() is called from within connected().
  const bool there_is = hello.source < sources_.size();
  const std::uint64_t before = there_is ? sources_[hello.source].peer : 0;
  if (there_is && before == 0) sources_[hello.source].peer = peer;
  std::string why;
  try {
    why = protocol_.connected(hello);
  } catch (...) {
    if (there_is) sources_[hello.source].peer = before;
    throw;
  }
  if (!why.empty()) {
    if (there_is) sources_[hello.source].peer = before;
    refuse(peer, unit, std::move(why), ": ");
    return nullptr;
  }
  unit.source = hello.source;
  if (on_up) on_up(unit.source, unit.info);
  return nullptr;
}

bool BuilderCore::say(std::uint32_t source, const BuilderMessage& message) noexcept {
  const std::uint64_t peer = sources_[source].peer;
  return peer != 0 &&
         socket_.send_to(peer, BuildBytes(message).bytes(), build_control_tag) == Status::ok;
}

bool BuilderCore::hand_over(const BuiltEvent& event) noexcept {
  for (const OpenFragment& fragment : event.fragments) bytes_ += fragment.here ? fragment.bytes : 0;
  if (!event.complete) {
    for (std::size_t source = 0; source < sources_.size(); ++source) {
      const Missing why = event.missing[source];
      if (why != Missing::no) ++sources_[source].missing_by[static_cast<std::size_t>(why)];
    }
  }
  keeps_ = false;
  hands_over_ = true;
  on_event_(Event(*this, event));
  hands_over_ = false;
  for (const OpenFragment& fragment : event.fragments) {
    if (fragment.here) pages_.drop(fragment.memory);
  }
  return keeps_;
}

EventFragment BuilderCore::fragment(const BuiltEvent& event, std::size_t source) const noexcept {
  const OpenFragment& open = event.fragments[source];
  if (!open.here) {
    return {MessageView(nullptr, {}, 0), FragmentStatus::good, event.missing[source], false};
  }
  return {pages_.view(open.memory, open.bytes), open.status, Missing::no, true};
}

KeptEvent BuilderCore::keep(const BuiltEvent& event) {
  KeptEvent kept;
  if (keeps_) return kept;
  kept.fragments_.resize(event.fragments.size());
  releases_->make_room();
  kept.id_ = event.id;
  kept.complete_ = event.complete;
  kept.again_ = event.again;
  for (std::size_t source = 0; source < event.fragments.size(); ++source) {
    const EventFragment view = fragment(event, source);
    kept.fragments_[source] = {view.message.keep(), view.status, view.missing, view.here};
  }
  kept.releases_ = releases_;
  keeps_ = true;
  return kept;
}

void BuilderCore::drop(std::uint32_t, EventId, std::uint64_t memory) noexcept {
  pages_.drop(memory);
}

void BuilderCore::refuse(std::uint32_t source, std::string why) {
  const std::uint64_t peer = sources_[source].peer;
  const auto found = units_.find(peer);
  if (found != units_.end()) refuse(peer, found->second, std::move(why));
}

void BuilderCore::refuse(std::uint64_t peer, Unit& unit, std::string why, const char* joint) {
  if (std::exchange(unit.ending, true)) return;
  // If it does not get there, the connection ends all the same.
  static_cast<void>(socket_.send_to(peer, BuildBytes(Refused{why}).bytes(), build_control_tag));
  const std::string who =
      unit.source == no_source ? "a unit" : "unit " + std::to_string(unit.source);
  unit.refused = who + joint + std::move(why);
  loop_.defer(*this);
}

void BuilderCore::run_deferred() noexcept {
  socket_.flush();
  if (std::exchange(ends_, false)) end();
  std::vector<std::uint64_t> peers;
  for (const auto& [peer, unit] : units_) {
    if (!unit.refused.empty()) peers.push_back(peer);
  }
  for (const std::uint64_t peer : peers) {
    Unit& unit = units_[peer];
    const std::string why = std::exchange(unit.refused, {});
    const PeerInfo info = unit.info;
    fail(peer, {DownReason::rejected, why});
    if (on_refused) on_refused(info, why);
  }
}

void BuilderCore::fail(std::uint64_t peer, Down down) noexcept {
  Peer* const found = socket_.core().find_peer(peer);
  if (found != nullptr) found->fail(std::move(down));
}

void BuilderCore::look_at_time() noexcept { protocol_.at(loop_.now().count()); }

// The timer may expire too early: it is set anew then.
void BuilderCore::rearm() {
  const std::int64_t next = protocol_.next_ns();
  if (next >= armed_ns_) return;
  armed_ns_ = next;
  timer_.start_once(
      std::chrono::nanoseconds(std::max<std::int64_t>(next - loop_.now().count(), 0)));
}

void BuilderCore::close(std::chrono::nanoseconds linger, std::function<void()> then) {
  linger_ = linger;
  then_ = std::move(then);
  closing_ = true;
  // The protocol is on the stack while an event is handed over.
  if (!hands_over_) return end();
  ends_ = true;
  loop_.defer(*this);
}

void BuilderCore::end() {
  protocol_.tell_settled();
  timer_.stop();
  socket_.on_closed([then = std::move(then_)](const Books&) {
    if (then) then();
  });
  socket_.close(linger_);
}

netio::BuilderBooks BuilderCore::books() const {
  const auto& all = protocol_.books();
  netio::BuilderBooks books;
  books.complete = all.complete;
  books.incomplete = all.incomplete;
  books.again = all.again;
  books.open = protocol_.open_events();
  books.bytes = bytes_;
  books.open_bytes = all.held_cost;
  books.open_bytes_max = all.held_cost_max;
  books.kept_bytes = all.kept_cost;
  books.kept_bytes_max = all.kept_cost_max;
  for (std::uint32_t number = 0; number < sources_.size(); ++number) {
    const SourceBooks& of = protocol_.books(number);
    books.sources.push_back({of.received, of.built, of.incomplete, of.late,
                             of.received - of.built - of.incomplete - of.late,
                             sources_[number].peer != 0, sources_[number].missing_by});
  }
  return books;
}

}  // namespace netio::detail
