// A regular file, read ahead of what is sent: other processes may shrink it at any moment, and what
// was read is still there then. Messages larger than that are sent from a mapping, where they lie;
// an unbuffered socket is lent them, so this must outlive the socket. What the file grows by after
// it was opened is not sent; if it shrinks, that ends the command with an error.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "descriptor.hpp"
#include "framing.hpp"
#include "source.hpp"

namespace netio::cli {

class FileSource : public MessageSource {
 public:
  // From `offset` to `end`, in bytes. Throws Failure.
  FileSource(Descriptor descriptor, std::string name, std::uint64_t offset, std::uint64_t end,
             const Framer& framer, bool unbuffered, Outlet& outlet);
  ~FileSource() override;

  Turn send_some(Outlet& outlet, Allowance allowance) override;
  [[nodiscard]] std::optional<double> fraction() const override;

 private:
  // From this size on lending beats copying: an unbuffered socket needs no more read ahead.
  static constexpr std::size_t lent_bytes_min = 16U << 10U;
  static constexpr std::size_t copied_ahead_bytes = 256U << 10U;

  [[nodiscard]] bool shrunk() noexcept;
  [[nodiscard]] std::size_t ahead_wanted() const noexcept {
    return static_cast<std::size_t>(std::min<std::uint64_t>(ahead_bytes_max_, end_ - at_));
  }
  // False if the file no longer has it. Throws Failure when reading fails.
  bool read_ahead();
  Turn end_shrunk();

  Descriptor descriptor_;
  std::string name_;
  Framer framer_;
  bool lends_;
  std::uint64_t at_;   // in the file, of what is not sent
  std::uint64_t end_;  // of the file, when it was opened
  std::size_t input_bytes_;
  std::size_t ahead_bytes_max_;
  std::unique_ptr<std::byte[]> buffer_;
  std::span<const std::byte> ahead_;  // of the buffer: from `at_` on
  std::span<std::byte> mapping_;      // of the file, from its beginning
};

}  // namespace netio::cli
