#include "output.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "exit_code.hpp"
#include "interrupt.hpp"

namespace netio::cli {

namespace {

Descriptor open_for_writing(const std::string& path, int flags) {
  if (path == "-") return Descriptor(STDOUT_FILENO);
  for (;;) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    if (fd >= 0) return Descriptor(fd);
    if (Interrupt::requested()) {
      throw Failure(fmt::format("interrupted while {} had no other end", path), {},
                    ExitCode::interrupted);
    }
    if (errno == EINTR) continue;
    throw Failure(fmt::format("cannot open {} for writing: {}", path, std::strerror(errno)));
  }
}

}  // namespace

Output::Output(const std::string& path, Begin begin)
    : name_(path == "-" ? "standard output" : path),
      descriptor_(open_for_writing(path, begin == Begin::at_end ? O_APPEND : 0)),
      gathered_(std::make_unique_for_overwrite<std::byte[]>(gather_bytes_max)),
      holds_old_(path != "-" && begin == Begin::anew) {}

void Output::finish() noexcept {
  flush();
  empty();
}

// Pipes and devices have nothing to be emptied of, and say so.
void Output::empty() noexcept {
  if (std::exchange(holds_old_, false)) (void)!::ftruncate(descriptor_.get(), 0);
}

void Output::append(std::span<const std::byte> message) {
  if (message.size() > gathered_message_bytes_max) {
    flush();
    if (state_ != State::open) return;
    if (write_all(message) == message.size()) {
      ++messages_written_;
      whole_bytes_written_ = bytes_written_;
    }
    return;
  }
  if (gather_bytes_max - gathered_bytes_ < message.size()) flush();
  if (state_ != State::open) return;
  if (!message.empty()) {
    std::memcpy(gathered_.get() + gathered_bytes_, message.data(), message.size());
  }
  gathered_bytes_ += message.size();
  gathered_sizes_.push_back(static_cast<std::uint32_t>(message.size()));
}

void Output::flush() noexcept {
  if (state_ != State::open || gathered_sizes_.empty()) return;
  std::size_t written = write_all({gathered_.get(), gathered_bytes_});
  if (written == gathered_bytes_) {
    messages_written_ += gathered_sizes_.size();
    whole_bytes_written_ = bytes_written_;
  } else {
    for (const std::uint32_t size : gathered_sizes_) {
      if (size > written) break;
      written -= size;
      whole_bytes_written_ += size;
      ++messages_written_;
    }
  }
  gathered_bytes_ = 0;
  gathered_sizes_.clear();
}

std::size_t Output::write_all(std::span<const std::byte> bytes) noexcept {
  empty();
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = ::write(descriptor_.get(), bytes.data() + written, bytes.size() - written);
    if (n >= 0) {
      written += static_cast<std::size_t>(n);
    } else if (errno == EINTR) {
      if (!Interrupt::requested()) continue;
      state_ = State::interrupted;
      break;
    } else if (errno == EAGAIN) {
      // Somebody made the pipe non-blocking; it is not ours to change back.
      pollfd ready{descriptor_.get(), POLLOUT, 0};
      if (::poll(&ready, 1, 1000) < 0 && Interrupt::requested()) {
        state_ = State::interrupted;
        break;
      }
    } else {
      error_number_ = errno;
      state_ = errno == EPIPE ? State::reader_gone : State::failed;
      break;
    }
  }
  bytes_written_ += written;
  return written;
}

std::string Output::error() const { return std::strerror(error_number_); }

}  // namespace netio::cli
