// A transport makes Links by address. One per scheme and context; see schemes.cpp for the table.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <netio/fabrics.hpp>
#include <netio/loop.hpp>

#include "base/url.hpp"
#include "memory/copies.hpp"
#include "memory/large_pool.hpp"
#include "memory/memory_room.hpp"
#include "memory/pool.hpp"
#include "memory/quota.hpp"
#include "transport/inquiry_line.hpp"
#include "transport/link.hpp"
#include "wire/frame.hpp"
#include "wire/page.hpp"

namespace netio::detail {

// What a context lends its transports. Outlives them.
struct TransportResources {
  Loop& loop;
  Pool& send_pool;     // pages
  Pool& receive_pool;  // blocks of several pages
  LargePool& large_pool;
  InquiryLine& inquiries;  // asks what blocks
  std::size_t page_bytes;
  // Blocks for a page and its head each, for wires that need a place for each in advance. Made at
  // the first call, as large as receive_pool; throws Error without memory.
  std::function<Pool&()> receive_pages;
  MemoryRoom& room;  // for what a transport takes beside
};

// Of the buffer of a message that is a page of its own, the most that is not payload: where the
// page begins, the prefix of the frame, and the padding.
inline constexpr std::uint64_t around_large_message = 256;

// What a socket asks of its links. Outlives them.
struct LinkOptions {
  std::size_t queue_bytes_max = 0;
  std::uint64_t message_bytes_max = 0;
  std::chrono::nanoseconds handshake_within{};
  // For the host name, before that time begins. Longer than resolvers take that ask one server
  // after the other: an answer that nobody waits for any more would be asked for again.
  std::chrono::nanoseconds look_up_within = std::chrono::seconds(60);
  std::chrono::seconds keep_alive_after{};
  Quota* receive_quota = nullptr;          // what receive blocks are charged to
  Quota* large_quota = nullptr;            // what buffers for large messages are charged to
  std::uint64_t* starved_count = nullptr;  // counts each time a link stops for lack of memory
  Copies* copies = nullptr;                // counts what a link copies
  // The owner keeps many pages, and releases those of one link in the order in which they came. A
  // block in which it keeps one is not given back between reads: later pages fill the rest of it.
  bool fills_blocks = false;
};

// Fit::whole_page_bytes_max of a wire that copies messages over a page into the large pool. The
// body's size has 32 bits; half of that keeps every sum far from the edge.
inline constexpr std::uint64_t whole_page_copied = std::uint64_t{1} << 31U;

// The largest message that a socket takes on such a wire: its hello says so. Otherwise one that
// never fits the pool would break each connection that it is sent on. Parts need nothing around
// them in the buffer.
[[nodiscard]] inline std::uint64_t largest_copied(const TransportResources& resources,
                                                  const LinkOptions& options) noexcept {
  const std::uint64_t buffer = resources.large_pool.largest(options.large_quota);
  const bool in_parts = buffer > whole_page_copied + around_large_message;
  const std::uint64_t large = in_parts ? buffer : buffer - std::min(buffer, around_large_message);
  const std::uint64_t in_page = resources.page_bytes - page_header_bytes - frame_prefix_bytes_max;
  return std::min<std::uint64_t>(options.message_bytes_max, std::max(large, in_page));
}

class ListenerEvents {
 public:
  // A connection came. Nothing was read or sent so far: start() it, or destroy it to turn it away.
  virtual void on_accept(std::unique_ptr<Link> link) noexcept = 0;
  // This process lacks what the next connection takes. Called once, until all that wait could be
  // accepted. `address` is the listener's.
  virtual void on_exhausted(const std::string& address, Down down) noexcept = 0;

 protected:
  ~ListenerEvents() = default;
};

// Accepts until destroyed.
class Listener {
 public:
  virtual ~Listener() = default;
  // The address bound, with the real port.
  [[nodiscard]] virtual std::string address() const = 0;
  // Stops and resumes accepting: peers wait in the kernel's queue.
  virtual void pause(bool paused) noexcept = 0;
  // A connection ended: what it took may be enough to accept the next one.
  virtual void retry() noexcept {}
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Throws Error: address in use, not of this host, no permission, ...
  virtual std::unique_ptr<Listener> listen(const Url& url, const LinkOptions& options,
                                           ListenerEvents& events) = 0;
  // A link that will connect once started. Throws Error for an address that makes no sense here.
  virtual std::unique_ptr<Link> connect(const Url& url, const LinkOptions& options) = 0;
};

// tcp://host:port: our own transport on non-blocking sockets (tcp/transport.cpp). Of netio://
// addresses, which may go over other wires, it is the first wire.
std::unique_ptr<Transport> make_tcp_transport(const TransportResources& resources,
                                              const std::string& scheme);

// shm://name, shm:///path, and inproc://name: memory that two processes share, or two contexts of
// one (shm/transport.cpp).
std::unique_ptr<Transport> make_shm_transport(const TransportResources& resources,
                                              const std::string& scheme);

// verbs://host:port and ofi+PROVIDER://host:port: any fabric that libfabric knows
// (ofi/transport.cpp). Its provider is "verbs", or what follows the +.
std::unique_ptr<Transport> make_ofi_transport(const TransportResources& resources,
                                              const std::string& scheme);
// What there is to use them with, of one provider if it is not empty (ofi/devices.cpp).
std::vector<FabricDevice> ofi_devices(const std::string& provider = {});

// Throws AddressError for a host and port that nobody can have.
void refuse_nobody(const Url& url);

// Null for a scheme nobody has.
std::unique_ptr<Transport> make_transport(const std::string& scheme,
                                          const TransportResources& resources);
// As its scheme has it. Throws AddressError.
Url parse_address(std::string_view address);
// "tcp, shm, ..." for messages.
std::string known_schemes();

}  // namespace netio::detail
