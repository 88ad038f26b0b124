// The user of a Reply socket: what it is given, what it answers at once, later or never, and what
// becomes of each ReplyTo.
#include <algorithm>
#include <cstring>
#include <utility>

#include <netio/segments.hpp>

#include "simulation/play.hpp"
#include "simulation/run.hpp"
#include "simulation/run_calls.hpp"

namespace netio::test {

void Run::set_reply_call_backs() {
  reply_->on_writable([this] { event(CallBack::writable, "on_writable", [&] { on_writable(); }); });
  if (!takes_messages_) return reply_->on_request(nullptr);
  reply_->on_request([this](const MessageView& request, ReplyTo to) {
    event(CallBack::request, "on_request", [&] {
      on_request(request, std::move(to));
      keep_some(request);
      if (!world_.failed() && !world_.calm() && play_.chance(actor_.temper.pauses)) pause(true);
    });
  });
}

void Run::on_request(const MessageView& view, ReplyTo to) {
  if (world_.failed()) return;
  const std::uint64_t id = reply_->sender_id();
  PeerSeen* const from = peer(id);
  ++delivered_here_;
  world_.tally.add(Happened::delivered);
  world_.tally.add(Happened::handed);
  if (from == nullptr || !from->up) {
    return fail("was given a request of peer " + text(id) + ", which is not up");
  }
  if (paused_ || !takes_messages_) {
    return fail("was given a request though it is paused or takes none");
  }
  Name name = 0;
  if (view.size() >= named_bytes_min) std::memcpy(&name, view.data(), sizeof name);
  Run& asker = *from->remote;
  Asked* const asked = asker.find_named(name);
  if (asked == nullptr) return fail("was given a request that " + asker.name() + " did not make");
  world_.say(name_, " is given ", asker.request_name(*asked), " of ", asker.name());
  world_.note(name);
  if (asked->bytes != view.size() || view.tag() != 0 || !has_content(view.bytes(), name)) {
    return fail("was given a request that was damaged on its way");
  }
  ++asker.delivered_elsewhere_;
  judge_right(to, *asked, id);
  const auto place = static_cast<std::uint32_t>(asker.by_id_.at(asked->id));
  judge_handing(*from, *asked, place);
  asked->handings.push_back({this, &from->wire->dial});
  held_.push_back({std::move(to), &asker, place, asked->handings.size() - 1});
  const Settings& settings = world_.settings;
  const bool holds = play_.chance(actor_.temper.holds) && settings.has(Part::held);
  const bool gives_up = play_.chance(actor_.temper.gives_up) && settings.has(Part::given_up);
  if (world_.calm()) {
    (void)answer_one(held_.size() - 1, true);
  } else if (holds) {
    world_.tally.add(Happened::held);
  } else if (gives_up) {
    give_up_one(held_.size() - 1);
  } else {
    (void)answer_one(held_.size() - 1, true);
  }
}

// The time that is left is rounded up: to a millisecond, or to one part in 2,048.
void Run::judge_right(const ReplyTo& to, const Asked& asked, std::uint64_t id) {
  if (!to || !to.wanted() || to.peer() != id) {
    return fail("was given a request that nobody waits for");
  }
  const auto left = to.time_left();
  if (left.has_value() != (asked.ask.within.count() != 0)) {
    return fail("was given a request with a limit that it has not, or without the one that it has");
  }
  if (left && left->count() > asked.ask.within.count() + asked.ask.within.count() / 1024 + ms) {
    fail("was given a request with more time than it ever had");
  }
}

void Run::judge_handing(const PeerSeen& from, Asked& asked, std::uint32_t place) {
  Run& asker = *from.remote;
  const std::string what = "was given " + asker.request_name(asked) + " of " + asker.name();
  Dial& dial = from.wire->dial;
  const PeerSeen* seen_there = nullptr;
  for (const PeerSeen& there : asker.peers_) {
    if (there.wire == from.wire) seen_there = &there;
  }
  if (asked.ended == Outcome::not_executed) {
    return fail(what + ", which was told not to be executed");
  }
  if (asked.ask.peer != 0 && seen_there != nullptr && seen_there->id != asked.ask.peer) {
    return fail(what + ", which was for another one");
  }
  if (asked.ended && seen_there != nullptr && seen_there->ups > asked.ended_at_up) {
    return fail(what + " by a connection that came up when that had ended");
  }
  if (asked.ask.idempotent) {
    if (asked.handings.size() >= handings_most) fail(what + " too often");
    return;
  }
  if (!asked.handings.empty()) return fail(what + ", which was given to one before");
  judge_order(dial, asker, place, what);
  const auto open = static_cast<std::size_t>(std::ranges::count_if(
      held_, [&](const Held& held) { return held.to.peer() == reply_->sender_id(); }));
  if (open >= actor_.replying.open_max) fail(what + " though too many are open");
  const auto under_way =
      static_cast<std::size_t>(std::ranges::count_if(asker.asked_, [&](const Asked& other) {
        return !other.ended && !other.ask.idempotent && !other.handings.empty() &&
               other.handings.back().dial == &dial;
      }));
  if (under_way >= asker.actor_.asking.pending_max) fail(what + " though too many are under way");
}

std::size_t Run::draw_answer(Way& way) {
  Random& random = play_.random();
  const std::uint64_t draw = random.below(100);
  std::size_t bytes = random.below(64);
  if (draw >= 70) bytes = random.below(actor_.machine->page_bytes());
  if (draw >= 85 && world_.settings.has(Part::large)) {
    bytes = random.below(play_.message_bytes_max());
  }
  if (draw == 99) bytes = play_.message_bytes_max() + random.below(2);
  way = Way::copied;
  if (random.one_in(3) && world_.settings.has(Part::lends)) {
    way = static_cast<Way>(random.below(4));
  }
  return bytes;
}

// True if the user is done with it: then the last one has its place.
bool Run::answer_one(std::size_t index, bool at_once) {
  Held& held = held_[index];
  Asked& asked = held.asker->asked_[held.place];
  Handing answer = asked.handings[held.handing];
  Way way = Way::copied;
  answer.answer_bytes = static_cast<std::uint32_t>(draw_answer(way));
  answer.answer = name_of(number_, ++answers_drawn_);
  answer.fate = Handing::Fate::answered;
  Status status = offer_answer(held.to, way, answer);
  const bool smaller = status == Status::too_big || way != Way::copied;
  if (at_once && smaller && status != Status::ok) {
    answer.answer_bytes = 8;
    way = Way::copied;
    status = offer_answer(held.to, way, answer);
  }
  world_.say(name_, " answers ", held.asker->request_name(asked), " of ", held.asker->name(),
             " with ", answer.answer_bytes, " bytes in way ", static_cast<int>(way), ": ",
             to_string(status));
  judge_answering(status, way, answer.answer_bytes, held, asked);
  if (static_cast<bool>(held.to) == (status == Status::ok)) {
    fail("has the right to answer again, or lost it without an answer");
  }
  if (at_once && status == Status::again) fail("may not answer in the call-back of a request");
  if (status == Status::ok) {
    asked.handings[held.handing] = answer;
    ++answers_ok_;
    if (!at_once) world_.tally.add(Happened::answered_late);
    if (play_.chance(50) && held.to.send("twice") != Status::invalid) fail("may answer twice");
  }
  const bool done =
      status != Status::again && status != Status::too_big && status != Status::invalid;
  if (done) forget(index);
  return done;
}

void Run::forget(std::size_t index) {
  if (index + 1 != held_.size()) std::swap(held_[index], held_.back());
  user_call("the destructor of a ReplyTo", [&] { held_.pop_back(); });
}

Status Run::offer_answer(ReplyTo& to, Way way, Handing& answer) {
  const std::span<std::byte> bytes = play_.scratch(answer.answer_bytes);
  write_content(bytes, answer.answer);
  Status status = Status::ok;
  if (way == Way::allocated) {
    Message message =
        user_call("ReplyTo::allocate", [&] { return to.allocate(bytes.size(), status); });
    if (status == Status::again) wanted_ = true;
    if (status != Status::ok) return status;
    std::copy(bytes.begin(), bytes.end(), message.writable_bytes().begin());
    status = user_call("ReplyTo::send(Message)", [&] { return to.send(std::move(message)); });
    if (status == Status::ok) world_.tally.add(Happened::allocated);
    if (static_cast<bool>(message) == (status == Status::ok)) {
      fail("has an answer that was sent, or lost one that was not");
    }
  } else if (way == Way::reserved || way == Way::lent) {
    const std::size_t first = play_.random().below(bytes.size() / 8 + 1) * 8;
    const std::array<Segment, 2> segments{Segment(bytes.first(first)),
                                          Segment(bytes.subspan(first))};
    status = user_call("ReplyTo::send_segments", [&] { return to.send_segments(segments); });
  } else {
    status = user_call("ReplyTo::send", [&] { return to.send(bytes); });
  }
  std::fill(bytes.begin(), bytes.end(), std::byte{0xcc});
  return status;
}

void Run::judge_answering(Status status, Way way, std::size_t bytes, const Held& held,
                          const Asked& asked) {
  switch (status) {
    case Status::ok:
      if (closing_ || !alive_) fail("may answer though it is closing");
      break;
    case Status::again:
      world_.tally.add(Happened::answer_again);
      wanted_ = true;
      break;
    case Status::not_connected:
      world_.tally.add(Happened::answer_unwanted);
      if (held.to.wanted()) fail("may not answer a request that is wanted");
      // The replier knows that the time is over before the requester looks.
      if (!asked.ended && !any_broke() && held.to.time_left() != std::chrono::nanoseconds(0))
        fail("may not answer a request that has not ended");
      break;
    case Status::closed:
      if (alive_ && !closing_) fail("is told that it is closed, and it is not");
      break;
    case Status::too_big:
      if (bytes + table_bytes(way) <= play_.message_bytes_max()) {
        fail("may not answer with " + text(bytes) + " bytes, which all take");
      }
      break;
    case Status::invalid:
      fail("made a call that makes no sense");
      break;
  }
}

void Run::give_up_one(std::size_t index) {
  Held& held = held_[index];
  Asked& asked = held.asker->asked_[held.place];
  world_.say(name_, " gives up ", held.asker->request_name(asked), " of ", held.asker->name());
  world_.tally.add(Happened::given_up_here);
  Handing& handing = asked.handings[held.handing];
  if (alive_) handing.fate = Handing::Fate::given_up;
  if (!actor_.machine->in_turn()) {
    if (gave_up_in_ != actor_.machine->turns()) given_up_untold_ = 0;
    gave_up_in_ = actor_.machine->turns();
    ++given_up_untold_;
  }
  forget(index);
}

void Run::answer_some(std::size_t most) {
  for (std::size_t i = 0; i < most && !held_.empty() && !world_.failed(); ++i) {
    (void)answer_one(play_.random().below(held_.size()), false);
  }
}

void Run::give_up_some(std::size_t most) {
  if (!world_.settings.has(Part::given_up)) return;
  for (std::size_t i = 0; i < most && !held_.empty(); ++i) {
    give_up_one(play_.random().below(held_.size()));
  }
}

void Run::answer_all(bool keeps_some) {
  std::size_t kept = 0;
  for (std::size_t i = held_.size(); i-- > 0 && !world_.failed();) {
    const bool keeps = keeps_some && kept < 3 && held_[i].to.wanted();
    held_[i].until_settled = keeps;
    kept += keeps ? 1 : 0;
    if (keeps) continue;
    // One that is refused for its size is tried again.
    while (!answer_one(i, false) && !wanted_ && !world_.failed()) {
    }
  }
}

// Those that were refused for lack of room, once there is some.
void Run::answer_waiting() {
  for (std::size_t i = held_.size(); i-- > 0 && !wanted_ && !world_.failed();) {
    if (world_.calm() && held_[i].until_settled) continue;
    if (!world_.calm() && !play_.chance(500)) continue;
    while (!answer_one(i, false) && world_.calm() && !wanted_ && !world_.failed()) {
    }
  }
}

void Run::let_go_of_all() {
  while (!held_.empty()) give_up_one(held_.size() - 1);
}

// All of them are told that there will be no answer.
void Run::give_up_open() {
  for (const Held& held : held_) {
    Handing& handing = held.asker->asked_[held.place].handings[held.handing];
    if (handing.fate == Handing::Fate::open) handing.fate = Handing::Fate::given_up;
  }
}

bool Run::holds(const Asked& asked) const noexcept {
  return std::ranges::any_of(held_, [&](const Held& held) {
    return &held.asker->asked_[held.place] == &asked && held.to.peer() != 0;
  });
}

const Asked* Run::stuck() const noexcept {
  for (const Asked& asked : asked_) {
    if (asked.ended) continue;
    const bool held = std::ranges::any_of(asked.handings, [&](const Handing& handing) {
      return handing.by->working() && handing.by->holds(asked);
    });
    if (!held) return &asked;
  }
  return nullptr;
}

std::uint64_t Run::untold_here() const noexcept {
  if (kind() == Kind::request) return (alive_ ? request_->requests() : last_requests_).late;
  const ReplyBooks books = alive_ ? reply_->requests() : last_replies_;
  return books.expired + books.withdrawn;
}

void Run::look_at_replies() {
  const ReplyBooks books = reply_->requests();
  if (books.requests != books.answered + books.not_answered + books.unwanted + books.open) {
    fail("has its books of requests out of order");
  }
  if (books.requests != delivered_here_ || books.answered != answers_ok_) {
    fail("counts " + text(books.requests) + " requests and " + text(books.answered) +
         " answers, and there were " + text(delivered_here_) + " and " + text(answers_ok_));
  }
  const auto open = static_cast<std::uint64_t>(
      std::ranges::count_if(held_, [](const Held& held) { return held.to.peer() != 0; }));
  // What is lost with a request that was given up is a message too.
  if (socket_->books().sent > books.answered + books.not_answered + books.unwanted) {
    fail("counts " + text(socket_->books().sent) + " messages as sent, for fewer requests");
  }
  // What is given up between two turns is counted in the next.
  const std::uint64_t untold = gave_up_in_ == actor_.machine->turns() ? given_up_untold_ : 0;
  if (books.open < open || books.open > open + untold) {
    fail("counts " + text(books.open) + " requests as open, and " + text(open) + " are");
  }
  check_rise("expired", last_replies_.expired, books.expired);
  check_rise("withdrawn", last_replies_.withdrawn, books.withdrawn);
  check_rise("unwanted", last_replies_.unwanted, books.unwanted);
  last_replies_ = books;
}

}  // namespace netio::test
