// Whether a peer goes on, and whether it is there.
#include "socket/peer_watch.hpp"

#include <algorithm>
#include <chrono>

namespace netio::detail {

void PeerWatch::begin(std::int64_t now_ns) noexcept {
  up_since_ns_ = heard_ns_ = answered_ns_ = now_ns;
  heard_bytes_ = 0;
  part_progress_ = 0;
  receiving_.restart(0, now_ns);
  sending_.stop();
}

void PeerWatch::listen(const Link& link, std::int64_t now_ns) noexcept {
  const std::uint64_t bytes = link.bytes_received();
  if (bytes == heard_bytes_) return;
  heard_bytes_ = bytes;
  heard_ns_ = now_ns;
}

// A counter of bytes of what the peer has begun. For a message in parts it counts payload only:
// acknowledgements, and parts without payload, do not make the message go on.
std::uint64_t PeerWatch::receiving_progress(Link& link, const IncomingStream& incoming,
                                            bool leaving) noexcept {
  if (leaving) return link.bytes_received();
  if (!incoming.assembling() || link.large_page_begun() != 0) return link.page_progress();
  // Pages may be large, so bytes of a part that is not complete count too. They include what stands
  // around the payload, which is left out when the part is complete: the counter must not fall.
  part_progress_ = std::max(part_progress_, incoming.part_bytes() + link.body_begun());
  return part_progress_;
}

const char* PeerWatch::check_receiving(Link& link, const IncomingStream& incoming, bool leaving,
                                       const Memory& memory, Look look) noexcept {
  const bool begun = link.mid_page() || incoming.assembling() || leaving;
  const std::uint64_t received = receiving_progress(link, incoming, leaving);
  if (!begun || !link.reading()) {
    receiving_.restart(received, look.now_ns);
    return nullptr;
  }
  const std::uint64_t large =
      std::max<std::uint64_t>(incoming.assembling_bytes(), link.large_page_begun());
  const bool waited_for = large != 0 ? memory.large_waited_for : memory.pages_waited_for;
  const std::uint64_t held = large == 0 && waited_for ? memory.page_bytes : large;
  const std::uint64_t least = leaving ? 1 : StallWatch::least(held, waited_for);
  if (!receiving_.stalled(received, least, look.now_ns, look.stall_after_ns)) return nullptr;
  return received == receiving_.moved()
             ? "began a message and did not go on with it"
             : "goes on so slowly with a message that its memory is held for ever";
}

// A peer that is slow holds back its own messages only; but not the memory that others wait for.
const char* PeerWatch::check_sending(const OutgoingStream& outgoing, const Shortages& shortages,
                                     bool forgiven, Look look) noexcept {
  Holding all;
  for (const Shortage& shortage : shortages.all()) {
    const Holding held = outgoing.kept_from_others(shortage);
    all.left += held.left;
    all.moved += held.moved;
  }
  if (all.left == 0 || forgiven) {
    sending_.stop();
    return nullptr;
  }
  if (!sending_.stalled(all.left, all.moved, look.now_ns, look.stall_after_ns)) return nullptr;
  return "took, or gave back, so little of large messages that others waited for their memory in "
         "vain";
}

// The kernel counts from the last answer, which after silence is old: so this side counts too, from
// when it first saw that nothing is answered.
bool PeerWatch::host_is_gone(const Link& link, std::int64_t now_ns,
                             std::int64_t unanswered_max_ns) noexcept {
  const std::int64_t unanswered_ns = std::chrono::nanoseconds(link.unanswered_for()).count();
  if (unanswered_ns == 0 || now_ns - unanswered_ns > answered_ns_) answered_ns_ = now_ns;
  return unanswered_ns != 0 && now_ns - answered_ns_ >= unanswered_max_ns;
}

}  // namespace netio::detail
