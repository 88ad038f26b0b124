// Publishes: by tag, plain or looked up before, or without tags through a Push, which is what
// publishing to one subscriber is held against.
#include <algorithm>
#include <cstddef>
#include <future>
#include <span>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "systems/netio/ahead.hpp"
#include "systems/netio/netio.hpp"
#include "worker/bursts.hpp"
#include "worker/tags.hpp"

namespace netio::bench {

namespace {

using nlohmann::ordered_json;

// Counters are the loop's thread's: it is asked, and takes its turn.
void snap_with(Worker& worker, Context& context, const Socket& socket) {
  worker.on_snap([&worker, &context, &socket](ordered_json& said) {
    std::promise<void> done;
    context.loop().post([&] {
      const Counters counters = socket.counters();
      const Books books = socket.books();
      if (worker.options.fanout.push) {
        said["messages"] = books.sent;
      } else {
        said["messages"] = counters.published;
        said["unwanted"] = counters.unwanted;
        said["bodies_encoded"] = counters.bodies_encoded;
      }
      ordered_json& dropped = said["dropped"] = ordered_json::object();
      for (std::size_t i = 0; i < books.dropped_by.size(); ++i) {
        if (books.dropped_by[i] == 0) continue;
        dropped[std::string(to_string(static_cast<DropReason>(i)))] = books.dropped_by[i];
      }
      done.set_value();
    });
    done.get_future().wait();
  });
}

// Hands numbered messages to the elements (tags, as `send` takes them) in turn, again and again.
template <typename Element, typename Send>
class Publisher {
 public:
  Publisher(const Options& options, const std::vector<Element>& elements, Send send)
      : ahead_(0, options), elements_(elements), send_(send) {}

  // False if the socket took fewer.
  bool send_some(std::uint64_t count) {
    const std::uint64_t end = sent_ + count;
    while (sent_ != end) {
      // The loop within is nearly all that the benchmark adds to what it measures.
      const std::span<const std::byte> messages = ahead_.rest();
      const std::size_t most = std::min({ahead_.messages_left(), elements_.size() - next_,
                                         static_cast<std::size_t>(end - sent_)});
      const std::size_t taken = send_in_turn(messages.data(), &elements_[next_], most);
      ahead_.advance(taken);
      sent_ += taken;
      next_ = next_ + taken == elements_.size() ? 0 : next_ + taken;
      if (taken < most) return false;
    }
    return true;
  }
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }

 private:
  std::size_t send_in_turn(const std::byte* message, const Element* element, std::size_t most) {
    const std::size_t message_bytes = ahead_.message_bytes();
    std::size_t taken = 0;
    while (taken < most && send_(std::span(message, message_bytes), *element) == Status::ok) {
      message += message_bytes;
      ++element;
      ++taken;
    }
    return taken;
  }

  Ahead ahead_;
  const std::vector<Element>& elements_;
  Send send_;
  std::size_t next_ = 0;  // element
  std::uint64_t sent_ = 0;
};

void run_for(Loop& loop, std::chrono::nanoseconds time) {
  const auto until = loop.now() + time;
  for (auto left = time; left > std::chrono::nanoseconds(0); left = until - loop.now()) {
    loop.run_once(left);
  }
}

// Until the worker is told to stop. `socket` is what says when it is worth trying again.
template <typename Socket, typename Element, typename Send>
void run_publisher(Worker& worker, Context& context, Socket& socket,
                   const std::vector<Element>& elements, Send send) {
  const Options& options = worker.options;
  Loop& loop = context.loop();
  bool writable = true;
  socket.on_writable([&writable] { writable = true; });
  while (!worker.told_to_begin() && !worker.stopping()) loop.run_once(std::chrono::milliseconds(5));
  Publisher<Element, Send> publisher(options, elements, send);
  Bursts bursts(options.rate, now_ns());
  const std::uint64_t in_turn = std::max<std::size_t>(1, bytes_in_turn / options.message_bytes);
  while (!worker.stopping()) {
    if (options.rate > 0) {
      (void)publisher.send_some(bursts.due(now_ns(), publisher.sent()));
      run_for(loop, Bursts::apart);
    } else if (publisher.send_some(in_turn)) {
      loop.run_once(std::chrono::seconds(0));
    } else {
      writable = false;
      while (!writable && !worker.stopping()) loop.run_once(std::chrono::seconds(-1));
    }
  }
  worker.join();
}

using Bytes = std::span<const std::byte>;

void publish_by_tag(Worker& worker, Context& context) {
  const FanoutOptions& fanout = worker.options.fanout;
  PublishOptions publishing;
  publishing.ranges_all_max = std::size_t{1} << 32U;  // the subscribers are ours
  Publish publish(context, publishing, socket_options(worker.options));
  snap_with(worker, context, publish);
  const std::uint16_t port = port_of(worker.options, publish.bind(address_of(worker.options)));
  const std::vector<std::uint64_t> tags = published_tags(fanout);
  if (!fanout.resolved) {
    worker.ready(port);
    return run_publisher(
        worker, context, publish, tags,
        [&publish](Bytes message, std::uint64_t tag) { return publish.send(message, tag); });
  }
  std::vector<PublishTag> resolved;
  resolved.reserve(tags.size());
  for (const std::uint64_t tag : tags) resolved.push_back(publish.tag(tag));
  worker.ready(port);
  run_publisher(worker, context, publish, resolved,
                [](Bytes message, const PublishTag& tag) { return tag.send(message); });
}

void publish_by_push(Worker& worker, Context& context) {
  Push push(context, socket_options(worker.options));
  snap_with(worker, context, push);
  worker.ready(port_of(worker.options, push.bind(address_of(worker.options))));
  run_publisher(worker, context, push, published_tags(worker.options.fanout),
                [&push](Bytes message, std::uint64_t) { return push.send(message); });
}

}  // namespace

void publish(Worker& worker) {
  Context context(context_options(worker.options));
  stop_with(worker, context);
  worker.options.fanout.push ? publish_by_push(worker, context) : publish_by_tag(worker, context);
}

}  // namespace netio::bench
