// Writes down what it does before others can know of it, and what it knows after.
#include "shm_kill/victim.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <netio/netio.hpp>

#include "shm_kill/stream.hpp"
#include "shm_kill/survivor_audience.hpp"

namespace netio::test {

namespace {

using namespace std::chrono_literals;  // NOLINT: tests speak of 1ms

class Victim {
 public:
  Victim(const VictimPlan& plan, const Places& places, Slot& slot)
      : plan_(plan),
        slot_(slot),
        who_("victim " + std::to_string(plan.id) + " in slot " + std::to_string(plan.slot)),
        random_(plan.seed),
        context_(small_context()),
        kept_(who_) {
    SocketOptions options;
    options.mode = plan.mode;
    options.receive_bytes_max = 1U << 20U;
    slot_.about_to_meet = 1;
    if (plan.slot == publishing_slot) {
      Publish& publish = publish_.emplace(context_, PublishOptions(), options);
      sender_ = &publish;
      publish.on_down([this](const PeerInfo& peer, const Down& down) {
        if (down.reason != DownReason::too_slow) lost(peer, down);
      });
      publish.bind(places.of(plan.slot, "pair"));
      return;
    }
    if (victims_bind(plan.slot)) {
      Pair& pair = pair_.emplace(context_, options);
      use(pair, &pair, &pair);
      pair.bind(places.of(plan.slot, "pair"));
      return;
    }
    if (plan.sends) {
      Push& push = push_.emplace(context_, options);
      use(push, &push, nullptr);
      push.connect(places.of(plan.slot, "pull"));
    }
    if (plan.receives) {
      Pull& pull = pull_.emplace(context_, options);
      use(pull, nullptr, &pull);
      pull.connect(places.of(plan.slot, "push"));
    }
  }

  [[noreturn]] void live() {
    for (;;) {
      for (std::uint64_t burst = random_.below(8); sender_ != nullptr && burst > 0; --burst) {
        if (!send_one()) break;
      }
      (void)context_.loop().run_once(random_.one_in(4) ? 0ns : 1ms);
      if (sender_ != nullptr) slot_.acknowledged = sender_->books().acknowledged;
    }
  }

 private:
  static ContextOptions small_context() {
    ContextOptions options;
    options.page_bytes = page_bytes;
    options.send_pool_bytes = 2U << 20U;
    options.receive_pool_bytes = 2U << 20U;
    return options;
  }

  void use(Socket& socket, Sending* sending, Receiving* receiving) {
    socket.on_down([this](const PeerInfo& peer, const Down& down) { lost(peer, down); });
    if (sending != nullptr && plan_.sends) {
      sending_ = sending;
      sender_ = &socket;
    }
    if (receiving != nullptr) {
      receiving->on_message([this](const MessageView& message) { take(message); });
    }
  }

  // The survivor lives.
  void lost(const PeerInfo& peer, const Down& down) const {
    fail(who_, "lost " + peer.address + ": " + down.detail);
  }

  bool send_one() {
    const std::uint64_t number = number_for(plan_.id, sent_);
    message_.resize(size_of(number));
    fill_payload(message_, number);
    slot_.offered = sent_ + 1;
    const Status status = publish_ ? publish_->send(message_, sent_ % published_tags)
                                   : sending_->send(message_, plan_.id);
    if (status != Status::ok) {
      if (status != Status::again && status != Status::not_connected) {
        fail(who_, "send: " + std::string(to_string(status)));
      }
      return false;
    }
    ++sent_;
    if (plan_.mode == Mode::unbuffered && message_.size() <= posted_at_once_max) {
      slot_.posted = sent_;
    }
    return true;
  }

  // On one connection nothing is missing, whatever came first.
  void take(const MessageView& message) {
    slot_.delivered.fetch_add(1);
    const std::uint64_t number = number_of(message.bytes());
    if (received_ == 0) next_ = number;
    check_message(who_, message.bytes(), next_++);
    ++received_;
    if (plan_.hoards || random_.one_in(4)) {
      kept_.keep(message, number, plan_.hoards ? 1'000 : 1 + random_.below(16));
    }
  }

  const VictimPlan plan_;
  Slot& slot_;
  std::string who_;
  Random random_;
  Context context_;
  KeptMessages kept_;
  std::optional<Push> push_;
  std::optional<Pull> pull_;
  std::optional<Pair> pair_;
  std::optional<Publish> publish_;
  Sending* sending_ = nullptr;
  Socket* sender_ = nullptr;
  std::vector<std::byte> message_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace

void run_victim(const VictimPlan& plan, const Places& places, Slot& slot) {
  try {
    Victim(plan, places, slot).live();
  } catch (const std::exception& error) {
    fail("victim " + std::to_string(plan.id), error.what());
  }
}

void run_sweeper(std::size_t slot, const Places& places) {
  try {
    Context context;
    Pair pair(context);
    (void)pair.bind(places.of(slot, "pair"));
  } catch (const std::exception& error) {
    fail("the last to bind in slot " + std::to_string(slot), error.what());
  }
  ::_exit(0);
}

}  // namespace netio::test
