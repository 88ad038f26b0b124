// Requests and replies over one connection: a send and a receive each, and a wait between them.
#include "systems/fabric/doorman.hpp"
#include "systems/fabric/fabric.hpp"
#include "systems/fabric/rest.hpp"
#include "systems/fabric/window.hpp"

namespace netio::bench::fabric {

// A reply leaves from where its request came to. That request k has come says that reply
// k - window did: its slot is posted again, one more than there are requests under way.
void reply(Worker& worker) {
  const Options& options = worker.options;
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  const std::size_t posted = Window(options).messages + std::size_t{1};
  const std::size_t slots = 2 * posted - 1;
  Device device(
      options,
      {.receives = slots, .receive_bytes = options.message_bytes, .sends = slots, .send_bytes = 0});
  Doorman doorman(device, 1, posted);
  worker.ready(doorman.port());
  Rest rest(worker, device, stop);
  while (!worker.stopping()) {
    const std::span<const Completion> completions = device.completions.read();
    for (const Completion& completion : completions) {
      Slot& slot = *completion.slot;
      Connection& connection = *slot.connection;
      worker.tally.take({slot.bytes, completion.bytes});
      connection.send(slot.bytes, completion.bytes);
      connection.post_receive(
          connection.receive_slot((connection.index_of(slot) + posted) % slots));
    }
    if (doorman.waits() || rest.events_due()) doorman.take_events();
    rest.after(completions.size());
  }
  worker.join();
}

namespace {

// The requests of one connection, and how many of them have returned.
class Requests {
 public:
  Requests(Worker& worker, Connection& connection, std::uint32_t window)
      : worker_(worker),
        connection_(connection),
        window_(std::min<std::uint64_t>(window, Worker::requests_under_way_max)),
        stamp_(0, worker.options.verify),
        pace_(worker.options.rate) {}

  // Those whose time has come, or the next one when the last has returned.
  void send_due() {
    if (pace_.open_loop()) {
      while (sent_ - returned_ < window_ && pace_.at(sent_) <= now_ns()) send_one();
    } else if (sent_ == returned_) {
      sent_at_ = now_ns();
      send_one();
    }
  }
  void take(const Completion& completion) {
    const std::int64_t now = now_ns();
    worker_.tally.take({completion.slot->bytes, completion.bytes});
    worker_.round_trip(now - (pace_.open_loop() ? pace_.at(returned_) : sent_at_));
    ++returned_;
    // The next request first: a slot more is posted than there are requests under way.
    send_due();
    connection_.post_receive(*completion.slot);
  }
  void set(const TimerDescriptor& timer) const {
    if (pace_.open_loop()) timer.set(pace_.at(sent_));
  }

 private:
  void send_one() {
    const std::size_t bytes = worker_.options.message_bytes;
    std::byte* const message = connection_.send_bytes(sent_ % window_);
    stamp_.write({message, bytes});
    stamp_.advance();
    ++sent_;
    connection_.send(message, bytes);
  }

  Worker& worker_;
  Connection& connection_;
  std::uint64_t window_;
  Stamp stamp_;
  Pace pace_;
  std::uint64_t sent_ = 0;
  std::uint64_t returned_ = 0;
  std::int64_t sent_at_ = 0;
};

}  // namespace

void request(Worker& worker) {
  const Options& options = worker.options;
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  const Window window(options);
  Device device(options, {.receives = window.messages + std::size_t{1},
                          .receive_bytes = options.message_bytes,
                          .sends = window.messages,
                          .send_bytes = options.message_bytes});
  Connection connection(device, *device.info, window.messages + std::size_t{1});
  connection.connect();
  worker.ready();
  const TimerDescriptor timer;
  Rest rest(worker, device, stop);
  rest.add(timer.fd());
  Requests requests(worker, connection, window.messages);
  while (!worker.stopping()) {
    requests.send_due();
    const std::span<const Completion> completions = device.completions.read();
    for (const Completion& completion : completions) requests.take(completion);
    if (rest.events_due()) device.events.refuse_end();
    if (options.wait != Wait::spin) requests.set(timer);
    rest.after(completions.size());
  }
  worker.join();
}

}  // namespace netio::bench::fabric
