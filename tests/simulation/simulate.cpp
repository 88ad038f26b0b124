// simulate: random schedules of sockets over faulty links and a clock of their own. Prints what it
// did, and at the first thing that is wrong the command that shows it. --help says more.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "simulation/program.hpp"
#include "simulation/settings.hpp"
#include "simulation/simulation.hpp"

namespace netio::test {

namespace {

// What is wrong, but for names and numbers.
std::string kind_of(const std::string& what) {
  std::string kind = what.substr(std::min(what.find(' '), what.size()));
  std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
  return kind.substr(0, 40);
}

class Simulate final : public Program {
 public:
  Simulate() : Program("simulate", 10'000) {}

 private:
  void usage(std::FILE* to) const override;
  bool take(const std::string& option, const std::function<std::string()>& value) override;
  std::string play(std::uint64_t seed) override { return simulation().run(seed); }
  [[nodiscard]] std::uint64_t digest() const override { return simulation_->digest(); }
  [[nodiscard]] std::string tally() const override {
    return simulation_ ? simulation_->tally().text() : std::string();
  }
  void failed(std::uint64_t seed, const std::string& what) override;
  void shrink(std::uint64_t seed, const std::string& what);
  // Made with the first schedule, when the settings are known.
  Simulation& simulation() {
    settings_.trace = trace_;
    if (!simulation_) simulation_ = std::make_unique<Simulation>(settings_);
    return *simulation_;
  }

  Settings settings_;
  bool shrinks_ = false;
  std::unique_ptr<Simulation> simulation_;
};

void Simulate::usage(std::FILE* to) const {
  std::fprintf(
      to, "%s",
      "Usage: simulate [--schedules N | --seconds S] [--seed N] [--trace] [--shrink]\n"
      "                [--without PART,...] [--steps N] [--lie NAME] [--digests]\n"
      "\n"
      "Plays schedules of sockets over a simulated, faulty network, as fast as it can, and\n"
      "judges what they do: docs/simulation.md says what it draws and requires.\n"
      "\n"
      "  --schedules N   as many schedules, with the seeds N, N+1, ... (10000 unless given)\n"
      "  --seconds S     as many as it can in this time\n"
      "  --seed N        of the first one (from the clock unless given; it is printed)\n"
      "  --trace         a line for each step and event\n"
      "  --shrink        looks for the smallest schedule that fails, and names it\n"
      "  --without P,... leaves out parts of schedules, of those below\n"
      "  --steps N       at most so many steps before the faults end\n"
      "  --lie NAME      the wire does what no wire may: the oracle has to find it; those below\n"
      "  --digests       prints a number for each schedule: the same each time it is run\n"
      "\n"
      "Exit status: 0 nothing is wrong, 1 something is, 2 wrong usage.\n");
  print(to, "Parts", part_names);
  print(to, "Lies", lie_names);
}

bool Simulate::take(const std::string& option, const std::function<std::string()>& value) {
  if (option == "--shrink") {
    shrinks_ = true;
  } else if (option == "--steps") {
    settings_.steps_max = static_cast<std::uint32_t>(number(option, value()));
  } else if (option == "--without") {
    settings_.without = bits(part_names, "part", value());
  } else if (option == "--lie") {
    settings_.lie = static_cast<Lie>(named(lie_names, "lie", value()));
  } else {
    return false;
  }
  return true;
}

// Leaves out one part after the other, and steps from the end, as long as the schedule still fails.
void Simulate::shrink(std::uint64_t seed, const std::string& what) {
  Settings& settings = simulation_->settings();
  const auto still_fails = [&] { return kind_of(simulation_->run(seed)) == kind_of(what); };
  for (std::size_t i = 0; i < part_names.size(); ++i) {
    const Settings before = settings;
    settings.without |= 1U << i;
    if (!still_fails()) settings = before;
  }
  std::uint32_t fails = 256;
  for (std::uint32_t fewer = 128; fewer != 0; fewer /= 2) {
    settings.steps_max = fails - std::min(fewer, fails);
    if (still_fails()) fails = settings.steps_max;
  }
  settings.steps_max = fails;
}

void Simulate::failed(std::uint64_t seed, const std::string& what) {
  if (shrinks_) {
    shrink(seed, what);
    std::printf("smallest: %s\n", simulation_->run(seed).c_str());
  }
  const Settings& settings = simulation_->settings();
  std::string options;
  if (settings.steps_max != UINT32_MAX) options = " --steps " + std::to_string(settings.steps_max);
  if (settings.lie != Lie::none) {
    options.append(" --lie ").append(lie_names[static_cast<std::size_t>(settings.lie)]);
  }
  std::printf("to see it: %s\n", command(seed, part_names, settings.without, options).c_str());
}

}  // namespace

}  // namespace netio::test

int main(int argc, char** argv) { return netio::test::Simulate().run(argc, argv); }
