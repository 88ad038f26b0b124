// How the connection of a peer comes up: who the two sides are, where they stand in the stream, and
// what that settles.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/out_of_memory.hpp"
#include "base/random.hpp"
#include "socket/context_core.hpp"
#include "socket/peer.hpp"
#include "socket/release.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {

DownReason reason_of(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::version:
      return DownReason::version_mismatch;
    case Refusal::pattern:
      return DownReason::pattern_mismatch;
    default:
      return DownReason::rejected;
  }
}

}  // namespace

Hello Peer::greet(const Hello* theirs) noexcept { return say_hello(theirs); }

Hello Peer::say_hello(const Hello* theirs) noexcept {
  Hello hello;
  guard_memory([&] { say_who(theirs, hello); },
               [&]() noexcept {
                 hello.refusal = Refusal::other;
                 hello.text = out_of_memory().detail;
                 objection_ = out_of_memory();
               });
  return hello;
}

void Peer::say_who(const Hello* theirs, Hello& hello) {
  hello.pattern = socket_.pattern().self;
  hello.mode = socket_.options().mode == Mode::buffered ? WireMode::buffered : WireMode::unbuffered;
  hello.page_bytes_max = static_cast<std::uint32_t>(socket_.context().options().page_bytes);
  hello.message_bytes_max = socket_.options().message_bytes_max;
  hello.run = socket_.run();
  hello.name = socket_.options().name;
  if (theirs != nullptr) {
    answer(*theirs, hello);
  } else {
    hello.peer_run = stream_.peer_run;
  }
  hello.stream = stream_.id;
  hello.epoch = stream_.epoch;
  hello.can |= socket_.receiving.delivery.offered | ability::heartbeats;
  hello.silence_ms = socket_.silence().asked_ms();
}

// A refusal, whatever the pattern: the connection does not come up, and nobody hears of it. The
// offers have a token that nobody can use.
void Peer::answer_who_asks(Hello& hello) {
  was_asked_ = true;
  objection_ = Down{DownReason::rejected, who() + " asked who is here"};
  hello.refusal = Refusal::other;
  hello.text = "this answers who only asks who is here";
  hello.release = release();
  if (!how_) return;
  hello.offers = how_->offers;
  hello.offers.token = random_bytes<std::tuple_size_v<OfferToken>>();
}

// What only the accepting side says.
void Peer::answer(const Hello& theirs, Hello& hello) {
  // What is known of the stream is looked at once the peer has confirmed.
  stream_ = {theirs.stream, theirs.run, theirs.epoch};
  name_ = theirs.name;
  while (nonce_ == 0) nonce_ = std::bit_cast<std::uint64_t>(random_bytes<sizeof nonce_>());
  hello.nonce = nonce_;
  if (theirs.asks && !on_other_wire()) return answer_who_asks(hello);
  const Peer* const offering = on_other_wire() ? socket_.find_offering(theirs) : nullptr;
  if (offering != nullptr) {
    address_ = offering->address_;
    how_->offers.token = theirs.token;
  }
  if (socket_.closing()) {
    hello.refusal = Refusal::other;
    hello.text = "the socket is closing";
  } else {
    hello.refusal = socket_.objection(theirs, *this, hello.text);
  }
  if (hello.refusal == Refusal::none && (theirs.token != OfferToken{} || on_other_wire()) &&
      offering == nullptr) {
    hello.refusal = Refusal::other;
    hello.text = "this wire was not offered to the stream with this token";
  }
  if (hello.refusal != Refusal::none) {
    expired_ = hello.refusal == Refusal::expired;
    objection_ = Down{reason_of(hello.refusal), who() + " was turned away: " + hello.text};
  }
  if (socket_.knows(theirs.stream)) hello.peer_run = theirs.run;
  if (!how_ || on_other_wire() || hello.refusal != Refusal::none) return;
  how_->offers.token = random_bytes<std::tuple_size_v<OfferToken>>();
  hello.offers = how_->offers;
}

