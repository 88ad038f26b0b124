// Starts the survivor, the bystander and one victim after the other, kills the victims, and asks
// the survivor what became of it. Has no socket of netio's itself: what it forks inherits nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <sys/types.h>

#include "shm_kill/scoreboard.hpp"
#include "shm_kill/victim.hpp"
#include "support/payload.hpp"

namespace netio::test {

struct Leaked {
  std::int64_t descriptors = 0;
  std::int64_t pages = 0;
  std::int64_t names = 0;
  std::int64_t mappings = 0;
  std::int64_t resident_kib = 0;  // how much the survivor grew
};

class Driver {
 public:
  // What is wrong and is no leak is thrown as a std::runtime_error; survivor and bystander say
  // their own on standard error first.
  Driver(std::uint64_t kills, std::uint64_t seed);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  Leaked run();
  [[nodiscard]] std::string story() const;  // what happened, for a person

 private:
  // How a victim's life is to end.
  enum class Fate : std::uint8_t { at_work, meeting, stopped };
  enum class State : std::uint8_t { empty, living, stopped, dead };
  struct Life {
    State state = State::empty;
    Fate fate = Fate::at_work;
    VictimPlan plan;
    pid_t pid = -1;
    std::int64_t begun_ns = 0;  // when it was started
    std::int64_t lives_ns = 0;  // how long it is to live once it is about to meet the survivor
    std::int64_t next_ns = 0;   // when it is to be stopped or killed; 0 until it is about to
    std::int64_t died_ns = 0;
    std::uint64_t asked = 0;  // what the survivor was asked once it was dead
  };

  pid_t start(const std::function<void()>& work) const;
  void start_victim(std::size_t slot);
  void step(std::size_t slot);
  void step_living(Life& life);
  void kill(Life& life);
  void kill_all_until(std::uint64_t kills);
  void check_living() const;
  std::uint64_t ask(Command command);
  void wait_until_seen(std::uint64_t asked) const;
  void check();
  void sweep() const;
  void end_in_order(pid_t pid, const char* who) const;
  [[nodiscard]] std::int64_t names_left() const;

  const std::uint64_t kills_wanted_;
  Random random_;
  Places places_;
  Scoreboard& board_;
  int wake_ = -1;
  std::int64_t descriptors_before_ = 0;
  std::int64_t sockets_before_ = 0;
  std::set<std::string> shared_names_before_;
  pid_t survivor_ = -1;
  pid_t bystander_ = -1;
  std::array<Life, slots> lives_{};
  Leaked leaked_;
  std::int64_t resident_first_kib_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t killed_ = 0;
  std::uint64_t killed_meeting_ = 0;
  std::uint64_t killed_stopped_ = 0;
  std::uint64_t killed_binding_ = 0;
  std::int64_t seen_within_ns_ = 0;  // at most
  std::uint64_t bystander_trips_ = 0;
};

}  // namespace netio::test
