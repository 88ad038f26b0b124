// The world of one schedule: its clock, its network, what it drew, and what it found. The library's
// clock and random numbers are the world's. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "memory/block.hpp"
#include "simulation/settings.hpp"
#include "simulation/tally.hpp"
#include "simulation/wire.hpp"
#include "support/payload.hpp"

namespace netio::test {

class Run;
class SimListener;

inline constexpr std::int64_t us = 1'000;
inline constexpr std::int64_t ms = 1'000'000;

// For sentences.
inline std::string text(std::uint64_t number) { return std::to_string(number); }

// How likely faults are, in thousandths; drawn for each schedule.
struct Faults {
  unsigned cut_hello = 0;        // of each direction of a connection
  unsigned cut_page = 0;         // the same
  unsigned told_late = 0;        // of each side of an end
  unsigned silence = 0;          // of each direction of a connection
  unsigned attempt_refused = 0;  // of an attempt
  unsigned attempt_fails = 0;
  unsigned attempt_hangs = 0;
  unsigned hello_late = 0;   // of a hello
  unsigned storm = 0;        // begins with a post
  unsigned split = 0;        // of a page: it arrives in two parts
  unsigned slow_packet = 0;  // of a page: it takes much longer than others
};

// One call of connect() of a run: the connections it makes are one stream after the other.
struct Dial {
  std::uint32_t index = 0;
  Run* by = nullptr;
  std::string url;
  // The last message delivered of each sender to each receiver: they come in order.
  struct Order {
    std::uint32_t sender = 0;
    std::uint32_t receiver = 0;
    std::uint64_t last = 0;
  };
  std::vector<Order> orders;
  std::uint32_t connections = 0;  // that came up, at either side
};

class World {
 public:
  World(std::uint64_t seed, const Settings& settings, Tally& tally);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const Settings& settings;
  Tally& tally;
  Random random;  // of the wires; the play has its own
  Faults faults;
  Traits usual;  // of wires, which vary around them

  // Makes the library read this clock and these random numbers. Once in a program, before contexts.
  static void take_over();
  [[nodiscard]] static std::int64_t now_ns() noexcept;
  void advance(std::int64_t by_ns) noexcept;
  [[nodiscard]] std::uint64_t passed_ms() const noexcept;

  // No fault begins any more, and those that are there end soon.
  void begin_calm();
  [[nodiscard]] bool calm() const noexcept { return calm_; }
  [[nodiscard]] bool chance(unsigned thousandths) noexcept {
    return thousandths != 0 && random.below(1000) < thousandths;
  }
  // The same of a fault: never once it is calm.
  [[nodiscard]] bool fault(unsigned thousandths) noexcept { return !calm_ && chance(thousandths); }
  [[nodiscard]] std::int64_t between(std::int64_t least, std::int64_t most) noexcept {
    return least +
           static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least) + 1));
  }
  // True now and then, if this lie is to be told.
  [[nodiscard]] bool lies(Lie lie) noexcept;

  // The network.
  Dial& add_dial(Run& by, const std::string& host);
  [[nodiscard]] Dial& dial(std::uint32_t index) noexcept { return *dials_[index]; }
  Wire& add_wire(Dial& dial);
  [[nodiscard]] std::vector<std::unique_ptr<Wire>>& wires() noexcept { return wires_; }
  // By the address at which it is a peer's, of the side that dialed or of the other one: the
  // latest.
  [[nodiscard]] Wire* find_wire(std::string_view peer_address) noexcept;
  [[nodiscard]] SimListener* find_listener(const std::string& address) noexcept;
  void add_listener(SimListener& listener);
  void remove_listener(SimListener& listener) noexcept;
  // When something happens in the network next; `never` if nothing does.
  [[nodiscard]] std::int64_t next_ns() const noexcept;

  // The first thing that is wrong; later ones are not noted.
  void fail(const std::string& what);
  [[nodiscard]] bool failed() const noexcept { return !failure_.empty(); }
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

  // A line of the trace.
  template <typename... Words>
  void say(const Words&... words) {
    if (settings.trace) [[unlikely]] {
      std::string line;
      (append(line, words), ...);
      write_line(line);
    }
  }
  // Grows by all that happens: two runs of one schedule have the same.
  void note(std::uint64_t what) noexcept { digest_ = mix(digest_ ^ what); }
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

  // Which call of whose is under way, if any; and for which connection an event is.
  const char* call = nullptr;
  Run* caller = nullptr;
  Wire* event_wire = nullptr;
  int event_side = 0;
  std::uint64_t body_bytes = 0;      // of messages, that links have handed up
  std::vector<detail::Lease> hoard;  // of a lie: given back once all is judged

 private:
  template <typename Word>
  static void append(std::string& line, const Word& word) {
    if constexpr (std::is_arithmetic_v<Word>) {
      line += std::to_string(word);
    } else {
      line += word;
    }
  }
  static void write_line(const std::string& line);
  void draw_faults();
  void draw_usual_traits();
  [[nodiscard]] Traits traits_like_usual() noexcept;
  [[nodiscard]] Fate draw_fate() noexcept;

  bool calm_ = false;
  std::uint64_t digest_ = 0;
  std::string failure_;
  std::vector<std::unique_ptr<Dial>> dials_;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::vector<SimListener*> listeners_;
};

}  // namespace netio::test
