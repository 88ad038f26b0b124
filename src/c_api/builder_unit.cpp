// netio_builder_unit: making, listening, closing, books.
#include "c_api/builder_unit.hpp"

#include <memory>
#include <string_view>
#include <utility>

#include "c_api/call_backs.hpp"
#include "c_api/error.hpp"
#include "c_api/times.hpp"
#include "c_api/units.hpp"

namespace netio::c_api {
namespace {

// Throws Error for what makes no sense.
BuilderOptions from_c(const netio_builder_options& c) {
  using std::chrono::nanoseconds;
  if (c.plan.range_events == 0 && c.deadline_ns == 0) {
    throw Error("make a builder unit", "the options are all zero",
                "begin with netio_builder_defaults()");
  }
  BuilderOptions options;
  options.plan = c_api::from_c(c.plan);
  options.builder = c.builder;
  options.settle_released = c.settle_released != 0;
  options.deadline = time_from<nanoseconds>(c.deadline_ns);
  options.meet_within = time_from<nanoseconds>(c.meet_within_ns);
  options.window_bytes = c.window_bytes;
  options.keep_bytes_max = c.keep_bytes_max;
  options.turns = c.turns;
  options.weight = c.weight;
  options.credit = c.credit;
  options.socket = unit_socket_options(c.socket);
  return options;
}

netio_builder_source source_in_c(const BuilderBooks::Source& source) noexcept {
  netio_builder_source c{};
  c.received = source.received;
  c.built = source.built;
  c.incomplete = source.incomplete;
  c.late = source.late;
  c.open = source.open;
  c.missing_by = to_c(source.missing_by);
  c.connected = source.connected ? 1 : 0;
  c.busy = source.busy ? 1 : 0;
  return c;
}

}  // namespace

BuilderObject::BuilderObject(ContextObject& home, netio_builder_unit* own,
                             const BuilderOptions& options)
    : Resident(home), unit(home.context, options), own_(own), source_count_(options.plan.sources) {
  unit.on_up([own](std::uint32_t source, const PeerInfo& info) {
    if (own->cb_connection_established == nullptr) return;
    const netio_peer peer = c_api::to_c(info);
    own->cb_connection_established(own, source, &peer);
  });
  unit.on_down([own](std::uint32_t source, const PeerInfo& info, const Down& down) {
    if (own->cb_connection_closed == nullptr) return;
    const netio_peer peer = c_api::to_c(info);
    const netio_down why{static_cast<int>(down.reason), down.detail.c_str()};
    own->cb_connection_closed(own, source, &peer, &why);
  });
  unit.on_refused([own](const PeerInfo& info, std::string_view why) {
    const netio_peer peer = c_api::to_c(info);
    call_back_why(why, own, own->cb_refused, &peer);
  });
  unit.on_closed([this] {
    if (!closed_by_call) call_back(own_, own_->cb_closed);
  });
  listen_to_manager(unit, own);
}

const char* BuilderObject::set_calls_for_events() {
  netio_builder_unit* const own = own_;
  if (!takes_events_) {
    if (own->cb_event == nullptr && own->cb_range == nullptr) {
      return "neither cb_event nor cb_range is set";
    }
    if (own->cb_event != nullptr && own->cb_range != nullptr) {
      return "both cb_event and cb_range are set";
    }
    own->cb_event != nullptr ? set_event_call(unit, own) : set_range_call(unit, own);
    if (own->cb_run_end != nullptr) set_run_end_call(unit, own, source_count_);
  }
  const bool wanted = own->cb_high_watermark != nullptr || own->cb_low_watermark != nullptr;
  if (!wanted || std::exchange(watches_fill_, true)) return nullptr;
  unit.on_high_watermark([own] { call_back(own, own->cb_high_watermark); });
  unit.on_low_watermark([own] { call_back(own, own->cb_low_watermark); });
  return nullptr;
}

namespace {

// `begins` makes the unit listen or join, if the calls for events are set.
template <typename Begins>
int begin(const char* call, netio_builder_unit* unit, Begins&& begins) noexcept {
  return with<BuilderObject>(call, unit, [&](BuilderObject& object) -> int {
    if (const char* const wrong = object.set_calls_for_events()) {
      return fail(NETIO_INVALID, call, wrong, "set one of them first");
    }
    begins(object);
    object.took_calls();
    return NETIO_OK;
  });
}

}  // namespace

extern "C" {

NETIO_API void netio_builder_defaults(netio_builder_options* options) {
  if (options == nullptr) return;
  const BuilderOptions defaults;
  *options = {};
  options->plan = to_c(defaults.plan);
  options->deadline_ns = count_of(defaults.deadline);
  options->meet_within_ns = count_of(defaults.meet_within);
  options->turns = defaults.turns;
  options->weight = defaults.weight;
  options->credit = defaults.credit;
}

NETIO_API int netio_builder_memory(const netio_builder_options* options,
                                   netio_context_options* context) {
  if (options == nullptr || context == nullptr) return fail_null(__func__);
  return guarded(__func__, [=] {
    ContextOptions memory;
    memory.page_bytes = context->page_bytes;
    memory.send_pool_bytes = context->send_pool_bytes;
    memory.receive_pool_bytes = context->receive_pool_bytes;
    memory.large_bytes_max = context->large_bytes_max;
    memory = BuilderUnit::with_memory(from_c(*options), memory);
    context->send_pool_bytes = memory.send_pool_bytes;
    context->receive_pool_bytes = memory.receive_pool_bytes;
    context->large_bytes_max = memory.large_bytes_max;
  });
}

NETIO_API int netio_builder_unit_init(netio_context* context, netio_builder_unit* unit,
                                      const netio_builder_options* options) {
  if (options == nullptr) return fail_null(__func__);
  return init_in(__func__, context, unit, [=](ContextObject& home) {
    return std::make_unique<BuilderObject>(home, unit, from_c(*options));
  });
}

NETIO_API int netio_builder_unit_free(netio_builder_unit* unit) {
  return free_object<BuilderObject>(__func__, unit);
}

NETIO_API int netio_builder_listen(netio_builder_unit* unit, const char* address) {
  if (address == nullptr) return fail_null(__func__);
  return begin(__func__, unit,
               [address](BuilderObject& object) { object.address = object.unit.bind(address); });
}

NETIO_API const char* netio_builder_address(const netio_builder_unit* unit) {
  const char* address = "";
  with<BuilderObject>(__func__, unit,
                      [&address](BuilderObject& object) { address = object.address.c_str(); });
  return address;
}

NETIO_API int netio_builder_join(netio_builder_unit* unit, const char* manager) {
  if (manager == nullptr) return fail_null(__func__);
  return begin(__func__, unit, [manager](BuilderObject& object) { object.unit.join(manager); });
}

NETIO_API int netio_builder_pause(netio_builder_unit* unit) {
  return with<BuilderObject>(__func__, unit, [](BuilderObject& object) { object.unit.pause(); });
}

NETIO_API int netio_builder_resume(netio_builder_unit* unit) {
  return with<BuilderObject>(__func__, unit, [](BuilderObject& object) { object.unit.resume(); });
}

NETIO_API int netio_builder_close(netio_builder_unit* unit, uint64_t linger_ms) {
  return with<BuilderObject>(__func__, unit, [=](BuilderObject& object) {
    object.closed_by_call = true;
    object.unit.close(linger_of(linger_ms), [unit] { call_back(unit, unit->cb_closed); });
  });
}

NETIO_API int netio_builder_get_books(netio_builder_unit* unit, netio_builder_books* books) {
  if (books == nullptr) return fail_null(__func__);
  return with<BuilderObject>(__func__, unit, [books](BuilderObject& object) {
    BuilderBooks from = object.unit.books();
    netio_builder_books c{};
    c.complete = from.complete;
    c.incomplete = from.incomplete;
    c.again = from.again;
    c.open = from.open;
    c.bytes = from.bytes;
    c.open_bytes = from.open_bytes;
    c.open_bytes_max = from.open_bytes_max;
    c.kept_bytes = from.kept_bytes;
    c.kept_bytes_max = from.kept_bytes_max;
    object.sources.give(std::move(from.sources), source_in_c, &c.sources, &c.source_count);
    *books = c;
  });
}

NETIO_API double netio_builder_fill(const netio_builder_unit* unit) {
  double fill = 0;
  with<BuilderObject>(__func__, unit,
                      [&fill](BuilderObject& object) { fill = object.unit.fill(); });
  return fill;
}

NETIO_API int netio_builder_get_settled(const netio_builder_unit* unit, netio_event_id* below) {
  if (below == nullptr) return fail_null(__func__);
  return with<BuilderObject>(
      __func__, unit, [below](BuilderObject& object) { *below = to_c(object.unit.settled()); });
}

NETIO_API int netio_builder_get_peers(netio_builder_unit* unit, const netio_peer_snapshot** peers,
                                      size_t* count) {
  if (peers == nullptr || count == nullptr) return fail_null(__func__);
  return with<BuilderObject>(__func__, unit, [=](BuilderObject& object) {
    object.peers.give(object.unit.peers(), c_api::to_c, peers, count);
  });
}

NETIO_API int netio_builder_get_counters(const netio_builder_unit* unit, netio_counters* counters) {
  if (counters == nullptr) return fail_null(__func__);
  return with<BuilderObject>(__func__, unit, [counters](BuilderObject& object) {
    *counters = c_api::to_c(object.unit.counters());
  });
}

}  // extern "C"
}  // namespace netio::c_api
