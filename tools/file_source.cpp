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

// The kernel's answer to reading a mapped page that the file has no longer. Between shrunk() and
// the copy nobody can be asked first, so this is where a very unlucky truncation ends.
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
      end_(end),
      input_bytes_(static_cast<std::size_t>(end - offset)) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t lead = offset % page;
  const auto mapped_bytes = static_cast<std::size_t>(end - offset + lead);
  void* const memory = ::mmap(nullptr, mapped_bytes, PROT_READ, MAP_PRIVATE, descriptor_.get(),
                              static_cast<off_t>(offset - lead));
  if (memory == MAP_FAILED) {
    throw Failure(fmt::format("cannot map {}: {}", name_, std::strerror(errno)));
  }
  ::madvise(memory, mapped_bytes, MADV_SEQUENTIAL);
  mapping_ = {static_cast<std::byte*>(memory), mapped_bytes};
  rest_ = mapping_.subspan(static_cast<std::size_t>(lead));
  std::signal(SIGBUS, on_bus_error);
  // The mapping stays until the socket is gone: nothing to do for a message that comes back.
  if (lends_) outlet.on_released([](std::uint64_t) {});
}

FileSource::~FileSource() { ::munmap(mapping_.data(), mapping_.size()); }

bool FileSource::shrunk() noexcept {
  struct stat info {};
  return ::fstat(descriptor_.get(), &info) == 0 && std::cmp_less(info.st_size, end_);
}

Turn FileSource::send_some(Outlet& outlet, Allowance allowance) {
  if (shrunk()) {
    end_with(fmt::format("{} was cut off while it was read, after {} had been sent", name_,
                         counted(bytes(), "byte")));
    return Turn::end;
  }
  std::uint64_t messages_left = std::min(allowance.messages, turn_messages_max);
  std::uint64_t bytes_left = std::min(allowance.bytes, turn_bytes_max);
  while (messages_left > 0 && bytes_left > 0) {
    const Cut cut = framer_.cut(rest_, true);
    if (cut.kind != Cut::Kind::record) {
      end_with(framer_.defect());
      return Turn::end;
    }
    const std::span<const std::byte> message = rest_.first(cut.bytes);
    const Status status = lends_ && message.size() >= lent_bytes_min
                              ? outlet.lend(message, messages())
                              : outlet.send(message);
    if (status != Status::ok) return not_taken(status, message.size());
    rest_ = rest_.subspan(cut.bytes);
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
