#include "framing.hpp"

#include <charconv>
#include <cstring>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "units.hpp"

namespace netio::cli {

namespace {

template <typename Integer>
Integer read_integer(std::string_view text, std::string_view what) {
  Integer value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument(fmt::format("length: {} \"{}\" is not a number", what, text));
  }
  return value;
}

FrameSpec parse_length(std::string_view text) {
  const std::size_t first = text.find(',');
  const std::size_t second = first == std::string_view::npos ? first : text.find(',', first + 1);
  if (second == std::string_view::npos) {
    throw std::invalid_argument(
        fmt::format("length:{} lacks a part: it is length:OFFSET,WIDTH,ADJUST", text));
  }
  FrameSpec spec;
  spec.kind = FrameSpec::Kind::length;
  spec.field_offset = read_integer<std::uint64_t>(text.substr(0, first), "OFFSET");
  spec.field_bytes = read_integer<unsigned>(text.substr(first + 1, second - first - 1), "WIDTH");
  spec.adjust = read_integer<std::int64_t>(text.substr(second + 1), "ADJUST");
  if (spec.field_bytes != 1 && spec.field_bytes != 2 && spec.field_bytes != 4 &&
      spec.field_bytes != 8) {
    throw std::invalid_argument(
        fmt::format("length: WIDTH is 1, 2, 4 or 8 bytes, not {}", spec.field_bytes));
  }
  if (spec.field_offset > (std::uint64_t{1} << 40U)) {
    throw std::invalid_argument(fmt::format("length: OFFSET {} is too large", spec.field_offset));
  }
  return spec;
}

std::uint64_t read_field(const std::byte* at, unsigned bytes) noexcept {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= std::to_integer<std::uint64_t>(at[i]) << (8 * i);
  return value;
}

}  // namespace

FrameSpec FrameSpec::parse(std::string_view text) {
  FrameSpec spec;
  if (text == "whole") return spec;
  if (text == "line") {
    spec.kind = Kind::line;
    return spec;
  }
  if (text.starts_with("fixed:")) {
    spec.kind = Kind::fixed;
    spec.record_bytes = parse_bytes(text.substr(6));
    if (spec.record_bytes == 0) throw std::invalid_argument("fixed: a record has at least 1 byte");
    return spec;
  }
  if (text.starts_with("length:")) return parse_length(text.substr(7));
  throw std::invalid_argument(fmt::format(
      "\"{}\" is none of whole, line, fixed:BYTES and length:OFFSET,WIDTH,ADJUST", text));
}

Cut Framer::cut(std::span<const std::byte> window, bool at_end) {
  if (!defect_.empty()) return {Cut::Kind::defect, 0};
  switch (spec_.kind) {
    case FrameSpec::Kind::whole:
      return cut_whole(window, at_end);
    case FrameSpec::Kind::line:
      return cut_line(window, at_end);
    case FrameSpec::Kind::fixed:
      return cut_fixed(window, at_end);
    case FrameSpec::Kind::length:
      return cut_length(window, at_end);
  }
  return fail("unknown framing");
}

void Framer::take(std::size_t bytes) noexcept {
  offset_ += bytes;
  ++records_;
  scanned_bytes_ = 0;
  whole_taken_ = true;
}

Cut Framer::cut_whole(std::span<const std::byte> window, bool at_end) {
  if (window.size() > message_bytes_max_) {
    return fail(fmt::format("the input is larger than a message may be ({})", limit_text()));
  }
  if (!at_end) return {Cut::Kind::more, window.size() + 1};
  // An empty file is one empty message.
  if (whole_taken_) return {Cut::Kind::end, 0};
  return {Cut::Kind::record, window.size()};
}

