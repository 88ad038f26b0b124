// Which messages are copied on their way to a wire: the table of ARCHITECTURE.md, "Memory", held
// against the counters of real sockets, and against what their links say of themselves.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "conformance/conformance.hpp"
#include "memory/copy_thresholds.hpp"
#include "socket/peer.hpp"
#include "socket/socket_core.hpp"
#include "support/paths.hpp"
#include "transport/fit.hpp"

namespace netio::test {
namespace {

using detail::Fit;

// A line of the table: one message, and what becomes of it on one wire.
struct Line {
  std::string memory;
  std::string mode;
  std::size_t bytes = 0;
  std::string said;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line);
  std::string cell;
  std::getline(rest, cell, '|');  // in front of the first
  while (std::getline(rest, cell, '|')) {
    cells.push_back(std::regex_replace(cell, std::regex("^ +| +$"), ""));
  }
  return cells;
}

// The lines of the table, with what its column for `wire` says. Empty if there is no such column.
std::vector<Line> table(const std::string& wire) {
  std::ifstream file(source_folder() + "/ARCHITECTURE.md");
  std::string line;
  while (std::getline(file, line) && line != "<!-- copies -->") {
  }
  std::getline(file, line);
  const std::vector<std::string> heads = cells_of(line);
  const auto column = std::ranges::find_if(heads, [&wire](const std::string& head) {
    return (", " + head + ",").find(", " + wire + ",") != std::string::npos;
  });
  std::vector<Line> lines;
  if (column == heads.end()) return lines;
  std::getline(file, line);  // below the heads
  while (std::getline(file, line) && line != "<!-- end of copies -->") {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != heads.size()) ADD_FAILURE() << "a line of another length: " << line;
    lines.push_back({cells[0], cells[1], std::stoul(cells[2]),
                     cells[static_cast<std::size_t>(column - heads.begin())]});
  }
  return lines;
}

// Looks below the surface: at what its only link says.
template <typename Pattern>
class Opened : public Pattern {
 public:
  using Pattern::Pattern;
  [[nodiscard]] const Fit& fit() const { return this->core_->peers().front()->link()->fit(); }
};
using OpenedPush = Opened<Push>;

// Memory of the user's, as it is lent.
class Users final : public detail::BlockOwner {
 public:
  explicit Users(std::span<const std::byte> bytes)
      : block(*this, const_cast<std::byte*>(bytes.data()), bytes.size()) {}
  void give_back(detail::Block&) noexcept override {}
  detail::Block block;
};

std::string name_of(const Fit& fit, const detail::Store* store) {
  if (store == nullptr) return fit.loans != nullptr ? "a slot" : "an injected message";
  if (store == fit.pages) return "a page";
  return store == fit.loans ? "a loan" : "a large buffer";
}

// What a link's answer is called in the table.
std::string text_of(const Fit& fit, const Fit::Answer& answer, const std::string& verb) {
  if (answer.way == Fit::Way::in_place) return "in place";
  if (answer.way == Fit::Way::in_parts) return "in place, in parts";
  return verb + " into " + name_of(fit, answer.into);
}

