#include "worker/tags.hpp"

#include <algorithm>
#include <random>

namespace netio::bench {

namespace {

// Few tags are repeated: a benchmark's loop over ten would cost more a message than one over many.
constexpr std::size_t run_min = 1000;

std::vector<std::uint64_t> tags_of(std::uint32_t set, std::uint32_t count) {
  std::vector<std::uint64_t> tags;
  tags.reserve(count);
  for (std::uint32_t number = 0; number < count; ++number) tags.push_back(tag_of(set, number));
  return tags;
}

}  // namespace

std::vector<std::uint64_t> published_tags(const FanoutOptions& fanout) {
  std::vector<std::uint64_t> tags = tags_of(0, fanout.tags);
  // The same order in each run: it is not what is measured.
  if (fanout.shuffled) std::shuffle(tags.begin(), tags.end(), std::mt19937_64(1));
  const std::vector<std::uint64_t> once = tags;
  while (tags.size() < run_min) tags.insert(tags.end(), once.begin(), once.end());
  return tags;
}

std::vector<std::uint64_t> subscribed_tags(const FanoutOptions& fanout, std::uint32_t number) {
  return tags_of(fanout.set == 0 ? 0 : fanout.set + number, fanout.tags);
}

}  // namespace netio::bench
