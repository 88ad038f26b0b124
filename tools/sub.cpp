#include "sub.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <netio/subscribe.hpp>

#include "gap_notes.hpp"
#include "peer_name.hpp"
#include "receiving_session.hpp"
#include "session_options.hpp"
#include "tag_counts.hpp"
#include "tags.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

class SubSession final : public ReceivingSession {
 public:
  explicit SubSession(const SubArguments& arguments);

 private:
  void on_subscribed(const PeerInfo& peer, const Subscribed& answer);
  void taken(const MessageView& message) override { tags_.count(message.tag()); }
  void gone(const PeerInfo& peer) override;
  void settle() override;
  void note_unseen();
  void judge() override;
  [[nodiscard]] std::string_view advice_for(const Verification& checked) const override;
  void complete(Summary& summary) const override;

  // What a publisher last granted.
  struct Granted {
    std::array<std::uint8_t, 16> run{};
    bool met = false;  // it has granted something
    Policy policy = Policy::drop_new;
    bool answered = false;  // since the connection came up
  };

  const SubArguments& asked_;
  std::map<std::uint64_t, Granted> granted_;  // by the publisher's id
  bool kept_nothing_ = false;                 // a publisher, while this was away
  Subscribe subscribe_;
  GapNotes gaps_;
  TagCounts tags_;
};

SubSession::SubSession(const SubArguments& arguments)
    : ReceivingSession(arguments, "sub", "publisher", Verifier::Begin::anywhere),
      asked_(arguments),
      subscribe_(context_, arguments.subscription, socket_options(arguments.peer, arguments.mode)),
      gaps_(context_.loop(), [this](const std::string& text) { progress_.note(text); }) {
  subscribe_.on_subscribed(
      [this](const PeerInfo& peer, const Subscribed& answer) { on_subscribed(peer, answer); });
  subscribe_.on_gap([this](const PeerInfo& peer, const Gap& gap) { gaps_.add(named(peer), gap); });
  use(subscribe_, subscribe_);
  subscribe_.subscribe(arguments.tags);
}

void SubSession::on_subscribed(const PeerInfo& peer, const Subscribed& answer) {
  if (answer.refused) {
    verdict_.fail(
        ExitCode::failed,
        fmt::format("publisher {} refused the subscription: {}", named(peer), answer.detail), {});
    return stop();
  }
  Granted& last = granted_[peer.id];
  if (last.run != peer.run) last = {peer.run};
  const bool is_new = !std::exchange(last.met, true);
  const bool first_here = !std::exchange(last.answered, true);
  const bool same_policy = std::exchange(last.policy, answer.policy) == answer.policy && !is_new;
  // The set never changes here: it is told again where a connection is back.
  if (answer.goes_on && same_policy) {
    if (!first_here) return;
    return progress_.note(
        fmt::format("publisher {} goes on from number {}", named(peer), grouped(answer.from)));
  }
  if (!is_new && first_here && !answer.goes_on) {
    kept_nothing_ = true;
    progress_.note(fmt::format(
        "publisher {} has kept nothing while this subscriber was away: what it published then did "
        "not come, and is in no count (--resume at both ends keeps it, for --resume-within)",
        named(peer)));
  }
  const bool as_asked = answer.policy == asked_.subscription.policy;
  progress_.note(fmt::format(
      "publisher {} took the subscription to {}, from number {} on: policy {}{}, up to {} behind",
      named(peer), tags_text(asked_.tags), grouped(answer.from), to_string(answer.policy),
      as_asked ? "" : fmt::format(" (not {})", to_string(asked_.subscription.policy)),
      binary_bytes(answer.behind_bytes_max)));
}

void SubSession::gone(const PeerInfo& peer) {
  if (const auto last = granted_.find(peer.id); last != granted_.end()) {
    last->second.answered = false;
  }
}

// That a publisher took the subscription does not say that it has such tags.
void SubSession::note_unseen() {
  if (peers_.came == 0 || tags_.others() != 0) return;
  const auto seen = tags_.sorted();
  std::vector<TagRange> unseen;
  for (const TagRange& range : asked_.tags) {
    const auto first =
        std::lower_bound(seen.begin(), seen.end(), std::pair(range.first, std::uint64_t{0}));
    if (first == seen.end() || first->first > range.last) unseen.push_back(range);
  }
  if (unseen.empty()) return;
  progress_.note(fmt::format("no message came with {}",
                             unseen.front() == every_tag ? "any tag" : tags_text(unseen)));
}

void SubSession::settle() {
  gaps_.finish();
  note_unseen();
  if (verifier_) verifier_->announce(subscribe_.books().missed);
}

// What the policy that was asked for has dropped is no fault.
void SubSession::judge() {
  const auto by = [this](DropReason reason) {
    return gaps_.missed_by()[static_cast<std::size_t>(reason)];
  };
  const bool block = asked_.subscription.policy == Policy::block;
  const std::uint64_t asked_for = by(DropReason::dropped_old) + by(DropReason::superseded) +
                                  (block ? 0 : by(DropReason::dropped_new));
  std::vector<std::pair<std::uint64_t, std::string>> causes;
  const auto add = [&causes](std::uint64_t messages, std::string text) {
    if (messages != 0) causes.emplace_back(messages, std::move(text));
  };
  if (block) {
    add(by(DropReason::dropped_new),
        "dropped as new, because this subscriber held the publisher up for longer than that allows "
        "(--block-for-max there)");
  }
  add(by(DropReason::connection_lost),
      "lost with a connection (--resume at both ends keeps what is on its way)");
  add(by(DropReason::not_sent),
      fmt::format("not sent here: they waited when this subscriber was given up or disconnected, "
                  "or are larger than its --message-max ({})",
                  binary_bytes(asked_.peer.message_bytes_max)));
  std::string why = causes.size() == 1 ? causes.front().second : "missed";
  for (std::size_t i = 0; causes.size() > 1 && i < causes.size(); ++i) {
    why += fmt::format("{} {} {}", i == 0 ? ":" : ";", grouped(causes[i].first), causes[i].second);
  }
  fail_for_lost(subscribe_.books().missed - asked_for, why);
  if (kept_nothing_ && block) {
    verdict_.fail(
        ExitCode::peer_lost,
        "a publisher has kept nothing while this subscriber was away: what it published then did "
        "not come",
        "give it --resume too, and --resume-within as long as a network may fail");
  }
}

std::string_view SubSession::advice_for(const Verification& checked) const {
  if (checked.unstamped_senders != 0) {
    return "the first message of a publisher bears no checksum: it was started without --verify";
  }
  return {};
}

void SubSession::complete(Summary& summary) const {
  summary.kind = Summary::Kind::subscribed;
  summary.mode = asked_.mode == Mode::buffered ? "buffered" : "unbuffered";
  summary.missed_by = gaps_.missed_by();
  summary.tags = tags_;
}

}  // namespace

ExitCode run_sub(const SubArguments& arguments) { return SubSession(arguments).run(); }

}  // namespace netio::cli
