// What goes to a victim, what comes from it, and the judgement when it is gone.
#include "shm_kill/survivor_slot.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace netio::test {

namespace {

using namespace std::chrono_literals;  // NOLINT: tests speak of 1ms

constexpr std::uint64_t survivor = 1U << 21U;  // no victim has that number
constexpr std::size_t kept_max = 8;

bool is_readable(const std::string& text) {
  return text.size() >= 10 && text.find(' ') != std::string::npos &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 127; });
}

std::string in_words(const Books& books) {
  return std::to_string(books.sent) + " sent, " + std::to_string(books.acknowledged) +
         " acknowledged, " + std::to_string(books.dropped()) + " dropped, " +
         std::to_string(books.unsettled()) + " in doubt, " + std::to_string(books.delivered) +
         " delivered";
}

}  // namespace

SurvivorSlot::SurvivorSlot(Context& context, std::size_t number, const Places& places,
                           Scoreboard& board)
    : who_("the survivor, slot " + std::to_string(number)),
      slot_(board.slot.at(number)),
      board_(board),
      kept_(who_) {
  SocketOptions options;
  options.mode = number == 0 || number == 3 ? Mode::buffered : Mode::unbuffered;
  options.reconnect_after_min = 1ms;
  options.reconnect_after_max = 5ms;
  if (victims_bind(number)) {
    Pair& pair = pair_.emplace(context, options);
    watch(pair, &pair, &pair);
    pair.connect(places.of(number, "pair"));
    return;
  }
  Pull& pull = pull_.emplace(context, options);
  Push& push = push_.emplace(context, options);
  watch(pull, nullptr, &pull);
  watch(push, &push, nullptr);
  pull.bind(places.of(number, "pull"));
  push.bind(places.of(number, "push"));
}

std::size_t SurvivorSlot::connected() const {
  if (pair_) return pair_->peers_connected();
  return pull_->peers_connected() + push_->peers_connected();
}

void SurvivorSlot::watch(Socket& socket, Sending* sending, Receiving* receiving) {
  socket.on_up([this](const PeerInfo&) { ++board_.connections; });
  socket.on_down(
      [this, &socket](const PeerInfo& peer, const Down& down) { judge(socket, peer, down); });
  if (receiving != nullptr) {
    receiving_ = receiving;
    receiving->on_message([this](const MessageView& message) { take(message); });
  }
  if (sending != nullptr) {
    sending_ = sending;
    sending->on_released([this](std::uint64_t token) {
      const auto loan = loans_.find(token);
      if (loan == loans_.end()) fail(who_, "a loan came back that was not out");
      check_message(who_ + ", of a loan", loan->second, token);
      loans_.erase(loan);
    });
  }
}

// Everything a victim sends, from the first message on.
void SurvivorSlot::take(const MessageView& message) {
  if (message.tag() != slot_.victim) {
    fail(who_, "a message of victim " + std::to_string(message.tag()) + ", long after its end");
  }
  if (std::exchange(victim_, message.tag()) != message.tag()) received_ = 0;
  const std::uint64_t number = number_for(victim_, received_++);
  check_message(who_, message.bytes(), number);
  ++board_.from_victims;
  if (received_ % 3 == 0) kept_.keep(message, number, kept_max);
}

void SurvivorSlot::judge(Socket& socket, const PeerInfo& peer, const Down& down) {
  const bool expected = down.reason == DownReason::lost ||
                        (!peer.was_up && peer.dialed && down.reason == DownReason::refused);
  if (!expected || !is_readable(down.detail)) {
    fail(who_, "a death was told as: " + std::string(to_string(down.reason)) + ": " + down.detail);
  }
  for (const Books& books : {peer.books, socket.books()}) {
    if (books.sent != books.acknowledged + books.dropped() + books.unsettled()) {
      fail(who_, "the books do not add up: " + in_words(books));
    }
  }
  if (!peer.was_up) return;
  if (pair_) {
    // A dialed peer's books go on from one victim to the next.
    Books books = peer.books;
    books.acknowledged -= before_.acknowledged;
    books.delivered -= before_.delivered;
    before_ = peer.books;
    judge_received(books);
    judge_sent(books);
  } else if (&socket == &*pull_) {
    judge_received(peer.books);
  } else {
    judge_sent(peer.books);
  }
}

// What was in shared memory came, and nothing that was not sent.
void SurvivorSlot::judge_received(const Books& books) {
  const std::uint64_t received = std::exchange(victim_, 0) != 0 ? received_ : 0;
  if (books.delivered == received && received >= slot_.acknowledged && received >= slot_.posted &&
      received <= slot_.offered) {
    return;
  }
  fail(who_, "of victim " + std::to_string(slot_.victim) + ": " + in_words(books) + "; " +
                 std::to_string(received) + " came of " + std::to_string(slot_.offered) +
                 " that it sent, of which it had posted " + std::to_string(slot_.posted) +
                 " and knew of " + std::to_string(slot_.acknowledged));
}

void SurvivorSlot::judge_sent(const Books& books) {
  board_.to_victims += slot_.delivered;
  if (books.acknowledged <= slot_.delivered) return;
  fail(who_, "to victim " + std::to_string(slot_.victim) + ": " + in_words(books) + "; it got " +
                 std::to_string(slot_.delivered));
}

void SurvivorSlot::pause_or_resume(Random& random) {
  if (receiving_->paused()) {
    if (random.one_in(8)) receiving_->resume();
  } else if (random.one_in(40)) {
    receiving_->pause();
  }
}

void SurvivorSlot::send_some(Random& random) {
  std::uint64_t burst = random.one_in(50) ? 200 : random.below(8);
  for (Status status = Status::ok; status == Status::ok && burst > 0; --burst) {
    const std::uint64_t number = number_for(survivor, sent_);
    message_.resize(size_of(number));
    fill_payload(message_, number);
    // What a dialed peer has not posted, loans too, waits for whoever comes next.
    if (push_ && random.one_in(8)) {
      auto& loan = loans_[number] = message_;
      status = sending_->lend(loan, number);
      if (status != Status::ok) loans_.erase(number);
      board_.loans += status == Status::ok;
    } else {
      status = sending_->send(message_);
    }
    if (status == Status::ok) {
      ++sent_;
    } else if (status != Status::again && status != Status::not_connected) {
      fail(who_, "send: " + std::string(to_string(status)));
    }
  }
}

}  // namespace netio::test
