// The roles over TCP.
#pragma once

#include "worker/worker.hpp"

namespace netio::bench::raw::tcp {

void receive(Worker& worker);
void send(Worker& worker);
void reply(Worker& worker);
void request(Worker& worker);
void relay(Worker& worker);
void node(Worker& worker);

// What is written at once: with 64 or 128 KiB the floor is lower.
inline constexpr std::size_t page_bytes = 256U << 10U;
// The same of one connection among many: what the kernel takes whole, so that no rest is copied.
inline constexpr std::size_t crowd_page_bytes = 64U << 10U;
// What a relay reads and writes at once.
inline constexpr std::size_t relay_bytes = 256U << 10U;
// Messages with their lengths are gathered up to this size; larger ones are not copied.
inline constexpr std::size_t gathered_bytes_max = 64U << 10U;

}  // namespace netio::bench::raw::tcp
