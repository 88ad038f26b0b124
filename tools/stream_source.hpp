// Standard input, a pipe, a terminal: read as it comes, into one buffer that holds the record at
// hand and little more. Records may be split over any number of reads.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <netio/loop.hpp>

#include "descriptor.hpp"
#include "framing.hpp"
#include "source.hpp"

namespace netio::cli {

class StreamSource : public MessageSource {
 public:
  StreamSource(Descriptor descriptor, std::string name, const Framer& framer, Loop& loop,
               std::function<void()> on_ready);

  // Throws Failure when reading fails.
  Turn send_some(Outlet& outlet, Allowance allowance) override;

 private:
  // What one read asks for; a pipe holds 64 KiB unless told otherwise.
  static constexpr std::size_t read_bytes = 256U << 10U;

  // For what never says "not yet", such as /dev/zero.
  static constexpr unsigned reads_per_turn = 16;

  // Room for `bytes` more behind what was read and not sent.
  void make_room(std::size_t bytes);
  // One read; `window_bytes` is what the window must grow to.
  void read_some(std::size_t window_bytes);
  [[nodiscard]] std::span<const std::byte> window() const noexcept {
    return {buffer_.get() + begin_, end_ - begin_};
  }

  Descriptor descriptor_;
  std::string name_;
  Framer framer_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t buffer_bytes_ = 0;
  std::size_t begin_ = 0;  // of what was read and not sent
  std::size_t end_ = 0;
  bool at_end_ = false;
  bool ready_ = false;  // a read will not block
  std::function<void()> on_ready_;
  std::unique_ptr<Watch> watch_;  // null for what cannot be polled, because it never blocks
};

}  // namespace netio::cli
