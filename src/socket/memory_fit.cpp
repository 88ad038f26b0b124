// See memory_fit.hpp.
#include "socket/memory_fit.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <netio/status.hpp>

#include "base/amount.hpp"

namespace netio::detail {

namespace {

constexpr std::uint64_t large_bytes_least = std::uint64_t{1} << 20U;

[[noreturn]] void refuse(const std::string& what, const std::string& option,
                         const ControlGroup::Bound& bound) {
  throw Error("make a context",
              what + ", and the control group " + std::string(bound.group) + " leaves " +
                  amount_text(bound.left_bytes) + " of its limit of " +
                  amount_text(bound.limit_bytes),
              "lower ContextOptions::" + option + ", or raise the limit of the group");
}

// A pool that may become smaller, and how small.
struct Share {
  std::size_t& bytes;
  std::size_t least;
  bool given;
};

void fit_pools(ContextOptions& options, std::uint64_t limit, const ControlGroup::Bound& bound) {
  const ContextOptions usual;
  const std::size_t page = options.page_bytes;
  Share send{options.send_pool_bytes, blocks_min * page,
             options.send_pool_bytes != usual.send_pool_bytes};
  Share receive{options.receive_pool_bytes, blocks_min * pages_per_block * page,
                options.receive_pool_bytes != usual.receive_pool_bytes};
  const auto needs = [](const Share& pool) { return pool.given ? pool.bytes : pool.least; };
  if (needs(send) + needs(receive) > bound.left_bytes) {
    refuse("the pools need " + amount_text(needs(send)) + " for what is sent and " +
               amount_text(needs(receive)) + " for what is received",
           "send_pool_bytes or receive_pool_bytes", bound);
  }
  for (const auto& [pool, other] : {std::pair(&send, &receive), std::pair(&receive, &send)}) {
    if (pool->given) continue;
    const std::uint64_t others = other->given ? other->bytes : limit / 4;
    const std::uint64_t most = limit / 2 - std::min(limit / 2, others);
    pool->bytes = std::clamp<std::uint64_t>(pool->bytes, pool->least,
                                            std::max<std::uint64_t>(most, pool->least));
  }
}

void fit_large(ContextOptions& options, std::uint64_t limit, const ControlGroup::Bound& bound) {
  const ContextOptions usual;
  if (options.large_bytes_max != usual.large_bytes_max) {
    if (options.large_bytes_max <= limit) return;
    refuse("large_bytes_max is " + amount_text(options.large_bytes_max), "large_bytes_max", bound);
  }
  const std::uint64_t pools = options.send_pool_bytes + options.receive_pool_bytes;
  const std::uint64_t half = (limit - std::min(limit, pools)) / 2;
  options.large_bytes_max =
      std::min<std::uint64_t>(options.large_bytes_max, std::max(half, large_bytes_least));
  options.large_kept_bytes_max =
      std::min<std::uint64_t>(options.large_kept_bytes_max, options.large_bytes_max / 2);
}

}  // namespace

ContextOptions fit_memory(ContextOptions options, const ControlGroup& groups) {
  const std::optional<ControlGroup::Bound> bound = groups.bound();
  if (!bound) return options;
  const std::uint64_t limit = groups.lowest_limit().value_or(*bound).limit_bytes;
  fit_pools(options, limit, *bound);
  fit_large(options, limit, *bound);
  return options;
}

}  // namespace netio::detail
