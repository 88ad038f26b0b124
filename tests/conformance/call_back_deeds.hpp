// What a call-back may do: destroy its object, close it, let its peers go, destroy other objects of
// the context, and set another call in its own place. And what it must not: throw, which ends the
// process. A test of this suite tries all of it in one call-back.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

#include "conformance/fragments.hpp"
#include "support/in_a_child.hpp"

namespace netio::test {

enum class Deed : std::uint8_t { destroy, close, let_go, destroy_others, set_anew, raise };

// What close() is called in each class; a class without one is destroyed.
inline void close_it(std::optional<ReadoutUnit>& unit) {
  unit->finish(0ns, [] {});
}
inline void close_it(std::optional<BuilderUnit>& unit) {
  unit->close(0ns, [] {});
}
inline void close_it(std::optional<EventManager>& manager) {
  manager->close(0ns, [] {});
}
inline void close_it(std::optional<Forward>& forwards) {
  forwards->finish(0ns, [] {});
}
inline void close_it(std::optional<Timer>& timer) { timer->stop(); }
inline void close_it(std::optional<Watch>& watch) { watch->set_events(0); }
inline void close_it(std::optional<Signal>& signal) { signal.reset(); }
inline void close_it(std::optional<PosixSignals>& signals) { signals.reset(); }
inline void close_it(std::optional<Probe>& probe) { probe.reset(); }
template <typename Socket>
void close_it(std::optional<Socket>& socket) {
  socket->close(1h);
}

// Of what has peers that may be let go, and addresses.
template <typename Object>
void let_go_in(std::optional<Object>& object, const std::string& address) {
  if constexpr (std::is_base_of_v<Socket, Object>) {
    for (const PeerSnapshot& peer : object->peers()) EXPECT_TRUE(object->disconnect(peer.id, 1h));
    (void)object->unbind(address);
  }
}

// Two contexts with one object of each class, as far as a test makes them.
struct Scene {
  Scene(const Row& wire, Deed what) : row(wire), deed(what) {
    others_there->on_message([this](const MessageView&) { ++others_arrived; });
    connect(*others_here, *others_there);
  }

  void connect(Socket& connecting, Socket& bound) const {
    connecting.connect(bound.bind(row.address));
  }
  // Sets a call that does the deed the first time. `set` sets the call that it is given.
  template <typename Object, typename Set>
  void arm(std::optional<Object>& object, Set set);
  // That of a context, which may do less.
  [[nodiscard]] std::function<void()> armed();
  void done() {
    ASSERT_SOON(pump, called);
    pump.turns(20);
    if (!others_here || !others_there) return;
    ASSERT_SOON(pump, others_here->peers_connected() == 1);
    ASSERT_EQ(others_here->send("all is well"), Status::ok);
    ASSERT_SOON(pump, others_arrived == 1);
  }

