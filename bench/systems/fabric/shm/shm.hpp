// The four roles over libfabric's shared-memory provider. It has endpoints for datagrams that
// arrive (FI_EP_RDM), no connections, and no object to sleep on: both ends spin.
#pragma once

#include "worker/worker.hpp"

namespace netio::bench::fabric::shm {

void receive(Worker& worker);
void send(Worker& worker);
void reply(Worker& worker);
void request(Worker& worker);

}  // namespace netio::bench::fabric::shm
