// A socket is made, called, closed and destroyed; and what is true of its books at any moment.
#include "simulation/run.hpp"

#include <algorithm>
#include <utility>

#include "simulation/play.hpp"
#include "simulation/run_calls.hpp"

namespace netio::test {

namespace {

// By DropReason.
constexpr std::array<Happened, static_cast<std::size_t>(DropReason::count_)> dropped_as{
    Happened::peer_closed, Happened::connection_lost, Happened::not_sent,  Happened::linger_expired,
    Happened::dropped_new, Happened::dropped_old,     Happened::superseded};

}  // namespace

Run::Run(Play& play, Actor& actor, std::uint32_t number)
    : play_(play),
      world_(play.world()),
      actor_(actor),
      number_(number),
      name_(actor.host + std::to_string(++actor.runs)),
      mischief_(actor.temper.mischief) {
  actor.run = this;
  world_.say(name_, " is made");
  user_call("its constructor", [this] { make_socket(); });
  alive_ = true;
  user_call("setting call-backs", [this] { set_call_backs(); });
}

Run::~Run() {
  if (alive_) destroy();
}

void Run::make_socket() {
  Context& context = actor_.machine->context();
  switch (actor_.kind) {
    case Kind::push:
      push_ = std::make_unique<Push>(context, actor_.options);
      socket_ = push_.get();
      sending_ = push_.get();
      break;
    case Kind::pull:
      pull_ = std::make_unique<Pull>(context, actor_.options);
      socket_ = pull_.get();
      receiving_ = pull_.get();
      break;
    case Kind::pair:
      pair_ = std::make_unique<Pair>(context, actor_.options);
      socket_ = pair_.get();
      sending_ = pair_.get();
      receiving_ = pair_.get();
      break;
    case Kind::publish:
      publish_ = std::make_unique<Publish>(context, actor_.publishing, actor_.options);
      socket_ = publish_.get();
      break;
    case Kind::subscribe:
      subscribe_ = std::make_unique<Subscribe>(context, actor_.subscription, actor_.options);
      socket_ = subscribe_.get();
      receiving_ = subscribe_.get();
      break;
    case Kind::request:
      request_ = std::make_unique<Request>(context, actor_.asking, actor_.options);
      socket_ = request_.get();
      break;
    case Kind::reply:
      reply_ = std::make_unique<Reply>(context, actor_.replying, actor_.options);
      socket_ = reply_.get();
      break;
  }
}

void Run::set_call_backs() {
  socket_->on_up(
      [this](const PeerInfo& info) { event(CallBack::up, "on_up", [&] { on_up(info); }); });
  socket_->on_down([this](const PeerInfo& info, const Down& down) {
    event(CallBack::down, "on_down", [&] { on_down(info, down); });
  });
  socket_->on_closed([this](const Books& books) {
    event(CallBack::closed, "on_closed", [&] { on_closed(books); });
  });
  socket_->on_high_watermark(
      [this] { event(CallBack::high, "on_high_watermark", [&] { on_watermark(true); }); });
  socket_->on_low_watermark(
      [this] { event(CallBack::low, "on_low_watermark", [&] { on_watermark(false); }); });
  if (sending_ != nullptr) set_sending_call_backs();
  if (receiving_ != nullptr) set_receiving_call_backs();
  if (publish_) set_publish_call_backs();
  if (subscribe_) set_subscribe_call_backs();
  if (request_) set_request_call_backs();
  if (reply_) set_reply_call_backs();
  if (receiving_ != nullptr) {
    receiving_->on_gap([this](const PeerInfo& info, const Gap& gap) {
      event(CallBack::gap, "on_gap", [&] { on_gap(info, gap); });
    });
  }
}

void Run::set_sending_call_backs() {
  sending_->on_writable(
      [this] { event(CallBack::writable, "on_writable", [&] { on_writable(); }); });
  sending_->on_released([this](std::uint64_t token) {
    event(CallBack::released, "on_released", [&] { on_released(token); });
  });
}

void Run::set_receiving_call_backs() {
  if (actor_.temper.takes_batches) {
    receiving_->on_batch([this](const Batch& batch) {
      event(CallBack::message, "on_batch", [&] {
        std::size_t walked = 0;
        for (const MessageView view : batch) {
          on_message(view.bytes(), view.tag());
          ++walked;
          keep_some(view);
        }
        if (walked != batch.size()) fail("was given a batch with another number of messages");
        answer();
      });
    });
  } else {
    receiving_->on_message([this](const MessageView& view) {
      event(CallBack::message, "on_message", [&] {
        on_message(view.bytes(), view.tag());
        keep_some(view);
        answer();
      });
    });
  }
}

void Run::set_publish_call_backs() {
  publish_->on_writable(
      [this] { event(CallBack::writable, "on_writable", [&] { on_writable(); }); });
  publish_->on_released([this](std::uint64_t token) {
    event(CallBack::released, "on_released", [&] { on_released(token); });
  });
  publish_->on_subscribe([this](const PeerInfo& info, std::span<const TagRange> ranges) {
    event(CallBack::subscribe, "on_subscribe", [&] { on_set_changed(info, ranges, true); });
  });
  publish_->on_unsubscribe([this](const PeerInfo& info, std::span<const TagRange> ranges) {
    event(CallBack::unsubscribe, "on_unsubscribe", [&] { on_set_changed(info, ranges, false); });
  });
  publish_->on_behind([this](const PeerSnapshot& snapshot) {
    event(CallBack::behind, "on_behind", [&] { on_behind(snapshot, true); });
  });
  publish_->on_caught_up([this](const PeerSnapshot& snapshot) {
    event(CallBack::caught_up, "on_caught_up", [&] { on_behind(snapshot, false); });
  });
  publish_->on_policy_changed([this](const PeerSnapshot& snapshot) {
    event(CallBack::policy_changed, "on_policy_changed", [&] { on_policy_changed(snapshot); });
  });
}

void Run::set_subscribe_call_backs() {
  subscribe_->on_subscribed([this](const PeerInfo& info, const Subscribed& told) {
    event(CallBack::subscribed, "on_subscribed", [&] { on_subscribed(info, told); });
  });
}

// Whether a call-back may come now: from the loop of its own context, and to a socket that is
// there.
bool Run::may_be_called(CallBack which, const char* call_back) {
  if (world_.failed()) return false;
  world_.note(static_cast<std::uint64_t>(which) + 100 * number_);
  if (world_.call != nullptr) {
    fail(std::string("was called back by ") + call_back + " from inside " + world_.call + " of " +
         (world_.caller != nullptr ? world_.caller->name() : "nobody"));
  } else if (!alive_) {
    fail(std::string("was called back by ") + call_back + " though it is destroyed");
  } else if (closed_ && which != CallBack::released) {
    fail(std::string("was called back by ") + call_back + " though it is closed");
  } else if (!actor_.machine->in_turn()) {
    fail(std::string("was called back by ") + call_back + " outside of a turn of its loop");
  } else if (closing_ && (which == CallBack::message || which == CallBack::writable ||
                          which == CallBack::subscribed || which == CallBack::gap ||
                          which == CallBack::policy_changed || which == CallBack::behind ||
                          which == CallBack::request || which == CallBack::reply ||
                          which == CallBack::failed || which == CallBack::caught_up)) {
    fail(std::string("was called back by ") + call_back + " though it is closing");
  }
  return !world_.failed();
}

void Run::begin() {
  if (actor_.first_set != 0) change_set(actor_.first_set, 0);
  if (actor_.binds) {
    user_call("bind", [this] { (void)socket_->bind("sim://" + actor_.host + ":1"); });
  }
  for (Actor* const to : actor_.dials) dial(*to);
}

void Run::dial(Actor& to) {
  const Dial& dial = world_.add_dial(*this, to.host);
  world_.say(name_, " connects to ", to.host, ", dial ", dial.index);
  user_call("connect", [&] { socket_->connect(dial.url); });
}

void Run::flush() {
  user_call("flush", [this] {
    if (sending_ != nullptr) sending_->flush();
    if (publish_) publish_->flush();
    if (request_) request_->flush();
    if (reply_) reply_->flush();
  });
}

void Run::pause(bool paused) {
  if (!receives(kind())) return;
  world_.say(name_, paused ? " pauses" : " resumes");
  paused_ = paused;
  if (paused) world_.tally.add(Happened::pause);
  user_call("pause", [&] {
    if (reply_) return paused ? reply_->pause() : reply_->resume();
    paused ? receiving_->pause() : receiving_->resume();
  });
  const bool is_paused = reply_ ? reply_->paused() : receiving_->paused();
  if (working() && is_paused != paused) fail("is not paused as it was told");
}

void Run::pause_peer(PeerSeen& peer, bool paused) {
  world_.say(name_, paused ? " pauses" : " resumes", " its peer ", peer.id);
  if (paused) world_.tally.add(Happened::pause);
  Status status = Status::ok;
  user_call("pause_peer", [&] {
    status = paused ? receiving_->pause_peer(peer.id) : receiving_->resume_peer(peer.id);
  });
  if (status == Status::ok) peer.paused = paused;
}

void Run::take_messages(bool taken) {
  if (!receives(kind()) || takes_messages_ == taken) return;
  world_.say(name_, taken ? " takes messages" : " takes no messages");
  takes_messages_ = taken;
  user_call("on_message", [&] {
    if (reply_) return set_reply_call_backs();
    if (taken) return set_receiving_call_backs();
    receiving_->on_message(nullptr);
    receiving_->on_batch(nullptr);
  });
}

void Run::change_set(Atoms added, Atoms removed) {
  world_.say(name_, " changes its set");
  world_.tally.add(Happened::subscription);
  const bool all = removed == ~Atoms{0};
  user_call("subscribe", [&] {
    if (all) {
      subscribe_->unsubscribe_all();
    } else if (removed != 0) {
      subscribe_->unsubscribe(ranges_of(removed));
    }
    if (added != 0) subscribe_->subscribe(ranges_of(added));
  });
  set_ = (set_ & ~removed) | added;
  const auto now = atoms_of(subscribe_->subscribed());
  if (!now || *now != set_) fail("has another set of tags than it asked for");
}

void Run::close(std::int64_t linger_ns) {
  if (!alive_ || closed_) return;
  world_.say(name_, " closes within ", linger_ns / us, " us");
  world_.tally.add(Happened::close);
  closing_ = true;
  close_by_ns_ = World::now_ns() + linger_ns;
  user_call("close", [&] { socket_->close(std::chrono::nanoseconds(linger_ns)); });
  if (request_) end_all_asked();
  if (reply_) give_up_open();
}

void Run::destroy() {
  world_.say(name_, " is destroyed");
  const Books last = socket_->books();
  world_.tally.add(Happened::acknowledged, last.acknowledged);
  const Counters counters = socket_->counters();
  world_.tally.add(Happened::resent, counters.resent);
  world_.tally.add(Happened::given_up, counters.resume_given_up);
  for (std::size_t i = 0; i < last.dropped_by.size(); ++i) {
    world_.tally.add(dropped_as[i], last.dropped_by[i]);
  }
  add_requests_to_tally();
  alive_ = false;
  user_call("its destructor", [this] {
    push_.reset();
    pull_.reset();
    pair_.reset();
    publish_.reset();
    subscribe_.reset();
    request_.reset();
    reply_.reset();
  });
  // Some outlive their socket.
  while (!held_.empty() && play_.chance(500)) give_up_one(held_.size() - 1);
  play_.end_loans_of(*this);
  if (actor_.run == this) actor_.run = nullptr;
}

PeerSeen* Run::peer(std::uint64_t id) noexcept {
  const auto found = std::find_if(peers_.begin(), peers_.end(),
                                  [id](const PeerSeen& peer) { return peer.id == id; });
  return found != peers_.end() ? &*found : nullptr;
}

Outgoing& Run::outgoing(const Dial& dial, const Run& subscriber) {
  const auto found = std::find_if(outgoing_.begin(), outgoing_.end(), [&](const Outgoing& one) {
    return one.dial == &dial && one.subscriber == &subscriber;
  });
  if (found != outgoing_.end()) return *found;
  outgoing_.push_back({&dial, &subscriber, {}});
  return outgoing_.back();
}

Incoming& Run::incoming(const Dial& dial, const Run& publisher) {
  const auto found = std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& one) {
    return one.dial == &dial && one.publisher == &publisher;
  });
  if (found != incoming_.end()) return *found;
  incoming_.push_back({&dial, &publisher, false, 0, {}, {}});
  return incoming_.back();
}

