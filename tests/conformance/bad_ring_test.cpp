// The ring of a fabric's address: what peers can get wrong with the memory that they may write to.
#ifdef NETIO_WITH_FABRIC

#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "conformance/bad_fabric.hpp"
#include "support/region_leaks.hpp"
#include "wire/ring.hpp"

namespace netio::test {
namespace {

using detail::Hello;
using detail::PageHeader;
using detail::RingNotice;
using detail::RingWord;
using detail::WirePattern;
using detail::WireRing;

constexpr std::uint32_t slots = 4;

// The attacker connects to a pull that has a ring; the good sender has none.
class BadRing : private NoRegionLeaks, public EvilSender {
 protected:
  [[nodiscard]] std::string place() const override {
    return "ofi+tcp://127.0.0.1:0?engine=ring&slots=4&slot_bytes=4KiB";
  }
  WireRing ring_of(RawFabric& raw) {
    WireRing ring;
    const auto pages = raw.open_to_writes(memory_);
    ring.address = ring.notices_address = pages.address;
    ring.key = ring.notices_key = pages.key;
    ring.slots = slots;
    ring.slot_bytes = 4096;
    ring.notices = 16;
    return ring;
  }
  RawFabricPtr connected() {
    RawFabricPtr raw = std::make_unique<RawFabric>(address());
    EXPECT_SOON(pump_, raw->connected());
    return raw;
  }
  // Until it is up, its own *confirm* in slot 0; theirs_ is the ring that it may write to.
  void greet(RawFabric& raw, std::uint8_t session, Pump& pump, const Seen& seen) {
    const std::size_t ups = seen.ups.size();
    Hello hello = fabric_hello(WirePattern::push, session);
    hello.ring = ring_of(raw);
    raw.send(hello_of(hello));
    EXPECT_SOON(pump, raw.received().size() == 1);
    const Hello answer = hello_in(raw.received().front());
    theirs_ = answer.ring;
    EXPECT_EQ(theirs_.slots, slots);
    write_page(raw, 0, confirm_page(answer.nonce));
    EXPECT_SOON(pump, (raw.turn(), seen.ups.size() == ups + 1));
  }
  RawFabricPtr met(std::uint8_t session) {
    RawFabricPtr raw = connected();
    greet(*raw, session, pump_, at_pull_);
    return raw;
  }
  RawFabric::Place slot(std::uint32_t index) const {
    return {theirs_.address + std::uint64_t{index} * theirs_.slot_bytes, theirs_.key};
  }
  RawFabric::Place notice(std::uint32_t index) const {
    return {theirs_.notices_address + index * sizeof(RingNotice), theirs_.notices_key};
  }
  void write_page(RawFabric& raw, std::uint32_t index, const Bytes& page) {
    raw.write(slot(index), page, RingWord::page(index, page.size()).word());
  }
  // What a page without a body says, with the slots that it gives back.
  void write_notice(RawFabric& raw, std::initializer_list<std::uint16_t> given_back,
                    std::uint32_t told) {
    RingNotice said;
    store(said.page.data(), PageHeader());
    std::copy(given_back.begin(), given_back.end(), said.slots.begin());
    raw.write(notice(0), std::as_bytes(std::span(&said, 1)), RingWord::notice(0, told).word());
  }
  static Bytes message_page(std::uint64_t sequence) {
    return page(all({frame_word(8), word(sequence)}), 1, sequence);
  }
  struct Case {
    const char* name;
    std::function<void(RawFabric&)> act;
    const char* told;  // a part of what the pull is told
  };
  void expect_refused(const std::vector<Case>& cases) {
    std::uint8_t session = 100;
    for (const Case& one : cases) {
      SCOPED_TRACE(one.name);
      const RawFabricPtr raw = met(++session);
      const std::size_t downs = at_pull_.downs.size();
      one.act(*raw);
      EXPECT_SOON(pump_, (raw->turn(), at_pull_.downs.size() > downs));
      const Down down = next_down().down;
      EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
      EXPECT_NE(down.detail.find(one.told), std::string::npos) << down.detail;
      EXPECT_SOON(pump_, raw->ended());
      good_messages(3);
    }
  }

