#include "sub.hpp"

#include <algorithm>
#include <cstdint>
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
  void settle() override;
  void note_unseen();
  void judge() override;
  [[nodiscard]] std::string_view advice_for(const Verification& checked) const override;
  void complete(Summary& summary) const override;

  const SubArguments& asked_;
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
    fail(ExitCode::failed,
         fmt::format("publisher {} refused the subscription: {}", named(peer), answer.detail), {});
    return stop();
  }
  const bool as_asked = answer.policy == asked_.subscription.policy;
  progress_.note(fmt::format(
      "publisher {} took the subscription to {}, from number {} on: policy {}{}, up to {} behind",
      named(peer), tags_text(asked_.tags), grouped(answer.from), to_string(answer.policy),
      as_asked ? "" : fmt::format(" (not {})", to_string(asked_.subscription.policy)),
      binary_bytes(answer.behind_bytes_max)));
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

// What the policy dropped was asked for.
void SubSession::judge() {
  const auto by = [this](DropReason reason) {
    return gaps_.missed_by()[static_cast<std::size_t>(reason)];
  };
  fail_for_lost(
      subscribe_.books().missed - by(DropReason::dropped_new) - by(DropReason::dropped_old) -
          by(DropReason::superseded),
      fmt::format("not sent here: they waited when this subscriber was disconnected, or are "
                  "larger than its --message-max ({})",
                  binary_bytes(asked_.peer.message_bytes_max)));
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
