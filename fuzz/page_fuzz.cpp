// A stream of pages: headers that are accepted keep the limits that docs/wire.md gives them, and
// bodies are walked within them.
#include <algorithm>
#include <array>
#include <cstdint>

#include "require.hpp"
#include "walk.hpp"
#include "wire/page.hpp"

using namespace netio::detail;

namespace {

void check_header(const PageHeader& header, const std::byte* bytes) {
  std::array<std::byte, page_header_bytes> again{};
  store(again.data(), header);
  require(std::equal(again.begin(), again.end(), bytes));
  if (defect(header) != nullptr) return;
  require(header.bytes % wire_align == 0 && header.reserved == 0);
  require((header.flags & ~page_flag::known) == 0);
  require(std::uint64_t{header.messages} * frame_word_bytes <= header.bytes);
  if ((header.flags & page_flag::control) != 0) require(header.messages == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  while (size >= page_header_bytes) {
    const ExactCopy head(data, page_header_bytes);
    const PageHeader header = load_page_header(head.bytes().data());
    check_header(header, head.bytes().data());
    data += page_header_bytes;
    size -= page_header_bytes;
    if (defect(header) != nullptr || header.bytes > size) return 0;
    const ExactCopy body(data, header.bytes);
    // Each message ended takes a word, so a header that tells the truth is never refused.
    require(walk(body.bytes()).messages_ended <= header.bytes / frame_word_bytes);
    data += header.bytes;
    size -= header.bytes;
  }
  return 0;
}
