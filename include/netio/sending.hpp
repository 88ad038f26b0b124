// The sending half of a socket: Push and Pair have one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include <netio/export.hpp>
#include <netio/message.hpp>
#include <netio/status.hpp>

namespace netio {

namespace detail {
class SendCore;
}

// All calls are noexcept and never block. On any answer but ok nothing was taken.
class NETIO_API Sending {
 public:
  // Copies the bytes (unbuffered: unless the wire took them at once). They are the caller's again
  // on return, whatever the answer:
  [[nodiscard]] Status send(std::span<const std::byte> message, std::uint64_t tag = 0) noexcept;
  [[nodiscard]] Status send(std::string_view text, std::uint64_t tag = 0) noexcept {
    return send(std::as_bytes(std::span(text)), tag);
  }

  // Passes on a message that was kept, without a copy. Emptied on ok, untouched otherwise.
  [[nodiscard]] Status send(Message&& message) noexcept;
  // Lends the bytes: they are not copied (shm: once, to where the peer can read them) and must stay
  // unchanged until on_released is called with `token`, which happens once for every ok, also when
  // the connection breaks. Destroying the socket ends all loans at once, without calls. On a fabric
  // peers can read the bytes until the loan ends; netio's own large buffers (of allocate() or kept
  // messages) may stay readable after it, with what they hold then: see "Locked memory" in
  // docs/guide.md.
  [[nodiscard]] Status lend(std::span<const std::byte> message, std::uint64_t token,
                            std::uint64_t tag = 0) noexcept;
  // What was lent with this token is the caller's again.
  void on_released(std::function<void(std::uint64_t token)> call);

  // A message of `bytes` to be written through writable_bytes(), in the memory that the next peer's
  // wire likes best: send() passes it on without a copy (shm: the peer reads it where it was
  // written, so nothing may write to it once it was sent). Its contents are undefined. Empty if
  // `status` is not ok; then as send(), and too_big also for more than large_bytes_max. The memory
  // is the context's, bounded by that, and free again when the message was destroyed, or sent and
  // read.
  [[nodiscard]] Message allocate(std::size_t bytes, Status& status, std::uint64_t tag = 0) noexcept;

  // Buffered only. Room for a message of up to `bytes` in the open page, to be written in place;
  // empty if the answer would be other than ok: `status` says which. It is the caller's until
  // commit(), or the next call on this socket, or the end of the turn, whichever is first.
  [[nodiscard]] std::span<std::byte> reserve(std::size_t bytes, Status& status) noexcept;
  // Sends the first `bytes` of what was reserved.
  [[nodiscard]] Status commit(std::size_t bytes, std::uint64_t tag = 0) noexcept;

  // Hands open pages to the wire now.
  void flush() noexcept;
  // It is worth trying again: once after send() answered again or not_connected, however often.
  void on_writable(std::function<void()> call);

 protected:
  explicit Sending(detail::SendCore& core) noexcept : send_core_(&core) {}
  ~Sending() = default;

 private:
  detail::SendCore* send_core_;
};

}  // namespace netio
