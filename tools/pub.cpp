#include "pub.hpp"

#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <netio/publish.hpp>

#include "peer_name.hpp"
#include "sending_session.hpp"
#include "session_options.hpp"
#include "tags.hpp"
#include "turned_away.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

PublishOptions publish_options(const PubArguments& arguments) {
  PublishOptions options =
      arguments.peer.channel ? arguments.peer.channel->publish : PublishOptions{};
  options.block_allowed = !arguments.no_block;
  options.subscribers_min = arguments.subscribers_min;
  options.subscribers_any_min = arguments.subscribers_any_min;
  if (arguments.block_for_max) options.block_for_max = *arguments.block_for_max;
  return options;
}

std::string what_holds_up(const PubArguments& arguments) {
  const std::uint64_t blocking = arguments.subscribers_min;
  const std::uint64_t any = arguments.subscribers_any_min;
  std::vector<std::string> until;
  if (blocking != 0) {
    until.push_back(fmt::format("{} with --policy block {}", counted(blocking, "subscriber"),
                                blocking == 1 ? "is there and keeps up" : "are there and keep up"));
  }
  if (any != 0) {
    until.push_back(fmt::format("{} of any policy {} there", counted(any, "subscriber"),
                                any == 1 ? "is" : "are"));
  }
  if (until.empty()) return "held up by a subscriber with --policy block";
  return fmt::format("held up until {}", fmt::join(until, ", and "));
}

class PubSession final : public SendingSession {
 public:
  explicit PubSession(const PubArguments& arguments);

 private:
  [[nodiscard]] bool waits_for_peers() const override { return wanted_ != 0; }
  [[nodiscard]] std::size_t present() const override { return subscribed_.size(); }
  void peer_up(const PeerInfo& peer) override;
  void peer_down(const PeerInfo& peer, const Down& down) override;
  void on_subscribe(const PeerInfo& peer, std::span<const TagRange> ranges);
  void judge(const Books& books) override;
  [[nodiscard]] std::string waits_for() const override;
  void complete(Summary& summary) const override;

  const std::uint64_t wanted_;  // subscribers, before it begins
  const std::string held_up_by_;
  Publish publish_;
  PublishOutlet outlet_;
  std::set<std::uint64_t> subscribed_;  // ids of connected peers that have asked for something
  std::set<std::uint64_t> lost_;        // ids of those that were lost, and may come back
  std::set<std::uint64_t> slow_;        // the same of those disconnected for being slow
  PeerCounts subscribers_;
  std::string last_loss_;
  TurnedAway turned_away_{progress_};
};

PubSession::PubSession(const PubArguments& arguments)
    : SendingSession(arguments, "pub", "subscriber"),
      wanted_(arguments.wait_for),
      held_up_by_(what_holds_up(arguments)),
      publish_(context_, publish_options(arguments),
               socket_options(arguments.peer, Mode::buffered)),
      outlet_(publish_, arguments.tags) {
  publish_.on_writable([this] { on_writable(); });
  publish_.on_subscribe([this](const PeerInfo& peer, std::span<const TagRange> ranges) {
    on_subscribe(peer, ranges);
  });
  // The last word on one that was away and did not come back.
  publish_.on_unsubscribe([this](const PeerInfo& peer, std::span<const TagRange>) {
    if (!lost_.contains(peer.id)) return;
    peer_table_.down(peer);
    if (phase_ == Phase::closed) return;
    progress_.note(fmt::format(
        "gave up subscriber {}, which did not come back{}: what waited for it is dropped",
        named(peer), phase_ == Phase::sending ? " within --resume-within" : ""));
  });
  publish_.on_policy_changed([this](const PeerSnapshot& peer) {
    if (peer.demoted) {
      progress_.note(fmt::format(
          "subscriber {} held the publisher up for too long (--block-for-max): it has the policy "
          "drop_new until it has taken what waited for it",
          named(peer)));
    } else {
      progress_.note(
          fmt::format("subscriber {} has taken what waited for it: it has the policy block again",
                      named(peer)));
    }
  });
  use(publish_, outlet_);
}