std::string Peer::who() const { return name_.empty() ? address_ : address_ + " (" + name_ + ")"; }

std::optional<Down> Peer::judge(const Hello& theirs) noexcept try {
  name_ = theirs.name;  // of who is there now
  // Whoever is there does not know the stream that an earlier connection was of.
  expired_ = dialed() && theirs.refusal == Refusal::expired && stream_.peer_run != RunId{};
  if (auto objection = objection_to(theirs)) return objection;
  if (dialed()) nonce_ = theirs.nonce;
  return std::nullopt;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

std::optional<Down> Peer::judge_other(const Hello& theirs) noexcept try {
  if (auto objection = objection_to(theirs)) return objection;
  if (theirs.run != greeted_run_) {
    return Down{DownReason::protocol_error,
                "another socket than the one that has offered it answers"};
  }
  return std::nullopt;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

std::optional<Down> Peer::objection_to(const Hello& theirs) {
  if (theirs.refusal != Refusal::none) {
    return Down{reason_of(theirs.refusal), who() + " refused: " + theirs.text};
  }
  std::string text;
  const Refusal refusal = socket_.objection(theirs, *this, text);
  // Only who listens gives a nonce. Another socket that dials was met by chance, and may be gone at
  // the next attempt.
  if (refusal == Refusal::pattern && dialed() && theirs.nonce == 0) {
    return Down{DownReason::protocol_error, who() + " dials as well, and does not listen"};
  }
  if (refusal != Refusal::none) {
    return Down{reason_of(refusal), who() + " cannot be used: " + text};
  }
  if (theirs.stream != stream_.id || theirs.epoch != stream_.epoch) {
    return Down{DownReason::protocol_error, who() + " answers another connection"};
  }
  if (dialed()) {
    if (theirs.nonce == 0) {
      return Down{DownReason::protocol_error, who() + " sent a hello without a nonce"};
    }
    if (theirs.peer_run != RunId{} && theirs.peer_run != socket_.run()) {
      return Down{DownReason::protocol_error, who() + " answers another socket"};
    }
    if (stream_.peer_run != RunId{} && stream_.peer_run != theirs.run) {
      return Down{DownReason::protocol_error,
                  who() + " is another run than the one that the stream is of, and took it"};
    }
  }
  return std::nullopt;
}

// Both hellos are said. The connecting side sends its confirm now; the accepting side waits for it.
void Peer::on_up(const Hello& theirs) noexcept {
  take_hello(theirs);
  if (!dialed()) return;
  greeted_run_ = theirs.run;
  if (choice_) {
    std::string host;
    guard_memory([&] { host = link_->peer_host(); }, []() noexcept {});
    if (choice_->begin(theirs, host)) return;
  }
  say_where();
}

void Peer::take_hello(const Hello& theirs) noexcept {
  their_mode_ = theirs.mode;
  outgoing.may_send_segments((theirs.can & ability::segments) != 0);
  they_beat_ = (theirs.can & ability::heartbeats) != 0;
  their_silence_ms_ = theirs.silence_ms;
  greeting_late_ = false;
  confirm_timer_.start_once(socket_.options().handshake_within);
}

void Peer::choice_changed() noexcept { socket_.context().loop.defer(*this); }

// The accepting side sends no page before it has this side's confirm. So the wire on which that is
// sent is the one that both sides use, and the other connection ends without a word.
void Peer::go_on_with_choice() {
  switch (choice_->step()) {
    case WireChoice::Step::wait:
      return;
    case WireChoice::Step::stay:
      break;
    case WireChoice::Step::move:
      link_->cut();
      arrived_before_ = bytes_arrived();
      link_ = choice_->take_link();
      link_->report_to(*this);
      take_hello(choice_->their_hello());
      nonce_ = choice_->their_hello().nonce;
      break;
  }
  say_where();
}

// A wire that comes up on one side only must not keep the peers apart, nor the user wait for long.
bool Peer::comes_again_over_tcp(const Down& down, bool was_up) noexcept {
  return choice_ && !was_up && choice_->blame(down);
}

bool Peer::has_offered(const Hello& other) const noexcept {
  return half_open() && how_ && !how_->on_other_wire && how_->offers.count != 0 &&
         how_->offers.token == other.token && other.token != OfferToken{} &&
         stream_.id == other.stream && stream_.peer_run == other.run && stream_.epoch < other.epoch;
}

bool Peer::is_other_half_of(const Peer& peer) const noexcept {
  return this != &peer && !gone() && link_ && !ending() && how_ && peer.how_ &&
         how_->on_other_wire != peer.how_->on_other_wire && how_->offers.token != OfferToken{} &&
         how_->offers.token == peer.how_->offers.token && stream_.id == peer.stream_.id;
}

void Peer::give_up_for_other_half() noexcept {
  if (phase_ == Phase::greeting) fail(DownReason::lost, "goes on over another wire");
}

// This thread may be late: a page may wait in the kernel. So the link is read once more before the
// second call decides.
void Peer::give_up_greeting() noexcept {
  if (!std::exchange(greeting_late_, true)) {
    return confirm_timer_.start_once(std::chrono::milliseconds(1));
  }
  fail(DownReason::handshake_timeout,
       confirm_owed_ ? "could not be greeted: the memory for pages to send is all in use here"
                     : "said hello and did not go on with the greeting");
}

void Peer::say_where() noexcept {
  if (dialed()) outgoing.hold_resend(*link_);
  const ConfirmFrame where{.nonce = nonce_,
                           .next = outgoing.books().next_sequence,
                           .next_expected = incoming_.books().expected,
                           .oldest_kept = outgoing.oldest_kept(),
                           .missed = incoming_.books().skipped()};
  link_->acknowledge_from(&socket_.receiving.position(incoming_.books()));
  std::array<std::byte, confirm_bytes> payload;
  encode(where, payload);
  Post post = OutgoingStream::control_post(ControlKind::confirm, payload, where.next);
  const Status status = link_->post(post);
  confirm_owed_ = status != Status::ok;
  if (!confirm_owed_) {
    link_->flush();
  } else if (status != Status::again) {
    link_->pause(false);  // the peer is gone, and a link that is paused does not see its end
  }
}

void Peer::take_first_page(const PageHeader& header, std::span<const std::byte> body) {
  FrameWalker walker(body.data(), body.size());
  Frame frame;
  ConfirmFrame theirs;
  const bool control = (header.flags & page_flag::control) != 0;
  if (choice_ && choice_->pending()) {
    return fail(DownReason::protocol_error, "sent a page before this side has confirmed");
  }
  if (phase_ != Phase::greeting || !control || !walker.next(frame) ||
      frame.control() != ControlKind::confirm || !walker.at_end()) {
    fail(DownReason::protocol_error, "does not begin by saying where it stands");
    return;
  }
  if (const char* const defect = parse({frame.payload, frame.size}, theirs); defect != nullptr) {
    fail({DownReason::protocol_error, std::string("sent a ") + defect});
    return;
  }
  if (theirs.nonce != nonce_) {
    fail(DownReason::protocol_error, "does not repeat the nonce of this connection");
    return;
  }
  confirmed_ = theirs;
  phase_ = Phase::confirmed;
  // The pages behind this one are for a connection that is up. An older connection of the stream
  // must end first, and its end be told.
  link_->pause(true);
  if (!dialed()) (void)socket_.replace_older(*this);
  socket_.context().loop.defer(*this);
}

// Takes over the books of the stream from earlier connections. Returns false if there are none: the
// stream begins here.
bool Peer::adopt_stream() {
  auto record = socket_.recall(*this);
  adopted_ = true;
  if (!record) {
    id_ = socket_.next_peer_id();
    socket_.enter_by_id(*this);
    return false;
  }
  outgoing.restore(record->sent);
  outgoing.restore(std::move(record->resend));
  incoming_.restore(record->received);
  id_ = record->peer_id;
  socket_.enter_by_id(*this);
  return true;
}

// Settles the books by the confirm of the peer. Returns what is wrong with it, with nothing
// changed, or null.
const char* Peer::settle(const ConfirmFrame& theirs, bool stream_is_new) {
  const ReceiveBooks& received = incoming_.books();
  const std::int64_t now_ns = socket_.context().loop.now().count();
  if (stream_is_new && (theirs.next != 0 || theirs.next_expected != 0)) {
    return "says that messages were sent on a stream that is new";
  }
  if (theirs.next < received.expected) return "goes back to messages that came before";
  if (!outgoing.settles(theirs.next_expected, theirs.missed)) {
    return "says that it has received messages that were not sent to it";
  }
  const auto lost =
      incoming_.begin_connection(std::max(received.expected, theirs.oldest_kept), now_ns);
  if (!lost) return "says that it has sent more messages that did not come than can have been sent";
  // What came on the last connection came in order: what is missing was sent behind it.
  const SendBooks& sent = outgoing.books();
  const std::uint64_t arrived =
      sent.expected + (theirs.next_expected - theirs.missed - sent.delivered);
  outgoing.settle(theirs.next_expected, theirs.missed);
  lost_ = *lost;
  socket_.distribution().settled(*this, arrived);
  return nullptr;
}

// The peer has sent its confirm. The accepting side answers, and is up once its own confirm is
// posted, because no message may be sent before that.
void Peer::take_up() {
  bool stream_is_new = false;
  // Another connection of the stream, confirmed in the same turn, may have come up meanwhile.
  bool wait = !dialed() && socket_.replace_older(*this);
  if (down_) return;
  wait = socket_.replace_silent(*this) || wait;
  if (wait) return socket_.context().loop.defer(*this);
  if (!dialed()) {
    stream_is_new = !adopt_stream();
    outgoing.hold_resend(*link_);
  }
  // Others may have come up since the hellos.
  if (std::string text; socket_.busy(stream_.id, *this, text)) {
    fail({DownReason::rejected, (dialed() ? "cannot be used: " : "was turned away: ") + text});
    return;
  }
  if (const char* const defect = settle(confirmed_, stream_is_new); defect != nullptr) {
    // The two sides do not agree on the stream, and never will: the stream is given up.
    adopted_ = false;
    disputed_ = dialed();
    fail(DownReason::protocol_error, defect);
    return;
  }
  stream_goes_on_ = dialed() ? stream_.peer_run != RunId{} : !stream_is_new;
  if (dialed()) stream_.peer_run = greeted_run_;
  if (met_run_ != RunId{} && met_run_ != stream_.peer_run) ++restarts_;
  met_run_ = stream_.peer_run;
  phase_ = Phase::settled;
  if (!dialed()) say_where();
  if (!confirm_owed_) come_up();
}

void Peer::come_up() {
  confirm_timer_.stop();
  resume_timer_.stop();
  resume_until_ns_ = 0;
  phase_ = Phase::up;
  if (dialer_) dialer_->came_up();
  if (choice_) choice_->came_up();
  guard_memory(
      [this] {
        const std::string address = link_->peer_address();
        wire_ = choice_ ? choice_->wire() : scheme_of(address);
        if (wire_ == "netio") wire_ = "tcp";  // accepted there
        if (const std::string variant = link_->variant(); !variant.empty()) wire_ += " " + variant;
        variant_reason_ = link_->variant_reason();
      },
      []() noexcept {});
  watch_.begin(socket_.context().loop.now().count());
  start_heartbeat();
  outgoing.attach(*link_);
  look_whether_unread();
  if (deaf_ || !not_to_be_read()) link_->pause(false);
  const auto lost = std::exchange(lost_, {});
  socket_.peer_up(*this);
  if (open() && lost.count != 0) {
    socket_.distribution().lost(*this, lost.first, lost.count);
  }
  if (open()) on_writable();
}

}  // namespace netio::detail
