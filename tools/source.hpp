// Where the messages of `netio send` and `netio pub` come from. A source sends in bursts: until the
// socket says again, or its share of the turn is used up, so that timers and Ctrl-C are served in
// between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <netio/status.hpp>

#include "outlet.hpp"
#include "units.hpp"

namespace netio::cli {

// How much may be sent before the source must come back.
struct Allowance {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;  // the message that crosses it is still sent
};

enum class Turn : std::uint8_t {
  more,     // the allowance is used up, or enough was done for one turn
  blocked,  // the socket takes no more; its on_writable tells when
  waiting,  // there is no input yet (or no free buffer); the source calls back when there is
  end,      // everything was sent, or a defect ended it: see defect()
};

class MessageSource {
 public:
  MessageSource() = default;
  MessageSource(const MessageSource&) = delete;
  MessageSource& operator=(const MessageSource&) = delete;
  virtual ~MessageSource() = default;

  // Owner thread. Throws Failure when the input cannot be read.
  virtual Turn send_some(Outlet& outlet, Allowance allowance) = 0;
  // How much of the whole was sent, 0 to 1; nothing where the whole is not known.
  [[nodiscard]] virtual std::optional<double> fraction() const { return std::nullopt; }

  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  // The last message was larger than any receiver takes.
  [[nodiscard]] bool too_big() const noexcept { return too_big_; }
  // Why the input ended before its end; empty if it did not.
  [[nodiscard]] const std::string& defect() const noexcept { return defect_; }

 protected:
  // What a source does in one turn at most: some milliseconds of work.
  static constexpr std::uint64_t turn_messages_max = 16384;
  static constexpr std::uint64_t turn_bytes_max = 8U << 20U;

  void count(std::size_t message_bytes) noexcept {
    ++messages_;
    bytes_ += message_bytes;
  }
  // After an answer that was not ok: what it means for the turn.
  Turn not_taken(Status status, std::size_t message_bytes) {
    if (status == Status::again || status == Status::not_connected) return Turn::blocked;
    too_big_ = status == Status::too_big;
    defect_ = "message number " + grouped(messages_ + 1) + ", " + binary_bytes(message_bytes) +
              ", was refused: " + std::string(to_string(status));
    return Turn::end;
  }
  void end_with(std::string defect) { defect_ = std::move(defect); }

 private:
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  bool too_big_ = false;
  std::string defect_;
};

}  // namespace netio::cli
