// FrameWalker against any body, of any length.
#include <cstdint>

#include "require.hpp"
#include "walk.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ExactCopy input(data, size);
  const Walked walked = walk(input.bytes());
  if (walked.sound) require(size % netio::detail::wire_align == 0);
  // What is sound without the abilities is so with them.
  const Walked offered = walk(input.bytes(), netio::detail::ability::every_frame);
  require(offered.sound || !walked.sound);
  return 0;
}
