// Sockets that wait, as the victim: what was acknowledged is received, whether there was memory
// when it came or not, and that a peer went is told.
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include <netio/blocking.hpp>

#include "failing_allocator/scene.hpp"

namespace netio::test {
namespace {

// What a receiver has seen.
struct Taken {
  std::uint64_t messages = 0;
  std::uint64_t gone = 0;
  // True if something had come.
  bool take(blocking::Received received) {
    if (received) ++messages;
    if (received.status == Status::not_connected) {
      if (!received.gone || received.gone->down.detail.empty()) give_up("nobody has gone");
      ++gone;
    }
    return received.status != Status::again;
  }
};

// Some are copied when they are kept, and some are not.
void send_each_size(Scene& scene, Push& push) {
  const std::string middling_message(3000, 'm');
  for (int i = 0; i < 40; ++i) {
    (void)(push.send(i % 8 == 7 ? middling_message : small_message) == Status::ok);
    if (i % 4 == 0) scene.turn();
  }
}

// Somebody sends, goes, and another one is served after that. All that they hear acknowledged is
// received.
void send_and_go(Scene& scene, const std::string& address, const Taken& taken) {
  std::uint64_t acknowledged = 0;
  for (int i = 0; i < 3; ++i) {
    if (i == 2) scene.relent();
    // A connection that breaks for want of memory is told of before its sender goes.
    const std::uint64_t gone = taken.gone;
    auto push = std::make_unique<Push>(scene.other, hasty());
    push->connect(address);
    scene.must([&] { return push->peers_connected() == 1; }, "a sender is connected");
    send_each_size(scene, *push);
    scene.must([&] { return push->books().unsettled() == 0; }, "what arrives is told");
    acknowledged += push->books().acknowledged;
    push.reset();
    scene.must([&] { return taken.gone > gone; }, "it is told that the sender went");
  }
  scene.must([&] { return taken.messages >= acknowledged; }, "what is acknowledged is received");
}

}  // namespace

void blocking_pull(Scene& scene) {
  blocking::Pull pull(scene.victim, hasty());
  Taken taken;
  scene.turn_victim = [&] {
    try {
      return taken.take(pull.receive(0ns));
    } catch (const std::bad_alloc&) {
      return true;
    }
  };
  send_and_go(scene, pull.bind(scene.address), taken);
  if (pull.books().delivered != taken.messages) give_up("not what was delivered");
  scene.turn_victim = [] { return false; };
}

void queued_pull(Scene& scene) {
  // Small, so that it is full again and again.
  blocking::QueuedPull pull({.context = small(), .socket = hasty(), .messages_max = 4});
  Taken taken;
  scene.turn_victim = [&] {
    const Armed not_in_here(false);
    try {
      return taken.take(pull.receive(0ns));
    } catch (const std::bad_alloc&) {
      return true;
    }
  };
  const std::string address = pull.bind(scene.address);
  fail_allocations_of_others(scene.failing_first, scene.failing_count);
  send_and_go(scene, address, taken);
  fail_allocations_of_others(0, 1);
  scene.turn_victim = [] { return false; };
}

}  // namespace netio::test
