// docs/wire/vectors.json against the code, both ways. The file is made by a script that knows the
// format from its documentation alone.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "wire/control.hpp"
#include "wire/frame.hpp"
#include "wire/hello.hpp"
#include "wire/page.hpp"
#include "wire/request.hpp"
#include "wire/segments.hpp"

namespace netio::detail {
namespace {

using Json = nlohmann::json;
using Bytes = std::vector<std::byte>;

const Json& vectors() {
  static const Json all = [] {
    std::ifstream file(test::source_folder() + "/docs/wire/vectors.json");
    if (!file) throw std::runtime_error("docs/wire/vectors.json is missing");
    return Json::parse(file);
  }();
  return all;
}

Bytes from_hex(const Json& hex) {
  const auto text = hex.get<std::string>();
  Bytes bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(at, 2), nullptr, 16)));
  }
  return bytes;
}

void append(Bytes& to, const Bytes& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }
void append_word(Bytes& to, std::uint64_t word) {
  Bytes bytes(sizeof word);
  store_u64(bytes.data(), word);
  append(to, bytes);
}

RunId id_from(const Json& hex) {
  RunId id{};
  std::ranges::transform(from_hex(hex), id.begin(),
                         [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  return id;
}

WireRing ring_from(const Bytes& value) {
  WireRing ring;
  if (value.empty()) return ring;
  const auto read = [&value](std::size_t at, auto& member) {
    std::memcpy(&member, value.data() + at, sizeof member);
  };
  read(0, ring.address);
  read(8, ring.key);
  read(16, ring.notices_address);
  read(24, ring.notices_key);
  read(32, ring.slots);
  read(36, ring.slot_bytes);
  read(40, ring.notices);
  return ring;
}

Hello hello_from(const Json& fields) {
  Hello hello;
  hello.version_min = fields.at("version_min");
  hello.version_max = fields.at("version_max");
  hello.pattern = static_cast<WirePattern>(fields.at("pattern").get<std::uint8_t>());
  hello.mode = static_cast<WireMode>(fields.at("mode").get<std::uint8_t>());
  hello.refusal = static_cast<Refusal>(fields.at("refusal").get<std::uint16_t>());
  hello.page_bytes_max = fields.at("page_bytes_max");
  hello.message_bytes_max = fields.at("message_bytes_max");
  hello.run = id_from(fields.at("run"));
  hello.stream = id_from(fields.at("stream"));
  hello.peer_run = id_from(fields.at("peer_run"));
  hello.epoch = fields.at("epoch");
  hello.nonce = fields.at("nonce");
  hello.window = fields.at("window");
  hello.can = fields.at("can");
  hello.silence_ms = fields.at("silence_ms");
  hello.name = fields.at("name");
  hello.receives = fields.at("receives");
  hello.receive_bytes = fields.at("receive_bytes");
  hello.text = fields.at("text");
  hello.asks = fields.at("asks");
  hello.release = fields.at("release");
  if (const std::string token = fields.at("token"); !token.empty()) hello.token = id_from(token);
  hello.ring = ring_from(from_hex(fields.at("ring")));
  const Bytes offers = from_hex(fields.at("offers"));
  if (offers.empty()) return hello;
  const auto read = [&offers](std::size_t at, auto& value) {
    std::memcpy(&value, offers.data() + at, sizeof value);
  };
  read(0, hello.offers.place.boot);
  read(16, hello.offers.place.network);
  read(24, hello.offers.place.user);
  read(32, hello.offers.token);
  for (std::size_t at = 48; at < offers.size(); at += 16) {
    WireOffer offer;
    read(at, offer.wire);
    read(at + 2, offer.port);
    read(at + 8, offer.name);
    hello.offers.add(offer);
  }
  return hello;
}

PageHeader page_from(const Json& fields) {
  return {.bytes = fields.at("bytes"),
          .messages = fields.at("messages"),
          .flags = fields.at("flags"),
          .credits = fields.at("credits"),
          .fetched = fields.at("fetched"),
          .reserved = fields.at("reserved"),
          .sequence = fields.at("sequence"),
          .acknowledged = fields.at("acknowledged")};
}

Bytes encoded_frames(const Json& frames) {
  Bytes body;
  for (const Json& fields : frames) {
    const Bytes payload = from_hex(fields.at("payload"));
    const std::uint32_t flags =
        fields.at("flags").get<std::uint32_t>() |
        fields.at("kind").get<std::uint32_t>() << frame_flag::control_shift |
        fields.value("field", std::uint32_t{0}) << frame_flag::request_shift;
    append_word(body, frame_word(static_cast<std::uint32_t>(payload.size()), flags));
    if ((flags & frame_flag::numbered) != 0) append_word(body, fields.at("tag"));
    if (fields.at("total") != 0) append_word(body, fields.at("total"));
    append(body, payload);
    body.resize(wire_padded(body.size()));
  }
  return body;
}

void expect_frame(const Frame& frame, const Json& fields) {
  EXPECT_EQ(frame.flags & 0xffU, fields.at("flags").get<std::uint32_t>());
  EXPECT_EQ(static_cast<unsigned>(frame.control()), fields.at("kind").get<unsigned>());
  EXPECT_EQ(request_field(frame.label()), fields.value("field", 0));
  EXPECT_EQ(is_request(frame.label()), (fields.at("flags").get<unsigned>() & 16U) != 0);
  EXPECT_EQ(frame.tag, fields.at("tag").get<std::uint64_t>());
  if (frame.first_part()) {
    EXPECT_EQ(frame.total, fields.at("total").get<std::uint64_t>());
  }
  EXPECT_EQ(Bytes(frame.payload, frame.payload + frame.size), from_hex(fields.at("payload")));
}

// Null and no defect, or a defect that says `expected`.
void expect_defect(const char* defect, const Json& expected) {
  EXPECT_EQ(defect == nullptr, expected.is_null()) << (defect == nullptr ? "sound" : defect);
  if (defect != nullptr && !expected.is_null()) {
    EXPECT_NE(std::string(defect).find(expected), std::string::npos) << defect;
  }
}

// Walks `body` and expects exactly `frames`, then `defect` (null for none).
void expect_frames(const Bytes& body, const Json& frames, const Json& defect,
                   std::uint64_t offered = 0) {
  FrameWalker walker(body.data(), body.size(), offered);
  Frame frame;
  std::size_t index = 0;
  for (; walker.next(frame); ++index) {
    ASSERT_LT(index, frames.size());
    expect_frame(frame, frames.at(index));
  }
  EXPECT_EQ(index, frames.size());
  EXPECT_EQ(walker.at_end(), defect.is_null());
  expect_defect(walker.defect(), defect);
}

// Of the frames that say they have a table.
void expect_tables(const Bytes& body, std::uint64_t offered, bool right) {
  FrameWalker walker(body.data(), body.size(), offered);
  std::size_t tables = 0;
  for (Frame frame; walker.next(frame);) {
    if ((frame.flags & frame_flag::segmented) == 0) continue;
    ++tables;
    EXPECT_EQ(has_segments(frame.payload, frame.size, segments_of(frame.flags)), right);
  }
  EXPECT_NE(tables, 0U);
}

TEST(Vectors, are_of_this_version) { EXPECT_EQ(vectors().at("version"), wire_version); }

TEST(Vectors, every_hello_is_parsed_as_documented) {
  constexpr const char* states[] = {"need_more", "done", "foreign", "defective"};
  for (const Json& vector : vectors().at("hello")) {
    SCOPED_TRACE(vector.at("name").get<std::string>());
    const Bytes bytes = from_hex(vector.at("hex"));
    Hello hello;
    const HelloResult result = parse(bytes, hello);
    EXPECT_EQ(states[static_cast<std::size_t>(result.state)], vector.at("result")) << result.what;
    EXPECT_EQ(result.bytes, vector.value("bytes", std::size_t{0}));
    EXPECT_NE(result.what.find(vector.value("what", "")), std::string::npos) << result.what;
    if (vector.contains("fields")) {
      EXPECT_EQ(hello, hello_from(vector.at("fields")));
    }
  }
}

TEST(Vectors, every_canonical_hello_is_what_the_code_writes) {
  for (const Json& vector : vectors().at("hello")) {
    if (!vector.value("canonical", false)) continue;
    SCOPED_TRACE(vector.at("name").get<std::string>());
    Bytes bytes(hello_bytes_max);
    bytes.resize(encode(hello_from(vector.at("fields")), bytes));
    EXPECT_EQ(bytes, from_hex(vector.at("hex")));
  }
}

TEST(Vectors, every_page_header_is_read_written_and_judged_as_documented) {
  for (const Json& vector : vectors().at("page")) {
    SCOPED_TRACE(vector.at("name").get<std::string>());
    const Bytes bytes = from_hex(vector.at("hex"));
    const PageHeader header = page_from(vector.at("fields"));
    Bytes written(page_header_bytes);
    store(written.data(), header);
    EXPECT_EQ(written, bytes);
    EXPECT_EQ(load_page_header(bytes.data()), header);
    std::uint16_t flags = page_flag::known;
    if (vector.at("fabric").get<bool>()) flags |= page_flag::lent;
    expect_defect(defect(header, flags), vector.at("defect"));
  }
}

TEST(Vectors, every_body_is_walked_as_documented) {
  for (const Json& vector : vectors().at("frame")) {
    SCOPED_TRACE(vector.at("name").get<std::string>());
    const Bytes body = from_hex(vector.at("hex"));
    expect_frames(body, vector.at("frames"), vector.at("defect"),
                  vector.value("offered", std::uint64_t{0}));
    if (vector.contains("segmented")) {
      expect_tables(body, vector.at("offered"), vector.at("segmented"));
    }
    Bytes written = encoded_frames(vector.at("frames"));
    EXPECT_TRUE(std::equal(written.begin(), written.end(), body.begin()));
    if (vector.at("defect").is_null()) {
      EXPECT_EQ(written.size(), body.size());
    }
  }
}

// Parses, and if the payload is sound, compares its fields and writes it again.
void expect_control(const Bytes& payload, const Json& vector, SubscribeFrame frame) {
  expect_defect(parse(payload, frame), vector.at("defect"));
  if (!vector.at("defect").is_null()) return;
  const Json& fields = vector.at("fields");
  EXPECT_EQ(frame.revision, fields.at("revision").get<std::uint64_t>());
  EXPECT_EQ(frame.flags, fields.at("flags").get<unsigned>());
  EXPECT_EQ(static_cast<unsigned>(frame.policy), fields.at("policy").get<unsigned>());
  EXPECT_EQ(frame.behind_for_ms, fields.at("behind_for_ms").get<std::uint32_t>());
  EXPECT_EQ(frame.behind_bytes_max, fields.at("behind_bytes_max").get<std::uint64_t>());
  std::vector<TagRange> documented;
  for (const Json& range : fields.at("ranges")) documented.push_back({range.at(0), range.at(1)});
  ASSERT_EQ(frame.ranges.count(), documented.size());
  std::vector<TagRange> ranges(documented.size());
  expect_defect(frame.ranges.copy(ranges), vector.at("range_defect"));
  if (vector.at("range_defect").is_null()) {
    EXPECT_EQ(ranges, documented);
  }
  Bytes written(subscribe_bytes(documented.size()));
  EXPECT_EQ(encode(frame, written), subscribe_head_bytes);
  store_ranges(documented, written.data() + subscribe_head_bytes);
  EXPECT_EQ(written, payload);
}

void expect_control(const Bytes& payload, const Json& vector, SubscribedFrame frame) {
  expect_defect(parse(payload, frame), vector.at("defect"));
  if (!vector.at("defect").is_null()) return;
  const Json& fields = vector.at("fields");
  const SubscribedFrame documented{
      .revision = fields.at("revision"),
      .from = fields.at("from"),
      .refusal = static_cast<SetRefusal>(fields.at("refusal").get<std::uint16_t>()),
      .policy = static_cast<WirePolicy>(fields.at("policy").get<std::uint8_t>()),
      .behind_for_ms = fields.at("behind_for_ms"),
      .behind_bytes_max = fields.at("behind_bytes_max"),
      .ranges_max = fields.at("ranges_max")};
  EXPECT_EQ(frame, documented);
  Bytes written(subscribed_bytes);
  EXPECT_EQ(encode(documented, written), subscribed_bytes);
  EXPECT_EQ(written, payload);
}

void expect_control(const Bytes& payload, const Json& vector, GapFrame frame) {
  expect_defect(parse(payload, frame), vector.at("defect"));
  if (!vector.at("defect").is_null()) return;
  const Json& fields = vector.at("fields");
  const GapFrame documented{
      .dropped = fields.at("dropped"),
      .reason = static_cast<GapReason>(fields.at("reason").get<std::uint8_t>())};
  EXPECT_EQ(frame, documented);
  Bytes written(gap_bytes);
  EXPECT_EQ(encode(documented, written), gap_bytes);
  EXPECT_EQ(written, payload);
}

void expect_control(const Bytes& payload, const Json& vector, EndingFrame frame) {
  expect_defect(parse(payload, frame), vector.at("defect"));
  if (!vector.at("defect").is_null()) return;
  const EndingFrame documented{
      static_cast<EndingReason>(vector.at("fields").at("reason").get<std::uint8_t>())};
  EXPECT_EQ(frame, documented);
  Bytes written(ending_bytes);
  EXPECT_EQ(encode(documented, written), ending_bytes);
  EXPECT_EQ(written, payload);
}

void expect_control(const Bytes& payload, const Json& vector, ConfirmFrame frame) {
  expect_defect(parse(payload, frame), vector.at("defect"));
  if (!vector.at("defect").is_null()) return;
  const Json& fields = vector.at("fields");
  const ConfirmFrame documented{.nonce = fields.at("nonce"),
                                .next = fields.at("next"),
                                .next_expected = fields.at("next_expected"),
                                .oldest_kept = fields.at("oldest_kept"),
                                .missed = fields.at("missed")};
  EXPECT_EQ(frame, documented);
  Bytes written(confirm_bytes);
  EXPECT_EQ(encode(documented, written), confirm_bytes);
  EXPECT_EQ(written, payload);
}

TEST(Vectors, every_control_frame_is_read_written_and_judged_as_documented) {
  for (const Json& vector : vectors().at("control")) {
    SCOPED_TRACE(vector.at("name").get<std::string>());
    const Bytes payload = from_hex(vector.at("hex"));
    switch (static_cast<ControlKind>(vector.at("kind").get<std::uint8_t>())) {
      case ControlKind::subscribe:
        expect_control(payload, vector, SubscribeFrame());
        break;
      case ControlKind::subscribed:
        expect_control(payload, vector, SubscribedFrame());
        break;
      case ControlKind::gap:
        expect_control(payload, vector, GapFrame());
        break;
      case ControlKind::ending:
        expect_control(payload, vector, EndingFrame());
        break;
      case ControlKind::confirm:
        expect_control(payload, vector, ConfirmFrame());
        break;
      default:
        FAIL() << "has no payload, or none that is read yet";
    }
  }
}

// Puts the messages of a stream together again, by the rules that docs/wire.md gives a receiver.
struct Reassembly {
  std::vector<Bytes> messages;
  std::vector<std::uint64_t> tags;
  Bytes open;
  std::uint64_t open_total = 0;

  void add(const Frame& frame) {
    if ((frame.flags & frame_flag::control) != 0) return;
    if ((frame.flags & frame_flag::continued) == 0) {
      tags.push_back(frame.tag);
      open_total = frame.first_part() ? frame.total : frame.size;
    }
    append(open, Bytes(frame.payload, frame.payload + frame.size));
    if ((frame.flags & frame_flag::more) != 0) return;
    EXPECT_EQ(open.size(), open_total);
    messages.push_back(std::move(open));
    open.clear();
  }
};

TEST(Vectors, every_stream_gives_its_messages_and_keeps_the_rules_of_sequence) {
  for (const Json& vector : vectors().at("stream")) {
    SCOPED_TRACE(vector.at("name").get<std::string>());
    std::uint64_t expected = vector.at("pages").at(0).at("header").at("sequence");
    Reassembly reassembly;
    for (const Json& page : vector.at("pages")) {
      const Bytes bytes = from_hex(page.at("hex"));
      const PageHeader header = load_page_header(bytes.data());
      EXPECT_EQ(header, page_from(page.at("header")));
      EXPECT_EQ(defect(header), nullptr);
      EXPECT_EQ(header.sequence, expected);
      const Bytes body(bytes.begin() + page_header_bytes, bytes.end());
      EXPECT_EQ(header.bytes, body.size());
      EXPECT_EQ(encoded_frames(page.at("frames")), body);
      expect_frames(body, page.at("frames"), nullptr);
      const std::size_t before = reassembly.messages.size();
      FrameWalker walker(body.data(), body.size());
      for (Frame frame; walker.next(frame);) reassembly.add(frame);
      EXPECT_EQ(reassembly.messages.size() - before, header.messages);
      expected += header.messages;
    }
    EXPECT_TRUE(reassembly.open.empty());
    std::vector<Bytes> messages;
    for (const Json& hex : vector.at("messages")) messages.push_back(from_hex(hex));
    EXPECT_EQ(reassembly.messages, messages);
    EXPECT_EQ(reassembly.tags, vector.at("tags").get<std::vector<std::uint64_t>>());
  }
}

// Two hexadecimal digits each, up to the remark of a line.
Bytes example_bytes(const std::string& block) {
  std::string hex;
  std::istringstream lines(block);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find("    ")));
    for (std::string word; words >> word;) hex += word;
  }
  return from_hex(hex);
}

TEST(Vectors, hold_the_examples_of_the_page_byte_by_byte) {
  std::ifstream file(test::source_folder() + "/docs/wire.md");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text.erase(0, text.find("\n## Examples\n"));
  Bytes examples;
  for (std::size_t at = 0; (at = text.find("\n```\n", at)) != std::string::npos;) {
    const std::size_t begin = at + 5;
    at = text.find("\n```\n", begin);
    ASSERT_NE(at, std::string::npos);
    append(examples, example_bytes(text.substr(begin, at - begin)));
    at += 5;
  }
  Bytes documented;
  for (const Json& vector : vectors().at("stream")) {
    if (vector.at("name").get<std::string>().rfind("documented_", 0) != 0) continue;
    for (const Json& page : vector.at("pages")) append(documented, from_hex(page.at("hex")));
  }
  EXPECT_FALSE(examples.empty());
  EXPECT_EQ(examples, documented);
}

}  // namespace
}  // namespace netio::detail
