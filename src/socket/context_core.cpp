// Sets a context up: checks the options, takes the memory; and its public front.
#include "socket/context_core.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <netio/fabrics.hpp>
#include <netio/status.hpp>

#include "base/clock.hpp"
#include "base/misuse.hpp"
#include "base/on_core.hpp"
#include "base/url.hpp"
#include "memory/mapping.hpp"
#include "socket/memory_fit.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {

constexpr std::size_t page_bytes_min = 4U << 10U;
constexpr std::size_t page_bytes_most = 16U << 20U;
// Memory that was refused is asked for again after this time.
constexpr std::chrono::milliseconds ask_again_after{100};

void check(const ContextOptions& options) {
  const std::size_t page = options.page_bytes;
  require_page_bytes(page);
  if (options.send_pool_bytes < blocks_min * page ||
      options.receive_pool_bytes < blocks_min * pages_per_block * page) {
    throw Error("make a context", "the pools are too small for pages of " + std::to_string(page),
                "send_pool_bytes must hold 4 pages, receive_pool_bytes 16");
  }
  // 1 TiB: what rounds a size up, or adds two of them, is far from where it would wrap.
  constexpr std::size_t bytes_most = std::size_t{1} << 40U;
  if (std::max(options.send_pool_bytes, options.receive_pool_bytes) > bytes_most) {
    throw Error("make a context", "a pool is over 1 TiB", "choose at most 2^40 bytes");
  }
}

}  // namespace

void require_page_bytes(std::size_t page) {
  if (page >= page_bytes_min && page <= page_bytes_most && page % page_bytes_min == 0) return;
  throw Error("make a context", "page_bytes is " + std::to_string(page),
              "choose a multiple of 4096 from 4096 to 16777216");
}

ContextCore::ContextCore(const ContextOptions& options)
    : loop(options.idle),
      options_(options),
      memory_came_home_(loop,
                        [this] {
                          send_pool_->serve_waiters();
                          receive_pool_->serve_waiters();
                          if (receive_pages_) receive_pages_->serve_waiters();
                          large_pool_->serve_waiters();
                        }),
      room_(ControlGroup(), options.numa_node),
      ask_again_(loop, [this] { room_.retry(); }) {
  check(options);
  options_ = fit_memory(options, room_.groups());
  const OnCore on_core(options.cpu);  // the core on which the memory is used touches it first
  loop.run_on(options.cpu);
  // What was released outside of turns goes first, still warm.
  loop.at_begin([this] { collect(); });
  room_.when_refused = [this] {
    if (!loop.copied_by_fork() && !ask_again_.running()) ask_again_.start_once(ask_again_after);
  };
  room_.add(*this);
  send_pool_ = make_pool(options_.page_bytes, options_.send_pool_bytes);
  receive_pool_ = make_pool(options_.page_bytes * pages_per_block, options_.receive_pool_bytes);
  large_pool_ = LargePool::create(options_.large_bytes_max, options_.large_kept_bytes_max,
                                  loop.owner(), &room_);
  large_pool_->set_wake([this] { serve_waiters(); });
  loop.at_fork([this] {
    for (SocketCore* socket : sockets_) socket->freeze();
    for (SocketOwner* owner : owners_) owner->freeze();
  });
}

ContextCore::~ContextCore() {
  loop.run_endings();  // coroutines, and the sockets in them
  then_ = nullptr;
  run_deferred();
  // In a child of fork() they may be those of a thread that is not here, which nobody can destroy.
  if (!sockets_.empty() && !loop.copied_by_fork()) {
    die("a context is destroyed before the sockets in it; destroy those first (declare the context "
        "before them)");
  }
  loop.at_fork({});
  loop.at_begin({});
  transports_.clear();
}

void ContextCore::collect() noexcept {
  for (Store* const store :
       {static_cast<Store*>(send_pool_.get()), static_cast<Store*>(receive_pool_.get()),
        static_cast<Store*>(receive_pages_.get()), static_cast<Store*>(large_pool_.get())}) {
    if (store != nullptr && !store->waited_for()) store->collect();
  }
}

Pool::Ptr ContextCore::make_pool(std::size_t block_bytes, std::size_t bytes) {
  Pool::Ptr pool = Pool::create_as_used(block_bytes, bytes / block_bytes, &room_, loop.owner());
  if (!pool->has_memory() && !pool->take_step()) throw room_.error("make a context");
  pool->set_wake([this] { serve_waiters(); });
  return pool;
}

Pool& ContextCore::receive_pages() {
  if (!receive_pages_) {
    // A message as large as a page has a head of its own, and fits too; but where pages are small.
    const std::size_t head = options_.page_bytes / 16 / small_page_bytes * small_page_bytes;
    const std::size_t block = options_.page_bytes + head;
    receive_pages_ = make_pool(block, options_.receive_pool_bytes);
  }
  return *receive_pages_;
}

TransportResources ContextCore::resources() {
  return {loop,
          *send_pool_,
          *receive_pool_,
          *large_pool_,
          inquiries_,
          options_.page_bytes,
          [this]() -> Pool& { return receive_pages(); },
          room_};
}

void ContextCore::add_transport(const std::string& scheme, const MakeTransport& make) {
  transports_.emplace(scheme, make(resources()));
}

