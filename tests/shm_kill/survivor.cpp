// The survivor's turns, its echo for the bystander, and what it counts between victims.
#include "shm_kill/survivor.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>

#include <netio/netio.hpp>

#include "shm_kill/leaks.hpp"
#include "shm_kill/stream.hpp"
#include "shm_kill/survivor_audience.hpp"
#include "shm_kill/survivor_slot.hpp"
#include "socket/context_core.hpp"

namespace netio::test {

namespace {

using namespace std::chrono_literals;  // NOLINT: tests speak of 1ms

// Accept, hello, the pages that are left, the end: what follows from one event is done in fewer.
constexpr int turns_per_look = 8;
// The block that is open to the bystander; and what a dialed socket took and has not posted waits
// for the next victim: a page, and a message in parts. And a block that small kept messages are
// packed in, of each socket that keeps: one for each slot, and the echo's.
constexpr std::int64_t pages_in_use_max = 1 + 2 * (publishing_slot / 2) + slots + 1;
// How long memory may be on its way home from the bystander.
constexpr std::chrono::seconds home_within{2};

// The context of the survivor, and what its pools have out.
class CountedContext {
 public:
  CountedContext() : context(options()) {}

  // The blocks that links of the scheme send from, too.
  [[nodiscard]] std::int64_t pages_out() {
    detail::ContextCore& core = context.core();
    const detail::LinkOptions none;
    const auto link = core.transport("shm://any").connect(detail::parse_address("shm://any"), none);
    detail::Pool& arena = link->pool();
    std::size_t out = 0;
    for (detail::Store* store :
         {static_cast<detail::Store*>(&arena), static_cast<detail::Store*>(&core.receive_pool()),
          static_cast<detail::Store*>(&core.large_pool())}) {
      store->collect();
      out += store->blocks_out();
    }
    return static_cast<std::int64_t>(out);
  }

  Context context;

 private:
  static ContextOptions options() {
    ContextOptions options;
    options.page_bytes = page_bytes;
    options.send_pool_bytes = 24U << 20U;  // victims hold up to 1 MiB each
    options.receive_pool_bytes = 8U << 20U;
    return options;
  }
};

// Gives everything back to the bystander, in order, in the memory that it came in.
class Echo {
 public:
  Echo(Context& context, const Places& places, const Scoreboard& board) : pair_(context) {
    pair_.on_down([&board](const PeerInfo&, const Down& down) {
      if (!board.bystander_ends || down.reason != DownReason::closed_by_peer) {
        fail("the survivor", "lost the bystander: " + down.detail);
      }
    });
    pair_.on_message([this](const MessageView& message) {
      waiting_.push_back(message.keep());
      send_waiting();
    });
    pair_.on_writable([this] { send_waiting(); });
    pair_.bind(places.of_bystander());
  }

  [[nodiscard]] bool quiet() const { return waiting_.empty() && pair_.books().unsettled() == 0; }

 private:
  void send_waiting() {
    while (!waiting_.empty() && pair_.send(std::move(waiting_.front())) == Status::ok) {
      waiting_.pop_front();
    }
  }

  Pair pair_;
  std::deque<Message> waiting_;
};

class Survivor {
 public:
  Survivor(const Places& places, Scoreboard& board, int wake, std::uint64_t seed)
      : board_(board), random_(seed), descriptors_at_first_(open_descriptors()) {
    Context& context = context_.emplace().context;
    echo_.emplace(context, places, board);
    for (std::size_t number = 0; number < publishing_slot; ++number) {
      slots_.emplace_back(context, number, places, board);
    }
    audience_.emplace(context, publishing_slot, places, board);
    pace_.emplace(context.loop(), [this] {
      for (SurvivorSlot& slot : slots_) {
        slot.send_some(random_);
        slot.pause_or_resume(random_);
      }
      audience_->pause_or_resume(random_);
    });
    wake_.emplace(context.loop(), wake, EPOLLIN, [this, wake](std::uint32_t) {
      std::uint64_t count = 0;
      (void)!::read(wake, &count, sizeof count);
      noticed_ = board_.asked;
      turns_left_ = turns_per_look;
    });
  }

  void live() {
    while (board_.bystander_trips < 100) turn(1ms);
    stop_traffic();
    descriptors_before_ = open_descriptors();
    mappings_before_ = shared_mappings();
    start_traffic();
    while (board_.command != Command::end) {
      turn(turns_left_ > 0 ? 0ns : -1ns);
      if (turns_left_ == 0 || --turns_left_ > 0) continue;
      if (board_.command == Command::check) check();
      board_.seen = noticed_;
    }
    end();
  }

 private:
  void turn(std::chrono::nanoseconds wait) {
    (void)context_->context.loop().run_once(wait);
    for (std::size_t number = 0; number < publishing_slot; ++number) {
      board_.slot[number].connected = slots_[number].connected();
    }
    board_.slot[publishing_slot].connected = audience_->connected();
  }

  void stop_traffic() {
    pace_->stop();
    board_.bystander_rests = true;
    const std::int64_t end_ns = now_ns() + std::chrono::nanoseconds(home_within).count();
    while (!(echo_->quiet() && leaked_pages() == 0) && now_ns() < end_ns) turn(1ms);
  }
  void start_traffic() {
    board_.bystander_rests = false;
    pace_->start_periodic(2ms);
  }
  // More than what is rightly in use; at the end that is nothing.
  [[nodiscard]] std::int64_t leaked_pages() {
    return std::max<std::int64_t>(context_->pages_out() - pages_in_use_max, 0);
  }

  // All victims are dead.
  void check() {
    for (SurvivorSlot& slot : slots_) slot.drop_kept();
    audience_->drop_kept();
    stop_traffic();
    Leaks& leaks = board_.leaks;
    for (const SurvivorSlot& slot : slots_) {
      if (slot.lent() != 0) fail("the survivor", "loans to the dead were not given back");
    }
    leaks.pages = leaked_pages();
    leaks.descriptors = open_descriptors() - descriptors_before_;
    leaks.mappings = shared_mappings() - mappings_before_;
    leaks.resident_kib = resident_kib();
    start_traffic();
  }

  // The bystander is gone as well: nothing at all is left.
  void end() {
    pace_.reset();
    slots_.clear();
    audience_.reset();
    echo_.reset();
    for (int i = 0; i < turns_per_look; ++i) (void)context_->context.loop().run_once(0ns);
    Leaks& leaks = board_.leaks;
    leaks.pages = context_->pages_out();
    wake_.reset();
    context_.reset();
    leaks.descriptors = open_descriptors() - descriptors_at_first_;
    leaks.mappings = shared_mappings();
    board_.seen = board_.asked.load();
  }

  Scoreboard& board_;
  Random random_;
  const std::int64_t descriptors_at_first_;
  std::int64_t descriptors_before_ = 0;
  std::int64_t mappings_before_ = 0;
  std::optional<CountedContext> context_;
  std::optional<Echo> echo_;
  std::deque<SurvivorSlot> slots_;
  std::optional<SurvivorAudience> audience_;
  std::optional<Timer> pace_;
  std::optional<Watch> wake_;
  std::uint64_t noticed_ = 0;
  int turns_left_ = 0;
};

}  // namespace

void run_survivor(const Places& places, Scoreboard& board, int wake, std::uint64_t seed) {
  try {
    Survivor(places, board, wake, seed).live();
  } catch (const std::exception& error) {
    fail("the survivor", error.what());
  }
  std::exit(0);  // not _exit: a leak sanitizer looks now
}

}  // namespace netio::test