  Bytes memory_ = Bytes(std::size_t{slots} * 4096);
  WireRing theirs_;
};

TEST_F(BadRing, pages_that_were_written_where_they_may_not_be_are_refused) {
  expect_refused({
      {"a slot that there is not",
       [this](RawFabric& raw) {
         const Bytes bytes = message_page(0);
         raw.write(slot(1), bytes, RingWord::page(slots, bytes.size()).word());
       },
       "a slot that it was not given"},
      {"a slot twice",
       [this](RawFabric& raw) {
         pull_.pause();  // what comes first is not given back
         write_page(raw, 1, message_page(0));
         write_page(raw, 1, message_page(1));
         pump_.turns(3);
         pull_.resume();
       },
       "a slot that it was not given"},
      {"a page larger than its slot",
       [this](RawFabric& raw) {
         const Bytes bytes = message_page(0);
         raw.write(slot(1), bytes, RingWord::page(1, theirs_.slot_bytes + 8).word());
       },
       "larger than its slot"},
      {"a page that says that it is larger",
       [this](RawFabric& raw) {
         PageHeader header;
         header.bytes = theirs_.slot_bytes;
         raw.write(slot(1), page_of(header, {}), RingWord::page(1, 0).word());
       },
       "larger than its slot"},
      {"a word for a page that does not end where it says",
       [this](RawFabric& raw) {
         const Bytes bytes = message_page(0);
         raw.write(slot(1), bytes, RingWord::page(1, bytes.size() - 8).word());
       },
       "a page of another size"},
      {"a page that was changed when it had been told of",
       [this](RawFabric& raw) {
         pull_.pause();
         const Bytes two = all({message_page(0), message_page(1)});
         const std::uint64_t arrived = pull_.counters().bytes_arrived;
         write_page(raw, 1, two);
         EXPECT_SOON(pump_, (raw.turn(), pull_.counters().bytes_arrived == arrived + two.size()));
         // A sound page that leaves 8 bytes of the two. The word is that of a notice, which says
         // nothing.
         const std::uint32_t size = static_cast<std::uint32_t>(two.size()) - 48;
         const Bytes longer = page(all({frame_word(size), Bytes(size)}), 1);
         raw.write(slot(1), longer, RingWord::notice(0, 0).word());
         EXPECT_SOON(pump_, (raw.turn(), pull_.counters().bytes_arrived > arrived + two.size()));
         pull_.resume();
       },
       "changed a page that it had written"},
      {"a message that was sent", [](RawFabric& raw) { raw.send(message_page(0)); },
       "sent a message"},
  });
}

TEST_F(BadRing, notices_that_make_no_sense_are_refused) {
  expect_refused({
      {"a place that there is not",
       [this](RawFabric& raw) {
         raw.write(notice(0), Bytes(sizeof(RingNotice)),
                   RingWord::notice(theirs_.notices, 0).word());
       },
       "no place for one"},
      {"a slot that was not written to",
       [this](RawFabric& raw) {
         // The answer to its *confirm* may have taken one of them: two of the same are one too
         // many.
         write_notice(raw, {3, 3}, 2);
       },
       "a slot that was not written to"},
      {"a slot that there is not",
       [this](RawFabric& raw) { write_notice(raw, {static_cast<std::uint16_t>(slots)}, 1); },
       "a slot that was not written to"},
      {"more slots than there is room for",
       [this](RawFabric& raw) { write_notice(raw, {}, RingNotice::slots_max + 1); },
       "more slots than a notice holds"},
      {"two good-byes",
       [this](RawFabric& raw) {
         pull_.pause();
         RingNotice said;
         constexpr auto kind = static_cast<std::uint32_t>(detail::ControlKind::bye);
         constexpr std::uint32_t flags =
             detail::frame_flag::control | kind << detail::frame_flag::control_shift;
         const Bytes bye = page(frame_word(0, flags), 0, 0, detail::page_flag::control);
         std::copy(bye.begin(), bye.end(), said.page.begin());
         for (int i = 0; i < 2; ++i) {
           raw.write(notice(0), std::as_bytes(std::span(&said, 1)), RingWord::notice(0, 0).word());
         }
         const std::size_t downs = at_pull_.downs.size();
         EXPECT_SOON(pump_, (raw.turn(), at_pull_.downs.size() > downs));
         pull_.resume();
       },
       "good-bye twice"},
      {"a body",
       [this](RawFabric& raw) {
         PageHeader header;
         header.bytes = 16;
         RingNotice said;
         store(said.page.data(), header);
         raw.write(notice(0), std::as_bytes(std::span(&said, 1)), RingWord::notice(0, 0).word());
       },
       "a page of another size"},
  });
}

TEST_F(BadRing, more_than_was_granted_is_refused) {
  expect_refused({{"notices without end",
                   [this](RawFabric& raw) {
                     for (std::uint32_t i = 0; i < 4 * theirs_.notices; ++i) {
                       write_notice(raw, {}, 0);
                     }
                   },
                   "more pages than it was granted"}});
}

TEST_F(BadRing, a_ring_that_cannot_be_is_a_damaged_hello) {
  for (const auto& spoil : std::vector<std::function<void(WireRing&)>>{
           [](WireRing& ring) { ring.slots = WireRing::slots_max + 1; },
           [](WireRing& ring) { ring.slot_bytes = 8; },
           [](WireRing& ring) { ring.slot_bytes = 4097; }, [](WireRing& ring) { ring.notices = 0; },
           [](WireRing& ring) { ring.notices = ~0U; }}) {
    const RawFabricPtr raw = connected();
    Hello hello = fabric_hello(WirePattern::push, fresh_stream());
    hello.ring = ring_of(*raw);
    spoil(hello.ring);
    raw->send(hello_of(hello));
    const std::size_t downs = at_pull_.downs.size();
    ASSERT_SOON(pump_, (raw->turn(), at_pull_.downs.size() > downs));
    EXPECT_EQ(next_down().down.reason, DownReason::protocol_error);
    good_messages(3);
  }
}

// It writes where no ring is known.
TEST_F(BadRing, a_word_of_who_said_that_it_has_no_ring_is_refused) {
  const RawFabricPtr raw = connected();
  const std::size_t ups = at_pull_.ups.size();
  raw->send(hello_of(fabric_hello(WirePattern::push, fresh_stream())));
  ASSERT_SOON(pump_, raw->received().size() == 1);
  const Hello answer = hello_in(raw->received().front());
  raw->send(confirm_page(answer.nonce));
  ASSERT_SOON(pump_, (raw->turn(), at_pull_.ups.size() == ups + 1));
  raw->write({answer.ring.address, answer.ring.key}, message_page(0), 0);
  const std::size_t downs = at_pull_.downs.size();
  ASSERT_SOON(pump_, (raw->turn(), at_pull_.downs.size() > downs));
  (void)next_down();
  good_messages(3);
}

// The header is looked at when the page arrives, and again when its turn has come.
TEST_F(BadRing, a_header_that_changes_behind_the_first_look_is_refused) {
  std::vector<std::pair<const char*, Bytes>> changed;
  const Bytes one_frame = all({frame_word(8), word(0)});
  changed.emplace_back("flags that no wire has", page(one_frame, 1, 0, 0xfff0));
  changed.emplace_back("a message that is lent", page(one_frame, 1, 0, 2));
  std::vector<Case> cases;
  for (const auto& change : changed) {
    const Bytes& other = change.second;
    cases.push_back(
        {change.first,
         [this, &other](RawFabric& raw) {
           pull_.pause();
           const Bytes one = message_page(0);
           const std::uint64_t arrived = pull_.counters().bytes_arrived;
           write_page(raw, 1, one);
           EXPECT_SOON(pump_, (raw.turn(), pull_.counters().bytes_arrived >= arrived + one.size()));
           raw.write(slot(1), other, RingWord::notice(0, 0).word());
           EXPECT_SOON(pump_, (raw.turn(), pull_.counters().bytes_arrived > arrived + one.size()));
           pull_.resume();
         },
         "changed a page that it had written"});
  }
  expect_refused(cases);
}

// What the peer may change is copied before it is sent on: the next receiver must not pay for it.
TEST_F(BadRing, a_kept_page_that_changes_and_is_sent_on_cuts_nobody_else) {
  SentOn way;
  KeptBatch kept;
  way.pull.on_batch([&](const Batch& batch) { kept = batch.keep(); });
  RawFabric raw(way.pull.bind("ofi+tcp://127.0.0.1:0?engine=ring&slots=4&slot_bytes=32KiB"));
  ASSERT_SOON(way.pump, raw.connected());
  greet(raw, 66, way.pump, way.at_pull);
  const Bytes ten(10'000);
  const Bytes two = page(all({frame_word(10'000), ten, frame_word(10'000), ten}), 2);
  write_page(raw, 1, two);
  ASSERT_SOON(way.pump, (raw.turn(), kept.size() == 2));
  way.hold();
  ASSERT_EQ(way.onwards.send(std::move(kept)), Status::ok);
  way.onwards.flush();
  const Bytes ff(two.size(), std::byte{0xff});
  const std::uint64_t arrived = way.pull.counters().bytes_arrived;
  raw.write(slot(1), ff, RingWord::notice(0, 0).word());
  ASSERT_SOON(way.pump, (raw.turn(), way.pull.counters().bytes_arrived > arrived));
  way.expect_taken();
}

}  // namespace
}  // namespace netio::test

#endif
