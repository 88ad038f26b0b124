// See readout_core.hpp.
#include "units/readout_core.hpp"

#include <algorithm>
#include <utility>

#include "base/out_of_memory.hpp"
#include "base/random.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"
#include "units/plan.hpp"

namespace netio::detail {

namespace {
// Nothing tells that the last event was settled, or said.
constexpr std::chrono::milliseconds look_for_settled_after{1};
constexpr std::chrono::milliseconds look_for_memory_after{10};
}  // namespace

ReadoutCore::ReadoutCore(Context& context, const ReadoutOptions& options)
    : loop_(context.loop()),
      options_(options),
      store_(context.core().large_pool(), options.plan.builders),
      builders_(options.plan.builders),
      protocol_({plan_of(options.plan, "make a read-out unit"), options.source, random_run(),
                 options.store_bytes_max, options.when_full},
                *this),
      range_(to_plan(options.plan)),
      message_bytes_max_(options.socket.message_bytes_max),
      memory_timer_(loop_,
                    [this] {
                      if (on_room_call) on_room_call();
                    }),
      end_timer_(loop_, [this] { look_for_end(); }) {
  require_below(options.source, options.plan.sources, "make a read-out unit", "source");
  for (std::uint32_t number = 0; number < builders_.size(); ++number) {
    auto socket = std::make_unique<ReadoutSocket>(context, options.socket);
    socket->on_up([this, number](const PeerInfo& peer) { came_up(number, peer); });
    socket->on_down(
        [this, number](const PeerInfo& peer, const Down& down) { went_down(number, peer, down); });
    socket->on_batch([this, number](const Batch& batch) { take(number, batch); });
    socket->on_writable([this, number] { writable(number); });
    builders_[number].socket = std::move(socket);
  }
}

ReadoutCore::~ReadoutCore() = default;

void ReadoutCore::connect(std::uint32_t builder, std::string_view address) {
  require_below(builder, options_.plan.builders, "connect to a builder", "builder");
  if (!builders_[builder].socket->peers().empty()) {
    throw Error(
        "cannot connect to builder " + std::to_string(builder) + " at " + std::string(address),
        "it was given an address before", "name each builder once");
  }
  builders_[builder].socket->connect(address);
}

// In memory that the builder reads too, if the wire has such memory, and plenty of it.
bool ReadoutCore::open_page(std::uint32_t number, std::size_t bytes) noexcept {
  const Builder& builder = builders_[number];
  for (const auto& peer : builder.socket->core().peers()) {
    Link* const link = peer->outgoing.link();
    if (!builder.up || link == nullptr || link->fit().loans == nullptr) continue;
    Pool& pool = link->pool();
    const std::size_t room = std::min(pool.block_bytes(), builder.body_bytes_max);
    if (!pool.plenty() || room < frame_prefix_bytes_max + wire_padded(bytes)) continue;
    Lease page = pool.take();
    if (page) return store_.open(number, std::move(page), room);
  }
  return store_.open(number);
}

Status ReadoutCore::send(EventId event, std::span<const std::byte> fragment,
                         FragmentStatus status) noexcept {
  if (finishing_) return Status::closed;
  if (fragment.size() > message_bytes_max_) return Status::too_big;
  if (fragment.size() > UnitStore::framed_bytes_max) return hold_large(event, fragment, status);
  const std::uint32_t number = range_.builder_of(event);
  if (store_.needs_page(number, fragment.size()) && !open_page(number, fragment.size())) {
    return without_memory();
  }
  const UnitStore::Name name = store_.add(number, event.number, fragment);
  const Status answer = protocol_.send(event, fragment.size(), name, status);
  if (answer != Status::ok) store_.take_back(number, name);
  return answer;
}

Status ReadoutCore::hold_large(EventId event, std::span<const std::byte> fragment,
                               FragmentStatus status) noexcept {
  Message message;
  Builder& builder = builders_[range_.builder_of(event)];
  Status answer = Status::again;
  if (builder.up) message = builder.socket->allocate(fragment.size(), answer, event.number);
  if (!message) message = store_.message(fragment.size(), event.number);
  if (!message) return without_memory();
  std::memcpy(message.writable_bytes().data(), fragment.data(), fragment.size());
  return send(event, message, status);
}

Status ReadoutCore::send(EventId event, Message& fragment, FragmentStatus status) noexcept {
  if (finishing_) return Status::closed;
  if (fragment.size() > message_bytes_max_) return Status::too_big;
  if (!fragment) return Status::invalid;
  const std::size_t bytes = fragment.size();
  // Its tag is the number of the event from here on.
  const std::uint64_t tag = fragment.tag();
  const bool segmented = fragment.segmented();
  const std::size_t segments = segmented ? fragment.segments_count() : 0;
  const std::span<const std::byte> payload = fragment.bytes();
  Message held(fragment.release_block(), payload, event.number);
  if (segmented) held.set_segments(segments);
  const UnitStore::Name name = store_.add(held);
  Status answer = Status::again;
  if (name == 0) {
    answer = without_memory();
  } else {
    answer = protocol_.send(event, bytes, name, status);
    if (answer == Status::ok) {
      fragment = Message();
      return answer;
    }
    held = store_.take_back(name);
  }
  fragment = Message(held.release_block(), payload, tag);
  if (segmented) fragment.set_segments(segments);
  return answer;
}

// Nothing tells when there is some.
Status ReadoutCore::without_memory() noexcept {
  if (!memory_timer_.running()) memory_timer_.start_once(look_for_memory_after);
  return Status::again;
}

void ReadoutCore::advance(EventId below) noexcept {
  if (!finishing_) protocol_.advance(below);
}

void ReadoutCore::flush() noexcept {
  for (Builder& builder : builders_) {
    if (send_run(builder)) builder.socket->flush();
  }
}

bool ReadoutCore::say_bytes(Builder& builder, const BuildBytes& bytes) noexcept {
  if (!builder.up || !send_run(builder)) return false;
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
  if (!builder.up || !say_label(builder, fragment)) return false;
  const UnitStore::Place* const last = store_.last(memory);
  if (last != nullptr) [[likely]]
    return send_framed(builder, fragment, memory, *last);
  const UnitStore::Place place = store_.at(memory);
  if (place.message != nullptr) return send_message(builder, *place.message);
  return send_framed(builder, fragment, memory, place);
}

bool ReadoutCore::send_framed(Builder& builder, const Fragment& fragment, UnitStore::Name name,
                              const UnitStore::Place& place) noexcept {
  PageRun& run = builder.run;
  if (!run.continues(place.page, place.frame) ||
      run.bytes() + place.frame_bytes > builder.body_bytes_max) {
    if (!send_run(builder)) return false;
    run.begin(store_.lease(name), place.frame);
    if (!scheduled()) loop_.defer(*this);
  }
  run.add(place.frame_bytes, static_cast<std::uint32_t>(fragment.bytes));
  return true;
}

bool ReadoutCore::send_message(Builder& builder, const Message& message) noexcept {
  if (!send_run(builder)) return false;
  MessageView view = MessageView::of_kept(message.block(), message.bytes(), message.tag())
                         .with_table(message.segmented());
  Message shared = view.share();
  return builder.socket->send_core().send(shared) == Status::ok;
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
  } else if (cursor.left() != run.sums().messages) {
    run.reduce_to(cursor.rest(), cursor.left());
  }
  return status == Status::ok;
}

