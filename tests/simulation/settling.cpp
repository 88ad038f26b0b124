// The end of a schedule: no fault is left, everybody listens, and all has to come to its place.
#include <algorithm>
#include <string>
#include <utility>

#include "memory/large_pool.hpp"
#include "simulation/play.hpp"

namespace netio::test {

namespace {

constexpr std::int64_t settled_within_ns = 60'000 * ms;
constexpr std::size_t item_bytes_max = 4096;  // of what is kept, beside its memory
// In which no message comes. The largest may be thousands of pages, of which one comes in a turn.
constexpr int turns_most = 20'000;
constexpr int busy_turns_most = 100;  // at one time
constexpr std::int64_t step_most_ns = 20 * ms;

std::uint64_t dropped(const Books& books, DropReason reason) {
  return books.dropped_by[static_cast<std::size_t>(reason)];
}

}  // namespace

// What waits above the wires for a subscriber is bounded. Beside its queue there may be the rest of
// a message in parts that the wire has begun to take, a message by which the queue passes its
// bound, and an open page of the group and of the queue each.
void Play::look_at_queues() {
  for (const auto& run : runs_) {
    if (run->working() && run->kind() != Kind::publish) look_at_what_is_kept(*run);
    if (!run->working() || run->kind() != Kind::publish) continue;
    for (const PeerSnapshot& peer : run->socket().peers()) {
      const PeerSeen* const seen = run->peer(peer.id);
      if (seen == nullptr || !(seen->up || seen->away) || !peer.policy) continue;
      const std::size_t allowed = std::min(seen->remote->actor().subscription.behind_bytes_max,
                                           run->actor().publishing.behind_bytes_max) +
                                  2 * message_bytes_max_ + 2 * run->actor().machine->page_bytes();
      if (peer.waiting_bytes > allowed) {
        run->fail("has " + text(peer.waiting_bytes) + " bytes waiting for peer " + text(peer.id) +
                  ", which may have " + text(allowed));
      }
    }
  }
}

// A single message may be larger than the bound. When a connection broke, an open page and a
// message in parts may be kept beside it. What waits for a subscriber is kept too if its next
// connection takes other pages, as many connections here do: publishers are not looked at.
void Play::look_at_what_is_kept(Run& run) {
  const std::size_t bound = run.actor().options.resume_bytes_max;
  const std::size_t message =
      std::max<std::size_t>(detail::LargePool::charged_bytes(message_bytes_max_ + 64),
                            run.actor().machine->page_bytes()) +
      item_bytes_max;
  for (const PeerSnapshot& peer : run.socket().peers()) {
    const bool broke = run.lost_any();
    const std::size_t page = run.actor().machine->page_bytes() + item_bytes_max;
    std::size_t allowed = std::max(bound, message);
    if (broke) allowed += page + message;
    if (peer.kept_bytes > allowed) {
      run.fail("keeps " + text(peer.kept_bytes) + " bytes for peer " + text(peer.id) +
               ", and may keep " + text(allowed));
    }
  }
}

// Faults end; what is paused goes on, what was kept is released, most of those who are gone return.
void Play::wake_all() {
  world_.begin_calm();
  for (Actor& actor : actors_) {
    if (actor.run != nullptr && actor.run->closed()) actor.run->destroy();
    if (actor.run == nullptr && (runs_.size() < 2 || !random_.one_in(4))) make(actor);
    if (actor.run != nullptr) act(*actor.run, Act::resume);
  }
  release_kept(SIZE_MAX);
  answer_all(random_.one_in(4) && !few_at_once_);
}

bool Play::settle(const char* after_what) {
  std::int64_t until_ns = World::now_ns() + settled_within_ns;
  std::int64_t step_ns = 50 * us;
  std::string what = "the loops never come to rest";
  int busy = 0;
  std::uint64_t delivered = world_.tally.of(Happened::delivered);
  std::uint64_t body_bytes = world_.body_bytes;
  for (int turns = 0; turns < turns_most && World::now_ns() < until_ns; ++turns) {
    const bool worked = turn_all();
    if (world_.failed()) return false;
    const std::uint64_t now_delivered = world_.tally.of(Happened::delivered);
    if (std::exchange(delivered, now_delivered) != now_delivered) turns = 0;
    // A large message may crawl, in parts as small as a page may be.
    if (std::exchange(body_bytes, world_.body_bytes) != world_.body_bytes) {
      until_ns = World::now_ns() + settled_within_ns;
      turns = 0;
    }
    // With flush_after 0, a page that waits for a link that takes no more is tried in each turn.
    if (worked && ++busy < busy_turns_most) continue;
    busy = 0;
    look();
    what = unsettled();
    if (what.empty() || world_.failed()) return !world_.failed();
    // Not past what the network does next: a loop that sleeps would be woken for it.
    world_.advance(std::min(step_ns, world_.next_ns() - World::now_ns()));
    step_ns = std::min(2 * step_ns, step_most_ns);
  }
  world_.fail("it does not settle after " + std::string(after_what) + ": " + what);
  return false;
}

// What is not at rest yet; empty if all is.
std::string Play::unsettled() {
  for (const auto& wire : world_.wires()) {
    if (!wire->quiet()) return wire->text();
  }
  for (const auto& run : runs_) {
    std::string what = run->alive() ? unsettled(*run) : std::string();
    if (!what.empty()) return run->name() + " " + what;
  }
  for (const auto& run : runs_) {
    if (run->working() && run->kind() == Kind::publish && waits_to_tell(*run)) {
      return run->name() + " has not told of all that it dropped";
    }
  }
  return {};
}

// A gap waits until the wire has room, and is no message that waits.
bool Play::waits_to_tell(Run& publisher) {
  for (const PeerSnapshot& peer : publisher.socket().peers()) {
    const PeerSeen* const seen = publisher.peer(peer.id);
    if (!peer.up || seen == nullptr || !seen->up || !seen->remote->working()) continue;
    const Incoming& there = seen->remote->incoming(seen->wire->dial, publisher);
    const auto& all = publisher.outgoing(seen->wire->dial, *seen->remote).messages;
    if (there.known && there.next < all.size()) return true;
  }
  return false;
}

// A peer that this one dials need not be connected if nobody is there, or a Pair there has another.
bool Play::may_stay_down(const Run& run, const PeerSnapshot& peer) {
  const auto found = std::find_if(actors_.begin(), actors_.end(), [&](const Actor& actor) {
    return peer.address.starts_with("sim://" + actor.host + ":");
  });
  const Run* const other = found != actors_.end() ? found->run : nullptr;
  if (other == nullptr || !other->working() || !found->binds) return true;
  return run.kind() == Kind::pair && actors_.size() > 2;
}

std::string Play::unsettled(Run& run) {
  if (run.closing()) return run.closed() ? std::string() : "is not closed";
  const bool beats = std::ranges::any_of(
      actors_, [](const Actor& actor) { return actor.options.heartbeat_after.count() != 0; });
  bool any_up = false;
  bool any_down = false;
  for (const PeerSnapshot& peer : run.socket().peers()) {
    const std::string which = "peer " + text(peer.id);
    any_up |= peer.up;
    any_down |= !peer.up;
    if (!peer.up && !may_stay_down(run, peer)) return "is not connected to " + peer.address;
    if (!peer.up) continue;
    if (peer.books.unsettled() != 0) {
      return "has " + text(peer.books.unsettled()) + " messages unacknowledged at " + which;
    }
    // Heartbeats never end.
    if (peer.waiting_messages != 0 || (peer.wire_bytes != 0 && !beats))
      return "has messages waiting for " + which;
    PeerSeen* const seen = run.peer(peer.id);
    if (seen == nullptr || !seen->up) return "was not told that " + which + " is up";
    if (seen->behind) return "was not told that " + which + " has caught up";
    if (run.kind() == Kind::subscribe) {
      const std::string what = unsettled_set(run, *seen);
      if (!what.empty()) return what;
    }
  }
  if (run.socket().peers_connected() !=
      static_cast<std::size_t>(std::count_if(run.peers().begin(), run.peers().end(),
                                             [](const PeerSeen& seen) { return seen.up; }))) {
    return "was not told of all peers that are up or down";
  }
  const bool too_few = run.kind() == Kind::publish && run.actor().publishing.subscribers_min != 0;
  if (const Asked* const stuck = run.kind() == Kind::request ? run.stuck() : nullptr) {
    return "has " + run.request_name(*stuck) + " that does not end";
  }
  if (run.wants_to_send() && any_up && !too_few) return "was not told that it may send again";
  if (run.above_high() && run.socket().fill() <= run.actor().options.low_watermark) {
    return "was not told of its low watermark";
  }
  if (run.loans_out() != 0 && !any_down) return "has lent memory that is not released";
  return {};
}

std::string Play::unsettled_set(Run& run, const PeerSeen& publisher) {
  if (publisher.revision == 0) return "is not subscribed at peer " + text(publisher.id);
  if (publisher.refused) return {};
  for (const PeerSeen& back : publisher.remote->peers()) {
    if (back.up && back.wire == publisher.wire) {
      return back.set == run.set() ? std::string()
                                   : "has another set at peer " + text(publisher.id);
    }
  }
  return "is not known to peer " + text(publisher.id);
}

void Play::judge_settled() {
  for (const auto& run : runs_) {
    if (run->working()) judge_books(*run);
    if (run->working() && run->kind() == Kind::request) judge_requests(*run);
  }
  for (const auto& wire : world_.wires()) {
    if (wire->ends[0] != nullptr && wire->ends[1] != nullptr && wire->was_up[0] &&
        wire->was_up[1]) {
      judge_stream(*wire);
    }
  }
}

void Play::judge_books(Run& run) {
  const Books books = run.books();
  const bool all_told = !asks_or_answers(run.kind()) || untold_to(run.kind()) == 0;
  if (!restarted_ && books.unsettled() != 0 && run.kind() != Kind::pair) {
    run.fail("has " + text(books.unsettled()) + " messages in doubt, and nobody restarted");
  }
  if (!restarted_ && sends(run.kind()) && books.acknowledged != run.delivered_elsewhere() &&
      run.kind() != Kind::pair && all_told) {
    run.fail("counts " + text(books.acknowledged) + " messages as acknowledged, and all of " +
             text(run.delivered_elsewhere()) + " that were delivered should be");
  }
  if ((run.kind() == Kind::pull || run.kind() == Kind::pair) && books.missed != run.gaps_told()) {
    run.fail("misses " + text(books.missed) + " messages, and was told of " +
             text(run.gaps_told()));
  }
  const bool one_to_one =
      run.kind() == Kind::push || run.kind() == Kind::pair || asks_or_answers(run.kind());
  if (one_to_one && !run.lost_any() && books.dropped() != 0) {
    run.fail("dropped messages though it never lost a connection");
  }
}

// Both ends of a connection, if neither was another run before: what one acknowledged the other was
// given, and what one lost the other missed.
void Play::judge_stream(Wire& wire) {
  for (const auto& other : world_.wires()) {
    if (&other->dial == &wire.dial && other->runs[1] != nullptr && other->runs[1] != wire.runs[1])
      return;
  }
  std::array<const PeerSeen*, 2> seen{};
  std::array<Books, 2> books;
  for (const std::size_t side : {0U, 1U}) {
    Run& run = *wire.runs[side];
    if (!run.working()) return;
    for (const PeerSnapshot& peer : run.socket().peers()) {
      const PeerSeen* const one = run.peer(peer.id);
      if (one == nullptr || one->wire != &wire || !one->up) continue;
      seen[side] = one;
      books[side] = peer.books;
    }
    if (seen[side] == nullptr) return;
  }
  for (const std::size_t side : {0U, 1U}) {
    if (sends(wire.runs[side]->kind())) judge_direction(wire, side, books[side], books[1 - side]);
  }
}

void Play::judge_direction(Wire& wire, std::size_t from, const Books& sent, const Books& received) {
  Run& sender = *wire.runs[from];
  Run& receiver = *wire.runs[1 - from];
  const std::string both = "and " + receiver.name() + " do not agree: ";
  if (sent.acknowledged != received.delivered) {
    return sender.fail(both + text(sent.acknowledged) + " acknowledged, " +
                       text(received.delivered) + " delivered");
  }
  // A Reply gives up requests that it has not answered, too.
  const bool was_away = sender.kind() == Kind::reply && !stays_in_time(sender);
  const bool keeps = sender.actor().options.resume_bytes_max != 0 && !was_away &&
                     sender.socket().counters().resume_given_up == 0;
  // A publisher drops by policy too.
  const std::uint64_t not_sent =
      sender.kind() != Kind::publish ? dropped(sent, DropReason::not_sent) : 0;
  if (keeps && dropped(sent, DropReason::connection_lost) + not_sent != 0) {
    return sender.fail(both + "messages were lost, and neither was restarted");
  }
  if (sender.kind() != Kind::publish) {
    if (dropped(sent, DropReason::connection_lost) != received.missed) {
      sender.fail(both + text(dropped(sent, DropReason::connection_lost)) + " lost, " +
                  text(received.missed) + " missed");
    }
    return;
  }
  const std::size_t all = sender.outgoing(wire.dial, receiver).messages.size();
  const Incoming& incoming = receiver.incoming(wire.dial, sender);
  if (sent.sent != all || incoming.next != all || received.delivered + received.missed != all) {
    sender.fail(both + text(all) + " messages for it, " + text(received.delivered) +
                " delivered, " + text(received.missed) + " missed, number " + text(incoming.next) +
                " is the next");
  }
  // On its first connection a subscriber is told of each drop as it was.
  if (wire.dial.connections == 1 && incoming.missed_by != sent.dropped_by) {
    sender.fail(both + "what was dropped for one reason is told to be for another");
  }
}

// One message more for each peer: a socket that is stuck shows now.
void Play::probe() {
  answer_all(false);
  for (Actor& actor : actors_) {
    Run* const run = actor.run;
    if (run == nullptr || !run->working() || !begins(actor.kind)) continue;
    if (actor.kind == Kind::publish && actor.publishing.subscribers_min != 0) continue;
    const std::size_t messages = 2 * run->socket().peers_connected();
    for (std::size_t i = 0; i < messages && !world_.failed();) {
      const std::size_t bytes = 8 + random_.below(40);
      const Status status = run->kind() == Kind::request ? run->ask(Way::copied, bytes)
                                                         : run->send(Way::copied, bytes, false);
      if (status == Status::ok) {
        ++i;
      } else if (!settle("a message was refused")) {
        return;
      }
    }
  }
  if (!world_.failed() && settle("each sent to all")) judge_settled();
}

// In order, and with time enough: nothing may be lost.
void Play::close_all() {
  if (random_.one_in(3)) return;
  std::vector<Run*> closing;
  for (const auto& run : runs_) {
    if (run->working()) closing.push_back(run.get());
  }
  std::vector<Books> before;
  for (Run* const run : closing) before.push_back(run->books());
  const std::size_t first = closing.empty() ? 0 : random_.below(closing.size());
  std::vector<std::uint64_t> unanswered(closing.size());
  for (std::size_t i = 0; i < closing.size(); ++i) {
    const std::size_t next = (first + i) % closing.size();
    unanswered[next] = closing[next]->held().size();
    closing[next]->close(10'000 * ms);
    if (random_.one_in(2)) turn_all();
  }
  if (world_.failed() || !settle("all were closed")) return;
  for (std::size_t i = 0; i < closing.size(); ++i) {
    // What was in doubt may be dropped now, for good.
    if (before[i].unsettled() != 0) continue;
    // A Reply tells who asked that there is no answer: that is lost if nobody is there to hear it.
    const Books after = closing[i]->books();
    if (after.unsettled() + after.dropped() > before[i].dropped() + unanswered[i]) {
      closing[i]->fail("lost messages when it was closed in order");
    }
  }
}

void Play::destroy_all() {
  for (const auto& run : runs_) {
    if (run->alive()) run->destroy();
    run->let_go_of_all();
  }
  kept_.clear();
}

}  // namespace netio::test
