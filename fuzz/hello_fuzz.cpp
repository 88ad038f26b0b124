// Hello against any bytes: it never looks beyond them, waits only for what can still become a
// hello, and what it accepts of its own version it would write itself.
#include <algorithm>
#include <array>
#include <cstdint>

#include "require.hpp"
#include "wire/hello.hpp"

using namespace netio::detail;

namespace {

void check_done(const HelloResult& result, const Hello& hello, std::size_t size) {
  const bool known = hello.version_min <= wire_version && wire_version <= hello.version_max;
  require(result.bytes >= (known ? hello_fixed_bytes : hello_bytes_min));
  require(result.bytes <= std::min(size, hello_bytes_max));
  require(result.bytes % 8 == 0 && result.what.empty());
  require(hello.version_min <= hello.version_max && hello.text.size() <= hello_text_bytes_max);
  for (const char c : hello.text) require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  if (!known) return;  // the rest was not read

  std::array<std::byte, hello_bytes_max> again{};
  const std::size_t bytes = encode(hello, again);
  require(bytes >= hello_fixed_bytes);
  Hello back;
  const HelloResult second = parse(std::span(again).first(bytes), back);
  require(second.state == HelloParse::done && second.bytes == bytes && back == hello);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ExactCopy input(data, size);
  Hello hello;
  const HelloResult result = parse(input.bytes(), hello);
  if (result.state == HelloParse::done) check_done(result, hello, size);
  if (result.state == HelloParse::need_more) {
    require(size < hello_bytes_max && (result.bytes == 0 ? size < 12 : result.bytes > size));
  }
  if (result.state == HelloParse::foreign || result.state == HelloParse::defective) {
    require(!result.what.empty());
  }

  // Whatever a start of it is taken for, more bytes do not change the verdict, only complete it.
  const ExactCopy start(data, size / 2);
  const HelloResult early = parse(start.bytes(), hello);
  if (early.state != HelloParse::need_more) require(early.state == result.state);
  if (early.state == HelloParse::need_more && early.bytes != 0 &&
      result.state == HelloParse::done) {
    require(early.bytes == result.bytes);
  }
  return 0;
}
