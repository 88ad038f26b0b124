// All patterns at once, over connections that are cut again and again: memory and descriptors do
// not grow. NETIO_TEST_SECONDS says for how long (600: ten minutes); the first tenth is not looked
// at.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "cuts/cuts.hpp"
#include "support/seen.hpp"
#include "support/time_limit.hpp"

namespace netio::test {
namespace {

std::size_t memory_of_this_process() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t descriptors_of_this_process() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class Endurance : public testing::Test {
 protected:
  // Through a relay of its own.
  void connect(Socket& from, Socket& to) {
    relays_.push_back(std::make_unique<Relay>(to.bind("tcp://127.0.0.1:0")));
    from.connect(relays_.back()->address());
  }
  void count(Receiving& socket) {
    socket.on_message([this](const MessageView&) { ++received_; });
  }
  void send_some() {
    const std::size_t size = random_.below(100) == 0 ? 100'000 : random_.below(3000);
    message_.resize(size);
    for (Sending* const socket : {static_cast<Sending*>(&push_), static_cast<Sending*>(&left_),
                                  static_cast<Sending*>(&right_)}) {
      for (int i = 0; i < 10 && socket->send(message_, 1) == Status::ok; ++i) ++sent_;
    }
    for (int i = 0; i < 10 && publish_.send(message_, random_.below(50)) == Status::ok; ++i)
      ++sent_;
  }
  // At any place of a page, in either way; or the whole network is away for a while.
  void spoil_something() {
    Relay& relay = *relays_[random_.below(relays_.size())];
    const std::uint64_t draw = random_.below(100);
    if (draw < 95) {
      if (!relay.fault_pending()) {
        relay.cut_after(random_.below(draw < 50 ? 400 : 400'000),
                        draw % 2 == 0 ? Relay::End::reset : Relay::End::fin);
      }
    } else {
      away_ = !away_;
      for (const auto& each : relays_) each->forbid(away_);
    }
  }

  Context here_{context_options()};
  Context there_{context_options()};
  Pump pump_{&here_, &there_};
  Push push_{here_, resuming(Mode::buffered)};
  Pull pull_{there_, resuming(Mode::buffered)};
  Pair left_{here_, resuming(Mode::unbuffered)};
  Pair right_{there_, resuming(Mode::unbuffered)};
  Publish publish_{here_, {}, resuming(Mode::buffered)};
  Subscribe blocking_{there_, {.policy = Policy::block}, resuming(Mode::buffered)};
  Subscribe sampling_{there_, {.policy = Policy::sample}, resuming(Mode::unbuffered)};
  std::vector<std::unique_ptr<Relay>> relays_;
  Random random_{seed()};
  std::vector<std::byte> message_;
  bool away_ = false;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

TEST_F(Endurance, takes_no_more_memory_and_descriptors) {
  const std::chrono::seconds lasts(number_in("NETIO_TEST_SECONDS", 10));
  extend_time_limit(2 + static_cast<int>(lasts.count()) / time_limit_seconds);
  connect(push_, pull_);
  connect(left_, right_);
  connect(blocking_, publish_);
  connect(sampling_, publish_);
  for (Receiving* const socket :
       {static_cast<Receiving*>(&pull_), static_cast<Receiving*>(&left_),
        static_cast<Receiving*>(&right_), static_cast<Receiving*>(&blocking_),
        static_cast<Receiving*>(&sampling_)}) {
    count(*socket);
  }
  blocking_.subscribe_all();
  sampling_.subscribe_all();
  const auto begin = std::chrono::steady_clock::now();
  std::size_t memory_at_first = memory_of_this_process();
  std::size_t descriptors_at_first = descriptors_of_this_process();
  std::size_t memory = 0;
  std::size_t descriptors = 0;
  auto look_at = begin + std::chrono::milliseconds(100);
  for (auto now = begin; now < begin + lasts; now = std::chrono::steady_clock::now()) {
    send_some();
    pump_.turn();
    if (random_.below(50) == 0) spoil_something();
    if (now < look_at) continue;
    look_at = now + std::chrono::milliseconds(100);
    memory = memory_of_this_process();
    descriptors = descriptors_of_this_process();
    if (now - begin > std::chrono::milliseconds(lasts) / 10) continue;
    memory_at_first = std::max(memory_at_first, memory);
    descriptors_at_first = std::max(descriptors_at_first, descriptors);
  }
  for (const auto& relay : relays_) {
    relay->forbid(false);
    relay->cut_no_more();
  }
  const auto unsettled = [this] {
    return push_.books().unsettled() + left_.books().unsettled() + right_.books().unsettled() +
           publish_.books().unsettled();
  };
  ASSERT_SOON(pump_, unsettled() == 0);
  std::uint64_t cuts = 0;
  for (const auto& relay : relays_) cuts += relay->cuts();
  const std::uint64_t dropped =
      publish_.books().dropped() + left_.books().dropped() + right_.books().dropped();
  EXPECT_EQ(push_.books().dropped(), 0U);
  EXPECT_EQ(received_, push_.books().acknowledged + left_.books().acknowledged +
                           right_.books().acknowledged + publish_.books().acknowledged);
  std::printf(
      "cuts: endurance: %lld s, %llu cuts, %llu messages taken, %llu delivered, %llu dropped by a "
      "policy; memory %.1f MiB in the first tenth, %.1f at the end; descriptors %zu and %zu "
      "(seed %llu)\n",
      static_cast<long long>(lasts.count()), static_cast<unsigned long long>(cuts),
      static_cast<unsigned long long>(sent_), static_cast<unsigned long long>(received_),
      static_cast<unsigned long long>(dropped), static_cast<double>(memory_at_first) / 1048576,
      static_cast<double>(memory) / 1048576, descriptors_at_first, descriptors,
      static_cast<unsigned long long>(seed()));
  // A sanitizer keeps what was freed for a while.
  if (!sanitized) {
    EXPECT_LE(memory, memory_at_first + memory_at_first / 10 + (16U << 20U));
  }
  EXPECT_LE(descriptors, descriptors_at_first + 8);
}

}  // namespace
}  // namespace netio::test
