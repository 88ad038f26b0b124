// The floor's four roles.
#pragma once

#include "worker/worker.hpp"

namespace netio::bench::raw {

void receive(Worker& worker);
void send(Worker& worker);
void reply(Worker& worker);
void request(Worker& worker);

// Messages are gathered up to this, header included; larger ones are neither gathered nor copied.
inline constexpr std::size_t page_bytes = 64U << 10U;

}  // namespace netio::bench::raw
