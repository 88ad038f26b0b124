// How often a message that many subscribers want is copied: once for all that can read one copy.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "conformance/publishing.hpp"
#include "socket/peer.hpp"
#include "socket/socket_core.hpp"
#include "transport/fit.hpp"

namespace netio::test {
namespace {

// Looks below the surface: at what its links say of the memory that they read.
class OpenedPublish : public Publish {
 public:
  using Publish::Publish;
  [[nodiscard]] const detail::Fit& fit() const { return core_->peers().front()->link()->fit(); }
};

class PublishCopies : public Publishing {
 protected:
  static constexpr std::size_t readers_count = 3;

  void join_readers(OpenedPublish& publish, Mode mode) {
    const std::string address = bind(publish);
    for (std::size_t i = 0; i < readers_count; ++i) {
      SocketOptions options;
      options.mode = mode;
      readers_.push_back(
          std::make_unique<Subscribe>(there_, SubscribeOptions{.policy = Policy::block}, options));
      Subscribe& reader = *readers_.back();
      reader.on_message([this](const MessageView& message) {
        if (is_payload(message.bytes(), 1)) ++came_;
      });
      reader.on_subscribed([this](const PeerInfo&, const Subscribed&) { ++told_; });
      reader.connect(address);
      reader.subscribe({0, 9});
      ASSERT_SOON(pump_, told_ == i + 1);
    }
  }
  void expect_arrival() {
    ASSERT_SOON(pump_, came_ == readers_count);
    came_ = 0;
  }

  std::vector<std::unique_ptr<Subscribe>> readers_;
  std::size_t told_ = 0;
  std::size_t came_ = 0;
};

// A short one lies in a slot of each; a longer one once in memory that all of them read.
TEST_P(PublishCopies, a_message_is_written_once_for_all_where_it_is_too_long_for_their_slots) {
  OpenedPublish publish(here_);
  ASSERT_NO_FATAL_FAILURE(join_readers(publish, Mode::unbuffered));
  const detail::Fit& fit = publish.fit();
  const auto loans_free = [&fit] { return fit.loans != nullptr ? fit.loans->bytes_free() : 0; };
  const std::size_t all_free = loans_free();
  for (const std::uint64_t tag : {0U, 5U}) {
    for (std::size_t bytes = 40; bytes <= 96; ++bytes) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes, tag " + std::to_string(tag));
      const std::vector<std::byte> message = payload(1, bytes);
      ASSERT_EQ(publish.send(message, tag), Status::ok);
      const std::size_t body = (tag != 0 ? 16U : 8U) + detail::wire_padded(bytes);
      const bool is_short = body <= 80;
      const std::size_t written =
          fit.loans == nullptr || is_short
              ? 0
              : detail::RangePool::charged_bytes(detail::loan_headroom + bytes);
      EXPECT_EQ(all_free - loans_free(), written);
      ASSERT_NO_FATAL_FAILURE(expect_arrival());
      ASSERT_SOON(pump_, loans_free() == all_free);
    }
  }
  // All were only borrowed, and gathered where they are sent from.
  EXPECT_EQ(publish.counters().copies, 0U);
  EXPECT_EQ(publish.counters().bytes_copied, 0U);
}

TEST_P(PublishCopies, lent_memory_is_copied_at_most_once_for_all) {
  OpenedPublish publish(here_);
  ASSERT_NO_FATAL_FAILURE(join_readers(publish, Mode::unbuffered));
  constexpr std::size_t bytes = 10'000;
  const std::vector<std::byte> message = payload(1, bytes);
  ASSERT_EQ(publish.lend(message, 1, 5), Status::ok);
  ASSERT_NO_FATAL_FAILURE(expect_arrival());
  const std::uint64_t copies = publish.fit().loans != nullptr ? 1 : 0;
  if (publish.fit().received == nullptr) {
    EXPECT_EQ(publish.counters().copies, copies);
    EXPECT_EQ(publish.counters().bytes_copied, copies * bytes);
  }
}

TEST_P(PublishCopies, short_lent_memory_is_free_at_once_where_it_lies_in_slots) {
  OpenedPublish publish(here_);
  ASSERT_NO_FATAL_FAILURE(join_readers(publish, Mode::unbuffered));
  if (publish.fit().loans == nullptr) GTEST_SKIP() << "a wire without slots";
  std::size_t released = 0;
  publish.on_released([&released](std::uint64_t) { ++released; });
  const std::vector<std::byte> message = payload(1, 16);
  ASSERT_EQ(publish.lend(message, 1, 5), Status::ok);
  (void)here_.loop().run_once(std::chrono::nanoseconds(0));
  EXPECT_EQ(released, 1U);  // no subscriber has had a turn
  ASSERT_NO_FATAL_FAILURE(expect_arrival());
  EXPECT_EQ(publish.counters().copies, readers_count);
  EXPECT_EQ(publish.counters().bytes_copied, readers_count * message.size());
}

TEST_P(PublishCopies, short_messages_of_one_s_own_are_copied_into_the_page_of_all) {
  OpenedPublish publish(here_);
  ASSERT_NO_FATAL_FAILURE(join_readers(publish, Mode::buffered));
  constexpr std::size_t bytes = 1000;
  const std::vector<std::byte> message = payload(1, bytes);
  ASSERT_EQ(publish.send(Message::copy_of(message, 5)), Status::ok);
  publish.flush();
  ASSERT_NO_FATAL_FAILURE(expect_arrival());
  EXPECT_EQ(publish.counters().copies, 1U);
  EXPECT_EQ(publish.counters().bytes_copied, bytes);
}

ON_EVERY_TRANSPORT(PublishCopies);

}  // namespace
}  // namespace netio::test
