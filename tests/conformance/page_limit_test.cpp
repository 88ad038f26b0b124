// Receivers that name page limits no socket of ours would: pages stay within any of them.
#include "conformance/conformance.hpp"
#include "support/raw_tcp.hpp"
#include "wire/frame.hpp"

namespace netio::test {
namespace {

using detail::page_header_bytes;

// A receiver that is not ours. Takes the pages apart as they come.
class PageTaker {
 public:
  PageTaker(std::string_view address, std::uint32_t page_bytes_max)
      : raw_(RawTcp::connect(address)) {
    detail::Hello hello = sound_hello(detail::WirePattern::pull);
    hello.page_bytes_max = page_bytes_max;
    raw_.send(hello_of(hello));
  }

  // Says where it stands, once the answer is there; false until then.
  bool go_in() {
    if (hello_in(raw_.received()).nonce == 0) return false;
    if (!std::exchange(in_, true)) raw_.confirm();
    return true;
  }
  // How many messages have come so far, all of them whole.
  std::uint64_t messages() {
    std::span<const std::byte> bytes = raw_.received();
    bytes = bytes.subspan(std::min(done_, bytes.size()));
    while (bytes.size() >= page_header_bytes) {
      const detail::PageHeader header = detail::load_page_header(bytes.data());
      EXPECT_EQ(detail::defect(header), nullptr);
      if (bytes.size() < page_header_bytes + header.bytes) break;
      if ((header.flags & detail::page_flag::control) == 0) {
        take(bytes.subspan(page_header_bytes, header.bytes));
      }
      done_ += page_header_bytes + header.bytes;
      bytes = bytes.subspan(page_header_bytes + header.bytes);
    }
    return messages_;
  }
  // The largest page that is gathered or a part, and not one message as a whole.
  [[nodiscard]] std::size_t largest_page() const { return largest_page_; }

 private:
  void take(std::span<const std::byte> body) {
    detail::FrameWalker walker(body.data(), body.size());
    detail::Frame frame;
    while (walker.next(frame)) {
      const bool first = frame.payload - body.data() <= 16;
      if (frame.part() || !first || !walker.at_end()) {
        largest_page_ = std::max(largest_page_, page_header_bytes + body.size());
      }
      append(message_, {frame.payload, frame.size});
      if ((frame.flags & detail::frame_flag::more) != 0) continue;
      EXPECT_TRUE(is_payload(message_, messages_)) << message_.size() << " bytes";
      ++messages_;
      message_.clear();
    }
    EXPECT_EQ(walker.defect(), nullptr);
  }

  RawTcp raw_;
  bool in_ = false;
  std::size_t done_ = detail::hello_fixed_bytes;
  std::uint64_t messages_ = 0;
  std::size_t largest_page_ = 0;
  Bytes message_;
};

class PageLimit : public Conformance {};

TEST_P(PageLimit, of_an_odd_size_is_kept_by_messages_of_every_size_around_it) {
  for (const std::uint32_t limit : {81U, 87U, 1001U, 4095U, 65'533U, ~0U}) {
    Push push(here_, options());
    PageTaker taker(push.bind("tcp://127.0.0.1:0"), limit);
    ASSERT_SOON(pump_, taker.go_in() && push.peers_connected() == 1);
    const std::size_t page = std::min<std::size_t>(limit, GetParam().page_bytes);
    std::uint64_t sent = 0;
    for (std::size_t size = page - 64; size < page + 16; ++size) {
      for (const std::size_t more : {std::size_t{0}, page}) {
        const Bytes message = payload(sent, size + more);
        ASSERT_SOON(pump_, push.send(message, sent % 2) == Status::ok || taker.messages() == ~0U);
        ++sent;
      }
    }
    ASSERT_SOON(pump_, taker.messages() == sent);
    EXPECT_LE(taker.largest_page(), page);
  }
}

ON_TCP_IN_EVERY_MODE(PageLimit);

}  // namespace
}  // namespace netio::test