void ReadoutCore::writable(std::uint32_t number) noexcept {
  if (!builders_[number].up || !send_run(builders_[number])) return;
  protocol_.writable(number);
}

void ReadoutCore::came_up(std::uint32_t number, const PeerInfo& peer) {
  Builder& builder = builders_[number];
  builder.up = true;
  for (const auto& each : builder.socket->core().peers()) {
    if (each->outgoing.link() != nullptr) builder.body_bytes_max = each->outgoing.body_max();
  }
  builder.ending = builder.run_said = false;
  protocol_.connected(number);
  if (on_up) on_up(number, peer);
}

void ReadoutCore::went_down(std::uint32_t number, const PeerInfo& peer, const Down& down) {
  Builder& builder = builders_[number];
  builder.run.clear();
  if (std::exchange(builder.up, false)) protocol_.disconnected(number);
  if (on_down) on_down(number, peer, down);
}

void ReadoutCore::take(std::uint32_t number, const Batch& batch) noexcept {
  Builder& builder = builders_[number];
  for (const MessageView message : batch) {
    if (builder.ending) return;
    guard_memory(
        [&] {
          if (const char* const wrong = take(number, message); wrong != nullptr) {
            protocol_.disconnected(number);
            refuse(number, wrong);
          }
        },
        [&]() noexcept {
          for (const auto& peer : builder.socket->core().peers()) peer->fail(out_of_memory());
        });
  }
}

