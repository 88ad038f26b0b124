// One socket from its construction to its destruction, and the books that the simulation keeps of
// it: what its user sent, was given and was told. Every call and every call-back passes through
// here, and is judged at once where it can be.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <netio/netio.hpp>

#include "simulation/actor.hpp"
#include "simulation/names.hpp"
#include "simulation/requests.hpp"
#include "simulation/world.hpp"

namespace netio::test {

class Play;

// How a message is sent.
enum class Way : std::uint8_t { copied, reserved, lent, allocated, passed_on };

struct SentMessage {
  Name name = 0;  // in its contents; another run's if it was passed on
  std::uint64_t tag = 0;
  std::uint32_t bytes = 0;
  bool delivered = false;  // of a message that goes to one peer
};

// A peer as call-backs have told of it.
struct PeerSeen {
  std::uint64_t id = 0;
  Wire* wire = nullptr;  // its latest connection
  Run* remote = nullptr;
  bool up = false;
  bool paused = false;
  Atoms set = 0;               // of a subscriber, as its publisher was told
  std::uint64_t revision = 0;  // of the last answer to this subscriber
  bool refused = false;
  bool behind = false;
  bool behind_known = true;
  bool came_before = false;
  bool away = false;      // a subscriber that is down and may come back to its set
  std::uint64_t ups = 0;  // so many connections had come up here with its latest one
};

// A publisher's messages on one stream: their numbers are their places here.
struct Outgoing {
  const Dial* dial = nullptr;
  const Run* subscriber = nullptr;
  std::vector<std::uint32_t> messages;  // places in the run's sent messages
};

// A subscriber's place in them.
struct Incoming {
  const Dial* dial = nullptr;
  const Run* publisher = nullptr;
  bool known = false;      // where it stands
  std::uint64_t next = 0;  // number
  std::array<std::uint64_t, static_cast<std::size_t>(DropReason::count_)> missed_by{};
  std::unordered_map<std::uint64_t, std::uint32_t> latest;  // place, by tag: of who samples
};

class Run {
 public:
  Run(Play& play, Actor& actor, std::uint32_t number);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& host() const noexcept { return actor_.host; }
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] Actor& actor() const noexcept { return actor_; }
  [[nodiscard]] Kind kind() const noexcept { return actor_.kind; }
  [[nodiscard]] bool alive() const noexcept { return alive_; }
  [[nodiscard]] bool closing() const noexcept { return closing_; }
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  // It is there, and nobody has asked it to end.
  [[nodiscard]] bool working() const noexcept { return alive_ && !closing_; }

  // What the user calls.
  void begin();  // binds and dials
  void dial(Actor& to);
  Status send(Way way, std::size_t bytes, bool own_tag);
  void flush();
  void change_set(Atoms added, Atoms removed);
  void pause(bool paused);
  void pause_peer(PeerSeen& peer, bool paused);
  void take_messages(bool taken);
  Status ask(Way way, std::size_t bytes);
  void cancel_something();
  // Answers, or gives up, some of the requests that it holds.
  void answer_some(std::size_t most);
  void give_up_some(std::size_t most);
  // The faults have ended: all are answered, but for some that the user may want to keep. Then none
  // are kept any more.
  void answer_all(bool keeps_some);
  void let_go_of_all();
  void close(std::int64_t linger_ns);
  void destroy();