  void make_push_and_pull() {
    push.emplace(here);
    pull.emplace(there);
    pull->on_message([](const MessageView&) {});
  }
  void join_push_and_pull() {
    connect(*push, *pull);
    ASSERT_SOON(pump, push->peers_connected() == 1 && pull->peers_connected() == 1);
  }
  void make_publish(const PublishOptions& options = {}, SubscribeOptions subscription = {}) {
    publish.emplace(here, options);
    subscribe.emplace(there, subscription);
    subscribe->on_message([](const MessageView&) {});
    subscribe->subscribe(7);
  }
  void join_publish() {
    bool subscribed = false;
    subscribe->on_subscribed([&](const PeerInfo&, const Subscribed&) { subscribed = true; });
    connect(*subscribe, *publish);
    ASSERT_SOON(pump, subscribed);
    subscribe->on_subscribed({});
  }
  template <typename Enough>
  void publish_until(Enough&& enough) {
    const std::vector<std::byte> message(1000);
    ASSERT_SOON(pump, [&] {
      for (int i = 0; i < 64 && !enough() && publish; ++i) {
        if (publish->send(message, 7) != Status::ok) break;
      }
      return enough();
    }());
  }
  void make_request() {
    request.emplace(here);
    reply.emplace(there);
    reply->on_request([](const MessageView&, ReplyTo to) { EXPECT_EQ(to.send("so"), Status::ok); });
  }
  void ask() {
    std::uint64_t id = 0;
    ASSERT_SOON(pump, request->send("what", id) == Status::ok);
  }
  void make_forward() {
    SocketOptions short_ones;
    short_ones.message_bytes_max = 1000;
    input.emplace(there);
    output.emplace(there, short_ones);
    sink.emplace(here);
    sink->on_message([](const MessageView&) {});
    forwards.emplace(forward(*input, *output));
    push.emplace(here);
    connect(*push, *input);
    connect(*output, *sink);
    ASSERT_SOON(pump, push->peers_connected() == 1 && output->peers_connected() == 1);
  }
  void make_builder(bool managed = false, std::uint64_t range_events = 16) {
    BuilderOptions options;
    options.keep_bytes_max = 5000;
    options.plan = {1, 1, range_events, managed};
    options.socket = hasty_socket();
    builder.emplace(there, options);
    builder->on_event([](const Event&) {});
    builder_address = builder->bind(row.address);
  }
  void keep_events() {
    builder->on_event([this](const Event& event) {
      if (builder) kept.push_back(event.keep());
    });
  }
  void make_unit(bool managed = false, std::uint64_t range_events = 16,
                 std::size_t store_bytes_max = std::size_t{1} << 20U) {
    ReadoutOptions options;
    options.plan = {1, 1, range_events, managed};
    options.store_bytes_max = store_bytes_max;
    options.socket = hasty_socket();
    unit.emplace(here, options);
  }
  void send_fragments() {
    for (std::uint64_t number = 0; number < 20 && unit; ++number) {
      static_cast<void>(unit->send({1, number}, bytes));
    }
    if (unit) unit->advance({1, 20});
  }
  void make_manager() {
    ManagerOptions options;
    options.plan = {1, 1, 16, true};
    options.lease = 10ms;
    options.socket = hasty_socket();
    manager.emplace(there, options);
    manager_address = manager->bind(row.address);
  }
  // Before anything is connected.
  void make_managed(std::uint64_t units_range = 16, std::uint64_t builders_range = 16) {
    make_manager();
    make_builder(true, builders_range);
    make_unit(true, units_range);
  }
  void join_manager() {
    unit->join(manager_address);
    builder->join(manager_address);
    send_fragments();
  }

  const Row& row;
  Deed deed;
  bool called = false;
  std::weak_ptr<int> captured;  // by the call that runs
  Context here{memory_to_build()};
  Context there{memory_to_build()};
  Pump pump{&here, &there};
  std::vector<std::byte> bytes = std::vector<std::byte>(1000);
  std::vector<KeptEvent> kept;
  std::string builder_address;
  std::string manager_address;
  std::uint64_t others_arrived = 0;
  std::optional<Push> others_here{std::in_place, here};
  std::optional<Pull> others_there{std::in_place, there};
  std::optional<Push> push;
  std::optional<Pull> pull;
  std::optional<Pair> pair;
  std::optional<Pair> other_pair;
  std::optional<Publish> publish;
  std::optional<Subscribe> subscribe;
  std::optional<Request> request;
  std::optional<Reply> reply;
  std::optional<Pull> input;
  std::optional<Push> output;
  std::optional<Pull> sink;
  std::optional<Forward> forwards;
  std::optional<Probe> probe;
  std::optional<EventManager> manager;
  std::optional<BuilderUnit> builder;
  std::optional<ReadoutUnit> unit;
  std::array<int, 2> ends{-1, -1};
  std::optional<Watch> watch;
  std::optional<Timer> timer;
  std::optional<Signal> signal;
  std::optional<PosixSignals> posix_signals;
};

struct Nothing {
  template <typename... Arguments>
  void operator()(const Arguments&...) const {}
};

// Copied by nobody but std::function, which has one of them in the end.
struct DoesTheDeed {
  DoesTheDeed(Scene& of, std::function<void()> destroys, std::function<void()> closes,
              std::function<void()> lets_go, std::function<void()> sets_anew)
      : scene(&of),
        destroy(std::move(destroys)),
        close(std::move(closes)),
        let_go(std::move(lets_go)),
        set_anew(std::move(sets_anew)) {
    of.captured = alive;
  }

