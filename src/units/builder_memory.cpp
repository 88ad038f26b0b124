// See builder_memory.hpp.
#include "units/builder_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/random.hpp"
#include "memory/large_pool.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"
#include "units/plan.hpp"
#include "wire/frame.hpp"
#include "wire/page.hpp"

namespace netio::detail {

namespace {

constexpr std::size_t window_bytes_most = std::size_t{4} << 20U;  // unless more is asked for
constexpr std::size_t window_bytes_wanted = std::size_t{256} << 10U;
constexpr std::size_t window_bytes_least = std::size_t{16} << 10U;
constexpr const char* operation = "make a builder unit";

// The memory of a page that is partly handed over counts as a whole, at both ends of a window.
std::size_t page_ends(std::size_t sources, const ContextOptions& memory) {
  return sources * 8 * memory.page_bytes;
}

// A block of the receive pool takes a page only if the largest page would fit, so up to a quarter
// of each block is left.
std::size_t in_blocks(std::size_t bytes) { return bytes + bytes / 3 + 1; }
// The inverse, rounded down.
std::size_t bytes_in_blocks(std::size_t blocks) {
  return (blocks - std::min<std::size_t>(blocks, 1)) / 4 * 3;
}

// Buffers for messages larger than a page are up to this much larger than the message: see
// LargePool.
std::size_t large_memory_of(std::size_t bytes, const ContextOptions& memory) {
  const std::size_t each = bytes / memory.page_bytes * LargePool::buffer_bytes_min;
  return bytes + std::max(each, bytes / 8);
}
// The inverse, rounded down.
std::size_t bytes_in_large_memory(std::size_t large, const ContextOptions& memory) {
  const std::size_t of_page = memory.page_bytes + LargePool::buffer_bytes_min;
  return std::min(large / of_page * memory.page_bytes, large / 9 * 8);
}
// What windows and kept events may take of it. The rest is for one event that is larger.
std::size_t large_bytes_of(const BuilderOptions& options, const ContextOptions& memory) {
  constexpr std::size_t around_message = page_header_bytes + frame_prefix_bytes_max + wire_align;
  if (options.socket.message_bytes_max + around_message <= memory.page_bytes) return SIZE_MAX;
  return large_share(memory, options.socket) / 2;
}

// The options with the sizes that were not given: the windows take half of the receive pool, and
// kept events a quarter.
BuilderOptions with_sizes(BuilderOptions options, const ContextOptions& memory) {
  const std::size_t sources = options.plan.sources;
  const std::size_t quarter =
      std::min(memory.receive_pool_bytes / 4,
               bytes_in_large_memory(large_bytes_of(options, memory), memory) / 3);
  if (options.keep_bytes_max == 0) options.keep_bytes_max = std::max<std::size_t>(quarter, 1);
  if (options.window_bytes == 0) {
    const std::size_t pool = memory.receive_pool_bytes;
    const std::size_t ends = page_ends(sources, memory);
    const std::size_t taken = std::min(pool, options.keep_bytes_max + ends);
    const std::size_t all =
        std::min({pool / 2 - std::min(pool / 2, ends), bytes_in_blocks(pool - taken), 2 * quarter});
    options.window_bytes = std::clamp(all / sources, window_bytes_least, window_bytes_most);
  }
  options.socket.receive_bytes_max = memory.receive_pool_bytes;
  return options;
}

// Of all events that are open or kept.
std::size_t bytes_held(const BuilderOptions& options) {
  return options.plan.sources * options.window_bytes + options.keep_bytes_max;
}

// Of the receive pool.
std::size_t pool_needed(const BuilderOptions& options, const ContextOptions& memory) {
  const std::size_t sources = options.plan.sources;
  return in_blocks(sources * options.window_bytes) + options.keep_bytes_max +
         page_ends(sources, memory);
}

void require_memory(const BuilderOptions& options, const ContextOptions& memory) {
  const auto require = [&](std::size_t needed, std::size_t there_is, const std::string& what,
                           const char* option) {
    if (needed <= there_is) return;
    throw Error(std::string("cannot ") + operation,
                "windows of " + std::to_string(options.window_bytes) + " bytes for each of " +
                    std::to_string(options.plan.sources) + " units, and " +
                    std::to_string(options.keep_bytes_max) + " bytes of kept events, need " +
                    std::to_string(needed) + " bytes of " + what + ", and there are " +
                    std::to_string(there_is),
                std::string("give the context more (ContextOptions::") + option +
                    "; BuilderUnit::with_memory() does it), or choose a smaller "
                    "BuilderOptions::window_bytes or keep_bytes_max");
  };
  const std::size_t held = bytes_held(options);
  require(pool_needed(options, memory), memory.receive_pool_bytes, "the receive pool",
          "receive_pool_bytes");
  require(large_memory_of(held, memory), large_bytes_of(options, memory),
          "half of its share of the memory for large messages", "large_bytes_max");
}

// Only what does not depend on memory.
void require_sense_of(const BuilderOptions& options) {
  static_cast<void>(require_sense(to_plan(options.plan), operation));
  if (options.window_bytes != 0 && options.window_bytes < window_bytes_least) {
    throw Error(std::string("cannot ") + operation,
                "a window of " + std::to_string(options.window_bytes) + " bytes is too small",
                "choose at least " + std::to_string(window_bytes_least) +
                    " bytes (BuilderOptions::window_bytes)");
  }
  const std::size_t most = SIZE_MAX / 64 / (BuildPlan::units_max + 1);
  if (options.window_bytes > most || options.keep_bytes_max > most) {
    throw Error(std::string("cannot ") + operation,
                "no memory has windows or kept events of that size",
                "choose less than " + std::to_string(most) +
                    " bytes (BuilderOptions::window_bytes, keep_bytes_max)");
  }
}

}  // namespace

BuilderParts parts_of(const BuilderOptions& options, const ContextOptions& memory) {
  require_sense_of(options);
  const BuilderOptions sized = with_sizes(options, memory);
  BuilderParts parts;
  BuilderSettings& building = parts.settings.building;
  building.plan = to_plan(sized.plan);
  building.builder = sized.builder;
  building.builder_run = random_run();
  building.window_bytes = sized.window_bytes;
  building.deadline_ns = sized.deadline.count();
  // An event manager waits for units itself, and assigns nothing that they have not produced.
  building.meet_within_ns = sized.plan.managed ? 0 : sized.meet_within.count();
  building.keep_bytes_max = sized.keep_bytes_max;
  building.done_with_release = sized.settle_released;
  building.turns = sized.turns;
  parts.settings.weight = sized.weight;
  parts.settings.credit = sized.credit;
  parts.socket = sized.socket;
  static_cast<void>(require_sense(building, operation));
  if (building.plan.managed) static_cast<void>(require_sense(parts.settings, operation));
  require_memory(sized, memory);
  parts.spare_bytes = memory.receive_pool_bytes - pool_needed(sized, memory);
  return parts;
}

ContextOptions with_memory_for(const BuilderOptions& options, ContextOptions memory) {
  require_sense_of(options);
  require_page_bytes(memory.page_bytes);
  const std::size_t sources = options.plan.sources;
  const bool given = options.window_bytes != 0;
  const std::size_t window = given ? options.window_bytes : window_bytes_wanted;
  const std::size_t ends = page_ends(sources, memory);
  const std::size_t open = in_blocks(sources * window) + ends;
  std::size_t pool = open + options.keep_bytes_max;
  if (!given) pool = std::max(pool, 2 * (sources * window + ends));
  if (options.keep_bytes_max == 0) pool = std::max(pool, open / 3 * 4 + 4);
  memory.receive_pool_bytes = std::max(memory.receive_pool_bytes, pool);
  // What is said to units needs a page or two.
  memory.send_pool_bytes = std::max(memory.send_pool_bytes, 2 * sources * memory.page_bytes);
  ContextOptions without_bound = memory;
  without_bound.large_bytes_max = SIZE_MAX;
  const std::size_t large = large_memory_of(bytes_held(with_sizes(options, without_bound)), memory);
  if (large > large_bytes_of(options, memory)) memory.large_bytes_max = 4 * large;
  return memory;
}

}  // namespace netio::detail
