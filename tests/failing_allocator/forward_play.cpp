// A victim that is a stage between two wires: whatever fails, it goes on when there is memory.
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "failing_allocator/scene.hpp"

namespace netio::test {
namespace {

constexpr std::uint64_t last_tag = 999;

template <typename Input, typename Output>
bool make_forward(Scene& scene, Forward& forwards, Input& input, Output& output) {
  return scene.call([&] { forwards = forward(input, output); });
}

// The source is connected to the input, and the output to the sink, or soon will be. False if there
// was no memory to begin with that.
template <typename Source, typename Input, typename Output, typename Sink>
bool connect_stage(Scene& scene, Source& source, Input& input, Output& output, Sink& sink) {
  std::string address;
  if (!scene.call([&] { address = input.bind(scene.address); })) return false;
  source.connect(address);
  const std::string there = sink.bind(scene.address);
  if (!scene.call([&] { output.connect(there); })) return false;
  scene.until([&] { return source.peers_connected() == 1 && output.peers_connected() == 1; },
              patience);
  return true;
}

}  // namespace

void pass_on(Scene& scene) {
  SocketOptions released = hasty();
  released.acknowledge = Acknowledge::released;
  Pull input(scene.victim, released);
  Push output(scene.victim, hasty());
  Push source(scene.other, hasty());
  Pull sink(scene.other, hasty());
  std::uint64_t came = 0;
  bool ended = false;
  sink.on_message([&](const MessageView& message) {
    ++came;
    ended = ended || message.tag() == last_tag;
  });
  Forward forwards;
  if (!make_forward(scene, forwards, input, output)) return;
  if (!connect_stage(scene, source, input, output, sink)) return;
  std::uint64_t sent = 0;
  for (int i = 0; i < 200; ++i) {
    if (source.send(i % 20 == 3 ? large_message : small_message) == Status::ok) ++sent;
    if (i % 20 == 0) scene.turn();
  }
  source.flush();
  scene.until([&] { return came == sent && source.books().acknowledged == sent; }, patience);
  scene.relent();
  scene.must(
      [&] {
        (void)source.send(small_message, last_tag);
        source.flush();
        return ended;
      },
      "a message is passed on");
  scene.check(output);
}

void publish_on(Scene& scene) {
  Subscribe input(scene.victim, {}, hasty());
  Publish output(scene.victim, {}, hasty());
  Publish source(scene.other, {}, hasty());
  auto one = std::make_unique<Subscribe>(scene.other, SubscribeOptions{}, hasty());
  auto two = std::make_unique<Subscribe>(scene.other, SubscribeOptions{}, hasty());
  bool ended = false;
  one->on_message([&](const MessageView& message) { ended = ended || message.tag() == last_tag; });
  two->on_message([](const MessageView&) {});
  Forward forwards;
  if (!make_forward(scene, forwards, input, output)) return;
  std::string address;
  if (!scene.call([&] { address = output.bind(scene.address); })) return;
  const std::string from = source.bind(scene.address);
  if (!scene.call([&] { input.connect(from); })) return;
  one->connect(address);
  two->connect(address);
  for (std::uint64_t i = 0; i < 40; ++i) {
    one->subscribe(TagRange{i * 10, i * 10 + 5});
    two->subscribe(TagRange{i * 10 + 3, i * 10 + 8});
    if (i % 8 == 7) scene.turns(10);
  }
  scene.until([&] { return one->peers_connected() == 1 && two->peers_connected() == 1; }, patience);
  scene.turns(20);
  one->unsubscribe_all();
  scene.turns(20);
  two.reset();
  scene.turns(50);
  scene.relent();
  one->subscribe(last_tag);
  scene.must(
      [&] {
        (void)source.send(small_message, last_tag);
        source.flush();
        return ended;
      },
      "what is subscribed is passed on");
}

void ask_on(Scene& scene) {
  Reply input(scene.victim, {}, hasty());
  Request output(scene.victim, {}, hasty());
  Request asker(scene.other, {}, hasty());
  Reply answerer(scene.other, {}, hasty());
  std::uint64_t ended = 0;
  std::uint64_t answered = 0;
  std::vector<ReplyTo> open;
  answerer.on_request([&](const MessageView&, ReplyTo to) { open.push_back(std::move(to)); });
  asker.on_reply([&](std::uint64_t, const MessageView&) {
    ++ended;
    ++answered;
  });
  asker.on_failed([&](std::uint64_t, Outcome) { ++ended; });
  Forward forwards;
  if (!make_forward(scene, forwards, input, output)) return;
  if (!connect_stage(scene, asker, input, output, answerer)) return;
  std::uint64_t asked = 0;
  for (int i = 0; i < 200; ++i) {
    std::uint64_t id = 0;
    if (asker.send(i % 20 == 3 ? large_message : small_message, id) == Status::ok) ++asked;
    if (i % 20 == 0) scene.turn();
  }
  asker.flush();
  scene.until([&] { return open.size() == asked; }, patience);
  const auto answer_all = [&] {
    for (ReplyTo& to : open) (void)to.send(small_message);
    open.clear();
    answerer.flush();
  };
  answer_all();
  scene.until([&] { return ended == asked; }, patience);
  scene.relent();
  const std::uint64_t before = answered;
  scene.must(
      [&] {
        std::uint64_t id = 0;
        if (open.empty()) (void)asker.send(small_message, id);
        asker.flush();
        answer_all();
        return answered > before;
      },
      "an answer is passed on");
}

}  // namespace netio::test
