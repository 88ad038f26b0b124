// The queued sockets of a build without the queue: they say so.
#if !__has_include(<readerwritercircularbuffer.h>)
#include <netio/blocking.hpp>

namespace netio::blocking {

namespace {
[[noreturn]] void refuse() {
  throw Error(
      "make a queued socket", "this netio was built without the queue between threads",
      "install libreaderwriterqueue-dev and build it again, or use blocking::Push and Pull");
}
}  // namespace

bool queued_sockets_built() noexcept { return false; }

struct QueuedPull::State {};
QueuedPull::QueuedPull(const QueueOptions& /*options*/) : marks_(nullptr), loop_(nullptr) {
  refuse();
}
QueuedPull::~QueuedPull() = default;
std::string QueuedPull::bind(std::string_view /*address*/) { refuse(); }
void QueuedPull::connect(std::string_view /*address*/) { refuse(); }
Received QueuedPull::receive_next_page(std::chrono::nanoseconds /*timeout*/) { refuse(); }
void QueuedPull::wake_loop() noexcept {}

struct QueuedPush::State {};
QueuedPush::QueuedPush(const QueueOptions& /*options*/) { refuse(); }
QueuedPush::~QueuedPush() = default;
std::string QueuedPush::bind(std::string_view /*address*/) { refuse(); }
void QueuedPush::connect(std::string_view /*address*/) { refuse(); }
Status QueuedPush::send(std::span<const std::byte> /*message*/,
                        std::chrono::nanoseconds /*timeout*/, std::uint64_t /*tag*/) {
  refuse();
}
Books QueuedPush::close(std::chrono::nanoseconds /*linger*/) { refuse(); }

}  // namespace netio::blocking
#endif
