// The four roles in shared memory: a ring of bytes one way, a few slots for round trips, and a bell
// for who sleeps. Neither checks what the other writes: this is the floor.
#pragma once

#include "worker/worker.hpp"

namespace netio::bench::raw::shm {

void receive(Worker& worker);
void send(Worker& worker);
void reply(Worker& worker);
void request(Worker& worker);

}  // namespace netio::bench::raw::shm
