// What a run sends, in every way there is, and whether each call is answered as it should be.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "simulation/play.hpp"
#include "simulation/run.hpp"
#include "simulation/run_calls.hpp"

namespace netio::test {

namespace {
// Of a message that may be lent as a head and a body: so many bytes may be the head.
constexpr std::size_t lent_behind_head = 64;
}  // namespace

Status Run::send(Way way, std::size_t bytes, bool own_tag) {
  Attempt attempt;
  attempt.name = name_of(number_, sent_.size() + 1);
  attempt.bytes = bytes;
  const auto tag_class = static_cast<unsigned>(play_.random().below(tag_classes));
  const bool tagged = publish_ != nullptr || bytes < named_bytes_min || play_.chance(500);
  if (bytes < named_bytes_min || own_tag) {
    attempt.tag = test::own_tag(tag_class, attempt.name);
  } else if (tagged) {
    attempt.tag = plain_tag(tag_class);
  }
  const std::uint64_t before = socket_->books().sent;
  SentMessage message;
  std::size_t sent_bytes = bytes;
  message.name = attempt.name;
  message.tag = attempt.tag;
  const Status status = offer(way, attempt, message.name, message.tag, sent_bytes);
  message.bytes = static_cast<std::uint32_t>(sent_bytes);
  const std::uint64_t after = socket_->books().sent;
  world_.say(name_, " sends ", sent_bytes, " bytes in way ", static_cast<int>(way), ": ",
             to_string(status));
  judge_answer(status, way, sent_bytes);
  if (status == Status::ok) {
    enter_sent(message, before, after);
  } else if (after != before) {
    fail("counts a message as sent that was not taken");
  }
  return status;
}

Status Run::offer(Way way, const Attempt& attempt, Name& sent_as, std::uint64_t& tag,
                  std::size_t& bytes) {
  switch (way) {
    case Way::reserved:
      return offer_reserved(attempt);
    case Way::lent:
      return offer_lent(attempt);
    case Way::allocated:
      return offer_allocated(attempt);
    case Way::passed_on:
      return offer_kept(sent_as, tag, bytes);
    default:
      return offer_copied(attempt);
  }
}

Status Run::offer_copied(const Attempt& attempt) {
  const std::span<std::byte> bytes = play_.scratch(attempt.bytes);
  write_content(bytes, attempt.name);
  const bool by_tag = publish_ != nullptr && play_.chance(300);
  const Status status = user_call("send", [&] {
    if (by_tag) return publish_->tag(attempt.tag).send(bytes);
    return publish_ ? publish_->send(bytes, attempt.tag) : sending_->send(bytes, attempt.tag);
  });
  // The bytes are the caller's again, whatever the answer.
  std::fill(bytes.begin(), bytes.end(), std::byte{0xcc});
  return status;
}

Status Run::offer_reserved(const Attempt& attempt) {
  if (publish_) return offer_copied(attempt);
  Status status = Status::ok;
  const std::span<std::byte> room =
      user_call("reserve", [&] { return sending_->reserve(attempt.bytes, status); });
  if (status != Status::ok) return status;
  if (room.size() != attempt.bytes) fail("was given another room than it asked for");
  write_content(room, attempt.name);
  if (play_.chance(100)) return Status::invalid;  // and it is never committed
  world_.tally.add(Happened::reserved);
  status = user_call("commit", [&] { return sending_->commit(attempt.bytes, attempt.tag); });
  if (status != Status::ok)
    fail("may not commit what it reserved: " + std::string(to_string(status)));
  return status;
}

Status Run::offer_lent(const Attempt& attempt) {
  std::uint64_t token = 0;
  Play::Loan& loan = play_.lend(*this, attempt.name, attempt.bytes, token);
  const std::span<const std::byte> bytes = loan.bytes;
  const bool in_segments =
      bytes.size() >= lent_behind_head &&
      bytes.size() + detail::segment_table_bytes(2) <= play_.message_bytes_max() &&
      play_.chance(300);
  const Status status =
      in_segments ? lend_behind_head(bytes, token, attempt.tag) : user_call("lend", [&] {
        return publish_ ? publish_->lend(bytes, token, attempt.tag)
                        : sending_->lend(bytes, token, attempt.tag);
      });
  loan.out = status == Status::ok;
  if (status == Status::ok) {
    ++loans_out_;
    world_.tally.add(in_segments ? Happened::lent_behind_head : Happened::lent);
  }
  return status;
}

// The first of the bytes are a segment of their own; nothing stands between the two.
Status Run::lend_behind_head(std::span<const std::byte> bytes, std::uint64_t token,
                             std::uint64_t tag) {
  const std::size_t head = lent_behind_head / 8 * (1 + play_.random().below(8));
  const std::array<Segment, 2> segments{bytes.first(head), bytes.subspan(head)};
  return user_call("lend_segments", [&] {
    return publish_ ? publish_->lend_segments(segments, token, tag)
                    : sending_->lend_segments(segments, token, tag);
  });
}

Status Run::offer_allocated(const Attempt& attempt) {
  Status status = Status::ok;
  Message message = user_call("allocate", [&] {
    return publish_ ? publish_->allocate(attempt.bytes, status, attempt.tag)
                    : sending_->allocate(attempt.bytes, status, attempt.tag);
  });
  if (status != Status::ok) {
    if (message) fail("was given a message with an answer that is not ok");
    return status;
  }
  if (message.writable_bytes().size() != attempt.bytes) {
    fail("was given another message than it asked for");
    return Status::invalid;
  }
  write_content(message.writable_bytes(), attempt.name);
  if (play_.chance(100)) return Status::invalid;  // and it is never sent
  status = user_call("send(Message)", [&] {
    return publish_ ? publish_->send(std::move(message)) : sending_->send(std::move(message));
  });
  if (status == Status::ok) world_.tally.add(Happened::allocated);
  if (static_cast<bool>(message) == (status == Status::ok)) {
    fail("has a message that was sent, or lost one that was not");
  }
  if (message && !has_content(message.bytes(), attempt.name)) {
    fail("was given back a message that is damaged");
  }
  return status;
}

// A message that somebody kept. It still begins with its first name. It takes memory of the context
// that received it until it is sent: that must not wait for this context to receive more, or for
// others that wait for it. So it only goes to later ones.
Status Run::offer_kept(Name& name, std::uint64_t& tag, std::size_t& bytes) {
  Play::Kept kept = play_.take_kept();
  const bool named_here = run_of(kept.name) == number_ || passed_on_.contains(kept.name);
  const bool waits_in_a_ring = kept.machine >= actor_.first_receiver;
  if (!kept.message || named_here || waits_in_a_ring) {
    bytes = 0;
    if (kept.message) play_.keep(std::move(kept));
    return Status::invalid;
  }
  name = kept.name;
  tag = kept.tag;
  bytes = kept.bytes;
  const Status status = user_call("send(Message)", [&] {
    return publish_ ? publish_->send(std::move(kept.message))
                    : sending_->send(std::move(kept.message));
  });
  if (static_cast<bool>(kept.message) == (status == Status::ok)) {
    fail("has a message that was sent, or lost one that was not");
  }
  if (status == Status::ok) {
    world_.tally.add(Happened::passed_on);
    passed_on_[name] = static_cast<std::uint32_t>(sent_.size());
  } else {
    play_.keep(std::move(kept));
  }
  return status;
}

void Run::judge_answer(Status status, Way way, std::size_t bytes) {
  if (status != Status::ok) world_.tally.add(Happened::refused_send);
  switch (status) {
    case Status::ok:
      if (closing_) fail("may send though it is closing");
      break;
    case Status::again:
    case Status::not_connected:
      if (closing_) fail("is not told that it is closed");
      wanted_ = true;
      wants_absent_ = false;
      if (status == Status::not_connected && socket_->peers_connected() != 0) {
        fail("is told that it has no peer, and has one");
      }
      break;
    case Status::closed:
      if (!closing_) fail("is told that it is closed, and it is not");
      break;
    case Status::too_big:
      if (way != Way::reserved && bytes + table_bytes(way) <= play_.message_bytes_max()) {
        fail("may not send " + text(bytes) + " bytes, which all take");
      }
      break;
    case Status::invalid:
      if (way == Way::copied || way == Way::lent) fail("made a call that makes no sense");
      break;
  }
}

void Run::enter_sent(const SentMessage& message, std::uint64_t before, std::uint64_t after) {
  const auto place = static_cast<std::uint32_t>(sent_.size());
  sent_.push_back(message);
  ++sent_ok_;
  world_.note(message.name);
  world_.tally.add(Happened::sent);
  if (message.bytes == 0) world_.tally.add(Happened::sent_empty);
  if (message.bytes > actor_.machine->page_bytes()) world_.tally.add(Happened::sent_large);
  if (publish_) return enter_published(place, after - before);
  if (after != before + 1) fail("counts a message that was taken as " + text(after - before));
}

// For whom it was taken: for all who want its tag. That a subscriber goes is told later, and what a
// change adds to its set after what it removes: then the books of each peer say it.
void Run::enter_published(std::uint32_t place, std::uint64_t taken) {
  const std::uint64_t tag = sent_[place].tag;
  std::uint64_t wanted = 0;
  const auto wants = [tag](const PeerSeen& peer) {
    return (peer.up || peer.away) && contains(peer.set, tag);
  };
  for (const PeerSeen& peer : peers_) wanted += wants(peer) ? 1U : 0U;
  if (wanted == taken && in_call_back_ != CallBack::unsubscribe) {
    for (const PeerSeen& peer : peers_) {
      if (wants(peer)) outgoing(peer.wire->dial, *peer.remote).messages.push_back(place);
    }
    return;
  }
  std::uint64_t found = 0;
  for (const PeerSnapshot& snapshot : socket_->peers()) {
    PeerSeen* const seen = peer(snapshot.id);
    if (seen == nullptr || (!snapshot.up && !seen->away)) continue;
    Outgoing& list = outgoing(seen->wire->dial, *seen->remote);
    if (snapshot.books.sent != outgoing_by(seen->wire->dial) + 1) continue;
    list.messages.push_back(place);
    ++found;
  }
  if (found != taken || taken > wanted + peers_.size()) {
    fail("counts a message for " + text(taken) + " subscribers, and it is for " + text(found));
  }
}

}  // namespace netio::test
