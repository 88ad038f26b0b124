// Writes, and the words that come with them.
#include "transport/ofi/ring_engine.hpp"

#include <algorithm>
#include <cstring>

namespace netio::detail {

PeerRing::PeerRing(const WireRing& ring) : ring_(ring), is_free_(ring.slots, true) {
  free_.reserve(ring.slots);
  for (std::uint32_t i = ring.slots; i != 0; --i)
    free_.push_back(static_cast<std::uint16_t>(i - 1));
}

void PeerRing::use_next() noexcept {
  is_free_[free_.back()] = false;
  free_.pop_back();
}

bool PeerRing::returned(std::uint32_t slot) noexcept {
  if (slot >= is_free_.size() || is_free_[slot]) return false;
  is_free_[slot] = true;
  free_.push_back(static_cast<std::uint16_t>(slot));
  return true;
}

RingEngine::RingEngine(const OfiParts& parts, OfiRing& ring, const WireRing& theirs)
    : OfiEngine(parts), ring_(ring), peer_(theirs) {}

bool RingEngine::may_post(const PageHeader& header) const noexcept {
  return parts_.credits.may_post() && (header.bytes == 0 || peer_.has_slot());
}

bool RingEngine::may_send_next() const noexcept {
  const OfiSends& sends = parts_.sends;
  if (sends.next_is_bye()) return parts_.credits.may_say_bye();
  return parts_.credits.may_post() && (sends.next_bytes() == page_header_bytes || peer_.has_slot());
}

long RingEngine::inject(const PageHeader& header, const Post& post) noexcept {
  if (header.bytes == 0) return tell(header);
  const std::uint32_t slot = peer_.next();
  const RemoteWrite write{peer_.slot(slot), RingWord::page(slot, 0).word()};
  const long answer = parts_.sends.inject(parts_.endpoint, header, post, &write);
  if (answer == 0) wrote();
  return answer;
}

long RingEngine::send_next(const PageHeader& tells) noexcept {
  OfiSends& sends = parts_.sends;
  if (sends.next_is_bye() || sends.next_bytes() == page_header_bytes) {
    const RemoteWrite write{peer_.notice(next_notice_), RingWord::notice(next_notice_, 0).word()};
    const long answer = sends.send_next(parts_.endpoint, tells, &write);
    if (answer == 0) noticed();
    return answer;
  }
  const std::uint32_t slot = peer_.next();
  const RemoteWrite write{peer_.slot(slot), RingWord::page(slot, sends.next_bytes()).word()};
  const long answer = sends.send_next(parts_.endpoint, tells, &write);
  if (answer == 0) wrote();
  return answer;
}

long RingEngine::tell(const PageHeader& header) noexcept {
  RingNotice notice;
  store(notice.page.data(), header);
  const std::size_t slots = ring_.list(notice.slots.data(), notice.slots.size());
  const RingWord word = RingWord::notice(next_notice_, static_cast<std::uint32_t>(slots));
  const long answer = parts_.endpoint.inject_write(std::as_bytes(std::span(&notice, 1)),
                                                   {peer_.notice(next_notice_), word.word()});
  if (answer != 0) return answer;
  noticed();
  ring_.told(slots);
  return 0;
}

bool RingEngine::has_much_to_tell(std::size_t window) const noexcept {
  return parts_.credits.untold() * 2 >= window || ring_.untold() * 2 >= ring_.slots() ||
         ring_.untold() >= RingNotice::slots_max;
}

bool RingEngine::has_to_tell() const noexcept {
  return parts_.credits.peer_needs_one() || (ring_.peer_has_none() && ring_.untold() != 0);
}

long RingEngine::replenish(std::size_t window) noexcept {
  ring_.collect();
  return parts_.receives.post_for_immediates(parts_.endpoint, window);
}

const char* RingEngine::take_notice(RingWord word, RingNotice& notice) noexcept {
  const std::span<const std::byte> bytes = ring_.notice(word.index());
  if (bytes.empty()) return "wrote a notice where there is no place for one";
  std::memcpy(&notice, bytes.data(), sizeof notice);
  if (word.slots_told() > notice.slots.size()) return "gives back more slots than a notice holds";
  for (std::size_t i = 0; i < word.slots_told(); ++i) {
    if (!peer_.returned(notice.slots.at(i))) return "gives back a slot that was not written to";
  }
  return nullptr;
}

}  // namespace netio::detail
