// A regular file, mapped. An unbuffered socket is lent its large messages where they lie; else
// they are copied into pages straight from the mapping. Must outlive the socket, which may still
// read lent messages. What the file grows by after it was opened is not sent; if it shrinks, that
// ends the command with an error.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // From this size on lending beats copying.
  static constexpr std::size_t lent_bytes_min = 16U << 10U;

  [[nodiscard]] bool shrunk() noexcept;

  Descriptor descriptor_;
  std::string name_;
  Framer framer_;
  bool lends_;
  std::uint64_t end_;             // of the file, when it was opened
  std::span<std::byte> mapping_;  // from the page boundary below the offset
  std::span<const std::byte> rest_;
  std::size_t input_bytes_;
};

}  // namespace netio::cli