  // What the simulation knows of it.
  [[nodiscard]] Books books() const { return socket_->books(); }
  [[nodiscard]] Socket& socket() const noexcept { return *socket_; }
  [[nodiscard]] std::deque<PeerSeen>& peers() noexcept { return peers_; }
  [[nodiscard]] PeerSeen* peer(std::uint64_t id) noexcept;
  [[nodiscard]] const std::vector<SentMessage>& sent() const noexcept { return sent_; }
  [[nodiscard]] Atoms set() const noexcept { return set_; }
  [[nodiscard]] bool paused() const noexcept { return paused_; }
  [[nodiscard]] bool takes_messages() const noexcept { return takes_messages_; }
  [[nodiscard]] bool wants_to_send() const noexcept { return wanted_ && !wants_absent_; }
  [[nodiscard]] bool above_high() const noexcept { return above_high_; }
  [[nodiscard]] std::uint64_t last_revision() const noexcept { return last_revision_; }
  [[nodiscard]] std::int64_t close_by_ns() const noexcept { return close_by_ns_; }
  // Of its messages, how many were delivered, to whomever.
  // The messages of all gaps that it was told of.
  [[nodiscard]] std::uint64_t gaps_told() const noexcept { return gaps_told_; }
  [[nodiscard]] std::uint64_t delivered_elsewhere() const noexcept { return delivered_elsewhere_; }
  [[nodiscard]] std::uint64_t delivered_here() const noexcept { return delivered_here_; }
  [[nodiscard]] std::uint64_t loans_out() const noexcept { return loans_out_; }
  // It was told that a connection that was up is down.
  [[nodiscard]] bool lost_any() const noexcept { return lost_any_; }
  Outgoing& outgoing(const Dial& dial, const Run& subscriber);
  // Its messages for whoever answered this dial, or dialed, in all.
  [[nodiscard]] std::size_t outgoing_by(const Dial& dial) const;
  Incoming& incoming(const Dial& dial, const Run& publisher);
  [[nodiscard]] const std::deque<Asked>& asked() const noexcept { return asked_; }
  [[nodiscard]] RequestBooks request_books() const noexcept { return request_->requests(); }
  [[nodiscard]] const std::deque<Held>& held() const noexcept { return held_; }
  // A request that has not ended, and that no user holds who may still answer it; null if there is
  // none.
  [[nodiscard]] const Asked* stuck() const noexcept;
  // For sentences.
  [[nodiscard]] std::string request_name(const Asked& asked) const;
  [[nodiscard]] bool holds(const Asked& asked) const noexcept;
  // Of what it was sent, the requests and answers that its user was not given.
  [[nodiscard]] std::uint64_t untold_here() const noexcept;
  // Whether its books are in order now, and agree with what happened.
  void look();
  void check_books(const Books& books, const char* whose);

  void check_rise(const char* what, std::uint64_t before, std::uint64_t now);
  // Something is wrong, which the sentence says of this run.
  void fail(const std::string& what) { world_.fail(name_ + " " + what); }

 private:
  template <typename Call>
  auto user_call(const char* name, Call&& call);
  template <typename Event>
  void event(CallBack which, const char* name, Event&& event);
  void act_in(CallBack which, const char* name);
  bool may_be_called(CallBack which, const char* name);
  void make_socket();
  void set_call_backs();
  void set_sending_call_backs();
  void set_receiving_call_backs();
  void set_publish_call_backs();
  void set_subscribe_call_backs();
  void set_request_call_backs();
  void set_reply_call_backs();

  // Call-backs
  void on_up(const PeerInfo& info);
  void on_down(const PeerInfo& info, const Down& down);
  void on_closed(const Books& books);
  void on_message(std::span<const std::byte> bytes, std::uint64_t tag);
  void keep_some(const MessageView& view);
  void answer();
  void on_writable();
  void on_released(std::uint64_t token);
  void on_watermark(bool high);
  void on_set_changed(const PeerInfo& info, std::span<const TagRange> ranges, bool added);
  void on_subscribed(const PeerInfo& info, const Subscribed& told);
  void on_gap(const PeerInfo& info, const Gap& gap);
  void on_behind(const PeerSnapshot& snapshot, bool behind);
  void on_policy_changed(const PeerSnapshot& snapshot);
  void judge_down(const PeerSeen* seen, const PeerInfo& info, const Down& down);
  void judge_delivery(PeerSeen& from, SentMessage& message, std::uint32_t place);
  void judge_order(Dial& dial, const Run& sender, std::uint32_t place, const std::string& what);
  void judge_number(const PeerSeen& from, const Outgoing& list, Incoming& here,
                    std::uint32_t place);

