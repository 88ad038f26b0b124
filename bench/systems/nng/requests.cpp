// req0 with a context for each request under way, rep0 with contexts too, driven by asynchronous
// operations without call-backs: each end is one thread that goes round its contexts. That is the
// fair way: nng documents contexts for it, and they lose nothing. The raw sockets do less work, but
// a raw rep0 drops the answers that do not fit a queue of 64, and nobody asks again. Operations
// with call-backs hand each message to another thread, which takes longer on two cores.
#include "systems/nng/requests.hpp"

#include <memory>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <vector>

#include "systems/nng/socket.hpp"

namespace netio::bench {

namespace {

// A context with an operation each way. Never destroyed.
class Turn {
 public:
  explicit Turn(Socket& socket) {
    check(nng_ctx_open(&context_, socket.get()), "nng_ctx_open");
    for (nng_aio** const operation : {&sending_, &receiving_}) {
      check(nng_aio_alloc(operation, nullptr, nullptr), "nng_aio_alloc");
      nng_aio_set_timeout(*operation, NNG_DURATION_INFINITE);
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Sends, once what was sent before has left, and then receives without waiting for that.
  void send(nng_msg* message) {
    if (sent_) (void)wait(sending_);
    sent_ = true;
    nng_aio_set_msg(sending_, message);
    nng_ctx_send(context_, sending_);
  }
  void receive() { nng_ctx_recv(context_, receiving_); }
  // Any thread.
  void cancel() { nng_aio_cancel(receiving_); }
  // The caller's to free or send; null if it was cancelled.
  nng_msg* received() { return wait(receiving_) ? nng_aio_get_msg(receiving_) : nullptr; }

 private:
  static bool wait(nng_aio* operation) {
    nng_aio_wait(operation);
    const int error = nng_aio_result(operation);
    if (error != NNG_ECANCELED) check(error, "an operation of nng");
    return error == 0;
  }

  nng_ctx context_{};
  nng_aio* sending_ = nullptr;
  nng_aio* receiving_ = nullptr;
  bool sent_ = false;
};

using Turns = std::vector<std::unique_ptr<Turn>>;

Turns open_turns(Socket& socket, std::size_t count) {
  Turns turns;
  for (std::size_t i = 0; i < count; ++i) turns.push_back(std::make_unique<Turn>(socket));
  return turns;
}

// Contexts of the replier: so many requests wait for it, or answers for the wire.
constexpr std::size_t repliers = 64;

}  // namespace

// Here and below the contexts go with the process: nng does not always come back from closing a
// socket with many operations under way.
void answer_many(Worker& worker) {
  auto& socket = *new Socket(nng_rep0_open, worker.options);
  const Turns& turns = *new Turns(open_turns(socket, repliers));
  for (const auto& turn : turns) turn->receive();
  worker.on_stop([&turns] {
    for (const auto& turn : turns) turn->cancel();
  });
  worker.ready(socket.bind(worker.options));
  for (std::size_t i = 0; !worker.stopping(); i = (i + 1) % repliers) {
    nng_msg* const message = turns[i]->received();
    if (message == nullptr) break;
    worker.tally.take(bytes_of(message));
    turns[i]->send(message);
    turns[i]->receive();
  }
  worker.join();
}

// The replier goes on answering until this end has stopped, so no wait lasts longer than that.
void ask_many(Worker& worker) {
  const Options& options = worker.options;
  auto& socket = *new Socket(nng_req0_open, options);
  socket.connect(options);
  const Turns& turns = *new Turns(open_turns(socket, options.concurrent));
  worker.ready();
  Stamp stamp(0, options.verify);
  const auto ask = [&](Turn& turn) {
    turn.send(next_message(options, stamp));
    turn.receive();
  };
  for (const auto& turn : turns) ask(*turn);
  for (std::size_t i = 0; !worker.stopping(); i = (i + 1) % turns.size()) {
    nng_msg* const answer = turns[i]->received();
    if (answer == nullptr) break;
    worker.tally.take(bytes_of(answer));
    nng_msg_free(answer);
    ask(*turns[i]);
  }
}

}  // namespace netio::bench