std::size_t Run::outgoing_by(const Dial& dial) const {
  std::size_t messages = 0;
  for (const Outgoing& one : outgoing_) {
    if (one.dial == &dial) messages += one.messages.size();
  }
  return messages;
}

void Run::check_books(const Books& books, const char* whose) {
  if (books.sent == books.acknowledged + books.dropped() + books.unsettled()) return;
  fail(std::string("has ") + whose + " books out of order: sent " + std::to_string(books.sent) +
       ", acknowledged " + std::to_string(books.acknowledged) + ", dropped " +
       std::to_string(books.dropped()) + ", unacknowledged " +
       std::to_string(books.unacknowledged));
}

void Run::check_rise(const char* what, std::uint64_t before, std::uint64_t now) {
  if (now >= before) return;
  fail("counts " + text(now) + " messages as " + what + ", and " + text(before) + " before");
}

void Run::look() {
  if (!alive_ || world_.failed()) return;
  const Books books = socket_->books();
  check_books(books, "its");
  const std::uint64_t untold = asks_or_answers(kind()) ? play_.untold_to(kind()) : 0;
  if (books.acknowledged > delivered_elsewhere_ + untold) {
    fail("counts " + text(books.acknowledged) + " messages as acknowledged, and " +
         text(delivered_elsewhere_ + untold) + " were delivered");
  }
  const std::uint64_t given = delivered_here_ + (asks_or_answers(kind()) ? untold_here() : 0);
  if (books.delivered != given) {
    fail("counts " + text(books.delivered) + " messages as delivered, and was given " +
         text(given));
  }
  if (request_) look_at_requests();
  if (reply_) look_at_replies();
  if (sending_ != nullptr && books.sent != sent_ok_) {
    fail("counts " + text(books.sent) + " messages as sent, and " + text(sent_ok_) + " were taken");
  }
  if (publish_ && publish_->counters().published != sent_ok_) {
    fail("counts another number of published messages than it took");
  }
  if (books.missed < gaps_told_) fail("told of more missed messages than it counts");
  check_rise("sent", last_books_.sent, books.sent);
  check_rise("acknowledged", last_books_.acknowledged, books.acknowledged);
  check_rise("delivered", last_books_.delivered, books.delivered);
  check_rise("missed", last_books_.missed, books.missed);
  for (std::size_t i = 0; i < books.dropped_by.size(); ++i) {
    check_rise("dropped", last_books_.dropped_by[i], books.dropped_by[i]);
  }
  last_books_ = books;
  if (closing_ && !closed_ && actor_.machine->last_turn_ns() > close_by_ns_) {
    fail("is not closed though its linger time has passed");
  }
  const auto up = static_cast<std::size_t>(
      std::count_if(peers_.begin(), peers_.end(), [](const PeerSeen& seen) { return seen.up; }));
  if (!closing_ && socket_->peers_connected() != up) {
    fail("has " + text(socket_->peers_connected()) + " peers connected, and was told of " +
         text(up));
  }
  if (socket_->fill() < 0 || socket_->fill() > 1) fail("is filled to an impossible part");
}

}  // namespace netio::test
