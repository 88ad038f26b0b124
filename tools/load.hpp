// Generated load: messages of one size, numbered, with checksums if they are to be verified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "source.hpp"

namespace netio::cli {

struct LoadSpec {
  std::size_t message_bytes = 64;
  std::optional<std::uint64_t> count;  // without it: until stopped
  bool stamped = false;                // for --verify
  std::uint64_t streams = 1;           // that the messages go to in turn, each numbered from 0
};

// One message's memory, written again for each and copied by the socket.
class CopiedLoad : public MessageSource {
 public:
  CopiedLoad(const LoadSpec& spec, const std::function<void()>& on_slow);
  Turn send_some(Outlet& outlet, Allowance allowance) override;
  [[nodiscard]] std::optional<double> fraction() const override;

 private:
  LoadSpec spec_;
  std::unique_ptr<std::byte[]> message_;
};

// A ring of messages that are lent to the wire and written again when it gives them back. For
// unbuffered sockets and large messages. Must outlive the socket, which reads the memory.
class LentLoad : public MessageSource {
 public:
  // From this size on lending beats copying.
  static constexpr std::size_t message_bytes_min = 16U << 10U;

  // `on_free` is called, from the loop, when a buffer came back after Turn::waiting. Takes over
  // the socket's on_released.
  LentLoad(const LoadSpec& spec, Outlet& outlet, std::function<void()> on_free,
           const std::function<void()>& on_slow);
  Turn send_some(Outlet& outlet, Allowance allowance) override;
  [[nodiscard]] std::optional<double> fraction() const override;

 private:
  [[nodiscard]] std::span<std::byte> buffer(std::size_t index) noexcept;

  LoadSpec spec_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<std::size_t> free_;  // indices of buffers that are ours; the last is used next
  std::function<void()> on_free_;
  bool waiting_ = false;
};

// `on_slow` is called once if that takes longer than a second. Throws Failure on Ctrl-C.
[[nodiscard]] std::unique_ptr<MessageSource> make_load(const LoadSpec& spec, bool unbuffered,
                                                       Outlet& outlet,
                                                       std::function<void()> on_free,
                                                       const std::function<void()>& on_slow);

}  // namespace netio::cli
