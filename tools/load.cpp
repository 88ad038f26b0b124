#include "load.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include "exit_code.hpp"
#include "interrupt.hpp"
#include "stamp.hpp"

namespace netio::cli {

namespace {

// Memory for messages that are numbered later. Gigabytes take seconds: Ctrl-C ends it.
std::unique_ptr<std::byte[]> prepare(std::size_t bytes, const std::function<void()>& on_slow) {
  static constexpr std::size_t piece_bytes = 16U << 20U;
  static constexpr std::chrono::seconds slow{1};
  auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
  const auto begun = std::chrono::steady_clock::now();
  bool noted = false;
  for (std::size_t at = 0; at < bytes; at += piece_bytes) {
    fill({memory.get() + at, std::min(piece_bytes, bytes - at)}, at);
    if (Interrupt::requested()) {
      throw Failure("interrupted while the load was prepared", {}, ExitCode::interrupted);
    }
    if (noted || std::chrono::steady_clock::now() - begun < slow) continue;
    noted = true;
    on_slow();
  }
  return memory;
}

void number(std::span<std::byte> message, std::uint64_t sequence, const LoadSpec& spec) noexcept {
  if (spec.streams != 1) sequence /= spec.streams;
  if (spec.stamped) {
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

CopiedLoad::CopiedLoad(const LoadSpec& spec, const std::function<void()>& on_slow)
    : spec_(spec), message_(prepare(spec.message_bytes, on_slow)) {}

Turn CopiedLoad::send_some(Outlet& outlet, Allowance allowance) {
  std::uint64_t sequence = messages();
  const std::uint64_t end =
      sequence + share(spec_, allowance, sequence, turn_messages_max, turn_bytes_max);
  const std::span<std::byte> message(message_.get(), spec_.message_bytes);
  for (; sequence != end; ++sequence) {
    number(message, sequence, spec_);
    const Status status = outlet.send(message);
    if (status != Status::ok) return not_taken(status, message.size());
    count(message.size());
  }
  return spec_.count && sequence == *spec_.count ? Turn::end : Turn::more;
}

std::optional<double> CopiedLoad::fraction() const { return fraction_of(spec_, messages()); }

LentLoad::LentLoad(const LoadSpec& spec, Outlet& outlet, std::function<void()> on_free,
                   const std::function<void()>& on_slow)
    : spec_(spec), on_free_(std::move(on_free)) {
  // Enough to keep the wire busy while the oldest come back, and at least two of any size: one on
  // the wire, one being written.
  static constexpr std::size_t ring_bytes = 16U << 20U;
  const std::size_t buffers = std::max<std::size_t>(ring_bytes / spec.message_bytes, 2);
  memory_ = prepare(buffers * spec.message_bytes, on_slow);
  for (std::size_t i = 0; i < buffers; ++i) free_.push_back(i);
  outlet.on_released([this](std::uint64_t token) {
    free_.push_back(static_cast<std::size_t>(token));
    if (std::exchange(waiting_, false)) on_free_();
  });
}

std::span<std::byte> LentLoad::buffer(std::size_t index) noexcept {
  return {memory_.get() + index * spec_.message_bytes, spec_.message_bytes};
}

Turn LentLoad::send_some(Outlet& outlet, Allowance allowance) {
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
    number(message, sequence, spec_);
    const Status status = outlet.lend(message, index);
    if (status != Status::ok) return not_taken(status, message.size());
    free_.pop_back();
    count(message.size());
  }
  return spec_.count && sequence == *spec_.count ? Turn::end : Turn::more;
}

std::optional<double> LentLoad::fraction() const { return fraction_of(spec_, messages()); }

std::unique_ptr<MessageSource> make_load(const LoadSpec& spec, bool unbuffered, Outlet& outlet,
                                         std::function<void()> on_free,
                                         const std::function<void()>& on_slow) {
  if (unbuffered && spec.message_bytes >= LentLoad::message_bytes_min) {
    return std::make_unique<LentLoad>(spec, outlet, std::move(on_free), on_slow);
  }
  return std::make_unique<CopiedLoad>(spec, on_slow);
}

}  // namespace netio::cli
