// The messages of a peer on a fabric, each behind its length: pages that are accepted make up their
// message exactly, keep the limits that docs/wire.md gives them, and grant no more than there can
// be.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "require.hpp"
#include "transport/ofi/credits.hpp"
#include "transport/ofi/fabric_message.hpp"
#include "walk.hpp"

using namespace netio::detail;

namespace {

// What a connection knows of its peer.
class Side {
 public:
  Side() { require(credits_.granted(credits_left_)); }

  // False if the message ends the connection.
  bool take(std::span<const std::byte> bytes) {
    FabricMessage message(bytes);
    PageHeader header;
    std::size_t at = 0;
    bool bodies = false;
    while (message.next(header)) {
      require(message.defect() == nullptr);
      require(bytes.size() - at >= page_header_bytes);
      check_header(header, bytes.subspan(at).first(page_header_bytes));
      at += page_header_bytes;
      require(bytes.size() - at >= header.bytes);
      const std::span<const std::byte> body = bytes.subspan(at, header.bytes);
      at += header.bytes;
      bodies = bodies || !body.empty();
      require(message.empty() == !bodies);
      if (!take_grants(header)) return false;
      if ((header.flags & page_flag::lent) != 0) {
        require(at == bytes.size() && body.size() == bytes.size() - page_header_bytes);
        check_lent(header, body);
      } else {
        require(walk(body).messages_ended <= header.bytes / frame_word_bytes);
      }
    }
    require((message.defect() == nullptr) == (at == bytes.size() && at != 0));
    return message.defect() == nullptr;
  }

 private:
  static void check_header(const PageHeader& header, std::span<const std::byte> bytes) {
    std::array<std::byte, page_header_bytes> again{};
    store(again.data(), header);
    require(std::equal(again.begin(), again.end(), bytes.begin()));
    require(header.bytes % wire_align == 0 && header.reserved == 0);
    require((header.flags & ~(page_flag::control | page_flag::lent)) == 0);
    require(std::uint64_t{header.messages} * frame_word_bytes <= header.bytes);
    if ((header.flags & page_flag::control) != 0) require(header.messages == 0);
  }

  bool take_grants(const PageHeader& header) {
    const bool may_be = credits_left_ + header.credits <= Credits::window_max;
    require(credits_.granted(header.credits) == may_be);
    if (may_be) credits_left_ += header.credits;
    return may_be;
  }

  static void check_lent(const PageHeader& header, std::span<const std::byte> body) {
    LentMessage lent;
    if (parse(header, body, lent) != nullptr) return;
    require(header.messages == 1 && header.flags == page_flag::lent);
    require(lent.size != 0 && lent.size == static_cast<std::uint32_t>(load_u64(body.data())));
    const bool numbered = lent.prefix_bytes == 2 * sizeof(std::uint64_t);
    require(numbered || lent.prefix_bytes == sizeof(std::uint64_t));
    const auto flags = static_cast<std::uint32_t>(load_u64(body.data()) >> 32U);
    require(numbered == ((flags & frame_flag::numbered) != 0));
    require(flags == flags_of_message(flags));
    require((flags & frame_flag::numbered) != frame_flag::numbered);
    require(std::equal(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(lent.prefix_bytes),
                       lent.prefix.begin()));
    // What of its payload came with the page is within it, and so is the place behind that.
    const std::size_t front = lent.front.size();
    require(body.size() == lent.prefix_bytes + front + 2 * sizeof(std::uint64_t));
    require(front == 0 || lent.front.data() == body.data() + lent.prefix_bytes);
    require(front == 0 || (flags & frame_flag::segmented) != 0);
    require(front < lent.size && front % wire_align == 0);
    const std::byte* const place = body.data() + lent.prefix_bytes + front;
    require(lent.address == load_u64(place));
    require(lent.key == load_u64(place + sizeof(std::uint64_t)));
  }

  Credits credits_;
  std::uint32_t credits_left_ = 64;  // as the peer's hello says
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Side side;
  std::uint16_t length = 0;
  while (size >= sizeof length) {
    std::memcpy(&length, data, sizeof length);
    data += sizeof length;
    size -= sizeof length;
    const std::size_t bytes = std::min<std::size_t>(length, size);
    const ExactCopy message(data, bytes);
    if (!side.take(message.bytes())) return 0;
    data += bytes;
    size -= bytes;
  }
  return 0;
}
