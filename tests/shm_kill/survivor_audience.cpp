// What a killed publisher leaves its subscribers: whole messages up to some point, gaps that add
// up, and the knowledge that it was another run that came after it.
#include "shm_kill/survivor_audience.hpp"

#include <chrono>
#include <utility>

namespace netio::test {

namespace {

using namespace std::chrono_literals;  // NOLINT: tests speak of 1ms

constexpr std::size_t kept_of_publishers_max = 4;

SocketOptions impatient() {
  SocketOptions options;
  options.reconnect_after_min = 1ms;
  options.reconnect_after_max = 5ms;
  return options;
}

}  // namespace

SurvivorSubscriber::SurvivorSubscriber(Context& context, Policy policy, std::size_t slot,
                                       const Places& places, Scoreboard& board)
    : policy_(policy),
      who_("the survivor, subscriber with " + std::string(to_string(policy))),
      slot_(board.slot.at(slot)),
      board_(board),
      subscribe_(context, {.policy = policy, .behind_bytes_max = 4 * page_bytes}, impatient()),
      kept_(who_),
      next_by_tag_{} {
  subscribe_.on_up([this](const PeerInfo& peer) { on_up(peer); });
  subscribe_.on_down([this](const PeerInfo& peer, const Down& down) { judge(peer, down); });
  subscribe_.on_message([this](const MessageView& message) { take(message); });
  subscribe_.on_gap([this](const PeerInfo&, const Gap& gap) {
    missed_ += gap.count;
    if (policy_ != Policy::sample) next_ += gap.count;
    // Gaps of a connection that broke are told to who comes back to the same run.
    if (policy_ == Policy::block && gap.reason != DropReason::connection_lost) {
      fail(who_, "a gap for " + std::string(to_string(gap.reason)));
    }
  });
  subscribe_.subscribe(TagRange{0, published_tags - 1});
  subscribe_.connect(places.of(slot, "pair"));
}

void SurvivorSubscriber::on_up(const PeerInfo& peer) {
  ++board_.connections;
  const std::uint64_t victim = slot_.victim;
  const bool another = met_ != 0 && met_ != victim;
  if (peer.restarts != restarts_ + (another ? 1 : 0)) {
    fail(who_, "victim " + std::to_string(victim) + " after " + std::to_string(met_) + ": " +
                   std::to_string(peer.restarts) + " restarts, after " + std::to_string(restarts_));
  }
  restarts_ = peer.restarts;
  met_ = victim;
  began_ = false;
  next_by_tag_ = {};
}

void SurvivorSubscriber::take(const MessageView& message) {
  const std::uint64_t number = number_of(message.bytes());
  const std::uint64_t n = number & 0xffffffffU;
  check_message(who_, message.bytes(), number_for(slot_.victim, n));
  if (message.tag() != n % published_tags || n < next_by_tag_.at(message.tag())) {
    fail(who_, "message " + std::to_string(n) + " came late, or with tag " +
                   std::to_string(message.tag()));
  }
  next_by_tag_.at(message.tag()) = n + 1;
  // With `sample` what replaces a message comes in its place.
  if (policy_ != Policy::sample && began_ && n != next_) {
    fail(who_, "message " + std::to_string(n) + " came, and " + std::to_string(next_) +
                   " was the next behind the gaps that were told");
  }
  began_ = true;
  next_ = n + 1;
  ++received_;
  ++board_.to_subscribers;
  if (received_ % 3 == 0) kept_.keep(message, number, kept_of_publishers_max);
}

void SurvivorSubscriber::judge(const PeerInfo& peer, const Down& down) {
  const bool expected = down.reason == DownReason::lost ||
                        (!peer.was_up && down.reason == DownReason::refused) ||
                        (policy_ == Policy::disconnect && down.reason == DownReason::too_slow);
  if (!expected) {
    fail(who_, "a death was told as: " + std::string(to_string(down.reason)) + ": " + down.detail);
  }
  const Books books = subscribe_.books();
  if (books.delivered != received_ || books.missed != missed_) {
    fail(who_, std::to_string(received_) + " came and " + std::to_string(missed_) +
                   " were told to be missing; in the books are " + std::to_string(books.delivered) +
                   " and " + std::to_string(books.missed));
  }
  // The next victim may live here by the time at which an attempt fails.
  if (std::exchange(began_, false) && next_ > slot_.offered) {
    fail(who_, "more came than was published: up to " + std::to_string(next_) + " of " +
                   std::to_string(slot_.offered));
  }
}

void SurvivorSubscriber::pause_or_resume(Random& random) {
  if (subscribe_.paused()) {
    if (random.one_in(8)) subscribe_.resume();
  } else if (random.one_in(40)) {
    subscribe_.pause();
  }
}

SurvivorAudience::SurvivorAudience(Context& context, std::size_t slot, const Places& places,
                                   Scoreboard& board) {
  for (const Policy policy :
       {Policy::block, Policy::drop_new, Policy::drop_old, Policy::sample, Policy::disconnect}) {
    subscribers_.emplace_back(context, policy, slot, places, board);
  }
}

void SurvivorAudience::pause_or_resume(Random& random) {
  for (SurvivorSubscriber& one : subscribers_) one.pause_or_resume(random);
}

void SurvivorAudience::drop_kept() {
  for (SurvivorSubscriber& one : subscribers_) one.drop_kept();
}

std::size_t SurvivorAudience::connected() const {
  std::size_t connected = 0;
  for (const SurvivorSubscriber& one : subscribers_) connected += one.connected();
  return connected;
}

}  // namespace netio::test
