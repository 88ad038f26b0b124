#include "bench/copies_stage.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <netio/message.hpp>

#include "bench/end.hpp"
#include "exit_code.hpp"
#include "interrupt.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t times_sent = 4;  // that a load is sent
constexpr auto settled_within = 20s;

SocketOptions options_of(Mode mode) {
  SocketOptions options;
  options.mode = mode;
  options.acknowledge_after = 50us;  // each load waits for it
  return options;
}

// Bytes that differ from those of other messages, and from place to place.
void fill(std::span<std::byte> bytes, std::uint64_t number) {
  std::uint64_t word = (number + 1) * 0x9e3779b97f4a7c15U;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof word) {
    word = word * 6364136223846793005U + 1442695040888963407U;
    std::memcpy(bytes.data() + i, &word, std::min(sizeof word, bytes.size() - i));
  }
}

CopiesCount count_of(const Counters& before, const Counters& after) {
  return {after.copies - before.copies, after.bytes_copied - before.bytes_copied};
}

}  // namespace

std::string CopiesLoad::name() const {
  if (head_bytes != 0) {
    return binary_bytes(head_bytes) + " and " + binary_bytes(bytes - head_bytes);
  }
  return messages > 1 ? "pages of " + binary_bytes(bytes) : binary_bytes(bytes);
}

void CopiesContexts::turn() {
  bool worked = false;
  for (Context* const context : {&source, &stage, &sink}) {
    worked |= context->loop().run_once(0ns);
  }
  if (!worked) std::this_thread::sleep_for(20us);
}

CopiesStage::CopiesStage(CopiesContexts& contexts, const CopiesWire& from, const CopiesWire& to,
                         Mode mode)
    : contexts_(contexts),
      from_(from.scheme),
      to_(to.scheme),
      mode_(mode),
      options_(options_of(mode)),
      source_(contexts.source, options_),
      input_(contexts.stage, options_),
      output_(contexts.stage, options_),
      sink_(contexts.sink, options_),
      forward_(forward(input_, output_)) {
  sink_.on_message([this](const MessageView& message) { check(message); });
  source_.connect(input_.bind(from.address));
  output_.connect(sink_.bind(to.address));
  until("connected", [this] {
    return source_.peers_connected() + input_.peers_connected() + output_.peers_connected() +
               sink_.peers_connected() ==
           4;
  });
}

std::string CopiesStage::where() const { return fmt::format("from {} to {}", from_, to_); }

template <typename Condition>
void CopiesStage::until(const char* what, Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + settled_within;
  while (changed_ || !condition()) {
    if (Interrupt::requested()) throw Interrupted();
    if (changed_) {
      throw Failure(
          fmt::format("{}: a message of {} did not arrive as it was sent", where(), load_->name()));
    }
    if (std::chrono::steady_clock::now() >= end) {
      throw Failure(fmt::format("{}: not {} within {} s", where(), what, settled_within / 1s));
    }
    contexts_.turn();
  }
}

void CopiesStage::check(const MessageView& message) {
  std::size_t at = static_cast<std::size_t>(message.tag() - number_) * load_->bytes;
  bool right = message.tag() == expected_ && at + load_->bytes <= bytes_.size();
  const Segments segments = message.segments();
  right = right && segments.size() == (load_->head_bytes != 0 ? 2 : 1) &&
          (load_->head_bytes == 0 || segments[0].size() == load_->head_bytes);
  std::size_t left = load_->bytes;
  for (const std::span<const std::byte> segment : segments) {
    right = right && segment.size() <= left &&
            std::equal(segment.begin(), segment.end(), bytes_.begin() + std::ptrdiff_t(at));
    if (!right) break;
    at += segment.size();
    left -= segment.size();
  }
  changed_ = changed_ || !right || left != 0;
  ++expected_;
}

void CopiesStage::send(const CopiesLoad& load) {
  for (std::uint32_t i = 0; i < load.messages; ++i) {
    const std::span<const std::byte> bytes = std::span(bytes_).subspan(i * load.bytes, load.bytes);
    const std::uint64_t tag = number_ + i;
    Status status = Status::again;
    until("sent", [&] {
      status = load.head_bytes == 0
                   ? source_.send(bytes, tag)
                   : source_.send_segments(
                         {bytes.first(load.head_bytes), bytes.subspan(load.head_bytes)}, tag);
      return status != Status::again;
    });
    if (status != Status::ok) {
      throw Failure(fmt::format("{}: cannot send {}: {}", where(), load.name(), to_string(status)));
    }
  }
  source_.flush();
}

void CopiesStage::pass(const CopiesLoad& load) {
  load_ = &load;
  bytes_.resize(load.bytes * load.messages);
  fill(bytes_, number_);
  expected_ = number_;
  send(load);
  // Delivered, and both wires have their memory back: the next load finds the same as this one.
  until("delivered", [this, &load] { return expected_ == number_ + load.messages; });
  until("settled",
        [this] { return source_.books().unsettled() == 0 && output_.books().unsettled() == 0; });
  number_ += load.messages;
}

CopiesResult CopiesStage::measure(const CopiesLoad& load) {
  pass(load);  // not counted: a reader of tcp learns from it how large messages are
  const Counters input = input_.counters();
  const Counters output = output_.counters();
  for (std::uint64_t time = 0; time < times_sent; ++time) pass(load);
  return {from_,
          to_,
          mode_,
          load,
          times_sent * load.messages,
          count_of(input, input_.counters()),
          count_of(output, output_.counters())};
}

}  // namespace netio::cli
