// Set-up of an ofi link: finding a way, connecting, and its end. The data path is
// link_datapath.cpp.
#include "transport/ofi/link.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "fabric/error.hpp"
#include "transport/internet_address.hpp"
#include "transport/ofi/messages_engine.hpp"

namespace netio::detail {

namespace {

// Enough to keep a wire of 100 Gb/s busy over 300 us.
constexpr std::size_t window_most = 64;
// Posted at once besides the receives: sends, injected ones, reads.
constexpr std::size_t transmits_max = OfiSends::entries_max + window_most + OfiFetches::reads_max;

std::size_t window_for(const OfiAddressOptions& address) {
  return address.window != 0 ? address.window : window_most;
}

// Names, then the way to each address: both may block, and run on a thread of their own.
Ways find_ways(FabricGate& gate, const std::string& provider, const std::string& host,
               std::uint16_t port) {
  Ways ways;
  LookUp found = look_up(host, port);
  ways.failure = std::move(found.failure);
  for (const InternetAddress& address : found.addresses) {
    const std::shared_lock lock(gate.mutex);
    if (!gate.open) break;
    try {
      ways.infos.push_back(Info::to_connect(provider, host_number(address), port));
    } catch (const FabricError& error) {
      ways.failure.reason =
          error.code() == ENODATA ? DownReason::unreachable : DownReason::resources;
      ways.failure.detail = "no way over '" + provider + "' to " + to_string(address);
      ways.failure.detail += ": " + error.cause() + " (netio info shows the devices there are)";
    } catch (const Error& error) {
      ways.failure = {DownReason::resources, error.what()};
    }
  }
  std::reverse(ways.infos.begin(), ways.infos.end());
  return ways;
}

}  // namespace

OfiLink::OfiLink(FabricSet& fabrics, const LinkOptions& options, const Url& url,
                 const OfiAddressOptions& address)
    : fabrics_(fabrics),
      options_(options),
      peer_address_(to_string(url)),
      url_(url),
      address_(address),
      window_is_given_(address.window != 0),
      window_(window_for(address)),
      depth_(std::max(window_, address.ring.window())) {}

OfiLink::OfiLink(FabricSet& fabrics, const LinkOptions& options, Info request,
                 std::shared_ptr<PassiveEndpoint> listener, const OfiAddressOptions& address)
    : fabrics_(fabrics),
      options_(options),
      peer_address_(fabrics.scheme() + "://" +
                    to_string(InternetAddress(request->dest_addr, request->dest_addrlen))),
      request_(std::move(request)),
      listener_(std::move(listener)),
      address_(address),
      window_is_given_(address.window != 0),
      window_(window_for(address)),
      depth_(std::max(window_, address.ring.window())) {}

OfiLink::~OfiLink() {
  if (request_) listener_->reject(request_);
  if (state_ != State::down) cut();
  fabrics_.ring_graves().bury(std::move(last_ring_));
}

OfiLink::Wire::Wire(OfiLink& link, Device& device, const Info& info)
    : queue(link.address_.ring.slots == 0 ? device.queue_with_room(transmits_max + link.depth_)
                                          : device.queue_alone(transmits_max + link.depth_)),
      of_queue(queue.reserved, transmits_max + link.depth_),
      of_pool(link.fabrics_.links()),
      of_quota(link.options_.receive_quota->links),
      events(device.events()),
      sends(link, queue, device, link.resources_.send_pool, info->tx_attr->inject_size,
            link.options_.copies),
      receives(link, queue, device, link.resources_.receive_pages(), link.options_.receive_quota,
               link.depth_),
      fetches(link, queue, device, link.resources_.large_pool, link.options_,
              info->ep_attr->max_msg_size),
      endpoint(device.domain(), info.with_depths(transmits_max, link.depth_), queue, events, link),
      engine(std::make_unique<MessagesEngine>(parts())) {}

void OfiLink::start(LinkEvents& events) noexcept {
  assert(state_ == State::idle);
  events_ = &events;
  handshake_timer_.start_once(options_.handshake_within);
  // No event comes from inside a call.
  guard_memory([this] { begin(); },
               [this]() noexcept {
                 wire_.reset();
                 refusal_ = out_of_memory();
                 loop_.defer(*this);
               });
}

void OfiLink::begin() {
  if (url_) {
    state_ = State::resolving;
    handshake_timer_.start_once(options_.look_up_within);
    inquiry_.emplace(
        fabrics_.line_for(url_->host, url_->port), loop_, url_->host,
        [gate = fabrics_.gate(), provider = fabrics_.provider(), host = url_->host,
         port = url_->port] { return find_ways(*gate, provider, host, port); },
        [this](Ways ways) {
          guarded([&] {
            handshake_timer_.start_once(options_.handshake_within);
            ways_ = std::move(ways.infos);
            connect_next(std::move(ways.failure));
          });
        });
    return;
  }
  state_ = State::greeting;
  const Info request = std::exchange(request_, Info());
  const auto listener = std::exchange(listener_, nullptr);
  bool accepting = false;
  try {
    open(request);
    accepting = true;
    wire_->endpoint.accept();
  } catch (const Error& error) {
    wire_.reset();
    // Also where an endpoint took the connection and closed it: this, or accepting, frees it.
    if (!accepting) listener->reject(request);
    refusal_ = {DownReason::resources,
                std::string("cannot take ") + peer_address_ + ": " + error.what()};
    loop_.defer(*this);
  } catch (const std::bad_alloc&) {
    wire_.reset();
    if (!accepting) listener->reject(request);
    throw;
  }
}

// Tries the next way; without one the last failure is the link's.
void OfiLink::connect_next(Down last_failure) {
  wire_.reset();
  if (ways_.empty()) {
    go_down(std::move(last_failure));
    return;
  }
  const Info way = std::move(ways_.back());
  ways_.pop_back();
  state_ = State::connecting;
  try {
    open(way);
    wire_->endpoint.connect(way->dest_addr);
  } catch (const FabricError& error) {
    connect_next(error.code() == ENOMEM ? Down{DownReason::resources, error.what()}
                                        : down_from(error.code()));
  } catch (const Error& error) {
    connect_next({DownReason::resources, error.what()});
  }
}

// An endpoint with its receives posted: what comes first must find a place.
void OfiLink::open(const Info& info) {
  Device& device = fabrics_.device_of(info);
  wire_ = std::make_unique<Wire>(*this, device, info);
  if (address_.ring.slots != 0) make_ring(device, info);
  const long posted = wire_->engine->replenish(window());
  if (posted < static_cast<long>(Credits::window_min)) {
    check_fabric(posted, "post receives");
    throw Error("post receives", "there is no memory for more connections here",
                "every connection on a fabric needs pages to receive into: raise "
                "receive_pool_bytes and receive_bytes_max, or make page_bytes smaller");
  }
  wire_->credits.posted(static_cast<std::uint32_t>(posted));
}

// Without one the link goes on with messages, and says why.
void OfiLink::make_ring(Device& device, const Info& info) {
  if (!info.writes_with_immediates() || info->tx_attr->inject_size < sizeof(RingNotice)) {
    why_no_ring_ = "this device has no remote writes with immediate data, in order";
    return;
  }
  why_no_ring_ = fabrics_.ring_graves().why_full();
  if (!why_no_ring_.empty()) return;
  try {
    wire_->ring = std::make_unique<OfiRing>(loop_, device.domain(), address_.ring,
                                            options_.receive_quota, resources_.room);
    wire_->queue.own_immediates(wire_->receives.owner_of_immediates());
    why_no_ring_.clear();
  } catch (const Error& error) {
    why_no_ring_ = std::string("no ring on this side: ") + error.what();
  }
}

void OfiLink::on_connected() noexcept {
  if (state_ != State::connecting) return;  // accepted: its peer speaks first
  state_ = State::greeting;
  handshake_timer_.start_once(options_.handshake_within);
  guarded([this] { send_hello(events_->greet(nullptr)); });
}

void OfiLink::on_connection_failed(int error) noexcept {
  if (state_ == State::connecting) {
    // Memory that lacks here is told by connect() itself: this is another word of the tcp
    // provider's for a connection that was rejected.
    guarded([&] { connect_next(down_from(error == ENOMEM ? EINPROGRESS : error)); });
  } else {
    failure_ = error;
    on_shutdown();
  }
}

// What arrived before the end is in the completion queue.
void OfiLink::on_shutdown() noexcept {
  if (state_ == State::down || !wire_) return;
  CompletionQueue& queue = wire_->queue;
  queue.drain();
  ended_ = true;
  if (state_ != State::down) loop_.defer(*this);
}

// It may be this thread that is late: a connection or a hello that waits in a queue came in time.
void OfiLink::on_handshake_late() {
  if (state_ == State::greeting) {
    wire_->queue.drain();
    if (state_ != State::greeting) return;
  }
  if (state_ == State::resolving) {
    go_down(name_service_late(peer_address_));
    return;
  }
  const bool unreachable = state_ == State::connecting;
  if (unreachable) {
    handshake_timer_.start_once(options_.handshake_within);  // each way has its own time
    const std::size_t left = ways_.size();
    wire_->events.read_all();
    if (state_ != State::connecting || ways_.size() != left) return;
    if (left != 0) {
      connect_next({});
      return;
    }
  }
  if (unreachable) {
    go_down({DownReason::unreachable,
             peer_address_ +
                 " did not answer in time: the network or a firewall, or something that "
                 "is no netio on this fabric (such as netio on tcp://) listens there: "
                 "ss -ltnp"});
    return;
  }
  go_down({DownReason::handshake_timeout,
           peer_address_ +
               (url_ ? " did not answer in time" : " connected but sent no hello in time")});
}

void OfiLink::go_bad(DownReason reason, std::string_view what) noexcept {
  guard_memory(
      [&] {
        go_down({reason, (peer_address_ + ": ").append(what)});
      },
      [&]() noexcept { go_down(out_of_memory(reason)); });
}

void OfiLink::go_down(Down down) noexcept {
  if (state_ == State::down) return;
  cut();
  events_->on_down(down);
}

// Possibly from inside an event: what is on the stack looks at wire_ again before it goes on.
void OfiLink::cut() noexcept {
  state_ = State::down;
  paused_ = true;
  handshake_timer_.stop();
  retry_timer_.stop();
  keep_alive_timer_.stop();
  inquiry_.reset();
  ways_.clear();
  cancel();
  room_waiter_.stop_waiting();
  receive_waiter_.stop_waiting();
  large_waiter_.stop_waiting();
  hand_up_waiter_.stop_waiting();
  arrived_count_ = 0;
  bytes_received_ = bytes_received();
  ring_writes_ = ring_writes();
  // What a call-back that is on the stack was given lies in it.
  if (wire_) last_ring_ = std::move(wire_->ring);
  wire_.reset();
}

Down OfiLink::down_from(int error) const {
  const std::string what = fabric_text(error);
  switch (error) {
    case ECONNREFUSED:
      return {DownReason::refused,
              "nobody listens at " + peer_address_ +
                  ", or not on this fabric; or it turned the connection away (it is told why)"};
    case EINPROGRESS:  // the tcp provider, of a connection that was rejected (EventQueue sees to
                       // it)
      return {DownReason::rejected,
              peer_address_ +
                  " turned the connection away, and is told why: most often it has no receive "
                  "memory for one more (raise receive_pool_bytes and receive_bytes_max there)"};
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
    case ENODEV:
      return {DownReason::unreachable, "no way to " + peer_address_ + ": " + what};
    case ETIMEDOUT:
      return {moves_pages() ? DownReason::lost : DownReason::unreachable,
              peer_address_ + " no longer answers: " + what};
    case error_truncated:
      return {DownReason::protocol_error,
              peer_address_ + " sent a message larger than the receives it was granted"};
    case ENOMEM:
    case EMFILE:
      return {DownReason::resources, peer_address_ + ": " + what + ". " + fabric_advice(error)};
    case ECONNRESET:
    case EPIPE:
    case ENOTCONN:
      return gone_silently(peer_address_, moves_pages());
    default:
      return {DownReason::lost, "the connection to " + peer_address_ + " broke: " + what};
  }
}

}  // namespace netio::detail