class Copies : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    std::string scheme = GetParam().address.substr(0, GetParam().address.find(':'));
    if (scheme == "netio") scheme = "shm";  // which it goes over
    lines_ = table(scheme);
    ASSERT_FALSE(lines_.empty()) << "no column for " << scheme;
  }

  // A message of `bytes` that came from there_ to a socket of `to`, kept.
  Message received(Context& to, const std::string& address, std::size_t bytes) {
    SocketOptions unbuffered;
    unbuffered.mode = Mode::unbuffered;
    Pull pull(to, unbuffered);
    Push push(there_, unbuffered);
    Message kept;
    pull.on_message([&kept](const MessageView& message) { kept = message.keep(); });
    push.connect(pull.bind(address));
    EXPECT_SOON(pump_, push.peers_connected() == 1);
    EXPECT_EQ(send(push, payload(1, bytes)), Status::ok);
    EXPECT_SOON(pump_, static_cast<bool>(kept));
    return kept;
  }

  Message message_for(Push& push, const Line& line) {
    Status status = Status::ok;
    if (line.memory == "of `allocate()`") {
      Message message = push.allocate(line.bytes, status);
      EXPECT_EQ(status, Status::ok);
      std::ranges::copy(payload(1, line.bytes), message.writable_bytes().begin());
      return message;
    }
    if (line.memory == "received on this wire") {
      return received(here_, GetParam().address, line.bytes);
    }
    if (line.memory == "a large buffer (received over tcp)") {
      return received(here_, "tcp://127.0.0.1:0", line.bytes);
    }
    if (line.memory == "received in another context") {
      if (!other_) pump_.add(*(other_ = std::make_unique<Context>(small_context(GetParam()))));
      return received(*other_, GetParam().address, line.bytes);
    }
    ADD_FAILURE() << "a memory that this test does not know: " << line.memory;
    return {};
  }

  // Sends the message of the line, and says, in the words of the table, what the link answers.
  std::string sent(OpenedPush& push, const Line& line, Mode mode) {
    const Fit& fit = push.fit();
    const std::size_t page = GetParam().page_bytes;
    const bool buffered = mode == Mode::buffered;
    if (line.memory == "bytes for `send()`") {
      EXPECT_EQ(push.send(bytes_), Status::ok);
      if (buffered && line.bytes < page) return "gathered into the open page";
      const Fit::Answer large{Fit::Way::copied, &fit.large_store()};
      return text_of(fit, buffered ? large : fit.of_borrowed(line.bytes, 0), "gathered") +
             (buffered && fit.loans == nullptr ? ", in parts" : "");
    }
    if (line.memory == "an open page") {
      EXPECT_EQ(push.send(bytes_), Status::ok);
      const bool is_short = line.bytes + detail::frame_word_bytes <= fit.short_body_bytes_max;
      return is_short ? "copied into " + name_of(fit, nullptr) : "in place";
    }
    if (line.memory == "of `lend()`") {
      EXPECT_EQ(push.lend(bytes_, 1, 0), Status::ok);
      Users users(bytes_);
      return text_of(fit, fit.of(users.block, bytes_, 0), "copied");
    }
    const bool small = line.bytes <= page / detail::gathered_page_part;
    if (line.memory == "of `lend_segments()`, behind a head") {
      const std::array<std::byte, 40> head{};
      EXPECT_EQ(push.lend_segments({std::span(head), bytes_}, 1, 0), Status::ok);
      Users users(bytes_);
      const std::size_t front = detail::segment_table_bytes(2) + head.size();
      const Fit::Answer answer = fit.of(users.block, bytes_, 0, front);
      if (small && buffered) return "copied into the open page";
      if (!small && fit.loans == nullptr && answer.way == Fit::Way::in_place) return "in place";
      return std::string("copied into ") + (fit.loans != nullptr ? "a loan" : "a page");
    }
    Message message = message_for(push, line);
    const std::string answer =
        buffered && small ? "copied into the open page"
                          : text_of(fit, fit.of(*message.block(), message.bytes(), 0), "copied");
    before_ = push.counters();
    EXPECT_EQ(push.send(std::move(message)), Status::ok);
    return answer;
  }

  void expect_as_said(const Line& line, Mode mode) {
    SCOPED_TRACE(line.memory + ", " + std::to_string(line.bytes) + " bytes, " +
                 (mode == Mode::buffered ? "buffered" : "unbuffered") + ": " + line.said);
    SocketOptions options;
    options.mode = mode;
    Pull pull(there_, options);
    OpenedPush push(here_, options);
    std::size_t came = 0;
    pull.on_message([&](const MessageView& message) {
      const Segments segments = message.segments();
      const std::span<const std::byte> body = segments[segments.size() - 1];
      if (is_payload(body, 1) && body.size() == line.bytes) ++came;
    });
    join(pull, push);
    if (HasFatalFailure()) return;
    bytes_ = payload(1, line.bytes);
    before_ = push.counters();
    const std::string answer = sent(push, line, mode);
    push.flush();
    ASSERT_SOON(pump_, came == 1);
    const Counters after = push.counters();
    const std::uint64_t copies = after.copies - before_.copies;
    const std::uint64_t copied = after.bytes_copied - before_.bytes_copied;
    EXPECT_EQ(answer, line.said);
    EXPECT_EQ(copies, line.said.starts_with("copied") ? 1U : 0U);
    EXPECT_GE(copied, copies * line.bytes);
    EXPECT_LE(copied, copies * (line.bytes + detail::frame_prefix_bytes_max));
    const std::uint64_t pages = after.pages_sent - before_.pages_sent;
    EXPECT_EQ(pages > 1, line.said.ends_with("in parts")) << pages << " pages";
    settle(push);
  }

  std::vector<Line> lines_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<Context> other_;
  Counters before_;
};

