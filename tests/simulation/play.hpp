// One schedule: draws who plays, then takes random steps, then lets all faults end and looks
// whether everything settles. Stops at the first thing that is wrong.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <netio/message.hpp>

#include "simulation/actor.hpp"
#include "simulation/machine.hpp"
#include "simulation/names.hpp"
#include "simulation/run.hpp"
#include "simulation/world.hpp"
#include "support/payload.hpp"

namespace netio::test {

class Play {
 public:
  Play(std::uint64_t seed, const Settings& settings, Tally& tally,
       std::vector<std::unique_ptr<Machine>>& machines);
  ~Play();
  Play(const Play&) = delete;
  Play& operator=(const Play&) = delete;

  // Empty if nothing is wrong.
  std::string run();
  [[nodiscard]] std::uint64_t digest() const noexcept { return world_.digest(); }

  // For runs.
  [[nodiscard]] World& world() noexcept { return world_; }
  [[nodiscard]] Random& random() noexcept { return random_; }
  [[nodiscard]] bool chance(unsigned thousandths) noexcept {
    return random_.below(1000) < thousandths;
  }
  // What every end takes.
  [[nodiscard]] std::size_t message_bytes_max() const noexcept { return message_bytes_max_; }
  void act(Run& run, Act act);
  void send_something(Run& run);
  // Of all that was sent to sockets of the other kind, the requests, or answers, that their users
  // were not given.
  [[nodiscard]] std::uint64_t untold_to(Kind kind) const noexcept;

  // What receivers have kept, and anybody may pass on.
  struct Kept {
    Message message;
    Name name = 0;
    std::uint64_t tag = 0;
    std::size_t bytes = 0;
    std::size_t machine = 0;  // the place of whose memory it is
  };
  void keep(Kept kept);
  // One of them, taken out; empty if there is none.
  [[nodiscard]] Kept take_kept();
  // Each is still what it was.
  void release_kept(std::size_t most);

  // What senders have lent. The token is a place in the list.
  struct Loan {
    std::vector<std::byte> bytes;
    Name name = 0;
    Run* run = nullptr;
    bool out = false;
  };
  Loan& lend(Run& run, Name name, std::size_t bytes, std::uint64_t& token);
  void end_loan(std::uint64_t token, Run& run);
  void end_loans_of(Run& run);

  [[nodiscard]] std::span<std::byte> scratch(std::size_t bytes) noexcept {
    return std::span(scratch_).first(bytes);
  }

 private:
  // The cast (casting.cpp)
  void cast();
  void cast_actors(Kind left, Kind right, std::size_t lefts, std::size_t rights);
  void cast_edges(std::size_t lefts);
  void draw_options(Actor& actor);
  void draw_publishing(Actor& actor);
  void draw_subscription(Actor& actor);
  void draw_temper(Actor& actor);
  void draw_requests(Actor& actor);
  void describe(const Actor& actor);

  // Steps (play.cpp)
  void step();
  bool step_of_life(Actor& actor);
  void step_of_use(Actor& actor);
  void step_of_time();
  void cut_a_wire();
  void pause_something(Run& run);
  void make(Actor& actor);
  Actor& any_actor() { return actors_[random_.below(actors_.size())]; }
  bool turn(Machine& machine);
  bool turn_all();
  void look();

  // The end (settling.cpp)
  [[nodiscard]] static bool waits_to_tell(Run& publisher);
  void look_at_queues();
  void look_at_what_is_kept(Run& run);
  void wake_all();
  bool settle(const char* after_what);
  [[nodiscard]] std::string unsettled();
  [[nodiscard]] std::string unsettled(Run& run);
  [[nodiscard]] std::string unsettled_set(Run& run, const PeerSeen& publisher);
  [[nodiscard]] bool may_stay_down(const Run& run, const PeerSnapshot& peer);
  void judge_settled();
  void judge_books(Run& run);
  void judge_requests(Run& run);
  // Whoever was away was back before this one can have given it up.
  [[nodiscard]] bool stays_in_time(const Run& run) const noexcept;
  void answer_all(bool keeps_some);
  void judge_stream(Wire& wire);
  void judge_direction(Wire& wire, std::size_t from, const Books& sent, const Books& received);
  void probe();
  void close_all();
  void destroy_all();

  World world_;
  Random random_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  std::vector<Machine*> in_use_;  // of the machines
  std::deque<Actor> actors_;
  std::deque<std::unique_ptr<Run>> runs_;
  std::deque<Kept> kept_;
  std::deque<Loan> loans_;
  std::vector<std::byte> scratch_;
  std::size_t page_bytes_ = 0;  // about what a page holds, of most connections
  std::size_t message_bytes_max_ = 0;
  std::uint32_t life_ = 0;    // thousandths of steps in which sockets come and go
  bool few_at_once_ = false;  // some may have few requests under way
  bool restarted_ = false;    // some socket was closed or destroyed
};

}  // namespace netio::test
