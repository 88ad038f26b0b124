// The rate at which a receiver keeps the latest 100,000 messages of 64 bytes, while another thread
// releases those that are displaced. Both ends are turned in one thread, and only the receiver's
// turns are timed, with what it waits for the other thread. bench/compare/kept.py compiles this
// file against each of two builds.
//
// Usage: kept WIRE MESSAGES. Prints the messages a second, and the allocations of a message once
// warm.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <netio/netio.hpp>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t message_bytes = 64;
constexpr std::size_t ring_messages = 100'000;
constexpr std::size_t batch_messages = 1'000;
constexpr std::uint64_t warm_up = 5 * ring_messages;

// Of the thread that turns the loops.
thread_local std::uint64_t allocations = 0;

// Batches of displaced messages on their way to the thread that releases them.
class Releasing {
 public:
  Releasing() : thread_([this] { run(); }) {
    for (auto& batch : batches_) batch.reserve(batch_messages);
  }
  ~Releasing() {
    ended_ = true;
    thread_.join();
  }
  Releasing(const Releasing&) = delete;
  Releasing& operator=(const Releasing&) = delete;

  void add(netio::Message&& message) {
    std::vector<netio::Message>& batch = batches_[put_ % batches_.size()];
    batch.push_back(std::move(message));
    if (batch.size() < batch_messages) return;
    filled_.store(++put_, std::memory_order_release);
    // The next one has to be released first.
    while (put_ - released_.load(std::memory_order_acquire) == batches_.size()) {
      std::this_thread::yield();
    }
  }

 private:
  void run() {
    for (std::uint64_t taken = 0; !ended_;) {
      if (taken == filled_.load(std::memory_order_acquire)) {
        std::this_thread::yield();
        continue;
      }
      batches_[taken % batches_.size()].clear();
      released_.store(++taken, std::memory_order_release);
    }
  }

  std::array<std::vector<netio::Message>, 8> batches_;
  std::uint64_t put_ = 0;
  alignas(64) std::atomic<std::uint64_t> filled_ = 0;
  alignas(64) std::atomic<std::uint64_t> released_ = 0;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

std::string address_of(std::string_view wire) {
  if (wire == "tcp") return "tcp://127.0.0.1:0";
  return std::string(wire) + "://netio-kept-" + std::to_string(::getpid());
}

void measure(std::string_view wire, std::uint64_t messages) {
  netio::Context here;
  netio::Context there;
  netio::Pull pull(there);
  netio::Push push(here);
  std::vector<netio::Message> ring(ring_messages);
  Releasing releasing;
  std::uint64_t arrived = 0;
  std::size_t at = 0;
  pull.on_message([&](const netio::MessageView& message) {
    ++arrived;
    releasing.add(std::exchange(ring[at], message.keep()));
    if (++at == ring_messages) at = 0;
  });
  push.connect(pull.bind(address_of(wire)));
  const std::array<std::byte, message_bytes> message{};
  Clock::duration receiving{};
  const auto run_until = [&](std::uint64_t count) {
    while (arrived < count) {
      for (int i = 0; i < 1000 && push.send(message) == netio::Status::ok; ++i) {
      }
      here.loop().run_once(0ms);
      const Clock::time_point begin = Clock::now();
      there.loop().run_once(0ms);
      receiving += Clock::now() - begin;
    }
  };
  run_until(warm_up);
  receiving = {};
  const std::uint64_t allocated = allocations;
  const std::uint64_t arrived_before = arrived;
  run_until(arrived + messages);
  const auto count = static_cast<double>(arrived - arrived_before);
  std::printf("%.0f %.6f\n", count / std::chrono::duration<double>(receiving).count(),
              static_cast<double>(allocations - allocated) / count);
}

}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes != 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  measure(argv[1], std::strtoull(argv[2], nullptr, 10));
  return 0;
}
