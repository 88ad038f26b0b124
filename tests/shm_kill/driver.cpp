// Looks at each slot in turn, some thousand times a second, and does what is due there.
#include "shm_kill/driver.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "shm_kill/bystander.hpp"
#include "shm_kill/leaks.hpp"
#include "shm_kill/survivor.hpp"

namespace netio::test {

namespace {

using namespace std::chrono_literals;  // NOLINT: tests speak of 5s

// Within this, a death is known, and the bystander has its answer. Milliseconds on a machine that
// is not loaded; only a failing test waits it out.
constexpr std::chrono::nanoseconds patience = 5s;
constexpr std::chrono::nanoseconds look_every = 200us;

std::int64_t ns(std::chrono::nanoseconds time) noexcept { return time.count(); }

std::int64_t up_to(std::chrono::nanoseconds time, Random& random) noexcept {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(time.count())));
}

Scoreboard& shared_board() {
  void* const at =
      mmap(nullptr, sizeof(Scoreboard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("no memory");
  return *new (at) Scoreboard;
}

std::string own_folder() {
  std::string path = (std::filesystem::temp_directory_path() / "netio-kill-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no folder " + path);
  return path;
}

}  // namespace

void fail(std::string_view who, const std::string& what) noexcept {
  std::fprintf(stderr, "shm-kill: %.*s: %s\n", static_cast<int>(who.size()), who.data(),
               what.c_str());
  ::_exit(1);
}

Driver::Driver(std::uint64_t kills, std::uint64_t seed)
    : kills_wanted_(kills), random_(seed), board_(shared_board()) {
  descriptors_before_ = open_descriptors();
  shared_names_before_ = names_in("/dev/shm");
  places_.token = "kill-" + std::to_string(getpid());
  places_.folder = own_folder();
  wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake_ < 0) throw std::runtime_error("no eventfd");
  survivor_ = start([&] { run_survivor(places_, board_, wake_, random_.next()); });
  bystander_ = start([&] { run_bystander(places_, board_); });
}

Driver::~Driver() {
  std::error_code none;
  std::filesystem::remove_all(places_.folder, none);
  munmap(&board_, sizeof board_);
}

// What is forked goes with us, however we end.
pid_t Driver::start(const std::function<void()>& work) const {
  const pid_t driver = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error(std::string("cannot fork: ") + std::strerror(errno));
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == driver) work();
  ::_exit(1);
}

void Driver::start_victim(std::size_t slot) {
  Life& life = lives_.at(slot);
  VictimPlan& plan = life.plan;
  plan.slot = slot;
  plan.id = ++started_;
  plan.seed = random_.next();
  plan.mode = random_.one_in(2) ? Mode::buffered : Mode::unbuffered;
  const std::uint64_t role = random_.below(3);
  plan.sends = role != 0;
  plan.receives = role != 1;
  plan.hoards = random_.one_in(5);
  const std::uint64_t fate = random_.below(10);
  life.fate = fate < 3 ? Fate::meeting : fate < 5 ? Fate::stopped : Fate::at_work;

  Slot& notes = board_.slot.at(slot);
  for (Number* number : {&notes.about_to_meet, &notes.offered, &notes.posted, &notes.acknowledged,
                         &notes.delivered}) {
    *number = 0;
  }
  notes.victim = plan.id;
  life.pid = start([&] { run_victim(plan, places_, notes); });
  life.state = State::living;
  life.begun_ns = now_ns();
  life.lives_ns = ns(5ms) + up_to(120ms, random_);
  life.next_ns = 0;
}

void Driver::kill(Life& life) {
  int status = 0;
  ::kill(life.pid, SIGKILL);
  if (waitpid(life.pid, &status, 0) != life.pid || !WIFSIGNALED(status) ||
      WTERMSIG(status) != SIGKILL) {
    throw std::runtime_error("victim " + std::to_string(life.plan.id) +
                             " ended before it was killed");
  }
  ++killed_;
  killed_meeting_ += life.fate == Fate::meeting;
  killed_stopped_ += life.fate == Fate::stopped;
  killed_binding_ += victims_bind(life.plan.slot);
  life.state = State::dead;
  life.died_ns = now_ns();
  life.asked = ask(Command::go_on);
}