TEST_P(Copies, are_made_where_the_table_says) {
  for (const Line& line : lines_) {
    ASSERT_TRUE(line.mode == "buffered" || line.mode == "unbuffered" || line.mode == "both");
    if (line.mode != "unbuffered") expect_as_said(line, Mode::buffered);
    if (line.mode != "buffered") expect_as_said(line, Mode::unbuffered);
  }
}

TEST_P(Copies, of_the_parts_of_a_message_into_one_buffer_are_its_receivers) {
  Pull pull(there_);
  Push push(here_);
  Inbox inbox(pull);
  join(pull, push);
  constexpr std::size_t bytes = 300'000;
  ASSERT_EQ(push.send(payload(1, bytes)), Status::ok);
  push.flush();
  ASSERT_SOON(pump_, inbox.size() == 1);
  EXPECT_TRUE(is_payload(inbox[0].bytes, 1));
  EXPECT_EQ(push.counters().copies, 0U);
  if (GetParam().read_in_place) {
    EXPECT_EQ(pull.counters().bytes_copied, 0U);
  } else {
    EXPECT_GE(pull.counters().copies, bytes / GetParam().page_bytes);
    EXPECT_GE(pull.counters().bytes_copied, bytes);
  }
}

// Short messages are what a unit says to a builder between its fragments. On tcp a receiver that
// reads ahead has the beginning of the next large message in a block, and must copy it.
TEST_P(Copies, of_large_messages_with_short_ones_between_are_not_its_receivers) {
  Pull pull(there_);
  Push push(here_);
  std::uint64_t large_ones = 0;
  std::uint64_t short_ones = 0;
  std::uint64_t wrong = 0;
  pull.on_message([&](const MessageView& message) {
    ++(message.tag() == 0 ? short_ones : large_ones);
    if (message.tag() != 0 && !is_payload(message.bytes(), message.tag())) ++wrong;
  });
  join(pull, push);
  constexpr std::size_t bytes = 300'000;
  constexpr std::uint64_t count = 40;
  for (std::uint64_t number = 1; number <= count; ++number) {
    Status status = Status::ok;
    Message message;
    while (!(message = push.allocate(bytes, status, number))) pump_.turn();
    std::ranges::copy(payload(number, bytes), message.writable_bytes().begin());
    while ((status = push.send(std::move(message))) == Status::again) pump_.turn();
    ASSERT_EQ(status, Status::ok);
    for (std::uint64_t each = 0; each < number % 4; ++each) {
      ASSERT_EQ(send(push, payload(0, 40)), Status::ok);
      push.flush();
    }
  }
  ASSERT_SOON(pump_, large_ones == count && short_ones == count / 4 * 6);
  EXPECT_EQ(wrong, 0U);
  EXPECT_LE(pull.counters().bytes_copied, count / 4 * 6 * 64);
}

ON_EVERY_TRANSPORT(Copies);

}  // namespace
}  // namespace netio::test
