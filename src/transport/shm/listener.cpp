// bind and listen on a Unix socket.
#include "transport/shm/listener.hpp"

#include <cerrno>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <netio/not_there_yet.hpp>
#include <netio/status.hpp>

#include "base/hex.hpp"
#include "base/random.hpp"
#include "base/system_error.hpp"

namespace netio::detail {

namespace {

// For *, one that nobody has.
std::string any_name() {
  std::string name = "any-";
  for (const std::uint8_t byte : random_bytes<8>()) append_hex(name, byte);
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
  if (error == EWOULDBLOCK) {
    return "another process has locked the folder (lslocks shows which), and so may be replacing "
           "the socket that was left there: try again, end that process, or take another folder";
  }
  if (error == ENOENT) return "make the folder first";
  if (error == EACCES) return "take a folder in which this user may make files";
  return {};
}

}  // namespace

ShmListener::ShmListener(ShmShared& shared, const Url& url, const LinkOptions& options,
                         ListenerEvents& events)
    : SocketListener(shared.resources.loop, events), shared_(shared), options_(options) {
  Url named = url;
  if (url.name == "*") named.name = any_name();
  const std::string name = to_string(named);
  const UnixAddress address = UnixAddress::of("bind", named);
  FileDescriptor fd = make_unix_socket();
  int error = fd ? file_.bind(fd.get(), address) : errno;
  if (error == 0 && listen(fd.get(), accept_queue_max) != 0) error = errno;
  if (error == ENOENT) {
    throw NotThereYet("bind " + name, errno_text(error), advice_for(error, address.path()));
  }
  if (error != 0) {
    file_.remove();
    throw system_error("bind " + name, error, advice_for(error, address.path()));
  }
  accept_at(name, std::move(fd));
}

ShmListener::~ShmListener() {
  if (copied_by_fork()) {
    file_.forget();  // it is the parent's
    return;
  }
  file_.remove();
  end_who_waits();
}

// Whoever waits in its queue would be closed with the listening socket, and with them what they
// have passed already.
void ShmListener::end_who_waits() noexcept {
  FileDescriptor listening = stop_accepting();
  if (!listening) return;
  (void)shutdown(listening.get(), SHUT_RDWR);  // nobody more comes
  while (!shared_.closing.full()) {
    FileDescriptor one = opened([&listening] {
      return accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    });
    if (!one && (errno == EAGAIN || errno == EINVAL)) return;  // nobody is left
    if (!one) break;                                           // some may be
    shared_.closing.close_unread(std::move(one));
  }
  shared_.closing.close(std::move(listening));
}

const char* ShmListener::why_not_now() noexcept {
  return shared_.closing.full() ? closing_is_full : nullptr;
}

std::unique_ptr<Link> ShmListener::link_of(FileDescriptor& connection) {
  return std::make_unique<ShmLink>(shared_, options_, address(), connection);
}

void ShmListener::discard(FileDescriptor connection) noexcept {
  shared_.closing.close_unread(std::move(connection));
}

}  // namespace netio::detail
