// The four roles of the bare libfabric program, the floor on a fabric. Mode means nothing to it:
// a message is a send; or, with slots, a write to the other end's memory with a word.
#pragma once

#include "worker/worker.hpp"

namespace netio::bench::fabric {

void receive(Worker& worker);
void send(Worker& worker);
void reply(Worker& worker);
void request(Worker& worker);

}  // namespace netio::bench::fabric
