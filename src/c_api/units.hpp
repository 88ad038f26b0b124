// What read-out units and builder units have in common in C: ids, plans, and call-backs. Owner
// thread.
#pragma once

#include <string_view>

#include <netio.h>
#include <netio/event_building.hpp>
#include <netio/options.hpp>
#include <netio/peer.hpp>

#include "c_api/call_backs.hpp"
#include "c_api/error.hpp"
#include "c_api/handle.hpp"

namespace netio::c_api {

inline EventId from_c(netio_event_id id) noexcept { return {id.run, id.number}; }
inline netio_event_id to_c(EventId id) noexcept { return {id.run, id.number}; }
BuildPlan from_c(const netio_build_plan& plan) noexcept;
netio_build_plan to_c(const BuildPlan& plan) noexcept;
// A null pointer stands for the defaults. Throws Error for what makes no sense.
SocketOptions unit_socket_options(const netio_socket_options* options);

// The end of a connection, told by one of two call-backs: it had come up, or it had not. `number`
// is that of the other end, if it has one.
template <typename Struct, typename CallBack, typename... Number>
void call_back_down(const PeerInfo& info, const Down& down, Struct* own, CallBack closed,
                    CallBack failed, Number... number) {
  const CallBack call = info.was_up ? closed : failed;
  if (call == nullptr) return;
  const netio_peer peer = to_c(info);
  const netio_down why{static_cast<int>(down.reason), down.detail.c_str()};
  call(own, number..., &peer, &why);
}
// With a reason for a person, which C wants to end in a zero. Needs no memory: it may be the lack
// of that which is told.
template <typename Struct, typename CallBack, typename... Given>
void call_back_why(std::string_view why, Struct* own, CallBack call, Given... given) {
  if (call == nullptr) return;
  char text[1024];  // a sentence with two long addresses
  text[why.copy(text, sizeof text - 1)] = '\0';
  call(own, given..., text);
}

// The calls for an event manager, which both kinds of units have.
template <typename Unit, typename Struct>
void listen_to_manager(Unit& unit, Struct* own) {
  unit.on_manager_up(
      [own](const PeerInfo& info) { call_back_about(info, own, own->cb_manager_established); });
  unit.on_manager_down([own](const PeerInfo& info, const Down& down) {
    call_back_down(info, down, own, own->cb_manager_closed, own->cb_manager_failed);
  });
  unit.on_manager_refused(
      [own](std::string_view why) { call_back_why(why, own, own->cb_manager_refused); });
}

// A usable unit of a call that is made for each fragment; null once it was said what is wrong. The
// thread is looked at where there are assertions only.
template <typename Object, typename Struct>
Object* usable_unit(const char* call, Struct* own) noexcept {
  auto* const object = object_of<Object>(call, own);
#ifndef NDEBUG
  if (object != nullptr && !on_owner_thread(call, object->loop())) return nullptr;
#endif
  return object;
}

}  // namespace netio::c_api
