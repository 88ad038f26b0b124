// simulate_building: random schedules of event building over faulty connections, with a clock of
// their own. Prints what it did, and at the first thing that is wrong the command that shows it.
#include <cstdio>
#include <span>
#include <string>

#include "building/schedule.hpp"
#include "simulation/program.hpp"

namespace netio::test {

namespace {

class SimulateBuilding final : public Program {
 public:
  SimulateBuilding() : Program("simulate_building", 1'000) {}

 private:
  void usage(std::FILE* to) const override;
  bool take(const std::string& option, const std::function<std::string()>& value) override;
  std::string play(std::uint64_t seed) override {
    settings_.trace = trace_;
    BuildSchedule schedule(seed, settings_, tally_);
    std::string what = schedule.run();
    digest_ = schedule.digest();
    return what;
  }
  [[nodiscard]] std::uint64_t digest() const override { return digest_; }
  [[nodiscard]] std::string tally() const override { return tally_.text(); }
  void failed(std::uint64_t seed, const std::string& what) override;

  BuildSettings settings_;
  BuildTally tally_;
  std::uint64_t digest_ = 0;
};

void SimulateBuilding::usage(std::FILE* to) const {
  std::fprintf(
      to, "%s",
      "Usage: simulate_building [--schedules N | --seconds S] [--seed N] [--trace]\n"
      "                         [--without PART,...] [--only PART,...] [--lie NAME] [--digests]\n"
      "\n"
      "Plays schedules of units and builders over simulated, faulty connections, as fast as it\n"
      "can, and judges what they do: docs/simulation.md says what it draws and requires.\n"
      "\n"
      "  --schedules N   as many schedules, with the seeds N, N+1, ... (1000 unless given)\n"
      "  --seconds S     as many as it can in this time\n"
      "  --seed N        of the first one (from the clock unless given; it is printed)\n"
      "  --trace         a line for each message, event and fault\n"
      "  --without P,... leaves out parts of schedules, of those below\n"
      "  --only P,...    no other faults than these, of those below\n"
      "  --lie NAME      a connection does what none may: the oracle has to find it; those below\n"
      "  --digests       prints a number for each schedule: the same each time it is run\n"
      "\n"
      "Exit status: 0 nothing is wrong, 1 something is, 2 wrong usage.\n");
  const Names parts = build_part_names;
  print(to, "Faults", parts.first(build_faults));
  print(to, "Other parts", parts.subspan(build_faults));
  print(to, "Lies", Names(build_lie_names).subspan(1));
}

bool SimulateBuilding::take(const std::string& option, const std::function<std::string()>& value) {
  constexpr std::uint32_t all_faults = (1U << build_faults) - 1;
  if (option == "--without") {
    settings_.without |= bits(build_part_names, "part", value());
  } else if (option == "--only") {
    settings_.without |= all_faults & ~bits(build_part_names, "part", value());
  } else if (option == "--lie") {
    settings_.lie = static_cast<BuildLie>(named(build_lie_names, "lie", value()));
  } else {
    return false;
  }
  return true;
}

void SimulateBuilding::failed(std::uint64_t seed, const std::string&) {
  std::string options;
  if (settings_.lie != BuildLie::none) {
    options = " --lie ";
    options += build_lie_names[static_cast<std::size_t>(settings_.lie)];
  }
  std::printf("to see it: %s\n",
              command(seed, build_part_names, settings_.without, options).c_str());
}

}  // namespace

}  // namespace netio::test

int main(int argc, char** argv) { return netio::test::SimulateBuilding().run(argc, argv); }
