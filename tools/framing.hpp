// How a file becomes messages: a Framer cuts a stream of bytes into records. Knows bytes and
// offsets; never reads or sends. Nothing is dropped in silence: what is left over is a defect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace netio::cli {

struct FrameSpec {
  enum class Kind : std::uint8_t { whole, line, fixed, length };
  Kind kind = Kind::whole;
  std::uint64_t record_bytes = 0;  // fixed
  // length: a record's size is the little-endian field of `field_bytes` (1, 2, 4, 8) at
  // `field_offset` of it, plus `adjust`.
  std::uint64_t field_offset = 0;
  unsigned field_bytes = 0;
  std::int64_t adjust = 0;

  // "whole", "line", "fixed:BYTES", "length:OFFSET,WIDTH,ADJUST". Throws std::invalid_argument.
  [[nodiscard]] static FrameSpec parse(std::string_view text);
};

struct Cut {
  enum class Kind : std::uint8_t {
    record,  // the window begins with a record of `bytes`
    more,    // it does not hold all of it; `bytes` of window are needed at least
    end,     // the input ended where a record did
    defect,  // no record will come any more; Framer::defect() says why
  };
  Kind kind = Kind::more;
  std::size_t bytes = 0;
};

class Framer {
 public:
  Framer(const FrameSpec& spec, std::uint64_t message_bytes_max) noexcept
      : spec_(spec), message_bytes_max_(message_bytes_max) {}

  // `window` holds what follows the last record taken; `at_end` says that nothing comes after it.
  // Takes nothing: the same answer again until take().
  [[nodiscard]] Cut cut(std::span<const std::byte> window, bool at_end);
  // The record of the last cut() was sent.
  void take(std::size_t bytes) noexcept;

  [[nodiscard]] const std::string& defect() const noexcept { return defect_; }
  // In the input, of the next record.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  Cut cut_whole(std::span<const std::byte> window, bool at_end);
  Cut cut_line(std::span<const std::byte> window, bool at_end);
  Cut cut_fixed(std::span<const std::byte> window, bool at_end);
  Cut cut_length(std::span<const std::byte> window, bool at_end);
  Cut fail(std::string what);
  [[nodiscard]] std::string absurd_size(std::uint64_t field, std::uint64_t size,
                                        bool wrapped) const;
  // "record 12 at offset 1,200"
  [[nodiscard]] std::string here() const;
  [[nodiscard]] std::string limit_text() const;

  FrameSpec spec_;
  std::uint64_t message_bytes_max_;
  std::uint64_t offset_ = 0;
  std::uint64_t records_ = 0;
  std::size_t scanned_bytes_ = 0;  // line: of the window, known to hold no end of line
  bool whole_taken_ = false;
  std::string defect_;
};

}  // namespace netio::cli
