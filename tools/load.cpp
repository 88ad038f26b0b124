#include "load.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "stamp.hpp"

namespace netio::cli {

namespace {

// Contents for a message that is numbered later; unless it is stamped then, it never verifies.
void prepare(std::span<std::byte> message, std::uint64_t sequence) noexcept {
  if (message.size() >= stamp_bytes) stamp(message, ~sequence);
}

void number(std::span<std::byte> message, std::uint64_t sequence, bool stamped) noexcept {
  if (stamped) {
    stamp(message, sequence);
  } else {
    std::memcpy(message.data(), &sequence, std::min(message.size(), sizeof sequence));
  }
}

// Messages to send in one turn.
std::uint64_t share(const LoadSpec& spec, Allowance allowance, std::uint64_t sent,
                    std::uint64_t turn_messages, std::uint64_t turn_bytes) noexcept {
  const std::uint64_t size = std::max<std::uint64_t>(spec.message_bytes, 1);
  std::uint64_t share = std::min(allowance.messages, turn_messages);
  // Rounded up: the message that crosses a limit of bytes is still sent.
  share = std::min(share, (std::min(allowance.bytes, turn_bytes) - 1) / size + 1);
  if (spec.count) share = std::min(share, *spec.count - sent);
  return share;
}

std::optional<double> fraction_of(const LoadSpec& spec, std::uint64_t sent) {
  if (!spec.count) return std::nullopt;
  return *spec.count == 0 ? 1.0 : static_cast<double>(sent) / static_cast<double>(*spec.count);
}

}  // namespace

CopiedLoad::CopiedLoad(const LoadSpec& spec) : spec_(spec), message_(spec.message_bytes) {
  prepare(message_, 0);
}

Turn CopiedLoad::send_some(Push& push, Allowance allowance) {
  std::uint64_t sequence = messages();
  const std::uint64_t end =
      sequence + share(spec_, allowance, sequence, turn_messages_max, turn_bytes_max);
  const std::span<std::byte> message(message_);
  for (; sequence != end; ++sequence) {
    number(message, sequence, spec_.stamped);
    const Status status = push.send(message);
    if (status != Status::ok) return not_taken(status, message.size());
    count(message.size());
  }
  return spec_.count && sequence == *spec_.count ? Turn::end : Turn::more;
}

std::optional<double> CopiedLoad::fraction() const { return fraction_of(spec_, messages()); }

LentLoad::LentLoad(const LoadSpec& spec, Push& push, std::function<void()> on_free)
    : spec_(spec), on_free_(std::move(on_free)) {
  // Enough to keep the wire busy while the oldest come back, and at least two of any size: one on
  // the wire, one being written.
  static constexpr std::size_t ring_bytes = 16U << 20U;
  const std::size_t buffers = std::max<std::size_t>(ring_bytes / spec.message_bytes, 2);
  memory_.resize(buffers * spec.message_bytes);
  for (std::size_t i = 0; i < buffers; ++i) {
    prepare(buffer(i), i);
    free_.push_back(i);
  }
  push.on_released([this](std::uint64_t token) {
    free_.push_back(static_cast<std::size_t>(token));
    if (std::exchange(waiting_, false)) on_free_();
  });
}

std::span<std::byte> LentLoad::buffer(std::size_t index) noexcept {
  return std::span(memory_).subspan(index * spec_.message_bytes, spec_.message_bytes);
}

Turn LentLoad::send_some(Push& push, Allowance allowance) {
  std::uint64_t sequence = messages();
  const std::uint64_t end =
      sequence + share(spec_, allowance, sequence, turn_messages_max, turn_bytes_max);
  for (; sequence != end; ++sequence) {
    if (free_.empty()) {
      waiting_ = true;
      return Turn::waiting;
    }
    const std::size_t index = free_.back();
    const std::span<std::byte> message = buffer(index);
    number(message, sequence, spec_.stamped);
    const Status status = push.lend(message, index);
    if (status != Status::ok) return not_taken(status, message.size());
    free_.pop_back();
    count(message.size());
  }
  return spec_.count && sequence == *spec_.count ? Turn::end : Turn::more;
}

std::optional<double> LentLoad::fraction() const { return fraction_of(spec_, messages()); }

std::unique_ptr<MessageSource> make_load(const LoadSpec& spec, bool unbuffered, Push& push,
                                         std::function<void()> on_free) {
  if (unbuffered && spec.message_bytes >= LentLoad::message_bytes_min) {
    return std::make_unique<LentLoad>(spec, push, std::move(on_free));
  }
  return std::make_unique<CopiedLoad>(spec);
}

}  // namespace netio::cli