Cut Framer::cut_line(std::span<const std::byte> window, bool at_end) {
  if (window.empty() && at_end) return {Cut::Kind::end, 0};
  const void* found = nullptr;
  if (window.size() > scanned_bytes_) {
    found = std::memchr(window.data() + scanned_bytes_, '\n', window.size() - scanned_bytes_);
  }
  std::size_t bytes = window.size();
  if (found != nullptr) {
    bytes = static_cast<std::size_t>(static_cast<const std::byte*>(found) - window.data()) + 1;
    scanned_bytes_ = bytes - 1;
  } else {
    scanned_bytes_ = bytes;
  }
  if (bytes > message_bytes_max_) {
    return fail(fmt::format("the line that is {} is longer than a message may be ({})", here(),
                            limit_text()));
  }
  if (found == nullptr && !at_end) return {Cut::Kind::more, window.size() + 1};
  return {Cut::Kind::record, bytes};
}

Cut Framer::cut_fixed(std::span<const std::byte> window, bool at_end) {
  if (window.empty() && at_end) return {Cut::Kind::end, 0};
  if (spec_.record_bytes > message_bytes_max_) {
    return fail(fmt::format("a record of {} is larger than a message may be ({})",
                            counted(spec_.record_bytes, "byte"), limit_text()));
  }
  const auto bytes = static_cast<std::size_t>(spec_.record_bytes);
  if (window.size() >= bytes) return {Cut::Kind::record, bytes};
  if (!at_end) return {Cut::Kind::more, bytes};
  return fail(fmt::format(
      "the input ends inside {}: {} left over, of the {} of a record; send the whole file as one "
      "message (--frame whole) or give a size that divides it",
      here(), window.size() == 1 ? "1 byte is" : grouped(window.size()) + " bytes are",
      grouped(spec_.record_bytes)));
}

Cut Framer::cut_length(std::span<const std::byte> window, bool at_end) {
  if (window.empty() && at_end) return {Cut::Kind::end, 0};
  const std::uint64_t header = spec_.field_offset + spec_.field_bytes;
  if (window.size() < header) {
    if (!at_end) return {Cut::Kind::more, static_cast<std::size_t>(header)};
    return fail(fmt::format("the input ends inside {}: {} left, and its size field ends at byte {}",
                            here(), counted(window.size(), "byte"), grouped(header)));
  }
  const std::uint64_t field = read_field(window.data() + spec_.field_offset, spec_.field_bytes);
  const auto adjust = static_cast<std::uint64_t>(spec_.adjust);
  const std::uint64_t size = field + adjust;  // Modulo 2^64.
  const bool wrapped = spec_.adjust < 0 ? field < 0 - adjust : size < field;
  if (wrapped || size < header || size > message_bytes_max_) {
    return fail(absurd_size(field, size, wrapped));
  }
  if (window.size() >= size) return {Cut::Kind::record, static_cast<std::size_t>(size)};
  if (!at_end) return {Cut::Kind::more, static_cast<std::size_t>(size)};
  return fail(fmt::format("the input ends inside {}: {} left, of the {} that its size field says",
                          here(), counted(window.size(), "byte"), counted(size, "byte")));
}

std::string Framer::absurd_size(std::uint64_t field, std::uint64_t size, bool wrapped) const {
  const std::string origin = fmt::format("size field {}, adjusted by {:+}", field, spec_.adjust);
  if (wrapped) {
    return fmt::format("{} has {} size ({})", here(),
                       spec_.adjust < 0 ? "a negative" : "an impossible", origin);
  }
  if (size > message_bytes_max_) {
    return fmt::format("{} has {} ({}), more than a message may have ({})", here(),
                       counted(size, "byte"), origin, limit_text());
  }
  return fmt::format("{} has {} ({}), but its size field alone ends at byte {}", here(),
                     counted(size, "byte"), origin, spec_.field_offset + spec_.field_bytes);
}

Cut Framer::fail(std::string what) {
  defect_ = std::move(what);
  return {Cut::Kind::defect, 0};
}

std::string Framer::here() const {
  return fmt::format("record {} at offset {}", grouped(records_ + 1), grouped(offset_));
}

std::string Framer::limit_text() const {
  return fmt::format("--message-max is {}", binary_bytes(message_bytes_max_));
}

}  // namespace netio::cli