// A subscriber that returns has the id that it had.
void PubSession::peer_up(const PeerInfo& peer) {
  const auto lost = lost_.find(peer.id);
  const auto slow = slow_.find(peer.id);
  if (lost == lost_.end() && slow == slow_.end()) {
    ++subscribers_.came;
    return;
  }
  if (lost != lost_.end()) {
    lost_.erase(lost);
    --subscribers_.lost;
  } else {
    slow_.erase(slow);
  }
  progress_.note(fmt::format("subscriber {} came back", named(peer)));
}

void PubSession::on_subscribe(const PeerInfo& peer, std::span<const TagRange> ranges) {
  if (!subscribed_.insert(peer.id).second) return;
  progress_.note(fmt::format("subscriber {} wants {}{}", named(peer), tags_text(ranges),
                             gathers() ? ": " + gathered() : ""));
  if (subscribed_.size() >= wanted_) begin();
}

void PubSession::peer_down(const PeerInfo& peer, const Down& down) {
  subscribed_.erase(peer.id);
  if (peer.was_up && phase_ != Phase::closed) {
    if (ended_in_order(down)) {
      ++subscribers_.ended;
      if (phase_ != Phase::closing) {
        progress_.note(fmt::format("subscriber {} has ended", named(peer)));
      }
    } else {
      const bool slow = down.reason == DownReason::too_slow;
      ++(slow ? subscribers_.slow : subscribers_.lost);
      (slow ? slow_ : lost_).insert(peer.id);
      const std::string loss = fmt::format("{}: {}", named(peer), why(peer, down));
      if (!slow) last_loss_ = loss;
      progress_.note("lost subscriber " + loss);
    }
  } else if (!peer.was_up && !peer.dialed) {
    turned_away_.note(peer, why(peer, down));
  }
  // Once it has begun, a publisher goes on without subscribers; but what is owed to one that may
  // come back is not waited for in vain, nor one that cannot be reached at all.
  const bool hopeless = peer.dialed && !peer.retrying;
  if (phase_ != Phase::sending || hopeless) wait_.down(peer, down, publish_.peers_connected());
}

// What a subscriber's policy drops was asked for, and one that ends in order has what it wanted.
void PubSession::judge(const Books& books) {
  Books doubt = books;
  const auto expect = [&doubt](std::initializer_list<DropReason> reasons) {
    for (const DropReason one : reasons) doubt.dropped_by[static_cast<std::size_t>(one)] = 0;
  };
  expect({DropReason::peer_closed, DropReason::dropped_old, DropReason::superseded});
  // One that asked for `block` did not ask for what was dropped after block_for_max.
  if (publish_.counters().demoted == 0) expect({DropReason::dropped_new});
  if (subscribers_.slow != 0) {
    expect({DropReason::not_sent, DropReason::connection_lost});
    doubt.unacknowledged = doubt.in_doubt = 0;
  }
  if (subscribers_.lost != 0) {
    verdict_.fail(ExitCode::peer_lost,
                  fmt::format("{} of {} lost, the last was {}", grouped(subscribers_.lost),
                              counted(subscribers_.came, "subscriber"), last_loss_),
                  "what it had not acknowledged may not have arrived");
  } else {
    fail_for_doubt(doubt);
  }
}

std::string PubSession::waits_for() const {
  if (gathers()) return SendingSession::waits_for();
  if (phase_ == Phase::waiting) return "waiting for subscribers";
  if (phase_ == Phase::sending && held_up_) {
    const std::string behind = peer_table_.behind();
    return held_up_by_ + (behind.empty() ? "" : ": " + behind);
  }
  return SendingSession::waits_for();
}

void PubSession::complete(Summary& summary) const {
  summary.kind = Summary::Kind::published;
  summary.peers = subscribers_;
  summary.seconds = begun_ ? seconds_of(ended_ - *begun_) : 0;
}

}  // namespace

ExitCode run_pub(const PubArguments& arguments) { return PubSession(arguments).run(); }

}  // namespace netio::cli
