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

std::optional<Down> OfiFetches::add(const PageHeader& header, std::span<const std::byte> body) {
  const auto bad = [](const char* what) { return Down{DownReason::protocol_error, what}; };
  if (used_ == fetches_max) return bad("lends more messages than are allowed at once");
  if (header.messages != 1 || body.size() < frame_word_bytes + place_bytes) {
    return bad("lends something that is not one message");
  }
  const std::uint64_t word = load_u64(body.data());
  const auto size = static_cast<std::uint32_t>(word);
  const auto flags = static_cast<std::uint32_t>(word >> 32U);
  const std::size_t prefix = frame_word_bytes + ((flags & frame_flag::tagged) != 0 ? 8 : 0);
  if (flags > frame_flag::tagged || body.size() != prefix + place_bytes || size == 0) {
    return bad("lends a message in a frame of the wrong kind");
  }
  const std::size_t page_body = prefix + wire_padded(size);
  if (size > message_bytes_max_ || page_body > UINT32_MAX) {
    return Down{DownReason::message_too_big, "lends a message of " + std::to_string(size) +
                                                 " bytes, which is larger than is allowed here"};
  }
  if (!large_pool_.could_ever_take(large_offset + page_body, large_quota_)) {
    return Down{DownReason::resources, "a message of " + std::to_string(size) +
                                           " bytes does not fit this context's large_bytes_max"};
  }
  Fetch& fetch = at(used_);
  fetch = {};
  fetch.header = header;
  fetch.header.flags = 0;
  fetch.header.bytes = static_cast<std::uint32_t>(page_body);
  std::memcpy(fetch.prefix.data(), body.data(), prefix);
  fetch.prefix_bytes = prefix;
  fetch.address = load_u64(body.data() + prefix);
  fetch.key = load_u64(body.data() + prefix + sizeof(std::uint64_t));
  fetch.bytes = size;
  ++used_;
  return std::nullopt;
}

bool OfiFetches::make_room(Fetch& fetch) noexcept {
  if (fetch.block) return true;
  const std::size_t bytes = large_offset + fetch.header.bytes;
  fetch.block = large_pool_.take(bytes, large_quota_);
  if (!fetch.block) return false;
  std::byte* const to = fetch.block->data() + large_offset;
  std::memcpy(to, fetch.prefix.data(), fetch.prefix_bytes);
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
    std::byte* const payload = fetch.block->data() + large_offset + fetch.prefix_bytes;
    const Device::Local memory =
        device_.local(fetch.block.get(), {fetch.block->data(), large_offset + fetch.header.bytes});
    if (!memory.usable) return -ENOMEM;
    while (fetch.asked < fetch.bytes) {
      if (free_reads_count_ == 0) return 0;
      const std::size_t bytes = std::min(fetch.bytes - fetch.asked, read_bytes_max_);
      const std::uint8_t index = free_reads_[free_reads_count_ - 1];
      const long answer =
          endpoint.read({payload + fetch.asked, bytes}, memory.descriptor,
                        fetch.address + fetch.asked, fetch.key, &operations_[index]);
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
  for (std::size_t i = complete_; i < used_; ++i) bytes += at(i).block ? at(i).bytes : 0;
  return bytes;
}

OfiFetches::Page OfiFetches::take_first() noexcept {
  Fetch& fetch = at(0);
  first_ = (first_ + 1) % fetches_max;
  --used_;
  --complete_;
  ++untold_;
  const std::span<const std::byte> body(fetch.block->data() + large_offset, fetch.header.bytes);
  return {fetch.header, std::move(fetch.block), body};
}

void OfiFetches::on_completion(Operation& operation, std::size_t) noexcept {
  const std::size_t index = index_of(operation);
  const Read& read = reads_[index];
  fetches_[read.fetch].done += read.bytes;
  bytes_fetched_ += read.bytes;
  free_reads_[free_reads_count_++] = static_cast<std::uint8_t>(index);
  while (complete_ < used_ && at(complete_).done == at(complete_).bytes) ++complete_;
  owner_.on_progress();
}

}  // namespace netio::detail
