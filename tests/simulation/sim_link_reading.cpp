// A simulated link's receiving side: memory for what arrives, and pages to the owner.
#include <algorithm>
#include <cstring>
#include <utility>

#include "memory/quota.hpp"
#include "simulation/during_event.hpp"
#include "simulation/sim_link.hpp"
#include "simulation/world.hpp"
#include "wire/frame.hpp"

namespace netio::test {

using detail::page_header_bytes;
using detail::PageHeader;
namespace page_flag = detail::page_flag;

namespace {
// As far in as in TcpReader; the payload behind a frame word is aligned to a cache line.
constexpr std::size_t large_offset = 128 - detail::frame_word_bytes;
}  // namespace

bool SimLink::mid_page() const noexcept {
  if (rest_.bytes != 0 || large_) return true;
  const Direction& from = in();
  if (from.taken == 0) return false;
  const std::size_t here = from.packets.front().arrived(World::now_ns());
  return here != 0 && from.packets.front().kind == Packet::Kind::page;
}

std::uint64_t SimLink::large_page_begun() const noexcept {
  return large_ ? in().packets.front().header.bytes : 0;
}

std::uint64_t SimLink::body_begun() const noexcept {
  const Direction& from = in();
  if (from.taken == 0 || from.packets.front().kind != Packet::Kind::page) return 0;
  const Packet& packet = from.packets.front();
  return packet.seen - std::min(packet.seen, page_header_bytes + packet.handed_up);
}

void SimLink::assembling(bool under_way) noexcept { assembling_ = under_way; }

void SimLink::note_arrival(Packet& packet, std::size_t here) noexcept {
  if (here <= packet.seen) return;
  bytes_received_ += here - packet.seen;
  packet.seen = here;
}

bool SimLink::read() {
  bool worked = false;
  if (traits().reads_acknowledgements_ahead) worked |= read_acknowledgements();
  unsigned budget = traits().pages_per_turn;
  while (state_ == State::up && reading() && in().taken != 0 && budget-- != 0) {
    if (!read_packet(in().packets.front())) break;
    worked = true;
  }
  if (!assembling_) block_.reset();
  for (const detail::Quota* const quota : {options_.receive_quota, options_.large_quota}) {
    if (quota->bytes_used() > quota->bytes_max()) world_.fail("a quota is exceeded");
  }
  return worked;
}

// The next packet, or a part of it. False if there is no more to do in this turn.
bool SimLink::read_packet(Packet& packet) {
  const std::size_t here = packet.arrived(World::now_ns());
  if (here == 0) return false;
  if (packet.kind == Packet::Kind::end) {
    (void)in().pop_read();
    return on_read_end();
  }
  note_arrival(packet, here);
  if (here < page_header_bytes) return false;
  if (packet.header.bytes > resources_.page_bytes - page_header_bytes) {
    if (!large_ && !begin_large(packet.header)) return false;
    if (here < packet.bytes) return false;
    packet.write_body({large_->data() + large_offset, packet.header.bytes});
    const Packet whole = in().pop_read();
    const detail::Lease page = std::move(large_);
    deliver(whole.header, *page.get(), {page->data() + large_offset, whole.header.bytes});
    return true;
  }
  if (here < packet.bytes) {
    return traits().hands_up_parts && hand_up_begun(packet, here) && state_ == State::up;
  }
  if (!take_block(packet.header.bytes)) return false;
  hand_up_rest();
  return true;
}

// All that is left of a page that has arrived.
void SimLink::hand_up_rest() {
  const Packet page = in().pop_read();
  PageHeader header = rest_.bytes != 0 ? rest_ : page.header;
  const std::size_t before = rest_.bytes != 0 ? page.handed_up : 0;
  rest_ = {};
  std::byte* const to = block_->data() + block_used_;
  page.write_body({to, page.header.bytes});
  block_used_ += page.header.bytes;
  const detail::Lease held = block_;
  deliver(header, *held.get(), {to + before, header.bytes});
}

// The messages that are whole of a page that is not: the last one is left to its end.
bool SimLink::hand_up_begun(Packet& packet, std::size_t here) {
  const std::size_t body_here = here - page_header_bytes;
  PageHeader rest = rest_.bytes != 0 ? rest_ : packet.header;
  PageHeader first = rest;
  if (body_here <= packet.handed_up || here == packet.tried || rest.messages <= 1) return false;
  if (!take_block(packet.header.bytes)) return false;
  packet.tried = here;
  std::byte* const body = block_->data() + block_used_;
  packet.write_body({body, packet.header.bytes});
  // What has not arrived is not there to be looked at.
  std::memset(body + body_here, 0xee, packet.header.bytes - body_here);
  const std::byte* const begin = body + packet.handed_up;
  first.bytes = first.messages = 0;
  detail::FrameWalker walker(begin, body_here - packet.handed_up, detail::ability::every_frame);
  for (detail::Frame frame; rest.messages > 1 && walker.next(frame) && frame.whole_message();) {
    first.bytes =
        static_cast<std::uint32_t>(frame.payload + detail::wire_padded(frame.size) - begin);
    ++first.messages;
    --rest.messages;
    ++rest.sequence;
  }
  if (first.messages == 0) return false;
  rest.bytes -= first.bytes;
  first.flags |= page_flag::begun;
  packet.handed_up += first.bytes;
  rest_ = rest;
  block_used_ += packet.header.bytes;
  world_.tally.add(Happened::parts_handed_up);
  const detail::Lease held = block_;
  deliver(first, *held.get(), {begin, first.bytes});
  return true;
}

bool SimLink::begin_large(const PageHeader& header) {
  if (assembling_)
    world_.fail("wire " + test::text(wire_->number) +
                " carries a large page inside a message in parts");
  const std::size_t bytes = large_offset + header.bytes;
  large_ = resources_.large_pool.take(bytes, options_.large_quota);
  if (large_) return true;
  if (resources_.large_pool.could_ever_take(bytes, options_.large_quota)) {
    return starve(resources_.large_pool);
  }
  go_down({DownReason::resources, "a message does not fit large_bytes_max"});
  return false;
}

// Pages lie behind each other in a block, as a stream's do, while there is room.
bool SimLink::take_block(std::size_t bytes) {
  if (block_ && block_->sole()) block_used_ = 0;
  if (block_ && block_->capacity() - block_used_ < bytes) block_.reset();
  if (block_) return true;
  block_ = resources_.receive_pool.take(options_.receive_quota);
  block_used_ = 0;
  return block_ || starve(resources_.receive_pool);
}

bool SimLink::starve(detail::Store& store) noexcept {
  starved_ = true;
  if (options_.starved_count != nullptr) ++*options_.starved_count;
  world_.tally.add(Happened::starved);
  const bool small = &store == &resources_.receive_pool;
  world_.say("  wire ", wire_->number, " waits at side ", side_,
             " for memory to receive: ", small ? resources_.receive_pool.blocks_free() : 0,
             " blocks are free, ", options_.receive_quota->bytes_used(), " bytes of the quota of ",
             options_.receive_quota->bytes_max(), " are used");
  store.wait(*this);
  return false;
}

// From the loop.
void SimLink::on_memory() noexcept {
  world_.say("  wire ", wire_->number, " has memory at side ", side_);
  starved_ = false;
  if (state_ == State::up) (void)read();
}

// Pages without a body take effect at once, before what waits to be read, where the wire can do
// that. Acknowledgements only rise, so what is read later says no less.
bool SimLink::read_acknowledgements() {
  Direction& from = in();
  if (reading() || from.taken == 0) return false;
  const std::int64_t now_ns = World::now_ns();
  std::uint64_t highest = 0;
  PageHeader header;
  for (std::size_t i = 0; i < from.taken; ++i) {
    Packet& packet = from.packets[i];
    if (packet.arrived(now_ns) < packet.bytes || packet.kind != Packet::Kind::page) break;
    highest = std::max(highest, packet.header.acknowledged);
    if (packet.header.bytes == 0) header = packet.header;
  }
  if (highest <= highest_acknowledged_ || header.acknowledged <= highest_acknowledged_)
    return false;
  detail::Lease none = resources_.receive_pool.take(options_.receive_quota);
  if (!none) return false;
  const detail::Lease held = none;
  deliver_truth(header, *held.get(), {});
  return true;
}

// After finish(): what still comes is not wanted, but must be read for the end to be seen.
bool SimLink::discard() {
  Direction& from = in();
  bool worked = false;
  while (from.taken != 0 && state_ == State::finishing) {
    Packet& packet = from.packets.front();
    const std::size_t here = packet.arrived(World::now_ns());
    if (here <= packet.seen && here < packet.bytes) break;
    note_arrival(packet, here);
    worked = true;
    if (here < packet.bytes) break;
    const bool end = packet.kind == Packet::Kind::end;
    (void)from.pop_read();
    if (end) return on_read_end();
  }
  if (read_ended_ && shut_ && state_ == State::finishing) {
    go_down({DownReason::closed_by_peer, peer_address_ + " ended in order"});
  }
  return worked;
}

bool SimLink::on_read_end() {
  read_ended_ = true;
  if (state_ == State::up) {
    go_down(gone_silently(peer_address_, true));
  } else if (shut_) {
    go_down({DownReason::closed_by_peer, peer_address_ + " ended in order"});
  }
  return false;
}

void SimLink::deliver_truth(PageHeader header, detail::Block& block,
                            std::span<const std::byte> body) {
  highest_acknowledged_ = std::max(highest_acknowledged_, header.acknowledged);
  header.acknowledged = highest_acknowledged_;
  header.sequence += hidden_;
  world_.say("  wire ", wire_->number, " hands up a page at side ", side_, ": ",
             world_.settings.trace ? page_text(header) : std::string());
  if ((header.flags & detail::page_flag::control) == 0) world_.body_bytes += header.bytes;
  world_.note(header.sequence ^ (std::uint64_t{header.messages} << 40U) ^ header.acknowledged);
  during_event([&] { events_->on_page(header, block, body); });
}

// Where a lie is to be told, it is told here.
void SimLink::deliver(PageHeader header, detail::Block& block, std::span<const std::byte> body) {
  const bool messages = header.messages != 0 && header.bytes != 0;
  const bool first = header.bytes != 0 && !std::exchange(confirm_read_, true);
  if (first || world_.settings.lie == Lie::none) return deliver_truth(header, block, body);
  if (world_.lies(Lie::acknowledged_early) && header.acknowledged < next_sequence_) {
    ++header.acknowledged;
  }
  if (!messages) return deliver_truth(header, block, body);
  if (world_.lies(Lie::page_missing)) return;
  if (world_.lies(Lie::page_missing_hidden)) {
    hidden_ -= header.messages;
    return;
  }
  if (deliver_exchanged(header, block, body)) return;
  if (world_.lies(Lie::byte_changed)) {
    detail::FrameWalker walker(body.data(), body.size(), detail::ability::every_frame);
    detail::Frame frame;
    if (walker.next(frame) && frame.size != 0) {
      const_cast<std::byte&>(frame.payload[frame.size - 1]) ^= std::byte{1};
    }
  }
  deliver_truth(header, block, body);
  if (state_ != State::up) return;
  if (world_.lies(Lie::page_twice)) deliver_truth(header, block, body);
  if (world_.lies(Lie::page_twice_hidden)) {
    hidden_ += header.messages;
    deliver_truth(header, block, body);
  }
}

// A page is put aside and comes behind the next one. True if this page was dealt with.
bool SimLink::deliver_exchanged(PageHeader header, detail::Block& block,
                                std::span<const std::byte> body) {
  const bool hides = world_.settings.lie == Lie::pages_exchanged_hidden;
  if (!aside_) {
    if (!world_.lies(Lie::pages_exchanged) && !world_.lies(Lie::pages_exchanged_hidden)) {
      return false;
    }
    block.add_count();
    aside_ = detail::Lease::adopt(&block);
    aside_header_ = header;
    aside_body_ = body;
    return true;
  }
  const detail::Lease first = std::move(aside_);
  if (hides) {
    std::swap(header.sequence, aside_header_.sequence);
    aside_header_.sequence = header.sequence + header.messages;
  }
  deliver_truth(header, block, body);
  if (state_ == State::up) deliver_truth(aside_header_, *first.get(), aside_body_);
  return true;
}

}  // namespace netio::test
