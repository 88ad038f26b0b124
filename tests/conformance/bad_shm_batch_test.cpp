// A peer that changes a page after it was checked, while its batch is walked.
#include "conformance/evil.hpp"
#include "support/raw_shm.hpp"
#include "wire/frame.hpp"

namespace netio::test {
namespace {

constexpr std::size_t message_bytes = 10'000;
constexpr std::size_t page_bytes = 2 * (8 + message_bytes);

void post_two_messages(RawShm& raw) {
  detail::PageHeader header;
  Bytes body(page_bytes);
  for (const std::size_t at : {std::size_t{0}, page_bytes / 2}) {
    detail::store_u64(body.data() + at, detail::frame_word(message_bytes, 0));
  }
  header.bytes = static_cast<std::uint32_t>(page_bytes);
  header.messages = 2;
  raw.post(page_of(header, body));
  raw.ring();
}

// The page is these words now, over and over.
void change_page(RawShm& raw, std::uint64_t word) {
  for (std::size_t at = 0; at < page_bytes; at += sizeof word) {
    detail::store_u64(raw.memory().data() + at, word);
  }
}

TEST(BadShmBatch, never_has_more_messages_than_it_said) {
  Context here(wary_context());
  Pump pump{&here};
  Pull pull(here, wary_options());
  Seen at_pull(pull);
  RawShm* changes = nullptr;
  std::size_t said = 0;
  std::size_t walked = 0;
  KeptBatch kept;
  pull.on_batch([&](const Batch& batch) {
    said = batch.size();
    kept = batch.keep();
    // All of the page is messages of no bytes now.
    std::ranges::fill(changes->memory(), std::byte{0});
    for (const MessageView& message : batch) walked += message.size() <= 10'000 ? 1U : 0U;
  });
  RawShm raw(pull.bind("shm://*"));
  changes = &raw;
  ASSERT_TRUE(raw.greet(hello_of(sound_hello(detail::WirePattern::push, 66))));
  ASSERT_SOON(pump, raw.answered() && at_pull.ups.size() == 1);
  post_two_messages(raw);
  ASSERT_SOON(pump, said != 0);
  EXPECT_EQ(said, 2U);
  EXPECT_LE(walked, said);
  // Each walk looks at what is there then: messages of no bytes, or one that is longer than its
  // page.
  EXPECT_EQ(kept.size(), 2U);
  for (const MessageView& message : kept) EXPECT_EQ(message.size(), 0U);
  EXPECT_EQ(std::ranges::distance(kept.begin(), kept.end()), 2);
  for (const std::uint64_t word :
       {detail::frame_word(UINT32_MAX, 0), detail::frame_word(1'000'000, 1),
        detail::frame_word(8, detail::frame_flag::more), ~std::uint64_t{0}}) {
    change_page(*changes, word);
    EXPECT_EQ(kept.begin(), kept.end()) << word;
  }
}

TEST(BadShmBatch, that_changes_later_and_is_sent_on_cuts_nobody_else) {
  const std::vector<std::uint64_t> words = {
      detail::frame_word(UINT32_MAX, 0),
      detail::frame_word(1'000'000, 1),
      detail::frame_word(8, detail::frame_flag::more),
      detail::frame_word(8, detail::frame_flag::control),
      detail::frame_word(8, detail::frame_flag::request),
      detail::frame_word(24, detail::frame_flag::segmented | (2U << 8U)),
      ~std::uint64_t{0},
      0};
  SentOn way;
  std::vector<KeptBatch> kept;
  way.pull.on_batch([&](const Batch& batch) {
    while (kept.size() < words.size() + 1) kept.push_back(batch.keep());
  });
  RawShm raw(way.pull.bind("shm://*"));
  ASSERT_TRUE(raw.greet(hello_of(sound_hello(detail::WirePattern::push, 66))));
  ASSERT_SOON(way.pump, raw.answered() && way.at_pull.ups.size() == 1);
  post_two_messages(raw);
  ASSERT_SOON(way.pump, kept.size() == words.size() + 1);
  // One waits behind others that are not taken, while its sender changes it.
  way.hold();
  ASSERT_EQ(way.onwards.send(std::move(kept.back())), Status::ok);
  way.onwards.flush();
  std::ranges::fill(raw.memory(), std::byte{0xff});
  way.expect_taken();
  for (std::size_t i = 0; i < words.size(); ++i) {
    change_page(raw, words[i]);
    EXPECT_EQ(way.onwards.send(std::move(kept[i])), Status::ok);
    EXPECT_FALSE(kept[i]);
  }
  way.expect_taken();
}

// Its page vanishes in the moment at which it has to wait: what another one sent, which waits too,
// is acknowledged as ever.
TEST(BadShmBatch, that_vanishes_leaves_others_their_acknowledgements) {
  Context here(wary_context());
  Context there(wary_context());
  Pump pump{&here, &there};
  SocketOptions released = wary_options();
  released.acknowledge = Acknowledge::released;
  SocketOptions short_ones = wary_options();
  short_ones.message_bytes_max = message_bytes / 2;
  short_ones.distribute = Distribute::by_tag;
  Pull input(here, released);
  Push output(here, short_ones);
  Pull sink(there, wary_options());
  Push honest(there, wary_options());
  int came = 0;
  sink.on_message([&](const MessageView&) { ++came; });
  Forward forwards = forward(input, output);
  RawShm* changes = nullptr;
  forwards.on_dropped([&](const MessageView&) { change_page(*changes, ~std::uint64_t{0}); });
  honest.connect(input.bind("tcp://127.0.0.1:0"));
  RawShm raw(input.bind("shm://*"));
  changes = &raw;
  ASSERT_TRUE(raw.greet(hello_of(sound_hello(detail::WirePattern::push, 66))));
  ASSERT_SOON(pump, raw.answered() && input.peers_connected() == 2);
  ASSERT_EQ(honest.send("honest"), Status::ok);
  honest.flush();
  ASSERT_SOON(pump, forwards.books().held == 1);
  post_two_messages(raw);
  ASSERT_SOON(pump, forwards.books().dropped != 0);
  output.connect(sink.bind("tcp://127.0.0.1:0"));
  ASSERT_SOON(pump, came == 1 && honest.books().acknowledged == 1);
  forwards = Forward();
}

}  // namespace
}  // namespace netio::test
