// The user of a Request socket: what it asks, and whether what it is told of each end is true.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <netio/segments.hpp>

#include "simulation/play.hpp"
#include "simulation/run.hpp"
#include "simulation/run_calls.hpp"

namespace netio::test {

namespace {

// By Outcome.
constexpr std::array<Happened, static_cast<std::size_t>(Outcome::count_)> ended_as{
    Happened::answered,  Happened::timed_out,    Happened::not_answered,
    Happened::cancelled, Happened::not_executed, Happened::in_doubt};

}  // namespace

std::int64_t Asked::until_ns() const noexcept {
  return ask.within.count() == 0 ? never : at_ns + ask.within.count();
}

void Run::set_request_call_backs() {
  request_->on_reply([this](std::uint64_t id, const MessageView& answer) {
    event(CallBack::reply, "on_reply", [&] {
      on_reply(id, answer);
      keep_some(answer);
      this->answer();
    });
  });
  request_->on_failed([this](std::uint64_t id, Outcome outcome) {
    event(CallBack::failed, "on_failed", [&] { on_failed(id, outcome); });
  });
  request_->on_writable(
      [this] { event(CallBack::writable, "on_writable", [&] { on_writable(); }); });
}

Ask Run::draw_ask() {
  const Temper& temper = actor_.temper;
  Random& random = play_.random();
  Ask ask;
  const bool limited = play_.chance(temper.limits);
  const std::uint64_t most_ns = (random.one_in(3) ? 5'000 : 60) * ms;
  const auto within = std::chrono::nanoseconds(1 + random.below(most_ns));
  if (limited && world_.settings.has(Part::limits)) ask.within = within;
  const bool repeats = play_.chance(temper.repeats);
  ask.idempotent = repeats && world_.settings.has(Part::repeats);
  if (play_.chance(temper.names_peer) && !peers_.empty()) {
    ask.peer = peers_[random.below(peers_.size())].id;
  }
  return ask;
}

// A request has its name in front: it has no tag.
Status Run::ask(Way way, std::size_t bytes) {
  Asked asked;
  asked.name = name_of(number_, asked_.size() + 1);
  asked.bytes = static_cast<std::uint32_t>(std::max(bytes, named_bytes_min));
  asked.ask = draw_ask();
  asked.at_ns = World::now_ns();
  const std::uint64_t before = socket_->books().sent;
  const Status status = offer_request(way, asked);
  const std::uint64_t after = socket_->books().sent;
  world_.say(name_, " asks request ", asked_.size() + 1, ", ", asked.bytes, " bytes in way ",
             static_cast<int>(way), asked.ask.idempotent ? ", idempotent" : "",
             asked.ask.within.count() != 0 ? ", with a limit" : "", ": ", to_string(status));
  judge_asking(status, way, asked);
  if (after != before + (status == Status::ok ? 1 : 0)) {
    fail("counts " + text(after - before) + " messages as sent for a request");
  }
  if (status == Status::ok) enter_asked(std::move(asked));
  return status;
}

Status Run::offer_request(Way way, Asked& asked) {
  const std::span<std::byte> bytes = play_.scratch(asked.bytes);
  write_content(bytes, asked.name);
  Status status = Status::ok;
  if (way == Way::allocated) {
    Message message =
        user_call("allocate", [&] { return request_->allocate(asked.bytes, status); });
    if (status != Status::ok) return status;
    std::copy(bytes.begin(), bytes.end(), message.writable_bytes().begin());
    status = user_call("send(Message)",
                       [&] { return request_->send(std::move(message), asked.id, asked.ask); });
    if (status == Status::ok) world_.tally.add(Happened::allocated);
    if (static_cast<bool>(message) == (status == Status::ok)) {
      fail("has a message that was sent, or lost one that was not");
    }
  } else if (way == Way::reserved || way == Way::lent) {
    // In front of the second one there is no padding.
    const std::size_t first = play_.random().below(bytes.size() / 8 + 1) * 8;
    status = user_call("send_segments", [&] {
      return request_->send_segments({bytes.first(first), bytes.subspan(first)}, asked.id,
                                     asked.ask);
    });
  } else {
    status = user_call("send", [&] { return request_->send(bytes, asked.id, asked.ask); });
  }
  std::fill(bytes.begin(), bytes.end(), std::byte{0xcc});
  return status;
}

std::size_t Run::table_bytes(Way way) const noexcept {
  const bool segments = asks_or_answers(kind()) && (way == Way::reserved || way == Way::lent);
  return segments ? detail::segment_table_bytes(2) : 0;
}

void Run::judge_asking(Status status, Way way, const Asked& asked) {
  if (status == Status::invalid) fail("made a call that makes no sense");
  const bool refused = status == Status::again || status == Status::not_connected;
  if (asked.ask.peer == 0 || !refused) return judge_answer(status, way, asked.bytes);
  // Whether the one that it named comes back is another matter.
  world_.tally.add(Happened::refused_send);
  const PeerSeen* const named = peer(asked.ask.peer);
  if (!wanted_) wants_absent_ = true;
  if (named != nullptr && named->up) wants_absent_ = false;
  wanted_ = true;
  if (closing_) fail("is not told that it is closed");
}

void Run::enter_asked(Asked asked) {
  if (asked.id == 0) fail("was given 0 as the number of a request");
  const auto place = static_cast<std::uint32_t>(asked_.size());
  if (!by_id_.try_emplace(asked.id, place).second) {
    fail("was given the number of a request a second time");
  }
  world_.note(asked.id);
  world_.tally.add(Happened::asked);
  asked_.push_back(std::move(asked));
}

Asked* Run::find_asked(std::uint64_t id) noexcept {
  const auto found = by_id_.find(id);
  return found != by_id_.end() ? &asked_[found->second] : nullptr;
}

Asked* Run::find_named(Name name) noexcept {
  const std::uint64_t place = number_in_run(name) - 1;
  return place < asked_.size() && asked_[place].name == name ? &asked_[place] : nullptr;
}

std::string Run::request_name(const Asked& asked) const {
  return "request " + text(by_id_.at(asked.id) + 1);
}

void Run::end(Asked& asked, Outcome outcome) {
  world_.say(name_, "'s ", request_name(asked), " ended: ", to_string(outcome));
  if (asked.ended) {
    return fail("has " + request_name(asked) + " end twice: " + std::string(to_string(outcome)) +
                " behind " + std::string(to_string(*asked.ended)));
  }
  asked.ended = outcome;
  asked.ended_at_up = ups_;
  ++ended_[static_cast<std::size_t>(outcome)];
  world_.tally.add(ended_as[static_cast<std::size_t>(outcome)]);
}

// The answer is one that its replier gave to this request, and comes from where that is.
void Run::on_reply(std::uint64_t id, const MessageView& answer) {
  if (world_.failed()) return;
  Asked* const asked = find_asked(id);
  if (asked == nullptr) return fail("was given an answer to a request that it did not make");
  ++delivered_here_;
  world_.tally.add(Happened::delivered);
  world_.note(id);
  const Wire* const wire = world_.event_wire;
  const auto found = std::ranges::find_if(asked->handings, [&](const Handing& handing) {
    const auto side = static_cast<std::size_t>(1 - world_.event_side);
    return handing.fate == Handing::Fate::answered && handing.answer_bytes == answer.size() &&
           has_content(answer.bytes(), handing.answer) &&
           (wire == nullptr || wire->runs[side] == handing.by);
  });
  if (found == asked->handings.end() || answer.tag() != 0) {
    return fail("was given an answer to " + request_name(*asked) + " that nobody there gave");
  }
  ++found->by->delivered_elsewhere_;
  end(*asked, Outcome::answered);
}

void Run::on_failed(std::uint64_t id, Outcome outcome) {
  if (world_.failed()) return;
  Asked* const asked = find_asked(id);
  if (asked == nullptr) return fail("was told of the end of a request that it did not make");
  world_.note(id);
  if (!judge_outcome(*asked, outcome)) {
    return fail("was told that " + request_name(*asked) + " is " + std::string(to_string(outcome)) +
                ", which cannot be");
  }
  end(*asked, outcome);
}

// Whether what is said of an end can be true.
bool Run::judge_outcome(const Asked& asked, Outcome outcome) {
  switch (outcome) {
    case Outcome::timed_out:
      return World::now_ns() >= asked.until_ns();
    case Outcome::not_answered: {
      ++delivered_here_;
      world_.tally.add(Happened::delivered);
      const Wire* const wire = world_.event_wire;
      const auto found = std::ranges::find_if(asked.handings, [&](const Handing& handing) {
        const auto side = static_cast<std::size_t>(1 - world_.event_side);
        return handing.fate == Handing::Fate::given_up &&
               (wire == nullptr || wire->runs[side] == handing.by);
      });
      if (found == asked.handings.end()) return false;
      ++found->by->delivered_elsewhere_;
      return true;
    }
    case Outcome::not_executed:
      return any_broke() && asked.handings.empty();
    case Outcome::in_doubt:
      return any_broke();
    default:
      return false;
  }
}

// A connection that had come up has ended here.
bool Run::any_broke() const noexcept {
  return std::ranges::any_of(world_.wires(), [this](const auto& wire) {
    for (const std::size_t side : {0U, 1U}) {
      if (wire->runs[side] == this && wire->was_up[side] && wire->ends[side] == nullptr)
        return true;
    }
    return false;
  });
}

void Run::cancel_something() {
  if (request_ == nullptr || asked_.empty() || !world_.settings.has(Part::cancels)) return;
  const std::size_t last = std::min<std::size_t>(asked_.size(), 8);
  Asked& asked = asked_[asked_.size() - 1 - play_.random().below(last)];
  const bool had_ended = asked.ended.has_value();
  const Status status = user_call("cancel", [&] { return request_->cancel(asked.id); });
  world_.say(name_, " cancels ", request_name(asked), ": ", to_string(status));
  if (status == Status::ok) {
    if (had_ended) fail("may cancel " + request_name(asked) + ", which had ended");
    return end(asked, Outcome::cancelled);
  }
  if ((status == Status::closed) != closing_) fail("may not cancel a request");
  // It ended in this turn, and that is still to be told.
  asked.said_to_have_ended = true;
}

// Nobody waits for an answer any more.
void Run::end_all_asked() {
  for (Asked& asked : asked_) {
    if (!asked.ended) end(asked, Outcome::cancelled);
  }
}

// For good: the socket is about to be destroyed.
void Run::add_requests_to_tally() {
  if (request_) {
    last_requests_ = request_->requests();
    world_.tally.add(Happened::repeated, last_requests_.repeated);
    world_.tally.add(Happened::late_answer, last_requests_.late);
  }
  if (reply_) {
    last_replies_ = reply_->requests();
    world_.tally.add(Happened::expired, last_replies_.expired);
    world_.tally.add(Happened::withdrawn, last_replies_.withdrawn);
  }
}

void Run::look_at_requests() {
  const RequestBooks books = request_->requests();
  std::uint64_t ended = 0;
  for (const std::uint64_t count : books.ended) ended += count;
  if (books.asked != asked_.size() || books.asked != ended + books.under_way) {
    fail("has its books of requests out of order: asked " + text(books.asked) + ", ended " +
         text(ended) + ", under way " + text(books.under_way));
  }
  // What was to be told when it was closed is told no more.
  if (!closing_ && books.ended != ended_) fail("counts other ends of requests than it told");
  if (closing_ && books.under_way != 0) fail("has requests under way though it is closed");
  if (socket_->books().sent != books.asked + books.repeated) {
    fail("counts " + text(socket_->books().sent) + " messages as sent, and they are " +
         text(books.asked) + " requests and " + text(books.repeated) + " repetitions");
  }
  check_rise("late answers", last_requests_.late, books.late);
  check_rise("repeated", last_requests_.repeated, books.repeated);
  last_requests_ = books;
  while (first_open_ < asked_.size() && asked_[first_open_].ended) ++first_open_;
  for (std::size_t i = first_open_; i < asked_.size(); ++i) {
    const Asked& asked = asked_[i];
    if (asked.ended) continue;
    if (asked.said_to_have_ended) {
      fail("could not cancel " + request_name(asked) + ", which has not ended");
    }
    if (asked.until_ns() <= actor_.machine->last_turn_ns()) {
      fail("was not told that the time of " + request_name(asked) + " is over");
    }
  }
}

}  // namespace netio::test
