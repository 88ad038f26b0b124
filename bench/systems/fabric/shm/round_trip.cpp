// Requests and replies in turns: a late request of an open loop counts from its intended time.
#include "systems/fabric/shm/endpoint.hpp"
#include "systems/fabric/shm/shm.hpp"

namespace netio::bench::fabric::shm {

namespace {

// A large reply's slot may be busy a little longer than its request's sender waits.
constexpr std::size_t receives_posted = 4;

}  // namespace

// A reply leaves from where its request came to.
void reply(Worker& worker) {
  std::vector<Slot> slots(receives_posted, Slot(worker.options.message_bytes));
  Endpoint endpoint;
  for (Slot& slot : slots) endpoint.post_receive(slot);
  if (await_peer(worker, endpoint)) {
    Slot* owed = nullptr;
    while (!worker.stopping()) {
      for (const Completion& completion : endpoint.read()) {
        if (completion.received) {
          worker.tally.take(completion.message());
          owed = completion.slot;
        } else {
          endpoint.post_receive(*completion.slot);
        }
      }
      if (owed == nullptr) continue;
      const Endpoint::Sent sent = endpoint.try_send(*owed);
      if (sent == Endpoint::Sent::free_again) endpoint.post_receive(*owed);
      if (sent != Endpoint::Sent::again) owed = nullptr;
    }
  }
  worker.join();
}

void request(Worker& worker) {
  const Options& options = worker.options;
  std::vector<Slot> slots(receives_posted, Slot(options.message_bytes));
  Slot message(options.message_bytes);
  Endpoint endpoint;
  for (Slot& slot : slots) endpoint.post_receive(slot);
  go_to_peer(worker, endpoint);
  Stamp stamp(0, options.verify);
  const Pace pace(options.rate);
  for (std::uint64_t number = 0; !worker.stopping(); ++number) {
    const std::int64_t begin = pace.wait(number, false);
    stamp.write(message);
    stamp.advance();
    Endpoint::Sent sent = Endpoint::Sent::again;
    bool returned = false;
    while ((!returned || sent != Endpoint::Sent::free_again) && !worker.stopping()) {
      if (sent == Endpoint::Sent::again) sent = endpoint.try_send(message);
      for (const Completion& completion : endpoint.read()) {
        if (completion.received) {
          worker.tally.take(completion.message());
          returned = true;
          worker.round_trip(now_ns() - begin);
          endpoint.post_receive(*completion.slot);
        } else {
          sent = Endpoint::Sent::free_again;
        }
      }
    }
  }
  endpoint.finish_sends();
  worker.join();
}

}  // namespace netio::bench::fabric::shm
