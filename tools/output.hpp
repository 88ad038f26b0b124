// Where `netio recv` writes messages: back to back, in order. Writing may block, which holds the
// senders back. What flush() has returned for is in the file or pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "descriptor.hpp"

namespace netio::cli {

class Output {
 public:
  enum class State : std::uint8_t {
    open,
    reader_gone,  // a pipe whose reader ended: nothing more is wanted
    interrupted,  // a blocked write was given up for Ctrl-C
    failed,       // see error()
  };

  enum class Begin : std::uint8_t {
    anew,    // a file that is there is emptied when the first message is written, or by finish()
    at_end,  // it is kept, and what comes is written behind it
  };

  // "-" is standard output; an existing named pipe is opened for writing, which blocks until it
  // has a reader; a file is created. Throws Failure.
  explicit Output(const std::string& path, Begin begin = Begin::anew);

  // Both do nothing once the state is not open any more.
  void append(std::span<const std::byte> message);
  void flush() noexcept;
  // All of it, if there was any, has come: a file that is still as it was is emptied.
  void finish() noexcept;

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // What the system says about the write that failed.
  [[nodiscard]] std::string error() const;
  // Whole messages, and bytes, that were written.
  [[nodiscard]] std::uint64_t messages_written() const noexcept { return messages_written_; }
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return bytes_written_; }
  // Of the message after the last whole one: how many bytes were written before it failed.
  [[nodiscard]] std::uint64_t partial_bytes() const noexcept {
    return bytes_written_ - whole_bytes_written_;
  }

 private:
  // Smaller messages are gathered here; larger ones are written from where they are.
  static constexpr std::size_t gather_bytes_max = 256U << 10U;
  static constexpr std::size_t gathered_message_bytes_max = 32U << 10U;

  // How many bytes were written: all of them, or state() says why not.
  std::size_t write_all(std::span<const std::byte> bytes) noexcept;
  void empty() noexcept;

  std::string name_;
  Descriptor descriptor_;
  std::unique_ptr<std::byte[]> gathered_;
  std::size_t gathered_bytes_ = 0;
  std::vector<std::uint32_t> gathered_sizes_;  // of the messages in it
  bool holds_old_;                             // not emptied yet
  State state_ = State::open;
  int error_number_ = 0;
  std::uint64_t messages_written_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t whole_bytes_written_ = 0;
};

}  // namespace netio::cli