Transport& ContextCore::transport(std::string_view address) {
  const std::string_view scheme = scheme_of(address);
  if (const auto found = transports_.find(scheme); found != transports_.end()) {
    return *found->second;
  }
  auto made = make_transport(std::string(scheme), resources());
  if (!made) {
    throw AddressError("use " + std::string(address),
                       "there is no transport '" + std::string(scheme) + "'",
                       "this build knows " + known_schemes());
  }
  return *transports_.emplace(std::string(scheme), std::move(made)).first->second;
}

const std::vector<std::string>& ContextCore::verbs_hosts() {
  constexpr std::int64_t good_for_ns = 10'000'000'000;
  const std::int64_t now_ns = monotonic_ns();
  if (verbs_asked_ns_ != 0 && now_ns - verbs_asked_ns_ < good_for_ns) return verbs_hosts_;
  std::vector<std::string> hosts;
  for (const FabricDevice& device : fabric_devices()) {
    if (device.scheme == "verbs") {
      hosts.insert(hosts.end(), device.hosts.begin(), device.hosts.end());
    }
  }
  verbs_hosts_ = std::move(hosts);
  verbs_asked_ns_ = now_ns;
  return verbs_hosts_;
}

static void require_open(bool closing, const char* what) {
  if (closing) throw Error(what, "the context was closed", "make another context");
}

void ContextCore::enter(SocketCore& socket) {
  require_open(closing_ && !socket.pattern().is_owned, "make a socket");
  sockets_.push_back(&socket);
}

void ContextCore::enter(SocketOwner& owner) {
  require_open(closing_, "make a unit");
  owners_.push_back(&owner);
}

void ContextCore::leave(SocketCore& socket) noexcept {
  std::erase(sockets_, &socket);
  socket_closed();
}

void ContextCore::run() {
  loop.run_from([this] {
    stops_when_closed_ = !sockets_.empty() && std::ranges::all_of(sockets_, &SocketCore::closing);
    socket_closed();
  });
  stops_when_closed_ = false;
}

void ContextCore::close(std::chrono::nanoseconds linger, std::function<void()> then) {
  loop.require_owner("close the context");
  closing_ = true;
  // Who is told twice to end, by a supervisor or a user, is not to end later.
  const std::chrono::nanoseconds now = loop.now();
  linger = bound(linger);
  close_until_ = now + linger;
  if (then) {
    then_ = std::move(then);
  } else if (!then_) {
    then_ = [this] { loop.stop(); };
  }
  for (SocketCore* socket : sockets_) {
    if (!socket->pattern().is_owned) socket->close(linger);
  }
  for (SocketOwner* owner : owners_) {
    if (owner->ends_first()) owner->end_within(linger);
  }
  end_others();
  socket_closed();
}

std::chrono::nanoseconds ContextCore::bound(std::chrono::nanoseconds linger) const noexcept {
  return std::max(std::min(linger, close_until_ - loop.now()), std::chrono::nanoseconds(0));
}

// Builders of the same context take what its read-out units hold.
void ContextCore::end_others() noexcept {
  const auto is_under_way = [](const SocketOwner* owner) {
    return owner->ends_first() && !owner->has_ended();
  };
  if (!closing_ || loop.copied_by_fork()) return;
  if (std::ranges::any_of(owners_, is_under_way)) return;
  others_end_ = true;
  for (SocketOwner* owner : owners_) {
    if (!owner->ends_first()) owner->end_within(close_until_ - loop.now());
  }
}

void ContextCore::socket_closed() noexcept {
  const bool others_wait = closing_ && !others_end_;
  if (others_wait || (waited_for() && all_closed())) loop.defer(*this);
}

bool ContextCore::all_closed() const noexcept {
  return std::all_of(sockets_.begin(), sockets_.end(), [](const SocketCore* socket) {
    return socket->closed() || socket->abandoned();
  });
}

// Without memory: a socket may be destroyed because there is none.
void ContextCore::bury(std::unique_ptr<Buriable> dead) noexcept {
  dead->abandon();
  if (!loop.in_turn()) return;
  dead->buried_before_ = std::move(buried_);
  buried_ = std::move(dead);
  loop.defer(*this);
}

// What a call-back had captured dies with its socket, and may be another socket. Units have some.
void ContextCore::run_deferred() noexcept {
  while (buried_) {
    std::unique_ptr<Buriable> dead = std::move(buried_);
    while (dead) dead = std::move(dead->buried_before_);
  }
  if (!others_end_) end_others();
  if (!waited_for() || !all_closed()) return;
  stops_when_closed_ = false;
  if (const auto then = std::exchange(then_, nullptr)) {
    then();
  } else {
    loop.stop();
  }
}

}  // namespace netio::detail

namespace netio {

Context::Context(const ContextOptions& options)
    : core_(std::make_unique<detail::ContextCore>(options)) {}
Context::~Context() = default;

const ContextOptions& Context::options() const noexcept { return core_->options(); }
Loop& Context::loop() noexcept { return core_->loop; }
void Context::run() { core_->run(); }
void Context::stop() noexcept { core_->loop.stop(); }
void Context::close(std::chrono::nanoseconds linger, std::function<void()> then) {
  core_->close(linger, std::move(then));
}

}  // namespace netio