  template <typename... Arguments>
  void operator()(const Arguments&...) const {
    if (std::exchange(scene->called, true)) {
      EXPECT_TRUE(scene->deed == Deed::close || scene->deed == Deed::let_go ||
                  scene->deed == Deed::destroy_others)
          << "called once more";
      return;
    }
    Scene& here = *scene;
    const std::weak_ptr<int> mine = alive;
    switch (here.deed) {
      case Deed::destroy:
        destroy();
        break;
      case Deed::close:
        close();
        break;
      case Deed::let_go:
        let_go();
        break;
      case Deed::destroy_others:
        here.others_here.reset();
        here.others_there.reset();
        break;
      case Deed::set_anew:
        set_anew();
        break;
      case Deed::raise:
        throw std::bad_alloc();
    }
    EXPECT_FALSE(mine.expired()) << "what the call has captured is gone while it runs";
  }

  Scene* scene;
  std::function<void()> destroy;
  std::function<void()> close;
  std::function<void()> let_go;
  std::function<void()> set_anew;
  std::shared_ptr<int> alive = std::make_shared<int>(7);
};

template <typename Object, typename Set>
void Scene::arm(std::optional<Object>& object, Set set) {
  set(object, DoesTheDeed(
                  *this, [&object] { object.reset(); }, [&object] { close_it(object); },
                  [&object, this] { let_go_in(object, row.address); },
                  [&object, set] { set(object, Nothing()); }));
}

inline std::function<void()> Scene::armed() {
  return DoesTheDeed(
      *this, [] {}, [] {}, [] {}, [] {});
}

// Sets the call-back of this name.
#define SET(name) [](auto& object, auto call) { object->name(std::move(call)); }

// What calls is the same on every wire above the link: one that the kernel reads, and one that is
// polled.
[[nodiscard]] inline std::vector<Row> two_wires() {
  std::vector<Row> rows;
  for (const Row& row : every_transport()) {
    if (row.name == "tcp_ipv4" || row.name == "shm") rows.push_back(row);
  }
  return rows;
}

class CallBackDeeds : public testing::TestWithParam<Row> {
 protected:
  using Play = void (*)(Scene& scene);

  // `play` arms one call-back, and does what is needed that it comes.
  static void each(Play play) {
    expect_done(play, Deed::destroy, "destroys its object");
    expect_done(play, Deed::close, "closes its object");
    expect_done(play, Deed::let_go, "lets its peers go");
    expect_done(play, Deed::destroy_others, "destroys others");
    expect_done(play, Deed::set_anew, "sets another call in its place");
    EXPECT_EQ(in_a_child([play] { return raise(play); }), 128 + SIGABRT)
        << "1: what it threw was lost, 2: it was not called";
  }

 private:
  static void expect_done(Play play, Deed deed, const char* what) {
    SCOPED_TRACE(what);
    const Row row = GetParam();
    Scene scene(row, deed);
    play(scene);
    if (!HasFatalFailure()) scene.done();
  }
  static int raise(Play play) {
    const rlimit none{0, 0};
    (void)::setrlimit(RLIMIT_CORE, &none);
    const int quiet = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)::dup2(quiet, STDERR_FILENO);
    const Row row = GetParam();
    Scene scene(row, Deed::raise);
    play(scene);
    (void)scene.pump.until([&] { return scene.called; }, "called");
    scene.pump.turns(20);
    return scene.called ? 1 : 2;
  }
};

}  // namespace netio::test
