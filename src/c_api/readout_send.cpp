// What a netio_readout_unit sends. The data path: nothing here allocates.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "c_api/error.hpp"
#include "c_api/message.hpp"
#include "c_api/readout_unit.hpp"
#include "c_api/segments.hpp"
#include "c_api/units.hpp"
#include "transport/fit.hpp"

namespace netio::c_api {
namespace {

[[gnu::cold]] int refused_fragment(const char* call, Status status) noexcept {
  const int code = static_cast<int>(status);
  switch (status) {
    case Status::too_big:
      return fail(code, call, "the fragment is too big",
                  "raise store_bytes_max, or message_bytes_max of the socket options at both ends");
    case Status::invalid:
      return fail(code, call,
                  "the event does not lie above those before it, or its number is the "
                  "end of a run",
                  "events come in ascending order");
    case Status::closed:
      return fail(code, call, "this unit takes no more fragments",
                  "nothing can be sent after netio_readout_finish(), nor in a child of fork()");
    default:
      return refused(call, status);
  }
}

int answer(const char* call, Status status) noexcept {
  if (status == Status::ok) [[likely]]
    return NETIO_OK;
  return refused_fragment(call, status);
}

// What `sent` answers for the unit and the status of the fragment.
template <typename Sent>
int send(const char* call, netio_readout_unit* unit, int status, Sent&& sent) noexcept {
  auto* const object = usable_unit<ReadoutObject>(call, unit);
  if (object == nullptr) [[unlikely]]
    return last_code();
  if (status < NETIO_FRAGMENT_GOOD || status > NETIO_FRAGMENT_IN_ERROR) [[unlikely]] {
    return fail(NETIO_INVALID, call, "there is no such status",
                "take one of netio_fragment_status");
  }
  return answer(call, sent(object->unit, static_cast<FragmentStatus>(status)));
}

}  // namespace

extern "C" {

NETIO_API int netio_readout_send(netio_readout_unit* unit, netio_event_id event, const void* data,
                                 size_t bytes, int status) {
  if (data == nullptr && bytes != 0) return fail(NETIO_INVALID, __func__, "data is a null pointer");
  return send(__func__, unit, status, [=](ReadoutUnit& own, FragmentStatus is) {
    return own.send(from_c(event), bytes_of(data, bytes), is);
  });
}

NETIO_API int netio_readout_send_message(netio_readout_unit* unit, netio_event_id event,
                                         netio_message* message, int status) {
  return pass_on(__func__, message, [=](Message& owned) {
    return send("netio_readout_send_message", unit, status,
                [event, &owned](ReadoutUnit& own, FragmentStatus is) {
                  return own.send(from_c(event), std::move(owned), is);
                });
  });
}

NETIO_API int netio_readout_send_segments(netio_readout_unit* unit, netio_event_id event,
                                          const netio_segment* segments, size_t count, int status) {
  return send_segments(__func__, segments, count, [=](std::span<const Segment> sent) {
    return send("netio_readout_send_segments", unit, status,
                [event, sent](ReadoutUnit& own, FragmentStatus is) {
                  return own.send_segments(from_c(event), sent, is);
                });
  });
}

NETIO_API int netio_readout_lend(netio_readout_unit* unit, netio_event_id event, const void* data,
                                 size_t bytes, uint64_t key, int status) {
  if (data == nullptr && bytes != 0) return fail(NETIO_INVALID, __func__, "data is a null pointer");
  return send(__func__, unit, status, [=](ReadoutUnit& own, FragmentStatus is) {
    return own.lend(from_c(event), bytes_of(data, bytes), key, is);
  });
}

NETIO_API int netio_readout_allocate(netio_readout_unit* unit, netio_event_id event,
                                     size_t head_bytes, size_t bytes, netio_message* message,
                                     void** room) {
  if (message == nullptr || room == nullptr) return fail_null(__func__);
  auto* const object = usable_unit<ReadoutObject>(__func__, unit);
  if (object == nullptr) return last_code();
  // What a netio_message knows of its head room is what stands in front of it, less loan_headroom:
  // see from_c(). Memory of the store has none of that.
  const bool behind = head_bytes != 0 && head_bytes <= UINT32_MAX;
  Status status = Status::ok;
  Message made = object->unit.allocate(from_c(event), bytes, status,
                                       behind ? head_bytes + detail::loan_headroom : head_bytes);
  give_room(std::move(made), status, message, room);
  return answer(__func__, status);
}

NETIO_API int netio_readout_advance(netio_readout_unit* unit, netio_event_id below) {
  auto* const object = usable_unit<ReadoutObject>(__func__, unit);
  if (object == nullptr) return last_code();
  object->unit.advance(from_c(below));
  return NETIO_OK;
}

NETIO_API int netio_readout_flush(netio_readout_unit* unit) {
  auto* const object = usable_unit<ReadoutObject>(__func__, unit);
  if (object == nullptr) return last_code();
  object->unit.flush();
  return NETIO_OK;
}

}  // extern "C"
}  // namespace netio::c_api
