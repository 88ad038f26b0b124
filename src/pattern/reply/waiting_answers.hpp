// The answers to one requester that its link had no room for, or that were taken while it is away.
// Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <netio/message.hpp>

#include "base/byte_queue.hpp"
#include "base/growing_ring.hpp"
#include "socket/upstream.hpp"
#include "wire/frame.hpp"

namespace netio::detail {

class OutgoingStream;
class ReplyCore;
struct Requester;

class WaitingAnswers final : public Upstream {
 public:
  WaitingAnswers(ReplyCore& core, Requester& requester) noexcept
      : core_(core), requester_(requester) {}

  // Takes the message. False without memory: then it is untouched.
  [[nodiscard]] bool add(Message& answer, Label label) noexcept;
  // Copies the answer. False without memory.
  [[nodiscard]] bool add(std::span<const std::byte> answer, Label label) noexcept;
  // The first one is lost, and the stream counts it. There is one.
  void lose_first() noexcept;
  // What the stream had taken and not posted goes in front, as it broke off.
  void take_back(OutgoingStream& stream) noexcept;
  // The stream that they go to.
  void go_to(OutgoingStream* stream) noexcept;

  [[nodiscard]] bool empty() const noexcept override { return answers_.empty(); }
  [[nodiscard]] std::uint64_t messages() const noexcept override { return answers_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::size_t bytes_in(const StorePart& memory) const noexcept override;
  Status post_waiting() noexcept override;
  [[nodiscard]] bool failed() const noexcept override { return false; }
  void begin_connection() noexcept override {}
  Status tell_again(std::uint64_t, const Told&) noexcept override { return Status::ok; }
  void clear() noexcept override;

 private:
  // A message, or so many bytes of short_ones_.
  struct Answer {
    Message message;
    Label label;
    std::size_t short_bytes = 0;
  };
  Status post(Answer& answer) noexcept;
  ReplyCore& core_;
  Requester& requester_;
  OutgoingStream* stream_ = nullptr;
  GrowingRing<Answer> answers_;
  ByteQueue short_ones_;
  std::size_t bytes_ = 0;
  bool posting_ = false;  // the stream asks for them while it is given one
};

}  // namespace netio::detail
