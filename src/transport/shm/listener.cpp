// bind, listen, accept4 on a Unix socket; a file that a dead process left is replaced.
#include "transport/shm/listener.hpp"

#include <cerrno>
#include <chrono>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <netio/status.hpp>

#include "base/random.hpp"
#include "base/system_error.hpp"

namespace netio::detail {

namespace {

constexpr int backlog = 1024;
constexpr int accepts_per_turn = 64;
// How long to leave new peers in the kernel's queue when no descriptor is left for them.
constexpr std::chrono::milliseconds retry_after{100};

// Of what is at the path itself; 0 if there is nothing.
ino_t inode_of(const std::string& path) noexcept {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

// A socket's file that no process has open any more. The probe is of another type, so that who
// listens there sees no connection.
bool is_left_over(const UnixAddress& address) noexcept {
  struct stat status {};
  if (lstat(address.path().c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const FileDescriptor probe(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return probe && ::connect(probe.get(), address.get(), address.bytes) != 0 &&
         errno == ECONNREFUSED;
}

// For *, one that nobody has.
std::string any_name() {
  std::string name = "any-";
  for (const std::uint8_t byte : random_bytes<8>()) {
    name += "0123456789abcdef"[byte >> 4U];
    name += "0123456789abcdef"[byte & 15U];
  }
  return name;
}

std::string advice_for_taken(const std::string& path) {
  if (path.empty()) {
    return "another process listens there (ss -lx shows which); stop it, or take another name";
  }
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode)) {
    return "what is at this path is no socket: take another";
  }
  if (status.st_uid != geteuid()) {
    return "the socket there belongs to another user, " + std::to_string(status.st_uid) +
           ": remove it as that user if nobody listens any more, or take another path";
  }
  return "another process listens there (ss -lx shows which); stop it, or take another path";
}

std::string advice_for(int error, const std::string& path) {
  if (error == EADDRINUSE) return advice_for_taken(path);
  if (error == ENOENT) return "make the folder first";
  if (error == EACCES) return "take a folder in which this user may make files";
  return {};
}

}  // namespace

ShmListener::ShmListener(ShmShared& shared, const Url& url, const LinkOptions& options,
                         ListenerEvents& events)
    : shared_(shared),
      options_(options),
      events_(events),
      retry_timer_(shared.resources.loop, [this] { update_watch(); }) {
  Url named = url;
  if (url.name == "*") named.name = any_name();
  address_ = to_string(named);
  const UnixAddress address = UnixAddress::of("bind", named);
  fd_ = make_unix_socket();
  int error = fd_ ? 0 : errno;
  const auto bind_it = [&] {
    return ::bind(fd_.get(), address.get(), address.bytes) == 0 ? 0 : errno;
  };
  if (error == 0) error = bind_it();
  if (error == EADDRINUSE && !address.path().empty() && is_left_over(address)) {
    (void)unlink(address.path().c_str());
    error = bind_it();
  }
  if (error == 0) {
    path_ = address.path();
    inode_ = inode_of(path_);
  }
  if (error == 0 && listen(fd_.get(), backlog) != 0) error = errno;
  if (error != 0) {
    throw system_error("bind " + address_, error, advice_for(error, address.path()));
  }
  watch_.emplace(shared_.resources.loop, fd_.get(), EPOLLIN,
                 [this](std::uint32_t) { accept_some(); });
}

ShmListener::~ShmListener() {
  // Another may have the path since.
  if (!path_.empty() && inode_of(path_) == inode_) (void)unlink(path_.c_str());
}

void ShmListener::pause(bool paused) noexcept {
  paused_ = paused;
  update_watch();
}

void ShmListener::update_watch() noexcept {
  try {
    watch_->set_events(paused_ || retry_timer_.running() ? 0U : std::uint32_t{EPOLLIN});
  } catch (const Error&) {
    retry_timer_.start_once(retry_after);  // the system is out of watches or memory for now
  }
}

void ShmListener::accept_some() {
  for (int i = 0; i < accepts_per_turn && !paused_; ++i) {
    FileDescriptor fd(accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        retry_timer_.start_once(retry_after);
        update_watch();
        return;
      }
      continue;  // this one went before it was accepted
    }
    events_.on_accept(std::make_unique<ShmLink>(shared_, options_, address_, std::move(fd)));
  }
}

}  // namespace netio::detail
