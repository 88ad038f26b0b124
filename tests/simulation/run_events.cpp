// What a run is told by its call-backs, each judged as it comes.
#include <algorithm>
#include <cstring>
#include <utility>

#include "simulation/play.hpp"
#include "simulation/run.hpp"
#include "simulation/run_calls.hpp"

namespace netio::test {

void Run::on_up(const PeerInfo& info) {
  Wire* const wire = world_.find_wire(info.address);
  const std::size_t side = info.dialed ? 0 : 1;
  if (wire == nullptr || wire->runs[side] != this || wire->runs[1 - side] == nullptr) {
    return fail("was told of a connection that is not there");
  }
  PeerSeen* seen = peer(info.id);
  if (seen == nullptr) {
    for (const PeerSeen& other : peers_) {
      if (&other.wire->dial == &wire->dial) {
        return fail("was told that peer " + text(other.id) + " is another one, " + text(info.id) +
                    ", when it came back");
      }
    }
    peers_.push_back({info.id});
    seen = &peers_.back();
  } else if (seen->up) {
    return fail("was told by on_up of peer " + text(info.id) + ", which is up");
  } else if (&seen->wire->dial != &wire->dial) {
    return fail("was told that another peer is peer " + text(info.id));
  }
  seen->wire = wire;
  seen->ups = ++ups_;
  seen->remote = wire->runs[1 - side];
  seen->up = true;
  const bool was_away = std::exchange(seen->away, false);
  if (!was_away) seen->set = 0;
  seen->revision = 0;
  seen->refused = false;
  // One that wanted nothing when it went may have been given up: nobody is told.
  seen->behind_known = !seen->came_before || (seen->behind_known && was_away && seen->set != 0);
  seen->came_before = true;
  seen->behind = seen->behind && was_away && seen->set != 0;
  world_.say(name_, " is told that peer ", info.id, " is up: ", seen->remote->name(), " by wire ",
             wire->number);
  world_.tally.add(Happened::up);
  check_books(info.books, "its peer's");
  if (publish_ && info.books.sent != outgoing_by(wire->dial)) {
    fail("counts " + text(info.books.sent) + " messages for peer " + text(info.id) + ", and took " +
         text(outgoing_by(wire->dial)));
  }
}

void Run::on_down(const PeerInfo& info, const Down& down) {
  PeerSeen* const seen = peer(info.id);
  const bool up = seen != nullptr && seen->up;
  world_.say(name_, " is told that peer ", info.id, " is down: ", to_string(down.reason), ", ",
             down.detail);
  world_.tally.add(Happened::down);
  if (up != info.was_up) {
    return fail("was told by on_down that peer " + text(info.id) +
                (info.was_up ? " was" : " was not") + " up");
  }
  judge_down(seen, info, down);
  check_books(info.books, "its peer's");
  if (!up) return;
  seen->up = false;
  lost_any_ = true;
  if (!info.dialed) seen->paused = false;
  seen->away = publish_ && down.reason == DownReason::lost && actor_.options.resume_bytes_max != 0;
  if (seen->set != 0 && !seen->away) {
    fail("was not told that a subscriber that goes wants nothing any more");
  }
}

// No side breaks the rules here, and no message is larger than it may be.
void Run::judge_down(const PeerSeen* seen, const PeerInfo& info, const Down& down) {
  switch (down.reason) {
    case DownReason::stalled:
      world_.tally.add(Happened::stalled);
      break;
    case DownReason::protocol_error:
    case DownReason::foreign_protocol:
    case DownReason::version_mismatch:
    case DownReason::pattern_mismatch:
    case DownReason::message_too_big:
    case DownReason::resources:
    case DownReason::name_unknown:
    case DownReason::name_temporary:
      fail("lost a peer for a reason that cannot be: " + std::string(to_string(down.reason)) +
           ", " + down.detail);
      break;
    case DownReason::closed_by_peer:
      if (seen != nullptr && info.was_up && !seen->remote->closing_) {
        fail("was told that " + seen->remote->name() + " closed, and it did not");
      }
      break;
    case DownReason::closed_here:
      if (!closing_) fail("was told that it closed, and it did not");
      break;
    case DownReason::too_slow: {
      const Actor& subscriber =
          kind() == Kind::publish && seen != nullptr && seen->remote != nullptr
              ? seen->remote->actor_
              : actor_;
      if (subscriber.subscription.policy != Policy::disconnect) {
        fail("lost a subscriber as too slow that did not ask for that");
      }
      break;
    }
    default:
      break;
  }
}

void Run::on_closed(const Books& books) {
  world_.say(name_, " is closed");
  if (!closing_) fail("is closed, and nobody closed it");
  closed_ = true;
  check_books(books, "its last");
  if (World::now_ns() > std::max(close_by_ns_, actor_.machine->last_turn_ns())) {
    fail("was closed later than its linger time allows");
  }
}

void Run::on_message(std::span<const std::byte> bytes, std::uint64_t tag) {
  if (world_.failed()) return;
  const std::uint64_t id = receiving_->sender_id();
  PeerSeen* const from = peer(id);
  ++delivered_here_;
  world_.tally.add(Happened::delivered);
  if (from == nullptr || !from->up) {
    return fail("was given a message of peer " + text(id) + ", which is not up");
  }
  if (paused_ || from->paused || !takes_messages_) {
    return fail("was given a message though it is paused or takes none");
  }
  Run& sender = *from->remote;
  Name name = name_in_tag(tag);
  if (bytes.size() >= named_bytes_min) std::memcpy(&name, bytes.data(), sizeof name);
  std::uint64_t place = number_in_run(name) - 1;
  if (run_of(name) != sender.number_ || name >> 48U != 0) {
    const auto found = sender.passed_on_.find(name);
    place = found != sender.passed_on_.end() ? found->second : UINT64_MAX;
  }
  world_.say(name_, " is given message ", place + 1, " of ", sender.name(), ", ", bytes.size(),
             " bytes, from peer ", id);
  world_.note(name);
  if (place >= sender.sent_.size()) {
    return fail("was given a message that " + sender.name() + " did not send");
  }
  SentMessage& message = sender.sent_[place];
  if (message.name != name || message.bytes != bytes.size() || message.tag != tag) {
    return fail("was given a message of another size or tag than was sent");
  }
  if (!has_content(bytes, name)) return fail("was given a message that was damaged on its way");
  ++sender.delivered_elsewhere_;
  judge_delivery(*from, message, static_cast<std::uint32_t>(place));
}

// A publisher's messages have numbers, and the subscriber can tell which one it is given. Who
// samples is given the latest message of each tag in the place of an earlier one: there only the
// messages of a tag are in order.
void Run::judge_number(const PeerSeen& from, const Outgoing& list, Incoming& here,
                       std::uint32_t place) {
  const Run& sender = *from.remote;
  if (!here.known) return fail("was given a message before it was told that it is subscribed");
  const std::uint64_t number = here.next++;
  const std::string what = "was given message " + text(place + 1) + " of " + sender.name();
  if (actor_.subscription.policy != Policy::sample) {
    if (number >= list.messages.size() || list.messages[number] != place) {
      fail(what + " as number " + text(number) + ", which it is not");
    }
    return;
  }
  const bool counted = number < list.messages.size();
  if (!counted || !std::binary_search(list.messages.begin(), list.messages.end(), place)) {
    return fail(what + ", which is not for it");
  }
  const auto [latest, first] = here.latest.try_emplace(sender.sent_[place].tag, place);
  if (!first && latest->second >= place) fail(what + " behind a later one of its tag");
  latest->second = place;
}

void Run::judge_delivery(PeerSeen& from, SentMessage& message, std::uint32_t place) {
  Run& sender = *from.remote;
  Dial& dial = from.wire->dial;
  if (sender.kind() == Kind::publish) {
    return judge_number(from, sender.outgoing(dial, *this), incoming(dial, sender), place);
  }
  if (std::exchange(message.delivered, true)) {
    return fail("was given message " + text(place + 1) + " of " + sender.name() +
                ", which was delivered before");
  }
  judge_order(dial, sender, place, "was given message " + text(place + 1) + " of " + sender.name());
}

void Run::judge_order(Dial& dial, const Run& sender, std::uint32_t place, const std::string& what) {
  auto order = std::find_if(dial.orders.begin(), dial.orders.end(), [&](const Dial::Order& one) {
    return one.sender == sender.number_ && one.receiver == number_;
  });
  if (order == dial.orders.end()) {
    dial.orders.push_back({sender.number_, number_, 0});
    order = dial.orders.end() - 1;
  }
  if (place + 1 <= order->last) fail(what + " behind number " + text(order->last));
  order->last = place + 1;
}

void Run::keep_some(const MessageView& view) {
  if (world_.failed() || world_.calm() || !play_.chance(actor_.temper.keeps)) return;
  // A small answer does not say which one it is.
  if (asks_or_answers(kind()) && view.size() < named_bytes_min) return;
  Name name = name_in_tag(view.tag());
  if (view.size() >= named_bytes_min) std::memcpy(&name, view.data(), sizeof name);
  world_.tally.add(Happened::kept);
  play_.keep({view.keep(), name, view.tag(), view.size(), actor_.machine->place()});
}

// What the user does with a message, or a batch, as its temper is.
void Run::answer() {
  if (world_.failed() || world_.calm()) return;
  if (begins(kind()) && play_.chance(actor_.temper.replies)) play_.send_something(*this);
  if (play_.chance(actor_.temper.pauses)) pause(true);
}

void Run::on_writable() {
  world_.say(name_, " is told that it may send again");
  if (!std::exchange(wanted_, false)) fail("was told that it may send again, and was not refused");
  wants_absent_ = false;
  if (reply_) return answer_waiting();
  for (unsigned i = 0; i < actor_.temper.sends_when_writable; ++i) {
    if (world_.calm() || !working() || wanted_) return;
    play_.send_something(*this);
  }
}

void Run::on_released(std::uint64_t token) {
  --loans_out_;
  play_.end_loan(token, *this);
}

void Run::on_watermark(bool high) {
  world_.say(name_, high ? " is told of its high" : " is told of its low", " watermark");
  if (above_high_ == high) fail("was told of the same watermark twice");
  above_high_ = high;
}

void Run::on_set_changed(const PeerInfo& info, std::span<const TagRange> ranges, bool added) {
  PeerSeen* const seen = peer(info.id);
  const auto atoms = atoms_of(ranges);
  world_.say(name_, " is told that peer ", info.id, added ? " wants " : " does not want ",
             ranges.size(), " ranges");
  if (seen == nullptr || (!seen->up && (!seen->away || added))) {
    return fail("was told of a subscriber that is not up");
  }
  if (!seen->up) world_.tally.add(Happened::set_given_up);
  if (!atoms || *atoms == 0) return fail("was told of tags that nobody asked for");
  const Atoms have = added ? 0 : *atoms;
  if ((seen->set & *atoms) != have) {
    fail("was told again of tags that it knew of");
  }
  seen->set = added ? seen->set | *atoms : seen->set & ~*atoms;
  if (seen->set == 0) seen->away = false;
}

void Run::on_subscribed(const PeerInfo& info, const Subscribed& told) {
  PeerSeen* const seen = peer(info.id);
  world_.say(name_, " is told that revision ", told.revision, " holds at peer ", info.id, " from ",
             told.from, " on", told.refused ? ": refused" : "");
  if (seen == nullptr || !seen->up) return fail("was told of a publisher that is not up");
  if (told.revision < seen->revision) fail("was told of an older set again");
  seen->revision = told.revision;
  seen->refused = told.refused;
  last_revision_ = std::max(last_revision_, told.revision);
  Incoming& here = incoming(seen->wire->dial, *seen->remote);
  const Outgoing& list = seen->remote->outgoing(seen->wire->dial, *this);
  if (told.from != here.next) {
    fail("was told that its set holds from number " + text(told.from) + " on, and " +
         text(here.next) + " is the next");
  }
  if (told.from > list.messages.size()) fail("was told of a number that there is not");
  here.known = true;
  here.next = told.from;
}

void Run::on_gap(const PeerInfo& info, const Gap& gap) {
  PeerSeen* const seen = peer(info.id);
  world_.say(name_, " is told of a gap at peer ", info.id, ": ", gap.count, " from ", gap.first,
             ", ", to_string(gap.reason));
  world_.tally.add(Happened::gap);
  // What the run before had lost is told when another one answers: then the peer is not up yet.
  if (seen == nullptr || (!seen->up && gap.reason != DropReason::connection_lost)) {
    return fail("was told of a gap at a peer that is not up");
  }
  gaps_told_ += gap.count;
  if (kind() != Kind::subscribe) {
    if (gap.reason != DropReason::connection_lost) fail("was told of a gap for another reason");
    return;
  }
  Incoming& here = incoming(seen->wire->dial, *seen->remote);
  const Outgoing& list = seen->remote->outgoing(seen->wire->dial, *this);
  if (gap.first != here.next) {
    fail("was told of a gap from number " + text(gap.first) + " on, and " + text(here.next) +
         " is the next");
  }
  here.next = gap.first + gap.count;
  here.missed_by[static_cast<std::size_t>(gap.reason)] += gap.count;
  if (gap.count == 0 || here.next > list.messages.size()) {
    fail("was told of a gap in messages that there are not");
  }
}

void Run::on_behind(const PeerSnapshot& snapshot, bool behind) {
  PeerSeen* const seen = peer(snapshot.id);
  world_.say(name_, " is told that peer ", snapshot.id, behind ? " is behind" : " has caught up");
  if (seen == nullptr || !(seen->up || seen->away)) {
    return fail("was told of a subscriber that is not up");
  }
  if (std::exchange(seen->behind, behind) == behind && seen->behind_known) {
    fail("was told twice that a subscriber is behind, or has caught up");
  }
  seen->behind_known = true;
}

void Run::on_policy_changed(const PeerSnapshot& snapshot) {
  world_.tally.add(Happened::demoted);
  world_.say(name_, " is told that the policy of peer ", snapshot.id, " is changed");
  if (peer(snapshot.id) == nullptr) fail("was told of the policy of nobody");
}

}  // namespace netio::test
