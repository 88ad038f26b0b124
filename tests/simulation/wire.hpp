// One connection: what is on its way in either direction, byte by byte, and how it will end. Sides
// are 0, which dialed, and 1, which accepted. Knows no socket and no link but to tell them apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "memory/block.hpp"
#include "transport/link.hpp"

namespace netio::test {

class Run;
class SimLink;
class World;
struct Dial;

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

// When the memory of a post comes home.
enum class Completes : std::uint8_t {
  at_once,     // in post(): it is copied
  when_taken,  // by the wire
  late,        // some time after that
  when_read,   // by the peer
};

// What a connection is like.
struct Traits {
  std::size_t queue_posts_max = 64;
  std::size_t queue_bytes_max = 1U << 20U;
  std::size_t page_bytes_max = 1U << 16U;
  std::size_t lent_page_bytes_max = 1U << 20U;
  std::size_t window_bytes = 1U << 20U;  // on its way or unread; then nothing more is taken
  std::int64_t latency_ns = 0;
  std::int64_t take_ns = 0;  // between two pages that are taken
  Completes completes = Completes::at_once;
  std::int64_t completion_ns = 0;
  unsigned pages_per_turn = 64;
  bool takes_in_post = false;
  bool hands_up_parts = false;
  bool tells_sent = false;
  bool reads_acknowledgements_ahead = false;
};

// What will go wrong on a connection. A packet is counted from 0, the hello, in its direction.
struct Fate {
  static constexpr std::uint64_t none = UINT64_MAX;
  int cut_side = 0;  // the sender of the packet
  std::uint64_t cut_packet = none;
  unsigned cut_where = 0;  // in thousandths of its bytes, or one of the marks of cut_offset()
  std::array<std::uint64_t, 2> silent_packet{none, none};  // by the side that sends
  bool silence_heals = false;
  bool tells_unanswered = false;
};

struct Packet {
  enum class Kind : std::uint8_t { hello, page, end };
  Kind kind = Kind::page;
  detail::PageHeader header;
  std::array<std::byte, detail::frame_prefix_bytes_max> prefix{};
  std::size_t prefix_bytes = 0;
  const std::byte* front = nullptr;  // in the sender's memory, or in `front_copy`
  std::size_t front_bytes = 0;
  std::vector<std::byte> front_copy;
  const std::byte* body = nullptr;  // in the sender's memory, or in `copy`
  std::size_t body_bytes = 0;
  std::vector<std::byte> copy;
  std::size_t bytes = 0;  // on the wire, all included

  std::int64_t arrives_ns = never;  // the first part of it
  std::size_t first_bytes = 0;
  std::int64_t rest_arrives_ns = never;
  std::size_t cut_at = SIZE_MAX;  // no more of it ever arrives
  bool lost = false;              // nothing of it does

  // Read by the receiver so far.
  std::size_t seen = 0;
  std::size_t handed_up = 0;  // of the body
  std::size_t tried = 0;      // when so much had arrived, nothing more was to be handed up

  [[nodiscard]] std::size_t arrived(std::int64_t now_ns) const noexcept;
  // What the receiver gets: prefix, front, body and padding, without the header.
  void write_body(std::span<std::byte> to) const noexcept;
  // Has a copy of its own from now on: the sender's memory goes.
  void part_from_memory();
};

// Of a page, for the trace.
std::string page_text(const detail::PageHeader& header);

struct Direction {
  std::deque<Packet> packets;  // of these, so many were taken; the others wait for the wire:
  std::size_t taken = 0;
  std::uint64_t first_id = 0;    // of packets.front()
  std::uint64_t taken_ids = 0;   // so many were taken in all
  std::size_t unread_bytes = 0;  // of those taken
  std::int64_t next_take_ns = 0;
  std::int64_t last_arrival_ns = 0;
  bool dead = false;  // nothing that is taken arrives any more
  bool silent = false;
  std::int64_t silent_since_ns = never;  // and something was sent since
  bool ended = false;                    // its end was taken

  [[nodiscard]] std::size_t waiting() const noexcept { return packets.size() - taken; }
  Packet pop_read();
};

class Wire {
 public:
  Wire(World& world, std::uint32_t number, Dial& dial, const Traits& traits, const Fate& fate);

  // The outcome of the attempt to connect, when it is known.
  enum class Answer : std::uint8_t { connects, refused, unreachable, lost, nothing };

  // Where the dialing side is for the accepting one.
  [[nodiscard]] std::string accepted_address() const;

  const std::uint32_t number;
  Dial& dial;
  const Traits traits;
  const Fate fate;
  Answer answer = Answer::connects;
  std::int64_t answer_ns = 0;
  std::int64_t waits_since_ns = never;  // to be accepted
  std::array<SimLink*, 2> ends{};
  std::array<Run*, 2> runs{};
  std::array<bool, 2> was_up{};
  std::array<Direction, 2> from;  // by the side that sends

  // The link posts; the wire takes.
  void put(int side, Packet packet);
  void take_next(int side);

  // The connection breaks now: what is on its way to a side arrives in part.
  void cut();
  // A side is gone, with or without an end that it posted before.
  void leave(int side) noexcept;
  // When a side is told that the connection broke; and whether that overtakes what is unread.
  [[nodiscard]] std::int64_t told_ns(int side) const noexcept { return told_ns_[index(side)]; }
  [[nodiscard]] bool told_ahead(int side) const noexcept { return told_ahead_[index(side)]; }
  [[nodiscard]] bool broken() const noexcept {
    return told_ns_[0] != never || told_ns_[1] != never;
  }
  // All faults end.
  void calm_down();
  // When something happens on it next, later than now.
  [[nodiscard]] std::int64_t next_ns() const noexcept;
  // Nothing is to happen on it any more but what sockets do.
  [[nodiscard]] bool quiet() const noexcept;
  // What there is on it, if it is not quiet.
  [[nodiscard]] std::string text() const;

 private:
  static constexpr std::size_t index(int side) noexcept { return static_cast<std::size_t>(side); }
  void break_at(std::int64_t when_ns);
  void tell(int side, std::int64_t from_ns);
  void lose_rest(int side, std::int64_t now_ns);
  [[nodiscard]] std::size_t cut_offset(const Packet& packet) const noexcept;
  void apply_fate(int side, std::uint64_t id, Packet& packet);

  World& world_;
  std::array<std::int64_t, 2> told_ns_{never, never};
  std::array<bool, 2> told_ahead_{};
};

}  // namespace netio::test
