#include "input.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <utility>

#include <fmt/format.h>

#include "descriptor.hpp"
#include "exit_code.hpp"
#include "file_source.hpp"
#include "interrupt.hpp"
#include "stream_source.hpp"

namespace netio::cli {

namespace {

Descriptor open_for_reading(const std::string& path) {
  if (path == "-") return Descriptor(STDIN_FILENO);
  for (;;) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) return Descriptor(fd);
    if (Interrupt::requested()) {
      throw Failure(fmt::format("interrupted while {} had no other end", path), {},
                    ExitCode::interrupted);
    }
    if (errno == EINTR) continue;
    throw Failure(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  }
}

}  // namespace

std::unique_ptr<MessageSource> open_input(const InputSpec& spec, Loop& loop, Outlet& outlet,
                                          std::function<void()> on_ready) {
  Descriptor descriptor = open_for_reading(spec.path);
  const std::string name = spec.path == "-" ? "standard input" : spec.path;
  struct stat info {};
  if (::fstat(descriptor.get(), &info) != 0) {
    throw Failure(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) throw Failure(fmt::format("{} is a directory", name));
  const Framer framer(spec.frame, spec.message_bytes_max);
  if (S_ISREG(info.st_mode)) {
    // Standard input may have been read in part by who gave it to us.
    const off_t offset = ::lseek(descriptor.get(), 0, SEEK_CUR);
    // Files of /proc say they are empty and are not: they are read as a stream.
    if (offset >= 0 && info.st_size > offset) {
      return std::make_unique<FileSource>(
          std::move(descriptor), name, static_cast<std::uint64_t>(offset),
          static_cast<std::uint64_t>(info.st_size), framer, spec.unbuffered, outlet);
    }
  }
  return std::make_unique<StreamSource>(std::move(descriptor), name, framer, loop,
                                        std::move(on_ready));
}

}  // namespace netio::cli
