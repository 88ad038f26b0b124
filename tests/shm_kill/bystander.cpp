// One message a millisecond, a few under way, each timed until it is back.
#include "shm_kill/bystander.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <unistd.h>
#include <vector>

#include <netio/netio.hpp>

#include "shm_kill/stream.hpp"

namespace netio::test {

namespace {

using namespace std::chrono_literals;  // NOLINT: tests speak of 1ms

constexpr std::size_t under_way_max = 4;
constexpr std::uint64_t bystander = 1U << 20U;  // no victim has that number

class Bystander {
 public:
  Bystander(const Places& places, Scoreboard& board)
      : board_(board), pair_(context_), pace_(context_.loop(), [this] { turn(); }) {
    pair_.on_down([this](const PeerInfo& peer, const Down& down) {
      // The survivor may bind later than this one connects.
      if (peer.was_up && !board_.bystander_ends)
        fail("the bystander", "lost the survivor: " + down.detail);
    });
    pair_.on_message([this](const MessageView& message) { come_back(message); });
    pair_.on_closed([this](const Books& books) {
      if (books.sent != books.acknowledged) fail("the bystander", "not all was acknowledged");
      context_.stop();
    });
    pair_.connect(places.of_bystander());
    pace_.start_periodic(1ms);
  }
  void run() { context_.run(); }

 private:
  void turn() {
    if (board_.bystander_ends) {
      if (sent_at_ns_.empty()) pair_.close();
      return;
    }
    if (board_.bystander_rests || sent_at_ns_.size() >= under_way_max ||
        pair_.peers_connected() == 0)
      return;
    const std::uint64_t number = number_for(bystander, sent_);
    message_.resize(size_of(number));
    fill_payload(message_, number);
    if (pair_.send(message_) != Status::ok) return;
    ++sent_;
    sent_at_ns_.push_back(now_ns());
  }

  void come_back(const MessageView& message) {
    check_message("the bystander", message.bytes(), number_for(bystander, came_back_++));
    const auto waited_ns = static_cast<std::uint64_t>(now_ns() - sent_at_ns_.front());
    sent_at_ns_.pop_front();
    board_.bystander_trips = came_back_;
    board_.bystander_waited_ns = std::max(board_.bystander_waited_ns.load(), waited_ns);
  }

  Scoreboard& board_;
  Context context_;
  Pair pair_;
  Timer pace_;
  std::vector<std::byte> message_;
  std::deque<std::int64_t> sent_at_ns_;
  std::uint64_t sent_ = 0;
  std::uint64_t came_back_ = 0;
};

}  // namespace

void run_bystander(const Places& places, Scoreboard& board) {
  try {
    Bystander(places, board).run();
  } catch (const std::exception& error) {
    fail("the bystander", error.what());
  }
  ::_exit(0);
}

}  // namespace netio::test
