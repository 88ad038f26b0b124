// Sends without end over one connection or many, each as far as the credit of its receiver goes.
// A credit also says that the buffers of the messages it is for are free.
#include <deque>

#include "systems/fabric/connection.hpp"
#include "systems/fabric/fabric.hpp"
#include "systems/fabric/rest.hpp"
#include "systems/fabric/window.hpp"

namespace netio::bench::fabric {

namespace {

class Sender {
 public:
  Sender(Device& device, const Options& options, const Window& window, std::uint32_t number)
      : window_(window),
        message_bytes_(options.message_bytes),
        stamp_(number, options.verify),
        connection_(device, *device.info, Window::credit_messages),
        credit_(window.messages) {
    connection_.connect();
    connection_.number = number - options.connection_first;
  }

  // False if the provider takes no more for now.
  bool send_all() {
    for (; credit_ > 0; --credit_) {
      std::byte* const message = connection_.send_bytes(next_);
      stamp_.write({message, message_bytes_});
      if (!connection_.try_send(message, message_bytes_)) return false;
      stamp_.advance();
      if (++next_ == window_.messages) next_ = 0;
    }
    return true;
  }
  void take_credit(Slot& slot) {
    connection_.post_receive(slot);
    credit_ += window_.credits_each;
  }

 private:
  Window window_;
  std::size_t message_bytes_;
  Stamp stamp_;
  Connection connection_;
  std::uint32_t credit_;
  std::uint32_t next_ = 0;
};

}  // namespace

void send(Worker& worker) {
  const Options& options = worker.options;
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  const Window window(options);
  Device device(options, {.receives = Window::credit_messages,
                          .receive_bytes = Window::credit_bytes,
                          .sends = window.messages,
                          .send_bytes = options.message_bytes});
  std::deque<Sender> senders;
  for (std::uint32_t i = 0; i < options.connections; ++i) {
    senders.emplace_back(device, options, window, options.connection_first + i);
  }
  worker.ready();
  Rest rest(worker, device, stop);
  while (!worker.stopping()) {
    const std::span<const Completion> completions = device.completions.read();
    for (const Completion& completion : completions) {
      senders[completion.slot->connection->number].take_credit(*completion.slot);
    }
    bool all_sent = true;
    if (!options.idle) {
      for (Sender& sender : senders) all_sent = sender.send_all() && all_sent;
    }
    if (rest.events_due()) device.events.refuse_end();
    rest.after(completions.size(), all_sent);
  }
  worker.join();
}

}  // namespace netio::bench::fabric
