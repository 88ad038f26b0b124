// Sends without end, as far as the peer takes it: the provider itself holds back who is too fast.
#include <algorithm>

#include "systems/fabric/shm/endpoint.hpp"
#include "systems/fabric/shm/shm.hpp"

namespace netio::bench::fabric::shm {

namespace {

// Slots of an end: of large messages as many as fit a core's cache, but two at least.
std::vector<Slot> slots_for(const Options& options) {
  constexpr std::size_t messages_max = 256;
  constexpr std::size_t bytes_max = 1U << 20U;
  const auto count = std::clamp<std::size_t>(bytes_max / options.message_bytes, 2, messages_max);
  return std::vector<Slot>(count, Slot(options.message_bytes));
}

}  // namespace

void receive(Worker& worker) {
  std::vector<Slot> slots = slots_for(worker.options);
  Endpoint endpoint;
  for (Slot& slot : slots) endpoint.post_receive(slot);
  if (await_peer(worker, endpoint)) {
    while (!worker.stopping()) {
      for (const Completion& completion : endpoint.read()) {
        worker.tally.take(completion.message());
        endpoint.post_receive(*completion.slot);
      }
    }
  }
  worker.join();
}

void send(Worker& worker) {
  const Options& options = worker.options;
  std::vector<Slot> slots = slots_for(options);
  std::vector<Slot*> free;
  for (Slot& slot : slots) free.push_back(&slot);
  Endpoint endpoint;
  go_to_peer(worker, endpoint);
  Stamp stamp(options.connection_first, options.verify);
  while (!worker.stopping()) {
    while (!options.idle && !free.empty()) {
      stamp.write(*free.back());
      const Endpoint::Sent sent = endpoint.try_send(*free.back());
      if (sent == Endpoint::Sent::again) break;
      stamp.advance();
      if (sent == Endpoint::Sent::under_way)
        free.pop_back();
      else if (worker.stopping())
        break;
    }
    for (const Completion& completion : endpoint.read()) free.push_back(completion.slot);
  }
  endpoint.finish_sends();
  worker.join();
}

}  // namespace netio::bench::fabric::shm
