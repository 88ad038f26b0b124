// What the network does with packets: when they arrive, and what never does.
#include "simulation/wire.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "simulation/run.hpp"
#include "simulation/sim_link.hpp"
#include "simulation/world.hpp"

namespace netio::test {

using detail::page_header_bytes;

std::string page_text(const detail::PageHeader& header) {
  std::string all = text(header.bytes) + " bytes, messages from " + text(header.sequence) +
                    " on: " + text(header.messages) + ", acknowledges up to " +
                    text(header.acknowledged);
  if ((header.flags & detail::page_flag::control) != 0) all += ", control";
  if ((header.flags & detail::page_flag::begun) != 0) all += ", begun";
  return all;
}

std::size_t Packet::arrived(std::int64_t now_ns) const noexcept {
  if (lost || now_ns < arrives_ns) return 0;
  return std::min(now_ns < rest_arrives_ns ? first_bytes : bytes, cut_at);
}

void Packet::write_body(std::span<std::byte> to) const noexcept {
  if (to.empty()) return;
  std::memcpy(to.data(), prefix.data(), prefix_bytes);
  if (front_bytes != 0) std::memcpy(to.data() + prefix_bytes, front, front_bytes);
  const std::size_t before = prefix_bytes + front_bytes;
  if (body_bytes != 0) std::memcpy(to.data() + before, body, body_bytes);
  const std::size_t end = before + body_bytes;
  std::memset(to.data() + end, 0, header.bytes - end);
}

void Packet::part_from_memory() {
  if (front_bytes != 0 && front_copy.empty()) {
    front_copy.assign(front, front + front_bytes);
    front = front_copy.data();
  }
  if (body_bytes == 0 || !copy.empty()) return;
  copy.assign(body, body + body_bytes);
  body = copy.data();
}

// Moved out: its copy, if it has one, moves with it.
Packet Direction::pop_read() {
  Packet packet = std::move(packets.front());
  packets.pop_front();
  --taken;
  ++first_id;
  unread_bytes -= packet.bytes;
  return packet;
}

Wire::Wire(World& world, std::uint32_t its_number, Dial& its_dial, const Traits& its_traits,
           const Fate& its_fate)
    : number(its_number), dial(its_dial), traits(its_traits), fate(its_fate), world_(world) {}

std::string Wire::accepted_address() const {
  return "sim://" + dial.by->host() + ":" + std::to_string(10000 + number);
}

void Wire::put(int side, Packet packet) { from[index(side)].packets.push_back(std::move(packet)); }

// Some places are worth more than others: a page that ends before its header does, after it, in its
// first frame word, or one byte before its end.
std::size_t Wire::cut_offset(const Packet& packet) const noexcept {
  const std::size_t last = packet.bytes - 1;
  switch (fate.cut_where % 8) {
    case 0:
      return 0;
    case 1:
      return std::min<std::size_t>(last, fate.cut_where % page_header_bytes);
    case 2:
      return std::min<std::size_t>(last, page_header_bytes);
    case 3:
      return std::min<std::size_t>(last, page_header_bytes + fate.cut_where % 17);
    case 4:
      return last;
    case 5:
      return packet.bytes;
    default:
      return packet.bytes * fate.cut_where / 1000;
  }
}

void Wire::apply_fate(int side, std::uint64_t id, Packet& packet) {
  Direction& out = from[index(side)];
  const std::int64_t now_ns = World::now_ns();
  const bool cuts = side == fate.cut_side && id == fate.cut_packet;
  if (cuts && !world_.calm() && !out.dead && !out.silent) {
    packet.cut_at = cut_offset(packet);
    packet.lost = packet.cut_at == 0;
    world_.tally.add(packet.kind == Packet::Kind::hello ? Happened::cut_hello
                     : packet.cut_at == packet.bytes    ? Happened::cut_between
                                                        : Happened::cut_page);
    world_.say("  wire ", number, " is cut after byte ", packet.cut_at, " of ", packet.bytes,
               " of packet ", id, " from side ", side);
    break_at(std::max(now_ns, packet.rest_arrives_ns));
    out.dead = true;
    return;
  }
  if (!world_.calm() && !out.silent && id == fate.silent_packet[index(side)]) {
    out.silent = true;
    world_.tally.add(Happened::silent);
    world_.say("  wire ", number, " is silent from side ", side, " on");
  }
  if (out.silent) {
    packet.arrives_ns = packet.rest_arrives_ns = never;
    out.silent_since_ns = std::min(out.silent_since_ns, now_ns);
  }
}

void Wire::take_next(int side) {
  Direction& out = from[index(side)];
  const std::uint64_t id = out.taken_ids++;
  Packet& packet = out.packets[out.taken++];
  out.unread_bytes += packet.bytes;
  const std::int64_t now_ns = World::now_ns();
  out.next_take_ns = now_ns + traits.take_ns;
  std::int64_t latency_ns = traits.latency_ns;
  if (packet.kind == Packet::Kind::hello && world_.fault(world_.faults.hello_late)) {
    latency_ns += world_.between(ms, 60 * ms);
    world_.tally.add(Happened::late_hello);
  } else if (world_.fault(world_.faults.slow_packet)) {
    latency_ns += world_.between(0, 20 * ms);
  }
  packet.arrives_ns = packet.rest_arrives_ns = std::max(now_ns + latency_ns, out.last_arrival_ns);
  packet.first_bytes = packet.bytes;
  if (packet.bytes > 1 && world_.chance(world_.faults.split)) {
    packet.first_bytes = 1 + world_.random.below(packet.bytes - 1);
    packet.rest_arrives_ns += world_.between(0, world_.fault(100) ? 30 * ms : ms);
    world_.tally.add(Happened::page_in_parts);
  }
  out.last_arrival_ns = packet.rest_arrives_ns;
  packet.lost = out.dead;
  if (!out.dead) apply_fate(side, id, packet);
  out.ended |= packet.kind == Packet::Kind::end;
}

// Each side is told in its own time.
void Wire::tell(int side, std::int64_t from_ns) {
  std::int64_t& told = told_ns_[index(side)];
  if (told != never) return;
  told = from_ns;
  told_ahead_[index(side)] = world_.chance(300);
  if (world_.fault(world_.faults.told_late)) {
    told = from_ns + (world_.chance(300) ? 3600 * 1000 * ms : world_.between(ms, 300 * ms));
    world_.tally.add(Happened::told_late);
  }
}

// Of what was taken already and is under way to the other side, the last part never arrives.
void Wire::lose_rest(int side, std::int64_t now_ns) {
  Direction& out = from[index(side)];
  std::size_t arrive = 0;
  while (arrive < out.taken && out.packets[arrive].arrives_ns <= now_ns) ++arrive;
  if (arrive < out.taken && world_.chance(500)) {
    arrive += world_.random.below(out.taken - arrive + 1);
  }
  if (arrive > 0 && out.packets[arrive - 1].rest_arrives_ns > now_ns) {
    Packet& last = out.packets[arrive - 1];
    if (world_.chance(500)) last.cut_at = std::min(last.cut_at, last.first_bytes);
  }
  for (std::size_t i = 0; i < out.taken; ++i) {
    if (i >= arrive || out.packets[i].arrives_ns == never) out.packets[i].lost = true;
  }
  out.dead = true;
}

void Wire::break_at(std::int64_t when_ns) {
  lose_rest(1 - fate.cut_side, World::now_ns());
  for (const int side : {0, 1}) tell(side, when_ns + traits.latency_ns);
}

void Wire::cut() {
  if (broken()) return;
  world_.tally.add(Happened::cut_between);
  world_.say("  wire ", number, " is cut");
  for (const int side : {0, 1}) {
    if (!from[index(side)].dead) lose_rest(side, World::now_ns());
    tell(side, World::now_ns() + traits.latency_ns);
  }
}

// As when a process closes its socket or dies: what the wire has taken may still arrive.
void Wire::leave(int side) noexcept {
  Direction& out = from[index(side)];
  while (out.waiting() != 0) out.packets.pop_back();
  ends[index(side)] = nullptr;
  from[index(1 - side)].dead = true;  // nobody reads it
  const bool loses = out.silent || (!out.ended && world_.chance(300));
  if (!out.dead && loses) lose_rest(side, World::now_ns());
  if (!out.ended) {
    out.dead = true;
    tell(1 - side, std::max(World::now_ns() + traits.latency_ns, out.last_arrival_ns));
  }
}

void Wire::calm_down() {
  const std::int64_t soon_ns = World::now_ns() + ms;
  for (const int side : {0, 1}) {
    Direction& out = from[index(side)];
    std::int64_t& told = told_ns_[index(side)];
    if (told != never) told = std::min(told, soon_ns);
    if (answer == Answer::nothing) {
      answer = Answer::unreachable;
      answer_ns = soon_ns;
    }
    if (!out.silent) continue;
    if (!fate.silence_heals || out.dead) {
      lose_rest(side, World::now_ns());
      cut();
      continue;
    }
    world_.tally.add(Happened::healed);
    world_.say("  wire ", number, " is heard again from side ", side);
    out.silent = false;
    out.silent_since_ns = never;
    for (std::size_t i = 0; i < out.taken; ++i) {
      Packet& packet = out.packets[i];
      if (packet.arrives_ns == never) packet.arrives_ns = packet.rest_arrives_ns = soon_ns;
    }
    out.last_arrival_ns = soon_ns;
  }
}

std::int64_t Wire::next_ns() const noexcept {
  if (ends[0] == nullptr && ends[1] == nullptr) return never;
  const std::int64_t now_ns = World::now_ns();
  std::int64_t next = never;
  const auto at = [&](std::int64_t then_ns) {
    if (then_ns > now_ns) next = std::min(next, then_ns);
  };
  at(answer_ns);
  for (const int side : {0, 1}) {
    const Direction& out = from[index(side)];
    at(told_ns_[index(side)]);
    if (out.waiting() != 0) at(out.next_take_ns);
    if (out.taken == 0 || out.packets.front().lost) continue;
    at(out.packets.front().arrives_ns);
    at(out.packets.front().rest_arrives_ns);
  }
  return next;
}

std::string Wire::text() const {
  std::string all = "wire " + test::text(number);
  for (const int side : {0, 1}) {
    const Direction& out = from[index(side)];
    const SimLink* const reader = ends[index(1 - side)];
    all += "; from side " + std::to_string(side) + " " + test::text(out.waiting()) + " wait, " +
           test::text(out.taken) + " are on their way to " +
           (reader != nullptr ? reader->text() : "nobody");
    if (out.taken != 0) all += ", the first of " + test::text(out.packets.front().bytes) + " bytes";
  }
  return all;
}

bool Wire::quiet() const noexcept {
  for (const int side : {0, 1}) {
    const bool receives = ends[index(1 - side)] != nullptr;
    const Direction& out = from[index(side)];
    if (receives && told_ns_[index(1 - side)] != never) return false;
    if (ends[index(side)] != nullptr && out.waiting() != 0) return false;
    if (ends[index(side)] != nullptr && ends[index(side)]->holds_bodies()) return false;
    if (receives && out.taken != 0) return false;
  }
  return true;
}

}  // namespace netio::test
