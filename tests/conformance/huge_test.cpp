// A message of more than 4 GiB, past every 32-bit size, once the limits are raised for it.
#include <sys/mman.h>
#include <unistd.h>

#include "conformance/conformance.hpp"
#include "support/sanitized.hpp"
#include "support/time_limit.hpp"

namespace netio::test {
namespace {

constexpr std::size_t gibi = std::size_t{1} << 30U;
constexpr std::size_t huge_bytes = 4 * gibi + (1U << 20U) + 5;

std::string why_not() {
  // Sanitizers keep a shadow of all memory touched, several times its size.
  if (sanitized) return "a sanitizer's shadow of 4 GiB does not fit an ordinary machine";
#ifndef NDEBUG
  return "once is enough: the release build does it";
#endif
  const auto pages = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES));
  if (pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) < 7 * gibi) {
    return "needs 7 GiB of free memory";
  }
  return {};
}

// Zeros that cost address space only, but for the few pages that are marked.
class SparseMemory {
 public:
  SparseMemory()
      : at_(mmap(nullptr, huge_bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (!refused()) madvise(at_, huge_bytes, MADV_HUGEPAGE);  // a wish: fewer faults
  }
  ~SparseMemory() { munmap(at_, huge_bytes); }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  [[nodiscard]] bool refused() const { return at_ == MAP_FAILED; }
  [[nodiscard]] std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(at_), huge_bytes};
  }

 private:
  void* at_;
};

// Around each border between parts, and at both ends.
constexpr std::size_t marked[] = {
    0, 2 * gibi - 100, 2 * gibi + 100, 4 * gibi - 1, 4 * gibi + 7, huge_bytes - 1};

ContextOptions huge_context() {
  ContextOptions options = small_context();
  options.large_bytes_max = 16 * gibi;
  return options;
}

class Huge : public Conformance {
 protected:
  Context sender_{huge_context()};
  Context receiver_{huge_context()};
  Pump turns_{&sender_, &receiver_};
};

TEST_P(Huge, a_message_of_more_than_4_gib_arrives_whole) {
  if (GetParam().one_mode) GTEST_SKIP() << "the rings of shared memory, as the row before";
  if (const std::string why = why_not(); !why.empty()) GTEST_SKIP() << why;
  SparseMemory memory;
  ASSERT_FALSE(memory.refused());
  std::uint8_t mark = 1;
  for (const std::size_t at : marked) memory.bytes()[at] = std::byte{mark++};

  SocketOptions options;
  options.mode = Mode::unbuffered;
  options.message_bytes_max = 5 * gibi;
  Pull pull(receiver_, options);
  Push push(sender_, options);
  std::size_t received = 0;
  std::uint64_t tag = 0;
  std::vector<std::uint8_t> marks;
  pull.on_message([&](const MessageView& message) {
    received = message.size();
    tag = message.tag();
    if (received != huge_bytes) return;
    for (const std::size_t at : marked) {
      marks.push_back(std::to_integer<std::uint8_t>(message.bytes()[at]));
    }
  });
  std::uint64_t released = 0;
  push.on_released([&](std::uint64_t token) { released = token; });
  push.connect(bind(pull));
  ASSERT_SOON(turns_, push.peers_connected() == 1);
  ASSERT_EQ(push.lend(memory.bytes(), 77, 99), Status::ok);
  // 4 GiB are faulted in on the way: some seconds, more on a busy machine.
  extend_time_limit(3);
  ASSERT_TRUE(turns_.until([&] { return received != 0 && released == 77; }, "it came", 120s));
  EXPECT_EQ(received, huge_bytes);
  EXPECT_EQ(tag, 99U);
  EXPECT_EQ(marks, (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6}));
}

ON_EVERY_TRANSPORT(Huge);

}  // namespace
}  // namespace netio::test
