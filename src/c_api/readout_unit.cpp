// netio_readout_unit, but for what it sends: making, connecting, books.
#include "c_api/readout_unit.hpp"

#include <string>
#include <utility>
#include <vector>

#include "c_api/call_backs.hpp"
#include "c_api/error.hpp"
#include "c_api/units.hpp"

namespace netio::c_api {
namespace {

static_assert(NETIO_WHEN_FULL_AGAIN == static_cast<int>(WhenFull::again));
static_assert(NETIO_WHEN_FULL_DROP == static_cast<int>(WhenFull::drop));

// Throws Error for what makes no sense.
ReadoutOptions from_c(const netio_readout_options& c) {
  if (c.plan.range_events == 0 && c.store_bytes_max == 0) {
    throw Error("make a read-out unit", "the options are all zero",
                "begin with netio_readout_defaults()");
  }
  if (c.when_full != NETIO_WHEN_FULL_AGAIN && c.when_full != NETIO_WHEN_FULL_DROP) {
    throw Error("make a read-out unit", "when_full is " + std::to_string(c.when_full),
                "take one of netio_when_full");
  }
  ReadoutOptions options;
  options.plan = c_api::from_c(c.plan);
  options.source = c.source;
  options.when_full = static_cast<WhenFull>(c.when_full);
  options.store_bytes_max = c.store_bytes_max;
  options.socket = unit_socket_options(c.socket);
  return options;
}

netio_held_for_builder held_in_c(const HeldForBuilder& held) noexcept {
  netio_held_for_builder c{};
  c.fragments = held.fragments;
  c.bytes = held.bytes;
  c.oldest = to_c(held.oldest);
  c.window_bytes = held.window_bytes;
  c.connected = held.connected ? 1 : 0;
  return c;
}

int connect(const char* call, netio_readout_unit* unit, std::uint32_t builder,
            const char* const* addresses, std::size_t count) noexcept {
  if (addresses == nullptr) return fail_null(call);
  for (std::size_t i = 0; i < count; ++i) {
    if (addresses[i] == nullptr) return fail_null(call);
  }
  return with<ReadoutObject>(call, unit, [=](ReadoutObject& object) {
    object.set_dear_call_backs();
    object.unit.connect(builder, std::vector<std::string>(addresses, addresses + count));
  });
}

}  // namespace

ReadoutObject::ReadoutObject(ContextObject& home, netio_readout_unit* own,
                             const ReadoutOptions& options)
    : Resident(home), unit(home.context, options), own_(own) {
  unit.on_room([own] { call_back(own, own->cb_buffer_available); });
  unit.on_released([own](std::uint64_t key) { call_back(own, own->cb_send_completed, key); });
  unit.on_up([own](std::uint32_t builder, const PeerInfo& info) {
    if (own->cb_connection_established == nullptr) return;
    const netio_peer peer = to_c(info);
    own->cb_connection_established(own, builder, &peer);
  });
  unit.on_down([own](std::uint32_t builder, const PeerInfo& info, const Down& down) {
    call_back_down(info, down, own, own->cb_connection_closed, own->cb_connection_failed, builder);
  });
  unit.on_refused([own](std::uint32_t builder, std::string_view why) {
    call_back_why(why, own, own->cb_refused, builder);
  });
  listen_to_manager(unit, own);
  unit.on_finished([this] {
    if (!finished_by_call) call_back(own_, own_->cb_finished);
  });
  unit.on_begin([own](EventId produced) { call_back(own, own->cb_begin, to_c(produced)); });
  unit.on_stop([own](EventId at) { call_back(own, own->cb_stop, to_c(at)); });
}

void ReadoutObject::set_dear_call_backs() {
  netio_readout_unit* const own = own_;
  if (own->cb_settled != nullptr && !std::exchange(watches_settled_, true)) {
    unit.on_settled([own](EventId below) { call_back(own, own->cb_settled, to_c(below)); });
  }
  const bool wanted = own->cb_high_watermark != nullptr || own->cb_low_watermark != nullptr;
  if (!wanted || std::exchange(watches_fill_, true)) return;
  unit.on_high_watermark([own] { call_back(own, own->cb_high_watermark); });
  unit.on_low_watermark([own] { call_back(own, own->cb_low_watermark); });
}

extern "C" {

NETIO_API void netio_readout_defaults(netio_readout_options* options) {
  if (options == nullptr) return;
  const ReadoutOptions defaults;
  *options = {};
  options->plan = to_c(defaults.plan);
  options->when_full = static_cast<int>(defaults.when_full);
  options->store_bytes_max = defaults.store_bytes_max;
}

NETIO_API int netio_readout_unit_init(netio_context* context, netio_readout_unit* unit,
                                      const netio_readout_options* options) {
  if (options == nullptr) return fail_null(__func__);
  return init_in(__func__, context, unit, [=](ContextObject& home) {
    return std::make_unique<ReadoutObject>(home, unit, from_c(*options));
  });
}

NETIO_API int netio_readout_unit_free(netio_readout_unit* unit) {
  return free_object<ReadoutObject>(__func__, unit);
}

NETIO_API int netio_readout_connect(netio_readout_unit* unit, uint32_t builder,
                                    const char* address) {
  return connect(__func__, unit, builder, &address, 1);
}

NETIO_API int netio_readout_connect_any(netio_readout_unit* unit, uint32_t builder,
                                        const char* const* addresses, size_t count) {
  return connect(__func__, unit, builder, addresses, count);
}

NETIO_API int netio_readout_join(netio_readout_unit* unit, const char* manager) {
  if (manager == nullptr) return fail_null(__func__);
  return with<ReadoutObject>(__func__, unit, [manager](ReadoutObject& object) {
    object.set_dear_call_backs();
    object.unit.join(manager);
  });
}

NETIO_API int netio_readout_finish(netio_readout_unit* unit, uint64_t linger_ms) {
  return with<ReadoutObject>(__func__, unit, [=](ReadoutObject& object) {
    object.finished_by_call = true;
    object.unit.finish(linger_of(linger_ms), [unit] { call_back(unit, unit->cb_finished); });
  });
}

NETIO_API int netio_readout_get_books(const netio_readout_unit* unit, netio_readout_books* books) {
  if (books == nullptr) return fail_null(__func__);
  return with<ReadoutObject>(__func__, unit, [books](ReadoutObject& object) {
    const ReadoutBooks from = object.unit.books();
    *books = {};
    books->sent = from.sent;
    books->settled = from.settled;
    books->built = from.built;
    books->incomplete = from.incomplete;
    books->dropped = from.dropped;
    books->late = from.late;
    books->held = from.held;
    books->held_bytes = from.held_bytes;
    books->resent = from.resent;
  });
}

NETIO_API double netio_readout_fill(const netio_readout_unit* unit) {
  double fill = 0;
  with<ReadoutObject>(__func__, unit,
                      [&fill](ReadoutObject& object) { fill = object.unit.fill(); });
  return fill;
}

NETIO_API size_t netio_readout_builders_connected(const netio_readout_unit* unit) {
  std::size_t count = 0;
  with<ReadoutObject>(__func__, unit, [&count](ReadoutObject& object) {
    count = object.unit.builders_connected();
  });
  return count;
}

NETIO_API int netio_readout_get_advanced(const netio_readout_unit* unit, netio_event_id* below) {
  if (below == nullptr) return fail_null(__func__);
  return with<ReadoutObject>(
      __func__, unit, [below](ReadoutObject& object) { *below = to_c(object.unit.advanced()); });
}

NETIO_API int netio_readout_get_settled(const netio_readout_unit* unit, netio_event_id* below) {
  if (below == nullptr) return fail_null(__func__);
  return with<ReadoutObject>(
      __func__, unit, [below](ReadoutObject& object) { *below = to_c(object.unit.settled()); });
}

NETIO_API int netio_readout_get_held(netio_readout_unit* unit, const netio_held_for_builder** held,
                                     size_t* count) {
  if (held == nullptr || count == nullptr) return fail_null(__func__);
  return with<ReadoutObject>(__func__, unit, [=](ReadoutObject& object) {
    object.held.give(object.unit.held_for_builders(), held_in_c, held, count);
  });
}

NETIO_API int netio_readout_get_peers(netio_readout_unit* unit, const netio_peer_snapshot** peers,
                                      size_t* count) {
  if (peers == nullptr || count == nullptr) return fail_null(__func__);
  return with<ReadoutObject>(__func__, unit, [=](ReadoutObject& object) {
    object.peers.give(object.unit.peers(), to_c, peers, count);
  });
}

NETIO_API int netio_readout_get_counters(const netio_readout_unit* unit, uint32_t builder,
                                         netio_counters* counters) {
  if (counters == nullptr) return fail_null(__func__);
  return with<ReadoutObject>(__func__, unit, [=](ReadoutObject& object) -> int {
    const std::vector<Counters> all = object.unit.counters();
    if (builder >= all.size()) {
      return fail(NETIO_INVALID, "netio_readout_get_counters",
                  "there is no builder of this number");
    }
    *counters = to_c(all[builder]);
    return NETIO_OK;
  });
}

}  // extern "C"
}  // namespace netio::c_api
