// What comes on an ofi link: messages in receives, and pages that the peer has written to our ring.
// Each is checked, and waits for its turn.
#include <algorithm>

#include "base/point.hpp"
#include "transport/ofi/link.hpp"

namespace netio::detail {

void OfiLink::on_arrival(std::size_t slot, std::size_t bytes) noexcept {
  NETIO_POINT(read);
  bytes_received_ += bytes;
  loop_.defer(*this);
  guarded([&] { arrive(slot, bytes); });
}

void OfiLink::arrive(std::size_t slot, std::size_t bytes) {
  if (state_ == State::greeting) {
    take_hello({wire_->receives.data(slot), bytes});
    if (wire_) wire_->receives.give_back(slot);
  } else if (state_ == State::up) {
    if (wire_->ring_engine != nullptr) {
      go_bad(DownReason::protocol_error, "sent a message where pages are written into a ring");
    } else if (wire_->credits.arrived()) {
      take_message(slot, bytes);
    } else {
      go_bad(DownReason::protocol_error, "sent more pages than it was granted");
    }
  } else {
    wire_->receives.give_back(slot);
  }
}

void OfiLink::on_immediate(std::uint32_t word) noexcept {
  NETIO_POINT(read);
  loop_.defer(*this);
  guarded([&] { take_word(RingWord(word)); });
}

void OfiLink::take_word(RingWord word) {
  if (state_ != State::up) return;
  if (wire_->ring_engine == nullptr) {
    go_bad(DownReason::protocol_error, "writes into a ring that there is not");
  } else if (!wire_->credits.arrived()) {
    go_bad(DownReason::protocol_error, "sent more pages than it was granted");
  } else if (word.is_notice()) {
    take_notice(word);
  } else {
    take_written(word);
  }
}

// A page without a body, or the good-bye, which waits for its turn.
void OfiLink::take_notice(RingWord word) {
  RingNotice notice;
  if (const char* const wrong = wire_->ring_engine->take_notice(word, notice); wrong != nullptr) {
    go_bad(DownReason::protocol_error, wrong);
    return;
  }
  PageHeader header = load_page_header(notice.page.data());
  const std::size_t bytes = page_header_bytes + (says_bye(header) ? header.bytes : 0);
  bytes_received_ += bytes;
  FabricMessage message({notice.page.data(), bytes});
  if (!message.next(header)) {
    go_bad(DownReason::protocol_error, message.defect());
  } else if (take_header(header)) {
    if (!message.empty()) {
      if (says_bye(load_page_header(good_bye_.data()))) {
        go_bad(DownReason::protocol_error, "says good-bye twice");
        return;
      }
      good_bye_ = notice.page;
      append({.end = static_cast<std::uint32_t>(bytes), .noticed = true});
      return;
    }
    header.acknowledged = highest_acknowledged_;
    events_->on_page(header, wire_->ring->notice_block(), {});
  }
}

void OfiLink::take_written(RingWord word) {
  OfiRing& ring = *wire_->ring;
  if (!ring.arrived(word.index())) {
    go_bad(DownReason::protocol_error, "wrote to a slot that it was not given");
    return;
  }
  const std::size_t room = ring.slot_bytes();
  std::size_t bytes = word.bytes();
  if (bytes == 0) {
    bytes = page_header_bytes + load_page_header(ring.data(word.index())).bytes;
  }
  if (bytes > room) {
    go_bad(DownReason::protocol_error, "wrote a page that is larger than its slot");
    return;
  }
  bytes_received_ += bytes;
  take_message(word.index(), bytes);
}

void OfiLink::append(Arrived arrived) {
  arrived_[(arrived_first_ + arrived_count_++) % arrived_.size()] = arrived;
  deliver();
}

// One message holds one page, or several small ones back to back. Grants and acknowledgements take
// effect at once, messages in their turn.
void OfiLink::take_message(std::size_t slot, std::size_t bytes) {
  OfiEngine& engine = *wire_->engine;
  FabricMessage message({engine.data(slot), bytes});
  PageHeader header;
  while (message.next(header)) {
    if (!take_header(header)) return;
  }
  if (message.defect() != nullptr) {
    go_bad(DownReason::protocol_error, message.defect());
    return;
  }
  if ((header.flags & page_flag::lent) != 0) {
    if (take_lent(slot, header)) deliver();
    return;
  }
  if (message.empty()) {
    header.acknowledged = highest_acknowledged_;
    events_->on_page(header, engine.block(slot), {});
    if (wire_) engine.give_back(slot);
    return;
  }
  append({.slot = static_cast<std::uint32_t>(slot), .end = static_cast<std::uint32_t>(bytes)});
}

// Takes what the header says about this side: grants, fetches, and the acknowledgement. Returns
// false if that cannot be true.
bool OfiLink::take_header(const PageHeader& header) {
  if (!wire_->credits.granted(header.credits) || !wire_->sends.fetched(header.fetched)) {
    go_bad(DownReason::protocol_error, "grants more receives, or fetched more, than there can be");
    return false;
  }
  highest_acknowledged_ = std::max(highest_acknowledged_, header.acknowledged);
  return true;
}

bool OfiLink::take_lent(std::size_t slot, const PageHeader& header) {
  const std::byte* const body = wire_->engine->data(slot) + page_header_bytes;
  const bool goes_on = !ended_ && !paused_;
  if (const auto down = wire_->fetches.add(header, {body, header.bytes}, goes_on)) {
    go_bad(down->reason, down->detail);
    return false;
  }
  wire_->engine->give_back(slot);
  arrived_[(arrived_first_ + arrived_count_++) % arrived_.size()] = {.lent = true};
  fetch();
  return true;
}

}  // namespace netio::detail
