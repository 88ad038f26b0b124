// Requests and answers, over a Pair or by Request and Reply: one at a time, each of which is timed,
// or many under way, which are counted.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/point.hpp"
#include "systems/netio/ahead.hpp"
#include "systems/netio/netio.hpp"

namespace netio::bench {

namespace {

// The end that asks, as one end of a Pair.
class PairEnd {
 public:
  PairEnd(Context& context, Worker& worker) : pair_(context, socket_options(worker.options)) {}

  [[nodiscard]] Socket& socket() noexcept { return pair_; }
  bool ask(std::span<const std::byte> message) noexcept {
    NETIO_POINT(send);
    const bool sent = pair_.send(message) == Status::ok;
    NETIO_POINT(sent);
    return sent;
  }
  template <typename Call>
  void on_answer(Call call) {
    pair_.on_message(std::move(call));
  }
  void on_writable(std::function<void()> call) { pair_.on_writable(std::move(call)); }

 private:
  Pair pair_;
};

// The same as a Request.
class RequestEnd {
 public:
  RequestEnd(Context& context, Worker& worker)
      : request_(context, asking(worker.options), socket_options(worker.options)) {
    // Counts as a fault, as it is no message of the right size.
    request_.on_failed([&worker](std::uint64_t, Outcome) { worker.tally.take({}); });
  }

  [[nodiscard]] Socket& socket() noexcept { return request_; }
  bool ask(std::span<const std::byte> message) noexcept {
    std::uint64_t id = 0;
    return request_.send(message, id) == Status::ok;
  }
  template <typename Call>
  void on_answer(Call call) {
    request_.on_reply(
        [call = std::move(call)](std::uint64_t, const MessageView& answer) { call(answer); });
  }
  void on_writable(std::function<void()> call) { request_.on_writable(std::move(call)); }

 private:
  static RequestOptions asking(const Options& options) {
    RequestOptions asking;
    asking.pending_max = std::max<std::size_t>(asking.pending_max, options.concurrent);
    return asking;
  }

  Request request_;
};

template <typename End>
void time_round_trips(Worker& worker) {
  const Options& options = worker.options;
  Context context(context_options(options));
  stop_with(worker, context);
  End end(context, worker);
  Stamp stamp(0, options.verify);
  std::vector<std::byte> message(options.message_bytes);
  Pace pace(options.rate);
  std::uint64_t sent = 0;
  std::uint64_t returned = 0;
  std::int64_t sent_at = 0;
  const auto send_one = [&] {
    stamp.write(message);
    if (!end.ask(message)) return;  // open loop: its time goes on
    stamp.advance();
    ++sent;
  };
  const auto send_next = [&] {
    sent_at = now_ns();
    NETIO_POINT(begin);
    send_one();
  };
  Timer timer(context.loop(), [&] {
    while (pace.at(sent) <= now_ns() && sent - returned < Worker::requests_under_way_max) {
      const std::uint64_t before = sent;
      send_one();
      if (sent == before) break;
    }
    timer.start_once(std::chrono::nanoseconds(std::max<std::int64_t>(0, pace.at(sent) - now_ns())));
  });
  end.on_answer([&](const MessageView& back) {
    NETIO_POINT(end);
    const std::int64_t now = now_ns();
    worker.tally.take(back.bytes());
    worker.round_trip(now - (pace.open_loop() ? pace.at(returned) : sent_at));
    ++returned;
    if (!pace.open_loop()) send_next();
  });
  connect(context, end.socket(), options);
  worker.ready();
  pace = Pace(options.rate);  // from now on
  if (pace.open_loop()) {
    timer.start_once(std::chrono::nanoseconds(0));
  } else {
    send_next();
  }
  run(options, context);
  worker.join();
}

// As many under way as are to be: an answer makes room for the next request, from inside its
// call-back. What was refused goes when the socket says so.
template <typename End>
void keep_under_way(Worker& worker) {
  const Options& options = worker.options;
  Context context(context_options(options));
  stop_with(worker, context);
  End end(context, worker);
  Ahead ahead(0, options);
  std::uint32_t left = options.concurrent;
  const auto ask = [&] {
    for (; left > 0 && end.ask(ahead.next()); --left) ahead.advance();
  };
  end.on_answer([&](const MessageView& answer) {
    worker.tally.take(answer.bytes());
    ++left;
    ask();
  });
  end.on_writable(ask);
  connect(context, end.socket(), options);
  worker.ready();
  ask();
  run(options, context);
  worker.join();
}

template <typename End>
void ask_as(Worker& worker) {
  if (worker.options.concurrent != 0) return keep_under_way<End>(worker);
  time_round_trips<End>(worker);
}

// Many under way: both ends would take turns if the replier handed its answers to the wire at the
// end of its turn, when all requests are answered. It does so four times, and both work at once.
class Quarters {
 public:
  explicit Quarters(const Options& options) noexcept
      : quarter_(std::max<std::uint32_t>(answers_min, options.concurrent / 4)),
        many_(options.concurrent != 0) {}

  // An answer was sent. True if it is time to flush.
  bool over() noexcept {
    if (!many_ || ++answers_ < quarter_) return false;
    answers_ = 0;
    return true;
  }

 private:
  static constexpr std::uint32_t answers_min = 64;  // fewer are not worth a write

  std::uint32_t quarter_;
  std::uint32_t answers_ = 0;
  bool many_;
};

void reply_by_pair(Worker& worker) {
  Context context(context_options(worker.options));
  stop_with(worker, context);
  Pair pair(context, socket_options(worker.options));
  Quarters quarters(worker.options);
  Message refused;  // the reply that could not be sent; nothing more is taken before it is
  pair.on_message([&](const MessageView& message) {
    worker.tally.take(message.bytes());
    NETIO_POINT(send);
    const bool sent = pair.send(message.bytes()) == Status::ok;
    NETIO_POINT(sent);
    if (sent) {
      if (quarters.over()) pair.flush();
      return;
    }
    refused = message.keep();
    pair.pause();
  });
  pair.on_writable([&] {
    if (pair.send(std::move(refused)) == Status::ok) pair.resume();
  });
  worker.ready(port_of(worker.options, pair.bind(address_of(worker.options))));
  run(worker.options, context);
  worker.join();
}

// The first answer from inside the call-back is never refused for lack of room. What is not
// answered is a fault at the other end.
void reply_to_requests(Worker& worker) {
  Context context(context_options(worker.options));
  stop_with(worker, context);
  ReplyOptions replying;
  replying.open_max = std::max<std::size_t>(replying.open_max, worker.options.concurrent);
  Reply reply(context, replying, socket_options(worker.options));
  Quarters quarters(worker.options);
  reply.on_request([&](const MessageView& request, ReplyTo to) {
    worker.tally.take(request.bytes());
    (void)to.send(request.bytes());
    if (quarters.over()) reply.flush();
  });
  worker.ready(port_of(worker.options, reply.bind(address_of(worker.options))));
  run(worker.options, context);
  worker.join();
}

}  // namespace

void reply(Worker& worker) {
  worker.options.requests ? reply_to_requests(worker) : reply_by_pair(worker);
}

void request(Worker& worker) {
  worker.options.requests ? ask_as<RequestEnd>(worker) : ask_as<PairEnd>(worker);
}

}  // namespace netio::bench
