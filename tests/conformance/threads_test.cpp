// A context per thread: nothing is shared between them but bytes, posted functions and messages.
#include <array>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Threads : public Conformance {
 protected:
  // Each of 40 messages that are kept may hold a block of its own, of 256 KiB where pages have 64.
  Threads() : Conformance(std::size_t{12} << 20U) {}
  // Runs the loop of `context` until `done`, at most as long as a test may take.
  static void run_until(Context& context, const std::function<bool()>& done) {
    Pump pump{&context};
    EXPECT_SOON(pump, done());
  }
};

TEST_P(Threads, a_sender_and_a_receiver_run_on_threads_of_their_own) {
  constexpr std::uint64_t count = 50'000;
  std::promise<std::string> address;
  std::uint64_t wrong = 0;
  std::thread receiver([&] {
    Context context(small_context(GetParam().page_bytes));
    Pull pull(context, options());
    std::uint64_t received = 0;
    pull.on_message([&](const MessageView& message) {
      if (!is_payload(message.bytes(), received)) ++wrong;
      ++received;
    });
    Seen seen(pull);
    address.set_value(bind(pull));
    run_until(context, [&] { return received == count && !seen.downs.empty(); });
  });
  std::thread sender([&, to = address.get_future().get()] {
    Context context(small_context(GetParam().page_bytes));
    Push push(context, options());
    Seen seen(push);
    std::uint64_t sent = 0;
    std::vector<std::byte> message;
    const auto go_on = [&] {
      while (sent < count) {
        message.resize(8 + sent % 100 + (sent % 5000 == 0 ? 100'000 : 0));
        fill_payload(message, sent);
        if (push.send(message) != Status::ok) return;
        ++sent;
      }
      push.close(30s);
    };
    push.on_writable(go_on);
    push.on_up([&](const PeerInfo&) { go_on(); });
    push.connect(to);
    run_until(context, [&] { return push.closed(); });
    EXPECT_EQ(push.books().acknowledged, count);
  });
  sender.join();
  receiver.join();
  EXPECT_EQ(wrong, 0U);
}

TEST_P(Threads, many_senders_on_threads_of_their_own_share_a_receiver) {
  constexpr std::uint64_t senders = 4;
  constexpr std::uint64_t count = 5000;
  Pull pull(there_, options());
  std::uint64_t received = 0;
  std::vector<std::uint64_t> next(senders);
  std::uint64_t wrong = 0;
  pull.on_message([&](const MessageView& message) {
    if (!is_payload(message.bytes(), next.at(message.tag())++)) ++wrong;
    ++received;
  });
  const std::string address = bind(pull);
  std::vector<std::thread> threads;
  for (std::uint64_t tag = 0; tag < senders; ++tag) {
    threads.emplace_back([&, tag] {
      Context context(small_context(GetParam().page_bytes));
      Push push(context, options());
      push.connect(address);
      Pump pump{&context};
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::vector<std::byte> message = payload(i, 8 + i % 200);
        ASSERT_SOON(pump, push.send(message, tag) == Status::ok);
      }
      ASSERT_SOON(pump, push.books().acknowledged == count);
    });
  }
  Pump pump{&there_};
  EXPECT_SOON(pump, received == senders * count && pull.peers_connected() == 0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U);
}

// Kept messages go to a worker thread, which looks at them and lets them go.
TEST_P(Threads, a_worker_thread_releases_what_the_receiver_keeps) {
  SocketOptions limited = options();
  limited.receive_bytes_max = 2U << 20U;
  Pull pull(there_, limited);
  Push push(here_, options());
  std::mutex mutex;
  std::vector<Message> handed_over;
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> checked = 0;
  std::atomic<std::uint64_t> wrong = 0;
  std::thread worker([&] {
    while (!stop) {
      std::vector<Message> mine;
      {
        const std::lock_guard lock(mutex);
        mine.swap(handed_over);
      }
      for (const Message& message : mine) {
        if (!is_payload(message.bytes(), message.tag())) ++wrong;
        ++checked;
      }
      if (mine.empty()) std::this_thread::yield();
    }
  });
  pull.on_message([&](const MessageView& message) {
    const std::lock_guard lock(mutex);
    handed_over.push_back(message.keep());
  });
  join(pull, push);
  constexpr std::uint64_t count = 3000;
  std::uint64_t sent = 0;
  EXPECT_SOON(pump_, [&] {
    while (sent < count && push.send(payload(sent, 6000 + sent % 20'000), sent) == Status::ok) {
      ++sent;
    }
    return checked == count;
  }());
  stop = true;
  worker.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(pull.books().delivered, count);
}

// A thread that has run the loop releases what it has kept while the next one runs it, and takes
// from the same memory.
TEST_P(Threads, the_last_thread_releases_what_it_has_kept_while_the_next_one_runs_the_loop) {
  constexpr std::uint64_t count = 40;
  Pull pull(there_, options());
  Push push(here_, options());
  join(pull, push);
  std::uint64_t received = 0;
  std::uint64_t wrong = 0;
  std::vector<Message> kept;
  pull.on_message([&](const MessageView& message) {
    if (!is_payload(message.bytes(), received)) ++wrong;
    kept.push_back(message.keep());
    if (++received % count == 0) there_.stop();
  });
  std::atomic<std::uint64_t> wanted = count;
  std::atomic<bool> over = false;
  std::thread sender([&] {
    Pump pump{&here_};
    for (std::uint64_t sent = 0; sent < 3 * count;) {
      pump.turn();
      while (sent < wanted && push.send(payload(sent, 1000 + sent % 4 * 9000)) == Status::ok)
        ++sent;
    }
    while (!over) pump.turn();
  });
  std::promise<void> handed_over;
  std::thread last([&] {
    there_.run();
    std::vector<Message> mine = std::exchange(kept, {});
    wanted = 2 * count;
    handed_over.set_value();
    while (!mine.empty()) mine.pop_back();
  });
  std::thread next([&] {
    handed_over.get_future().wait();
    there_.run();
  });
  last.join();
  next.join();
  EXPECT_EQ(received, 2 * count);
  // And what the next one has kept goes here, as nobody runs the loop.
  kept.clear();
  wanted = 3 * count;
  there_.run();
  kept.clear();
  over = true;
  sender.join();
  EXPECT_EQ(received, 3 * count);
  Pump pump{&there_};
  EXPECT_SOON(pump, pull.kept_bytes() == 0);
  EXPECT_EQ(wrong, 0U);
}

// The one way to send from another thread.
TEST_P(Threads, functions_posted_to_the_loop_send_for_other_threads) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) { ++received; });
  join(pull, push);
  constexpr std::uint64_t count = 300;  // of three threads no more than any wire takes at once
  std::uint64_t taken = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t n = 0; n < count; ++n) {
        here_.loop().post([&push, &taken] {
          if (push.send("posted") == Status::ok) ++taken;
        });
      }
    });
  }
  EXPECT_SOON(pump_, taken == 3 * count && received == taken);
  for (std::thread& thread : threads) thread.join();
}

// Where some library patches them, a thread that is inside one of them crashes.
struct MemoryCalls {
  static std::array<std::byte, 16> code_of(const char* name) {
    std::array<std::byte, 16> code{};
    std::memcpy(code.data(), dlsym(RTLD_NEXT, name), code.size());
    return code;
  }
  static MemoryCalls now() { return {code_of("mmap"), code_of("munmap"), code_of("madvise")}; }
  bool operator==(const MemoryCalls&) const = default;

  std::array<std::byte, 16> mmap;
  std::array<std::byte, 16> munmap;
  std::array<std::byte, 16> madvise;
};
const MemoryCalls at_the_beginning = MemoryCalls::now();

TEST_P(Threads, find_the_functions_of_memory_as_they_were) {
  Pull pull(there_, options());
  Push push(here_, options());
  join(pull, push);
  EXPECT_TRUE(MemoryCalls::now() == at_the_beginning);
}

ON_EVERY_TRANSPORT_AND_MODE(Threads);

}  // namespace
}  // namespace netio::test
