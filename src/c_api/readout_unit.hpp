// What a netio_readout_unit is inside. Owner thread.
#pragma once

#include <netio.h>
#include <netio/readout_unit.hpp>

#include "c_api/given_list.hpp"
#include "c_api/handle.hpp"

namespace netio::c_api {

class ReadoutObject : public Resident {
 public:
  ReadoutObject(ContextObject& home, netio_readout_unit* own, const ReadoutOptions& options);

  // Calls that cost something are made where somebody wants them, from when the unit connects on.
  void set_dear_call_backs();

  ReadoutUnit unit;
  bool finished_by_call = false;  // the `then` of finish() tells of its end
  GivenList<HeldForBuilder, netio_held_for_builder> held;
  GivenList<PeerSnapshot, netio_peer_snapshot> peers;

 private:
  netio_readout_unit* own_;
  bool watches_fill_ = false;
  bool watches_settled_ = false;
};

}  // namespace netio::c_api
