// An ofi link's greeting: a hello each way, the connecting side's first, each one message.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/ofi/link.hpp"

namespace netio::detail {

namespace {
// Of a peer's receive, no more than this is used: what is larger is fetched.
constexpr std::uint32_t receive_bytes_most = 32U << 20U;
}  // namespace

// One of the receives posted is for the peer's hello; the others are its to use.
void OfiLink::send_hello(Hello hello) {
  refused_ = hello.refusal != Refusal::none;
  hello.message_bytes_max = std::min(hello.message_bytes_max, largest_copied(resources_, options_));
  hello.receives = wire_->credits.untold() - 1;
  wire_->credits.told(wire_->credits.untold());
  hello.receive_bytes = static_cast<std::uint32_t>(wire_->receives.pool().block_bytes());
  if (wire_->ring) hello.ring = wire_->ring->offer();
  (void)wire_->credits.arrived();
  std::array<std::byte, hello_bytes_max> bytes;
  const std::size_t used = encode(hello, bytes);
  const long answer = wire_->sends.send_bytes(wire_->endpoint, {bytes.data(), used});
  if (answer == -ENOMEM) {
    go_bad(DownReason::resources, "no page of send_pool_bytes is left for the greeting");
  } else if (answer != 0) {
    go_down(down_from(static_cast<int>(-answer)));
  }
}

bool OfiLink::hear_greeting() noexcept {
  if (state_ == State::greeting && wire_) {
    CompletionQueue& queue = wire_->queue;
    queue.drain();
  }
  return state_ != State::greeting;
}

void OfiLink::take_hello(std::span<const std::byte> bytes) {
  Hello theirs;
  const HelloResult result = parse(bytes, theirs);
  if (result.state == HelloParse::foreign) {
    go_bad(DownReason::foreign_protocol, "does not speak netio: " + result.what);
  } else if (result.state != HelloParse::done || result.bytes != bytes.size()) {
    go_bad(DownReason::protocol_error, "sent a damaged hello: " + result.what);
  } else if (url_) {
    if (auto objection = events_->judge(theirs)) {
      go_down(std::move(*objection));
    } else {
      if (choose_engine(theirs)) come_up(theirs);
    }
  } else {
    // What the peer may write, it may once it has our hello.
    if (!choose_engine(theirs)) return;
    send_hello(events_->greet(&theirs));
    if (state_ == State::down) return;
    // The reason must reach the peer, which then ends the connection; or the timer does.
    if (refused_) {
      state_ = State::refusing;
    } else {
      come_up(theirs);
    }
  }
}

void OfiLink::come_up(const Hello& theirs) {
  if (!wire_->credits.granted(theirs.receives) || theirs.receives < Credits::window_min - 1 ||
      theirs.receive_bytes < theirs.page_bytes_max) {
    go_bad(DownReason::protocol_error, "has posted an impossible number of receives, or too small");
    return;
  }
  handshake_timer_.stop();
  keep_alive_timer_.start_periodic(options_.keep_alive_after);
  const std::size_t page =
      std::min<std::size_t>(resources_.page_bytes, theirs.page_bytes_max) & ~(wire_align - 1);
  limits_.page_bytes_max = page;
  fit_ = {.pages = &resources_.send_pool, .large = &resources_.large_pool};
  wire_->sends.describe(fit_);
  fit_.borrowed_bytes_max = page - page_header_bytes - frame_prefix_bytes_max;
  limits_.queue_bytes_max = options_.queue_bytes_max;
  limits_.message_bytes_max = theirs.message_bytes_max;
  fit_.whole_page_bytes_max = whole_page_copied;
  wire_->sends.limit(std::min(theirs.receive_bytes, receive_bytes_most));
  if (wire_->ring_engine != nullptr) {
    const std::size_t slot = theirs.ring.slot_bytes;
    limits_.page_bytes_max = std::min(limits_.page_bytes_max, slot);
    fit_.borrowed_bytes_max = limits_.page_bytes_max - page_header_bytes - frame_prefix_bytes_max;
    wire_->sends.limit(slot, RingWord::pages_bytes_max());
  }
  state_ = State::up;
  events_->on_up(theirs);
}

// The ring, if both sides offer one. A side whose peer offers none asked for it in vain.
bool OfiLink::choose_engine(const Hello& theirs) {
  if (!wire_->ring || theirs.ring.slots == 0) {
    if (wire_->ring) why_no_ring_ = "the other side has no ring (?engine=ring at its address)";
    wire_->ring.reset();
    return true;
  }
  auto engine = std::make_unique<RingEngine>(wire_->parts(), *wire_->ring, theirs.ring);
  wire_->ring_engine = engine.get();
  wire_->engine = std::move(engine);
  const long posted = wire_->engine->replenish(window());
  if (posted < 0) {
    go_down(down_from(static_cast<int>(-posted)));
    return false;
  }
  wire_->credits.posted(static_cast<std::uint32_t>(posted));
  return true;
}

}  // namespace netio::detail
