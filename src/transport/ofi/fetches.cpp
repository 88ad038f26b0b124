// Reads are cut in pieces and started as far as there is memory, the oldest first.
#include "transport/ofi/fetches.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

namespace netio::detail {

namespace {
// The payload behind an 8-byte frame word is aligned to a cache line.
constexpr std::size_t large_offset = 64 - frame_word_bytes;
static_assert(large_offset + frame_prefix_bytes_max + wire_align <= around_large_message);
// Reads are cut to this size: progress shows in pieces, and several messages are on their way.
constexpr std::size_t piece_bytes_max = std::size_t{4} << 20U;
}  // namespace

OfiFetches::OfiFetches(OfiOperationsOwner& owner, CompletionQueue& queue, Device& device,
                       LargePool& pool, const LinkOptions& options, std::size_t read_bytes_max)
    : OfiOperations(owner, queue, reads_max),
      device_(device),
      large_pool_(pool),
      large_quota_(options.large_quota),
      message_bytes_max_(options.message_bytes_max),
      read_bytes_max_(std::min(read_bytes_max, piece_bytes_max)) {
  std::iota(free_reads_.begin(), free_reads_.end(), std::uint8_t{0});
}

std::optional<Down> OfiFetches::add(const PageHeader& header, std::span<const std::byte> body,
                                    bool goes_on) {
  const auto bad = [](const char* what) { return Down{DownReason::protocol_error, what}; };
  if (used_ == fetches_max) return bad("lends more messages than are allowed at once");
  LentMessage lent;
  if (const char* const what = parse(header, body, lent); what != nullptr) return bad(what);
  const std::size_t page_body = lent.prefix_bytes + wire_padded(lent.size);
  if (lent.size > message_bytes_max_ || page_body > UINT32_MAX) {
    return Down{DownReason::message_too_big, "lends a message of " + std::to_string(lent.size) +
                                                 " bytes, which is larger than is allowed here"};
  }
  if (!large_pool_.could_ever_take(large_offset + page_body, large_quota_)) {
    return Down{DownReason::resources, "a message of " + std::to_string(lent.size) +
                                           " bytes does not fit this context's large_bytes_max"};
  }
  Fetch& fetch = at(used_);
  fetch = {};
  fetch.header = header;
  fetch.header.flags = 0;
  fetch.header.bytes = static_cast<std::uint32_t>(page_body);
  fetch.lent = lent;
  fetch.lent_bytes = lent.size - lent.front.size();
  // In the order of the messages: an earlier one may wait for memory.
  const bool may_take = goes_on && (used_ == 0 || at(used_ - 1).block);
  if (!lent.front.empty() && !(may_take && make_room(fetch))) {
    fetch.front.assign(lent.front.begin(), lent.front.end());
    fetch.lent.front = fetch.front;
  }
  ++used_;
  return std::nullopt;
}

bool OfiFetches::make_room(Fetch& fetch) noexcept {
  if (fetch.block) return true;
  const std::size_t bytes = large_offset + fetch.header.bytes;
  fetch.block = large_pool_.take(bytes, large_quota_);
  if (!fetch.block) return false;
  std::byte* const to = fetch.block->data() + large_offset;
  std::memcpy(to, fetch.lent.prefix.data(), fetch.lent.prefix_bytes);
  const std::span<const std::byte> front = fetch.lent.front;
  if (!front.empty()) std::memcpy(to + fetch.lent.prefix_bytes, front.data(), front.size());
  fetch.lent.front = {};
  fetch.front = {};
  store_u64(to + fetch.header.bytes - wire_align, 0);  // the padding; the payload comes over it
  return true;
}

long OfiFetches::go_on(Endpoint& endpoint) noexcept {
  starved_ = false;
  for (std::size_t i = complete_; i < used_; ++i) {
    Fetch& fetch = at(i);
    if (!make_room(fetch)) {
      starved_ = true;
      return 0;
    }
    std::byte* const payload = fetch.block->data() + large_offset + fetch.lent.prefix_bytes +
                               (fetch.lent.size - fetch.lent_bytes);
    const Device::Local memory =
        device_.local(fetch.block.get(), {fetch.block->data(), large_offset + fetch.header.bytes});
    if (!memory.usable) return -ENOMEM;
    while (fetch.asked < fetch.lent_bytes) {
      if (free_reads_count_ == 0) return 0;
      const std::size_t bytes = std::min(fetch.lent_bytes - fetch.asked, read_bytes_max_);
      const std::uint8_t index = free_reads_[free_reads_count_ - 1];
      const long answer =
          endpoint.read({payload + fetch.asked, bytes}, memory.descriptor,
                        fetch.lent.address + fetch.asked, fetch.lent.key, &operations_[index]);
      if (answer != 0) return answer;
      --free_reads_count_;
      reads_[index] = {static_cast<std::uint32_t>((first_ + i) % fetches_max),
                       static_cast<std::uint32_t>(bytes)};
      fetch.asked += bytes;
    }
  }
  return 0;
}

bool OfiFetches::first_is_here() const noexcept { return complete_ != 0; }

std::uint64_t OfiFetches::bytes_held() const noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t i = complete_; i < used_; ++i) bytes += at(i).block ? at(i).lent.size : 0;
  return bytes;
}

OfiFetches::Page OfiFetches::take_first() noexcept {
  Fetch& fetch = at(0);
  first_ = (first_ + 1) % fetches_max;
  --used_;
  --complete_;
  ++untold_;
  untold_bytes_ += fetch.lent_bytes;
  const std::span<const std::byte> body(fetch.block->data() + large_offset, fetch.header.bytes);
  return {fetch.header, std::move(fetch.block), body};
}

void OfiFetches::on_completion(Operation& operation, std::size_t) noexcept {
  const std::size_t index = index_of(operation);
  const Read& read = reads_[index];
  fetches_[read.fetch].done += read.bytes;
  bytes_fetched_ += read.bytes;
  free_reads_[free_reads_count_++] = static_cast<std::uint8_t>(index);
  while (complete_ < used_ && at(complete_).done == at(complete_).lent_bytes) ++complete_;
  owner_.on_progress();
}

}  // namespace netio::detail