  // Requests, at the side that asks (run_asking.cpp)
  [[nodiscard]] Ask draw_ask();
  Status offer_request(Way way, Asked& asked);
  void judge_asking(Status status, Way way, const Asked& asked);
  void enter_asked(Asked asked);
  Asked* find_asked(std::uint64_t id) noexcept;
  Asked* find_named(Name name) noexcept;
  void end(Asked& asked, Outcome outcome);
  void on_reply(std::uint64_t id, const MessageView& answer);
  void on_failed(std::uint64_t id, Outcome outcome);
  [[nodiscard]] bool judge_outcome(const Asked& asked, Outcome outcome);
  [[nodiscard]] bool any_broke() const noexcept;
  void look_at_requests();
  void end_all_asked();
  void add_requests_to_tally();
  // The side that answers (run_answering.cpp)
  void on_request(const MessageView& view, ReplyTo to);
  void judge_handing(const PeerSeen& from, Asked& asked, std::uint32_t place);
  void judge_right(const ReplyTo& to, const Asked& asked, std::uint64_t id);
  void judge_answering(Status status, Way way, std::size_t bytes, const Held& held,
                       const Asked& asked);
  [[nodiscard]] std::size_t draw_answer(Way& way);
  bool answer_one(std::size_t index, bool at_once);
  Status offer_answer(ReplyTo& to, Way way, Handing& answer);
  void answer_waiting();
  void give_up_one(std::size_t index);
  void give_up_open();
  void forget(std::size_t index);
  void look_at_replies();

  // Sending
  struct Attempt {
    Name name = 0;
    std::size_t bytes = 0;
    std::uint64_t tag = 0;
  };
  Status offer(Way way, const Attempt& attempt, Name& sent_as, std::uint64_t& tag,
               std::size_t& bytes);
  Status offer_copied(const Attempt& attempt);
  Status offer_reserved(const Attempt& attempt);
  Status offer_lent(const Attempt& attempt);
  Status lend_behind_head(std::span<const std::byte> bytes, std::uint64_t token, std::uint64_t tag);
  Status offer_allocated(const Attempt& attempt);
  Status offer_kept(Name& name, std::uint64_t& tag, std::size_t& bytes);
  // What a request or an answer that is sent so has in front of it.
  [[nodiscard]] std::size_t table_bytes(Way way) const noexcept;
  void judge_answer(Status status, Way way, std::size_t bytes);
  void enter_sent(const SentMessage& message, std::uint64_t before, std::uint64_t after);
  void enter_published(std::uint32_t place, std::uint64_t taken);

  Play& play_;
  World& world_;
  Actor& actor_;
  std::uint32_t number_;
  std::string name_;

  std::unique_ptr<Push> push_;
  std::unique_ptr<Pull> pull_;
  std::unique_ptr<Pair> pair_;
  std::unique_ptr<Publish> publish_;
  std::unique_ptr<Subscribe> subscribe_;
  std::unique_ptr<Request> request_;
  std::unique_ptr<Reply> reply_;
  Socket* socket_ = nullptr;
  Sending* sending_ = nullptr;
  Receiving* receiving_ = nullptr;

  bool alive_ = false;
  bool closing_ = false;
  bool closed_ = false;
  std::int64_t close_by_ns_ = 0;
  bool paused_ = false;
  bool takes_messages_ = true;
  bool wanted_ = false;
  bool wants_absent_ = false;  // only a peer that it named and that was not there
  bool above_high_ = false;
  Atoms set_ = 0;
  std::uint64_t last_revision_ = 0;

  std::deque<PeerSeen> peers_;
  std::vector<SentMessage> sent_;
  std::unordered_map<Name, std::uint32_t> passed_on_;  // where other runs' messages are in sent_
  std::deque<Outgoing> outgoing_;
  std::deque<Incoming> incoming_;
  std::uint64_t sent_ok_ = 0;
  std::uint64_t delivered_elsewhere_ = 0;
  std::uint64_t delivered_here_ = 0;
  std::uint64_t loans_out_ = 0;
  std::uint64_t gaps_told_ = 0;
  bool lost_any_ = false;
  std::uint64_t ups_ = 0;  // connections that came up
  std::deque<Asked> asked_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_id_;  // where requests are in asked_
  std::array<std::uint64_t, static_cast<std::size_t>(Outcome::count_)> ended_{};
  std::size_t first_open_ = 0;  // all before it have ended
  std::deque<Held> held_;
  std::uint64_t gave_up_in_ = 0;  // the turns of the machine before it gave some up, and how many
  std::uint64_t given_up_untold_ = 0;
  std::uint64_t answers_drawn_ = 0;
  std::uint64_t answers_ok_ = 0;
  RequestBooks last_requests_;
  ReplyBooks last_replies_;
  Books last_books_;
  std::optional<CallBack> in_call_back_;
  std::vector<Mischief> mischief_;
};

}  // namespace netio::test