void Driver::step_living(Life& life) {
  const std::int64_t now = now_ns();
  if (board_.slot.at(life.plan.slot).about_to_meet == 0) {
    if (now - life.begun_ns > ns(patience)) {
      throw std::runtime_error("victim " + std::to_string(life.plan.id) + " does not start");
    }
    return;
  }
  if (life.next_ns == 0) life.next_ns = now + life.lives_ns;
  if (life.fate == Fate::meeting) {
    std::this_thread::sleep_for(std::chrono::microseconds(random_.below(600)));
    kill(life);
  } else if (now >= life.next_ns && life.fate == Fate::stopped) {
    ::kill(life.pid, SIGSTOP);
    life.state = State::stopped;
    life.next_ns += up_to(60ms, random_);
  } else if (now >= life.next_ns) {
    kill(life);
  }
}

// One look at a slot: whatever is due there.
void Driver::step(std::size_t slot) {
  Life& life = lives_.at(slot);
  const Slot& notes = board_.slot.at(slot);
  switch (life.state) {
    case State::empty:
      break;
    case State::living:
      step_living(life);
      break;
    case State::stopped:
      if (now_ns() >= life.next_ns) kill(life);
      break;
    case State::dead: {
      const std::int64_t since_ns = now_ns() - life.died_ns;
      if (board_.seen >= life.asked && notes.connected == 0) {
        seen_within_ns_ = std::max(seen_within_ns_, since_ns);
        life.state = State::empty;
      } else if (since_ns > ns(patience)) {
        throw std::runtime_error("the survivor does not know that victim " +
                                 std::to_string(life.plan.id) + " in slot " + std::to_string(slot) +
                                 " is dead");
      }
      break;
    }
  }
}

// Then every slot is empty.
void Driver::kill_all_until(std::uint64_t kills) {
  const auto busy = [](const Life& life) { return life.state != State::empty; };
  while (killed_ < kills || std::any_of(lives_.begin(), lives_.end(), busy)) {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      if (!busy(lives_[slot]) && started_ < kills) start_victim(slot);
      step(slot);
    }
    check_living();
    std::this_thread::sleep_for(look_every);
  }
}

// They have said why on standard error.
void Driver::check_living() const {
  for (const pid_t pid : {survivor_, bystander_}) {
    if (waitpid(pid, nullptr, WNOHANG) != 0) {
      throw std::runtime_error(pid == survivor_ ? "the survivor ended" : "the bystander ended");
    }
  }
}

std::uint64_t Driver::ask(Command command) {
  board_.command = command;
  const std::uint64_t asked = ++board_.asked;
  const std::uint64_t one = 1;
  if (::write(wake_, &one, sizeof one) != sizeof one)
    throw std::runtime_error("cannot wake anybody");
  return asked;
}

void Driver::wait_until_seen(std::uint64_t asked) const {
  const std::int64_t end_ns = now_ns() + ns(patience);
  while (board_.seen < asked) {
    if (now_ns() > end_ns) throw std::runtime_error("the survivor does not answer");
    if (board_.command != Command::end) check_living();
    std::this_thread::sleep_for(look_every);
  }
}

std::int64_t Driver::names_left() const {
  std::int64_t names = 0;
  for (const std::string& name : names_in("/dev/shm")) {
    names += name.find("netio") != std::string::npos && !shared_names_before_.contains(name);
  }
  return names;
}

