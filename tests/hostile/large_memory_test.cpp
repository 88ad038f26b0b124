// Memory for messages, taken hostage: begun and sent on byte by byte, or taken and never read. Over
// tcp, whose peers can do either; a good peer beside them sends or receives all the while.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "hostile/hostage.hpp"

namespace netio::test {
namespace {

// --- What comes in.

class SlowlySent : public Hostage {
 protected:
  // So many peers begin with `begin` and go on with `drop` for as long as they may; a good one
  // sends messages of `good_bytes`, which arrive. Where the evil ones were ended before the good
  // one asked for memory, as a busy machine may do it, others come.
  void attack(std::uint64_t count, const Bytes& begin, const Bytes& drop, std::size_t good_bytes) {
    Pull pull(there_, impatient());
    watch(pull);
    Push push(here_, impatient());
    const Bytes good = payload(1, good_bytes);
    std::uint64_t received = 0;
    std::uint64_t wrong = 0;
    pull.on_message([&](const MessageView& message) {
      const auto bytes = message.bytes();
      if (message.tag() != received || bytes.size() != good.size() ||
          std::memcmp(bytes.data(), good.data(), good.size()) != 0) {
        ++wrong;
      }
      ++received;
    });
    const std::string address = pull.bind("tcp://127.0.0.1:0");
    push.connect(address);
    ASSERT_SOON(pump_, push.peers_connected() == 1);
    std::uint64_t sent = 0;
    std::vector<RawTcp> evil;
    for (std::uint64_t round = 0; round < 10 && pull.counters().starved == 0; ++round) {
      for (std::uint64_t i = 0; i < count; ++i) {
        evil.push_back(greeted(address, detail::WirePattern::push,
                               static_cast<std::uint8_t>(round * count + i)));
        evil.back().send(begin);
      }
      pump_.run_for(20ms);  // before the good one asks for memory
      auto next_drop = here_.loop().now();
      ASSERT_SOON(pump_, [&] {
        if (here_.loop().now() >= next_drop) {
          next_drop = here_.loop().now() + 10ms;
          for (RawTcp& each : evil) each.send(drop);
        }
        while (sent < (round + 1) * 20 && push.send(good, sent) == Status::ok) ++sent;
        return received == (round + 1) * 20;
      }());
    }
    EXPECT_EQ(wrong, 0U);
    EXPECT_GE(stalled_, 1U);
    EXPECT_GE(pull.counters().starved, 1U);
    ASSERT_SOON(pump_, push.books().acknowledged == sent);
  }
};

Bytes begun_page(std::uint32_t bytes) {
  detail::PageHeader header;
  header.bytes = bytes;
  header.messages = 1;
  return page_of(header, {});
}

TEST_F(SlowlySent, large_pages_give_way_to_who_waits_for_their_memory) {
  attack(2, begun_page(message_bytes), Bytes(1), message_bytes);
}

// A part of so many bytes. The first says how long the message is.
Bytes part_of(std::uint32_t bytes, bool first) {
  const std::size_t total_bytes = first ? 8 : 0;
  Bytes body(8 + total_bytes + bytes);
  const std::uint32_t flags =
      detail::frame_flag::more | (first ? 0U : detail::frame_flag::continued);
  detail::store_u64(body.data(), detail::frame_word(bytes, flags));
  if (first) detail::store_u64(body.data() + 8, std::uint64_t{3} << 20U);
  detail::PageHeader header;
  header.bytes = static_cast<std::uint32_t>(body.size());
  return page_of(header, body);
}

TEST_F(SlowlySent, messages_in_parts_give_way_to_who_waits_for_their_memory) {
  attack(2, part_of(8, true), part_of(8, false), message_bytes);
}

TEST_F(SlowlySent, pages_give_way_to_who_waits_for_their_memory) {
  Bytes half = begun_page(60'000);
  half.resize(half.size() + 30'000);
  attack(24, half, Bytes(1), 1000);
}

// Where nobody waits for the memory, slow is slow.
TEST_F(SlowlySent, a_large_message_may_take_its_time_while_nobody_waits) {
  Pull pull(there_, impatient());
  watch(pull);
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) { ++received; });
  RawTcp slow = greeted(pull.bind("tcp://127.0.0.1:0"), detail::WirePattern::push, 1);
  const Bytes page = message_page(0, payload(0, 1U << 20U));
  // Eight times the stall limit in all: far less in each than would be due if somebody waited.
  const std::size_t piece = page.size() / 80 + 1;
  for (std::size_t at = 0; at < page.size(); at += piece) {
    slow.send(std::span(page).subspan(at, std::min(piece, page.size() - at)));
    pump_.run_for(20ms);
  }
  ASSERT_SOON(pump_, received == 1);
  EXPECT_EQ(stalled_, 0U);
}

// The same in parts, each of which takes several times the stall limit.
TEST_F(SlowlySent, a_message_in_parts_may_take_its_time_while_nobody_waits) {
  ContextOptions large_pages = little_memory();
  large_pages.page_bytes = 1U << 20U;
  large_pages.receive_pool_bytes = 16U << 20U;
  Context context(large_pages);
  pump_.add(context);
  {
    Pull pull(context, impatient());
    watch(pull);
    pull.on_message([](const MessageView&) {});
    RawTcp slow = greeted(pull.bind("tcp://127.0.0.1:0"), detail::WirePattern::push, 1);
    slow.send(part_of(8, true));
    const Bytes page = part_of(1'000'000, false);
    // Twice what is due, however long a turn takes.
    const std::size_t bytes_in_a_second = 2 * message_bytes / 64 * 5;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t at = 0; at < page.size();) {
      pump_.run_for(10ms);
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      const auto end = std::min(
          page.size(),
          static_cast<std::size_t>(passed.count() * static_cast<double>(bytes_in_a_second)));
      slow.send(std::span(page).subspan(at, end - at));
      at = end;
    }
    EXPECT_EQ(stalled_, 0U);
  }
  pump_.remove(context);
}

// Pages that are no part of a message do not make it go on, however many bytes they are.
class MuchElse : public SlowlySent, public testing::WithParamInterface<bool> {};

TEST_P(MuchElse, does_not_make_a_message_in_parts_go_on) {
  Pull pull(there_, impatient());
  watch(pull);
  pull.on_message([](const MessageView&) {});
  RawTcp slow = greeted(pull.bind("tcp://127.0.0.1:0"), detail::WirePattern::push, 1);
  slow.send(part_of(8, true));
  const Bytes page = GetParam() ? part_of(0, false) : page_of(detail::PageHeader(), {});
  Bytes pages;
  while (pages.size() < 32'000) append(pages, page);  // less than is read in a turn
  ASSERT_SOON(pump_, [&] {
    slow.send(pages);
    return stalled_ == 1;
  }());
}

INSTANTIATE_TEST_SUITE_P(of, MuchElse, testing::Bool(), [](const auto& row) {
  return row.param ? "parts_of_no_bytes" : "acknowledgements";
});

TEST_F(SlowlySent, a_large_message_that_goes_on_by_single_bytes_ends) {
  Pull pull(there_, impatient());
  watch(pull);
  RawTcp slow = greeted(pull.bind("tcp://127.0.0.1:0"), detail::WirePattern::push, 1);
  slow.send(begun_page(message_bytes));
  ASSERT_SOON(pump_, [&] {
    slow.send(Bytes(1));
    pump_.run_for(10ms);
    return stalled_ == 1;
  }());
}

// --- What goes out.

class NeverRead : public Hostage, public testing::WithParamInterface<Mode> {};

TEST_P(NeverRead, large_messages_do_not_stop_who_sends_them) {
  SocketOptions options = impatient();
  options.mode = GetParam();
  Push push(here_, options);
  watch(push);
  Pull pull(there_, options);
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView& message) {
    EXPECT_EQ(message.size(), message_bytes);
    ++received;
  });
  const std::string address = push.bind("tcp://127.0.0.1:0");
  std::vector<RawTcp> silent;
  for (std::uint8_t i = 0; i < 20; ++i) {
    silent.push_back(greeted(address, detail::WirePattern::pull, i));
  }
  const std::vector<std::byte> message = payload(0, message_bytes);
  std::uint64_t sent = 0;
  const auto send_on = [&] {
    while (push.send(message) == Status::ok) ++sent;
  };
  // All the memory that strangers are given is theirs before the good one comes.
  ASSERT_SOON(pump_, [&] {
    send_on();
    return push.counters().starved != 0;
  }());
  pull.connect(address);
  ASSERT_SOON(pump_, [&] {
    send_on();
    return received >= 30;
  }());
  EXPECT_GE(stalled_, 1U);
  EXPECT_GE(sent, 30U);
}

INSTANTIATE_TEST_SUITE_P(modes, NeverRead, testing::Values(Mode::buffered, Mode::unbuffered),
                         [](const auto& row) {
                           return row.param == Mode::buffered ? "buffered" : "unbuffered";
                         });

}  // namespace
}  // namespace netio::test
