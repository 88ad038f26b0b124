// See readout_core.hpp.
#include "units/readout_core.hpp"

#include <algorithm>
#include <utility>

#include "base/out_of_memory.hpp"
#include "base/random.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"
#include "units/plan.hpp"
#include "wire/segments.hpp"

namespace netio::detail {

namespace {
// Nothing tells that the last event was settled, or said.
constexpr std::chrono::milliseconds look_for_settled_after{1};
constexpr std::chrono::milliseconds look_for_memory_after{10};
}  // namespace

ReadoutCore::ReadoutCore(Context& context, const ReadoutOptions& options)
    : ReadoutCore(context, options.socket,
                  require_sense(UnitSettings{to_plan(options.plan), options.source, random_run(),
                                             options.store_bytes_max, options.when_full},
                                "make a read-out unit")) {}

ReadoutCore::ReadoutCore(Context& context, const SocketOptions& options,
                         const UnitSettings& settings)
    : context_(context),
      home_(context.core()),
      loop_(context.loop()),
      options_(options),
      lent_(loop_),
      store_(context.core().large_pool(), settings.plan.managed ? 1 : settings.plan.builders),
      builders_(settings.plan.builders),
      protocol_(settings, *this),
      plan_(settings.plan),
      source_(settings.source),
      framed_bytes_max_(std::min(UnitStore::framed_bytes_max, options.message_bytes_max)),
      store_bytes_max_(settings.store_bytes_max),
      memory_timer_(loop_, [this] { tell(on_room_call); }),
      end_timer_(loop_, [this] { look_for_end(); }),
      redial_timer_(loop_, [this] { redial(); }) {
  if (settings.plan.managed) {
    membership_ =
        std::make_unique<Membership>(context, options, static_cast<Membership::Owner&>(*this));
  }
  for (std::uint32_t number = 0; number < builders_.size(); ++number) {
    builders_[number].socket = make_socket(number);
  }
  home_.enter(*this);
}

std::unique_ptr<ReadoutSocket> ReadoutCore::make_socket(std::uint32_t number) {
  auto socket = std::make_unique<ReadoutSocket>(context_, options_);
  socket->on_up([this, number](const PeerInfo&) { came_up(number); });
  socket->on_down(
      [this, number](const PeerInfo& peer, const Down& down) { went_down(number, peer, down); });
  socket->on_batch([this, number](const Batch& batch) { take(number, batch); });
  socket->on_writable([this, number] { writable(number); });
  socket->on_closed([this](const Books&) { ended(); });
  return socket;
}

void ReadoutCore::abandon() noexcept {
  abandoned_ = closing_ = true;
  lent_.mute();
  for (Builder& builder : builders_) {
    builder.socket->abandon();
    builder.up = false;
    builder.ending = true;
  }
  if (membership_) membership_->abandon();
  for (Timer* timer : {&memory_timer_, &end_timer_, &redial_timer_}) timer->stop();
  cancel();
}

ReadoutCore::~ReadoutCore() { home_.leave(*this); }

// The one connection of the socket.
OutgoingStream* ReadoutCore::outgoing_of(const Builder& builder) noexcept {
  for (const auto& peer : builder.socket->core().peers()) {
    if (peer->outgoing.link() != nullptr) return &peer->outgoing;
  }
  return nullptr;
}

// With a manager nobody knows yet which builder it will be; all on one machine read the same
// memory.
ReadoutCore::Builder& ReadoutCore::lender(std::uint32_t number) noexcept {
  if (!membership_) return builders_[number];
  const auto up = std::ranges::find_if(builders_, [](const Builder& each) { return each.up; });
  return up == builders_.end() ? builders_[0] : *up;
}

Link* ReadoutCore::link_of(const Builder& builder) noexcept {
  OutgoingStream* const outgoing = outgoing_of(builder);
  return outgoing == nullptr ? nullptr : outgoing->link();
}

// The protocol tells when there is room in the store, and not when there is memory for its books.
Status ReadoutCore::answered(Status answer, std::size_t bytes) noexcept {
  return answer == Status::again && protocol().has_room(bytes) ? without_memory() : answer;
}

// Nothing tells when there is some.
Status ReadoutCore::without_memory() noexcept {
  if (!memory_timer_.running()) memory_timer_.start_once(look_for_memory_after);
  return Status::again;
}

void ReadoutCore::advance(EventId below) noexcept {
  if (finishing_) return;
  protocol().advance(below);
  note_change();
}

void ReadoutCore::flush() noexcept {
  send_gathered();
  for (Builder& builder : builders_) {
    if (send_run(builder)) builder.socket->flush();
  }
}

bool ReadoutCore::say_bytes(Builder& builder, const BuildBytes& bytes) noexcept {
  if (!builder.up || !builder.introduced || !send_run(builder)) return false;
  return builder.socket->send(bytes.bytes(), build_control_tag) == Status::ok;
}

bool ReadoutCore::say(std::uint32_t builder, const UnitMessage& message) noexcept {
  return say_bytes(builders_[builder], BuildBytes(message));
}

// What a fragment does not say itself.
bool ReadoutCore::say_label(Builder& builder, const Fragment& fragment) noexcept {
  if (!builder.run_said || builder.said_run != fragment.event.run) {
    if (!say_bytes(builder, BuildBytes(NextRun{fragment.event.run}))) return false;
    builder.run_said = true;
    builder.said_run = fragment.event.run;
  }
  return fragment.status == FragmentStatus::good ||
         say_bytes(builder, BuildBytes(NextStatus{fragment.status}));
}

bool ReadoutCore::send(std::uint32_t number, const Fragment& fragment,
                       std::uint64_t memory) noexcept {
  Builder& builder = builders_[number];
  if (!builder.up || builder.ending || !say_label(builder, fragment)) return false;
  const UnitStore::Place* const last = store_.last(memory);
  if (last != nullptr) [[likely]]
    return send_framed(builder, fragment, memory, *last);
  const UnitStore::Place place = store_.at(memory, fragment.bytes);
  if (place.message != nullptr) return send_message(builder, *place.message);
  return send_framed(builder, fragment, memory, place);
}

bool ReadoutCore::send_framed(Builder& builder, const Fragment& fragment, UnitStore::Name name,
                              const UnitStore::Place& place) noexcept {
  if (!continue_run(builder, place, name)) return false;
  builder.run.add(place.frame_bytes, static_cast<std::uint32_t>(fragment.bytes));
  return true;
}

// The frame of this name is the next of the page that waits, which is another one if need be. False
// if the page in front of it does not leave.
bool ReadoutCore::continue_run(Builder& builder, const UnitStore::Place& place,
                               UnitStore::Name name) noexcept {
  PageRun& run = builder.run;
  const bool continues = run.continues(place.page, place.frame) &&
                         run.bytes() + place.frame_bytes <= builder.body_bytes_max;
  if (continues) [[likely]]
    return true;
  if (!send_run(builder)) return false;
  run.begin(store_.lease(name), place.frame);
  if (!scheduled()) loop_.defer(*this);
  return true;
}

bool ReadoutCore::send_message(Builder& builder, const Message& message) noexcept {
  if (!send_run(builder)) return false;
  MessageView view = MessageView::of_kept(message.block(), message.bytes(), message.tag())
                         .with_table(message.segmented());
  Message shared = view.share();
  const Status status = builder.socket->send_core().send(shared);
  if (status == Status::too_big) refuse_smaller(builder, payload_bytes(message));
  return status == Status::ok;
}

// The builder was made with a smaller SocketOptions::message_bytes_max, or with little memory.
void ReadoutCore::refuse_smaller(Builder& builder, std::size_t bytes) noexcept {
  Link* const link = link_of(builder);
  if (link == nullptr) return;
  guard_memory(
      [&] {
        refuse(
            static_cast<std::uint32_t>(&builder - builders_.data()),
            "takes fragments of at most " + std::to_string(link->limits().message_bytes_max) +
                " bytes (its SocketOptions::message_bytes_max, or what its large_bytes_max holds), "
                "and has to be sent one of " +
                std::to_string(bytes));
      },
      [&]() noexcept { builder.socket->fail(out_of_memory()); });
}

// True if nothing waits any more.
bool ReadoutCore::send_run(Builder& builder) noexcept {
  PageRun& run = builder.run;
  if (run.empty()) return true;
  MessageCursor cursor(MessageView::of_kept(run.page().get(), run.frames(), 0), run.sums().messages,
                       true);
  SendCore::PageOptions options;
  options.sums = &run.sums();
  const Status status = builder.socket->send_core().send(cursor, options);
  if (status == Status::ok) {
    run.clear();
  } else if (status == Status::too_big) {
    refuse_smaller(builder, run.sums().largest);
  } else if (cursor.left() != run.sums().messages) {
    run.reduce_to(cursor.rest(), cursor.left());
  }
  return status == Status::ok;
}

void ReadoutCore::writable(std::uint32_t number) noexcept {
  Builder& builder = builders_[number];
  if (!builder.up || !introduce(number) || !send_run(builder)) return;
  protocol().writable(number);
}

void ReadoutCore::came_up(std::uint32_t number) noexcept {
  Builder& builder = builders_[number];
  builder.up = true;
  builder.redial_at = never;
  if (const OutgoingStream* const outgoing = outgoing_of(builder)) {
    builder.body_bytes_max = outgoing->body_max();
  }
  builder.accepted = builder.ending = builder.run_said = false;
  builder.introduced = false;
  static_cast<void>(introduce(number));
  protocol().connected(number);
}

// The first message on a connection. True if it was said.
bool ReadoutCore::introduce(std::uint32_t number) noexcept {
  Builder& builder = builders_[number];
  if (builder.introduced) [[likely]]
    return true;
  const BuildBytes message(UnitIntroduces{plan_, source_, number});
  builder.introduced = builder.socket->send(message.bytes(), build_control_tag) == Status::ok;
  return builder.introduced;
}

void ReadoutCore::went_down(std::uint32_t number, const PeerInfo& peer, const Down& down) {
  Builder& builder = builders_[number];
  builder.run.clear();
  builder.socket->forget_unsent();
  if (std::exchange(builder.up, false)) protocol().disconnected(number);
  if (closing_ && membership_) builder.socket->close({});
  const bool accepted = std::exchange(builder.accepted, false);
  const bool refused = std::exchange(builder.ending, false);
  if (!accepted) try_next_address(builder);
  if (refused && !accepted) return;  // on_refused was told
  builder.refused_told.clear();
  if (accepted) return tell(on_down, number, peer, down);
  tell(on_down, number, never_up(peer), down);
}

void ReadoutCore::take(std::uint32_t number, const Batch& batch) noexcept {
  Builder& builder = builders_[number];
  for (const MessageView message : batch) {
    if (builder.ending) return;
    guard_memory(
        [&] {
          if (const char* const wrong = take(number, message); wrong != nullptr) {
            protocol().disconnected(number);
            refuse(number, wrong);
          }
        },
        [&]() noexcept { builder.socket->fail(out_of_memory()); });
  }
  note_change();
}

void ReadoutCore::note_change() noexcept {
  if (scheduled()) return;
  const bool tells = on_settled_call && protocol_.settled() != settled_told_;
  if (tells || watermarks.watched()) loop_.defer(*this);
}

// Null, or what is wrong with it.
const char* ReadoutCore::take(std::uint32_t number, const MessageView& message) {
  if (message.tag() != build_control_tag) return "sent what only a read-out unit sends";
  BuilderSaid said;
  if (const char* const wrong = decode(message.bytes(), said); wrong != nullptr) return wrong;
  std::visit(
      [&]<typename Message>(const Message& each) {
        if constexpr (std::is_same_v<Message, Refused>) {
          end_soon(number, "refuses this unit: " + std::string(each.why));
          protocol().disconnected(number);
        } else if constexpr (std::is_same_v<Message, BuilderAccepts>) {
          accept(number);
        } else {
          protocol().received(number, each);
        }
      },
      said);
  return nullptr;
}

// The builder has this plan, and takes this unit.
void ReadoutCore::accept(std::uint32_t number) {
  Builder& builder = builders_[number];
  if (builder.ending || std::exchange(builder.accepted, true)) return;
  builder.failed = 0;
  tell(on_up, number, builder.socket->peer_up());
}

void ReadoutCore::refuse(std::uint32_t number, std::string why) {
  Builder& builder = builders_[number];
  if (builder.ending) return;
  end_soon(number, why);
  builder.run.clear();
  if (!builder.up) return;
  // If it does not get there, the connection ends all the same.
  static_cast<void>(builder.socket->send(BuildBytes(Refused{why}).bytes(), build_control_tag));
  builder.socket->flush();
}

void ReadoutCore::end_soon(std::uint32_t number, const std::string& why) {
  Builder& builder = builders_[number];
  if (builder.ending) return;
  builder.refused = "builder " + std::to_string(number) + " " + why;
  builder.ending = true;
  loop_.defer(*this);
}

void ReadoutCore::on_room() noexcept {
  room_due_ = true;
  loop_.defer(*this);
}

void ReadoutCore::run_deferred() noexcept {
  send_gathered();
  for (std::uint32_t number = 0; number < builders_.size(); ++number) {
    Builder& builder = builders_[number];
    if (!builder.refused.empty()) end_refused(number);
    static_cast<void>(builder.up && send_run(builder));
  }
  if (std::exchange(room_due_, false)) tell(on_room_call);
  tell_of_change();
  tell_of_run();
}

void ReadoutCore::tell_of_change() noexcept {
  if (on_settled_call) {
    const EventId settled = protocol_.settled();
    if (std::exchange(settled_told_, settled) != settled) tell(on_settled_call, settled);
  }
  if (!watermarks.watched()) return;
  if (CallBack<void()>* const call = watermarks.crossed(fill(), options_)) tell(*call);
}

void ReadoutCore::finish(std::chrono::nanoseconds linger, std::function<void()> then) {
  if (!std::exchange(finishing_, true)) protocol().ask_settled();
  then_ = std::move(then);
  const std::chrono::nanoseconds now = loop_.now();
  until_ = now + std::min(home_.bound(linger), std::chrono::nanoseconds::max() - now);
  end_timer_.start_once(std::chrono::nanoseconds(0));
}

// Also once more, with a new linger. It takes no memory.
void ReadoutCore::look_for_end() {
  const std::chrono::nanoseconds left = std::max(until_ - loop_.now(), std::chrono::nanoseconds(0));
  if (!closing_ && left.count() != 0 && !protocol().idle()) {
    return end_timer_.start_once(look_for_settled_after);
  }
  closing_ = true;
  for (Builder& builder : builders_) {
    // With a manager, nothing that is not said by now matters to a builder that is gone.
    const bool gone = membership_ && !builder.up;
    builder.socket->close(gone ? std::chrono::nanoseconds(0) : left);
  }
  if (membership_) membership_->close(left);
  ended();
}

void ReadoutCore::end_within(std::chrono::nanoseconds linger) noexcept {
  finish(finishing_ ? std::min(linger, until_ - loop_.now()) : linger, std::exchange(then_, {}));
}

bool ReadoutCore::has_ended() const noexcept {
  if (abandoned()) return true;
  const auto closed = [](const Builder& builder) { return builder.socket->closed(); };
  return closing_ && std::ranges::all_of(builders_, closed) &&
         (!membership_ || membership_->closed());
}

void ReadoutCore::ended() {
  if (!has_ended()) return;
  const std::function<void()> then = std::exchange(then_, {});
  tell(then);
  if (!std::exchange(finished_told_, true)) tell(on_finished);
}

ReadoutBooks ReadoutCore::books() noexcept {
  const UnitBooks& books = protocol().books();
  return {books.sent, books.settled, books.built,     books.incomplete, books.dropped,
          books.late, books.held,    books.held_cost, books.resent};
}

double ReadoutCore::fill() noexcept {
  send_gathered();
  return static_cast<double>(protocol_.books().held_cost) / static_cast<double>(store_bytes_max_);
}

std::vector<HeldForBuilder> ReadoutCore::held_for_builders() {
  const EitherUnit& unit = protocol();
  std::vector<HeldForBuilder> all;
  for (std::uint32_t number = 0; number < builders_.size(); ++number) {
    const HeldForOne held = unit.held_for(number);
    all.push_back(
        {builders_[number].accepted, held.fragments, held.cost, held.oldest, held.window});
  }
  return all;
}

std::vector<PeerSnapshot> ReadoutCore::peers() const {
  std::vector<PeerSnapshot> all(builders_.size());
  for (std::size_t number = 0; number < builders_.size(); ++number) {
    for (PeerSnapshot& peer : builders_[number].socket->peers()) {
      if (!all[number].up) all[number] = std::move(peer);
    }
  }
  return all;
}

std::vector<Counters> ReadoutCore::counters() const {
  std::vector<Counters> all;
  for (const Builder& builder : builders_) all.push_back(builder.socket->counters());
  return all;
}

std::size_t ReadoutCore::builders_connected() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(builders_, [](const Builder& builder) { return builder.accepted; }));
}

}  // namespace netio::detail