// Null, or what is wrong with it.
const char* ReadoutCore::take(std::uint32_t number, const MessageView& message) {
  if (message.tag() != build_control_tag) return "sent what only a read-out unit sends";
  BuilderSaid said;
  if (const char* const wrong = decode(message.bytes(), said); wrong != nullptr) return wrong;
  std::visit(
      [&]<typename Message>(const Message& each) {
        if constexpr (std::is_same_v<Message, Refused>) {
          Builder& builder = builders_[number];
          builder.refused =
              "builder " + std::to_string(number) + " refuses this unit: " + std::string(each.why);
          builder.ending = true;
          protocol_.disconnected(number);
          loop_.defer(*this);
        } else {
          protocol_.received(number, each);
        }
      },
      said);
  return nullptr;
}

void ReadoutCore::refuse(std::uint32_t number, std::string why) {
  Builder& builder = builders_[number];
  if (std::exchange(builder.ending, true)) return;
  builder.run.clear();
  if (builder.up) {
    // If it does not get there, the connection ends all the same.
    static_cast<void>(builder.socket->send(BuildBytes(Refused{why}).bytes(), build_control_tag));
    builder.socket->flush();
  }
  builder.refused = "builder " + std::to_string(number) + " " + std::move(why);
  loop_.defer(*this);
}

void ReadoutCore::end_refused(Builder& builder, std::uint32_t number) {
  const std::string why = std::exchange(builder.refused, {});
  for (const auto& peer : builder.socket->core().peers()) {
    if (peer->up()) peer->fail({DownReason::rejected, why});
  }
  if (on_refused) on_refused(number, why);
}

void ReadoutCore::on_room() noexcept {
  room_due_ = true;
  loop_.defer(*this);
}

void ReadoutCore::run_deferred() noexcept {
  for (std::uint32_t number = 0; number < builders_.size(); ++number) {
    Builder& builder = builders_[number];
    if (!builder.refused.empty()) end_refused(builder, number);
    static_cast<void>(builder.up && send_run(builder));
  }
  if (std::exchange(room_due_, false) && on_room_call) on_room_call();
}

void ReadoutCore::finish(std::chrono::nanoseconds linger, std::function<void()> then) {
  if (!std::exchange(finishing_, true)) protocol_.ask_settled();
  then_ = std::move(then);
  const std::chrono::nanoseconds now = loop_.now();
  until_ =
      now + std::clamp(linger, std::chrono::nanoseconds(0), std::chrono::nanoseconds::max() - now);
  if (!closing_) end_timer_.start_once(std::chrono::nanoseconds(0));
}

void ReadoutCore::look_for_end() {
  const bool over = loop_.now() >= until_;
  if (!over && !protocol_.idle()) return end_timer_.start_once(look_for_settled_after);
  closing_ = true;
  sockets_open_ = builders_.size();
  const std::chrono::nanoseconds left = over ? std::chrono::nanoseconds(0) : until_ - loop_.now();
  for (Builder& builder : builders_) {
    builder.socket->on_closed([this](const Books&) { end(); });
    builder.socket->close(left);
  }
}

void ReadoutCore::end() {
  if (--sockets_open_ != 0 || !then_) return;
  const std::function<void()> then = std::exchange(then_, {});
  then();
}

ReadoutBooks ReadoutCore::books() const noexcept {
  const UnitBooks& books = protocol_.books();
  return {books.sent, books.settled,   books.dropped, books.late,
          books.held, books.held_cost, books.resent};
}

std::size_t ReadoutCore::builders_connected() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(builders_, [](const Builder& builder) { return builder.up; }));
}

}  // namespace netio::detail