void Driver::check() {
  wait_until_seen(ask(Command::check));
  const Leaks& leaks = board_.leaks;
  leaked_.descriptors = std::max(leaked_.descriptors, leaks.descriptors.load());
  leaked_.pages = std::max(leaked_.pages, leaks.pages.load());
  leaked_.mappings = std::max(leaked_.mappings, leaks.mappings.load());
  leaked_.names =
      std::max(leaked_.names, unix_sockets(places_.token) - sockets_before_ + names_left());
  if (resident_first_kib_ == 0) resident_first_kib_ = leaks.resident_kib;
  leaked_.resident_kib = leaks.resident_kib - resident_first_kib_;

  const std::uint64_t trips = board_.bystander_trips;
  if (trips == bystander_trips_ || board_.bystander_waited_ns > std::uint64_t(ns(patience))) {
    throw std::runtime_error(
        "the bystander was not served; leaked by then: " + std::to_string(leaked_.pages) +
        " pages, " + std::to_string(leaked_.descriptors) + " descriptors");
  }
  bystander_trips_ = trips;
}

// The next to bind replaces what a killed one left, and takes it away in order.
void Driver::sweep() const {
  for (std::size_t slot = 0; slot < slots; ++slot) {
    if (!victims_bind(slot)) continue;
    end_in_order(start([&] { run_sweeper(slot, places_); }), "the last to bind");
  }
}

void Driver::end_in_order(pid_t pid, const char* who) const {
  const std::int64_t end_ns = now_ns() + ns(patience);
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (now_ns() > end_ns) throw std::runtime_error(std::string(who) + " does not end");
    std::this_thread::sleep_for(look_every);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error(std::string(who) + " did not end in order");
  }
}

Leaked Driver::run() {
  // The first look is the one to compare with.
  wait_until_seen(ask(Command::go_on));
  bystander_trips_ = board_.bystander_trips;
  sockets_before_ = unix_sockets(places_.token);
  const std::uint64_t between_checks = std::max<std::uint64_t>(kills_wanted_ / 10, 10);
  while (killed_ < kills_wanted_) {
    kill_all_until(std::min(killed_ + between_checks, kills_wanted_));
    check();
  }
  if (board_.connections < kills_wanted_ / 4 || board_.from_victims == 0 ||
      board_.to_victims == 0 || board_.to_subscribers == 0) {
    throw std::runtime_error("the victims said hardly anything: " + story());
  }
  board_.bystander_ends = true;
  end_in_order(bystander_, "the bystander");
  bystander_ = -1;
  wait_until_seen(ask(Command::end));
  end_in_order(survivor_, "the survivor");
  sweep();

  const Leaks& leaks = board_.leaks;
  leaked_.descriptors = std::max(leaked_.descriptors, leaks.descriptors.load());
  leaked_.pages = std::max(leaked_.pages, leaks.pages.load());
  leaked_.mappings = std::max(leaked_.mappings, leaks.mappings.load());
  close(wake_);
  leaked_.descriptors += open_descriptors() - descriptors_before_;
  leaked_.names += unix_sockets(places_.token) + names_left() +
                   static_cast<std::int64_t>(names_in(places_.folder).size());
  return leaked_;
}

std::string Driver::story() const {
  const auto ms = [](std::int64_t time_ns) { return std::to_string(time_ns / 1'000'000) + " ms"; };
  return std::to_string(killed_meeting_) + " killed as they met, " +
         std::to_string(killed_stopped_) + " while stopped, " + std::to_string(killed_binding_) +
         " had bound; " + std::to_string(board_.connections) + " connections, " +
         std::to_string(board_.from_victims) + " messages from victims, " +
         std::to_string(board_.to_victims) + " to them, " + std::to_string(board_.to_subscribers) +
         " from publishers, " + std::to_string(board_.loans) + " lent; a death was known within " +
         ms(seen_within_ns_) + ", the bystander's " + std::to_string(bystander_trips_) +
         " round trips took up to " + ms(static_cast<std::int64_t>(board_.bystander_waited_ns)) +
         "; the survivor grew by " + std::to_string(leaked_.resident_kib) + " KiB";
}

}  // namespace netio::test
