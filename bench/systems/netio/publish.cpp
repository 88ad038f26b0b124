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

// Until the worker is told to stop. `send` hands over one message; `writable` is set by the socket
// after an answer of again.
template <typename Send>
void run_publisher(Worker& worker, Context& context, const bool& writable, Send send) {
  const Options& options = worker.options;
  Loop& loop = context.loop();
  while (!worker.told_to_begin() && !worker.stopping()) loop.run_once(std::chrono::milliseconds(5));
  Ahead ahead(0, options);
  Bursts bursts(options.rate, now_ns());
  std::uint64_t sent = 0;
  const std::uint64_t in_a_turn = std::max<std::size_t>(1, bytes_in_turn / options.message_bytes);
  // False if the socket took fewer.
  const auto send_some = [&](std::uint64_t count) {
    for (const std::uint64_t end = sent + count; sent != end; ++sent) {
      if (send(ahead.next()) != Status::ok) return false;
      ahead.advance();
    }
    return true;
  };
  while (!worker.stopping()) {
    if (options.rate > 0) {
      (void)send_some(bursts.due(now_ns(), sent));
      loop.run_once(Bursts::apart);
    } else if (send_some(in_a_turn)) {
      loop.run_once(std::chrono::seconds(0));
    } else {
      while (!writable && !worker.stopping()) loop.run_once(std::chrono::seconds(-1));
    }
  }
  worker.join();
}

// `elements` in turn, again and again; `send` hands a message over to one, the next if it is taken.
template <typename Element, typename Send>
auto in_turn(const std::vector<Element>& elements, bool& writable, Send send) {
  return [&elements, &writable, send, next = std::size_t{0}](auto message) mutable {
    const Status status = send(message, elements[next]);
    if (status == Status::ok) {
      if (++next == elements.size()) next = 0;
    } else {
      writable = false;
    }
    return status;
  };
}

using Bytes = std::span<const std::byte>;

void publish_by_tag(Worker& worker, Context& context) {
  const FanoutOptions& fanout = worker.options.fanout;
  Publish publish(context, {}, socket_options(worker.options));
  bool writable = true;
  publish.on_writable([&writable] { writable = true; });
  snap_with(worker, context, publish);
  const std::uint16_t port = port_of(worker.options, publish.bind(address_of(worker.options)));
  const std::vector<std::uint64_t> tags = published_tags(fanout);
  if (!fanout.resolved) {
    worker.ready(port);
    return run_publisher(worker, context, writable,
                         in_turn(tags, writable, [&publish](Bytes message, std::uint64_t tag) {
                           return publish.send(message, tag);
                         }));
  }
  std::vector<PublishTag> resolved;
  resolved.reserve(tags.size());
  for (const std::uint64_t tag : tags) resolved.push_back(publish.tag(tag));
  worker.ready(port);
  run_publisher(worker, context, writable,
                in_turn(resolved, writable,
                        [](Bytes message, const PublishTag& tag) { return tag.send(message); }));
}

void publish_by_push(Worker& worker, Context& context) {
  Push push(context, socket_options(worker.options));
  bool writable = true;
  push.on_writable([&writable] { writable = true; });
  snap_with(worker, context, push);
  worker.ready(port_of(worker.options, push.bind(address_of(worker.options))));
  run_publisher(worker, context, writable, [&](Bytes message) {
    const Status status = push.send(message);
    if (status != Status::ok) writable = false;
    return status;
  });
}

}  // namespace

void publish(Worker& worker) {
  Context context(context_options(worker.options));
  stop_with(worker, context);
  worker.options.fanout.push ? publish_by_push(worker, context) : publish_by_tag(worker, context);
}

}  // namespace netio::bench
