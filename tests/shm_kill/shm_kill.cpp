// shm_kill [--kills N] [--seed N]: kills processes at either end of shm connections at random, and
// counts what is left of them. Prints it in one line; status 1 unless that is nothing.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "shm_kill/driver.hpp"

namespace {

// What the survivor may grow by between its first and its last check, of ten. In a short run it has
// hardly come to its usual size, and a sanitizer keeps what was freed for a while.
constexpr std::int64_t growth_max_kib = 16 << 10;
constexpr std::uint64_t kills_to_judge_growth = 500;

std::uint64_t number_after(int argc, char** argv, std::string_view name, std::uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == name) return std::strtoull(argv[i + 1], nullptr, 10);
  }
  return otherwise;
}

int report(std::uint64_t kills, std::uint64_t seed) {
  netio::test::Driver driver(kills, seed);
  const netio::test::Leaked leaked = driver.run();
  std::printf("%s\n", driver.story().c_str());
  std::printf(
      "shm-kill: %llu kills (seed %llu): %lld descriptors, %lld pages, %lld names, %lld mappings "
      "leaked; books right\n",
      static_cast<unsigned long long>(kills), static_cast<unsigned long long>(seed),
      static_cast<long long>(leaked.descriptors), static_cast<long long>(leaked.pages),
      static_cast<long long>(leaked.names), static_cast<long long>(leaked.mappings));
  const bool nothing =
      leaked.descriptors == 0 && leaked.pages == 0 && leaked.names == 0 && leaked.mappings == 0;
  if (kills >= kills_to_judge_growth && leaked.resident_kib > growth_max_kib) {
    std::printf("shm-kill: the survivor grew by %lld KiB\n",
                static_cast<long long>(leaked.resident_kib));
    return 1;
  }
  return nothing ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::uint64_t kills = number_after(argc, argv, "--kills", 50);
  const std::uint64_t seed =
      number_after(argc, argv, "--seed", static_cast<std::uint64_t>(now) / 1000 % 1'000'000);
  std::printf("shm-kill: %llu kills to come, seed %llu\n", static_cast<unsigned long long>(kills),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);

  try {
    return report(kills, seed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shm-kill: %s (seed %llu)\n", error.what(),
                 static_cast<unsigned long long>(seed));
    return 1;
  }
}
