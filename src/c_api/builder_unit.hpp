// What a netio_builder_unit is inside. Owner thread.
#pragma once

#include <string>

#include <netio.h>
#include <netio/builder_unit.hpp>

#include "c_api/given_list.hpp"
#include "c_api/handle.hpp"

namespace netio::c_api {

// What cb_event, cb_range and cb_run_end are given: see events.cpp.
void set_event_call(BuilderUnit& unit, netio_builder_unit* own);
void set_range_call(BuilderUnit& unit, netio_builder_unit* own);
void set_run_end_call(BuilderUnit& unit, netio_builder_unit* own, std::size_t sources);
netio_missing_counts to_c(const BuilderBooks::MissingCounts& counts) noexcept;

class BuilderObject : public Resident {
 public:
  BuilderObject(ContextObject& home, netio_builder_unit* own, const BuilderOptions& options);

  // Sets the calls for events that the user has set, until the unit has begun to listen or to join.
  // Says what is wrong with them, or null. Throws as the unit does.
  const char* set_calls_for_events();
  // It has begun: they stay as they are.
  void took_calls() noexcept { takes_events_ = true; }

  BuilderUnit unit;
  bool closed_by_call = false;  // the `then` of close() tells of its end
  std::string address;          // of the latest listen
  GivenList<BuilderBooks::Source, netio_builder_source> sources;
  GivenList<PeerSnapshot, netio_peer_snapshot> peers;

 private:
  netio_builder_unit* own_;
  std::size_t source_count_;
  bool takes_events_ = false;
  bool watches_fill_ = false;
};

}  // namespace netio::c_api
