#include "file_source.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "exit_code.hpp"

namespace netio::cli {

namespace {

// The kernel's answer to reading a mapped page that the file has no longer: where a truncation ends
// that comes between shrunk() and the copy of a message that is sent where it lies.
extern "C" void on_bus_error(int) {
  static constexpr std::string_view text =
      "netio: error: the input file was cut off (or its disk failed) while it was read\n";
  // Nothing to be done if even this cannot be written.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(static_cast<int>(ExitCode::failed));
}

}  // namespace

FileSource::FileSource(Descriptor descriptor, std::string name, std::uint64_t offset,
                       std::uint64_t end, const Framer& framer, bool unbuffered, Outlet& outlet)
    : descriptor_(std::move(descriptor)),
      name_(std::move(name)),
      framer_(framer),
      lends_(unbuffered),
      at_(offset),
      end_(end),
      input_bytes_(static_cast<std::size_t>(end - offset)),
      ahead_bytes_max_(unbuffered ? lent_bytes_min : copied_ahead_bytes),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(ahead_bytes_max_)) {
  void* const memory =
      ::mmap(nullptr, static_cast<std::size_t>(end), PROT_READ, MAP_PRIVATE, descriptor_.get(), 0);
  if (memory == MAP_FAILED) {
    throw Failure(fmt::format("cannot map {}: {}", name_, std::strerror(errno)));
  }
  mapping_ = {static_cast<std::byte*>(memory), static_cast<std::size_t>(end)};
  ::madvise(memory, mapping_.size(), MADV_SEQUENTIAL);
  std::signal(SIGBUS, on_bus_error);
  // The mapping stays until the socket is gone: nothing to do for a message that comes back.
  if (lends_) outlet.on_released([](std::uint64_t) {});
}

FileSource::~FileSource() { ::munmap(mapping_.data(), mapping_.size()); }

bool FileSource::shrunk() noexcept {
  struct stat info {};
  return ::fstat(descriptor_.get(), &info) == 0 && std::cmp_less(info.st_size, end_);
}

bool FileSource::read_ahead() {
  const std::size_t wanted = ahead_wanted();
  std::size_t read = 0;
  while (read < wanted) {
    const ssize_t got = ::pread(descriptor_.get(), buffer_.get() + read, wanted - read,
                                static_cast<off_t>(at_ + read));
    if (got == 0) return false;
    if (got > 0) {
      read += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      throw Failure(fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
    }
  }
  ahead_ = {buffer_.get(), read};
  return true;
}

Turn FileSource::end_shrunk() {
  end_with(fmt::format("{} was cut off while it was read, after {} had been sent", name_,
                       counted(bytes(), "byte")));
  return Turn::end;
}

Turn FileSource::send_some(Outlet& outlet, Allowance allowance) {
  if (shrunk()) return end_shrunk();
  std::uint64_t messages_left = std::min(allowance.messages, turn_messages_max);
  std::uint64_t bytes_left = std::min(allowance.bytes, turn_bytes_max);
  while (messages_left > 0 && bytes_left > 0) {
    Cut cut = framer_.cut(ahead_, at_ + ahead_.size() == end_);
    const bool lends = lends_ && cut.bytes >= lent_bytes_min;
    if (cut.kind == Cut::Kind::more && !lends && ahead_.size() < ahead_wanted()) {
      if (!read_ahead()) return end_shrunk();
      continue;
    }
    std::span<const std::byte> from = ahead_;
    if (lends || cut.kind == Cut::Kind::more) {
      if (shrunk()) return end_shrunk();
      from = mapping_.subspan(static_cast<std::size_t>(at_));
      cut = framer_.cut(from, true);
    }
    if (cut.kind != Cut::Kind::record) {
      end_with(framer_.defect());
      return Turn::end;
    }
    const std::span<const std::byte> message = from.first(cut.bytes);
    const Status status = lends ? outlet.lend(message, messages()) : outlet.send(message);
    if (status != Status::ok) return not_taken(status, message.size());
    at_ += cut.bytes;
    ahead_ = ahead_.subspan(std::min(cut.bytes, ahead_.size()));
    framer_.take(cut.bytes);
    count(cut.bytes);
    --messages_left;
    bytes_left -= std::min<std::uint64_t>(bytes_left, cut.bytes);
  }
  return Turn::more;
}

std::optional<double> FileSource::fraction() const {
  return static_cast<double>(bytes()) / static_cast<double>(input_bytes_);
}

}  // namespace netio::cli
