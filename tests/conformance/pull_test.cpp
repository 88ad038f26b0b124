// Pull: merges its peers fairly, and tells them apart.
#include <map>
#include <memory>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class PullSocket : public Conformance {
 protected:
  // Three senders, each in a context of its own, send as fast as they can until `total` messages
  // came; returns how many of each.
  std::map<std::uint64_t, std::uint64_t> shares(std::uint64_t total, std::size_t size) {
    constexpr int senders = 3;
    Pull pull(there_, options());
    std::map<std::uint64_t, std::uint64_t> count_by_tag;
    std::uint64_t count = 0;
    pull.on_message([&](const MessageView& message) {
      ++count;
      ++count_by_tag[message.tag()];
    });
    const std::string address = bind(pull);
    struct Sender {
      explicit Sender(const SocketOptions& options) : push(context, options) {}
      Context context{small_context()};
      Push push;
    };
    std::vector<std::unique_ptr<Sender>> all;
    Pump pump{&there_};
    for (int i = 0; i < senders; ++i) {
      all.push_back(std::make_unique<Sender>(options()));
      pump.add(all.back()->context);
      all.back()->push.connect(address);
    }
    EXPECT_SOON(pump, pull.peers_connected() == senders);
    const std::vector<std::byte> message = payload(0, size);
    const auto send_all = [&] {
      for (std::size_t i = 0; i < all.size(); ++i) {
        while (all[i]->push.send(message, i + 1) == Status::ok) {
        }
      }
    };
    EXPECT_SOON(pump, [&] {
      send_all();
      return count >= total;
    }());
    return count_by_tag;
  }
};

TEST_P(PullSocket, three_senders_at_full_speed_get_fair_shares) {
  for (const std::size_t size : {64U, 2000U, 100'000U}) {
    const std::uint64_t total = size < 100 ? 100'000 : size < 10'000 ? 30'000 : 1'000;
    const auto count_by_tag = shares(total, size);
    ASSERT_EQ(count_by_tag.size(), 3U) << "messages of " << size << " bytes";
    for (const auto& [tag, count] : count_by_tag) {
      EXPECT_GT(count, total / 3 / 2) << "sender " << tag << ", messages of " << size << " bytes";
    }
  }
}

TEST_P(PullSocket, a_trickle_is_not_lost_in_a_flood) {
  Pull pull(there_, options());
  std::uint64_t flood = 0;
  std::uint64_t trickle = 0;
  pull.on_message([&](const MessageView& message) { ++(message.tag() == 1 ? flood : trickle); });
  Push loud(here_, options());
  Push quiet(here_, options());
  const std::string address = bind(pull);
  loud.connect(address);
  quiet.connect(address);
  ASSERT_SOON(pump_, pull.peers_connected() == 2);
  const std::vector<std::byte> message = payload(0, 1000);
  for (std::uint64_t round = 1; round <= 50; ++round) {
    ASSERT_EQ(send(quiet, message, 2), Status::ok);
    const std::uint64_t flood_before = flood;
    ASSERT_SOON(pump_, [&] {
      while (loud.send(message, 1) == Status::ok) {
      }
      return trickle == round;
    }());
    // What may overtake it: a few turns' worth of the flood, not all there is.
    EXPECT_LT(flood - flood_before, 200'000U);
  }
  EXPECT_GT(flood, 0U);
}

TEST_P(PullSocket, tells_its_senders_apart) {
  Pull pull(there_, options());
  Inbox inbox(pull);
  Seen at_pull(pull);
  Push first(here_, options());
  Push second(here_, options());
  join(pull, first);
  ASSERT_SOON(pump_, at_pull.ups.size() == 1);
  second.connect(bind(pull));
  ASSERT_SOON(pump_, at_pull.ups.size() == 2 && second.peers_connected() == 1);
  EXPECT_NE(at_pull.ups[0].id, at_pull.ups[1].id);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(first.send("first", 1), Status::ok);
    ASSERT_EQ(second.send("second", 2), Status::ok);
  }
  ASSERT_SOON(pump_, inbox.size() == 20);
  for (const auto& message : inbox.messages) {
    EXPECT_EQ(message.sender, at_pull.ups[message.tag - 1].id);
  }
}

TEST_P(PullSocket, keeps_the_order_of_each_sender) {
  Pull pull(there_, options());
  std::map<std::uint64_t, std::uint64_t> next;
  std::uint64_t wrong = 0;
  std::uint64_t count = 0;
  pull.on_message([&](const MessageView& message) {
    ++count;
    if (number_of(message.bytes()) != next[message.tag()]++) ++wrong;
  });
  std::vector<std::unique_ptr<Push>> pushes;
  for (int i = 0; i < 4; ++i) {
    pushes.push_back(std::make_unique<Push>(here_, options()));
    pushes.back()->connect(bind(pull));
  }
  ASSERT_SOON(pump_, pull.peers_connected() == 4);
  Random random(7);
  for (std::uint64_t number = 0; number < 1000; ++number) {
    for (std::size_t i = 0; i < pushes.size(); ++i) {
      const std::size_t size = random.one_in(50) ? 150'000 : 8 + random.below(500);
      ASSERT_EQ(send(*pushes[i], payload(number, size), i + 1), Status::ok);
    }
  }
  ASSERT_SOON(pump_, count == 4000);
  EXPECT_EQ(wrong, 0U);
}

ON_EVERY_TRANSPORT_AND_MODE(PullSocket);

}  // namespace
}  // namespace netio::test
