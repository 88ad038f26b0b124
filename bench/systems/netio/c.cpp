// The same roles through the C API.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <netio.h>

#include "systems/netio/ahead.hpp"
#include "systems/netio/netio.hpp"

namespace netio::bench {

namespace {

void check(int result) {
  if (result != NETIO_OK) throw std::runtime_error(netio_last_error());
}

struct CContext {
  explicit CContext(Worker& worker) {
    netio_context_options options;
    netio_context_defaults(&options);
    options.idle = static_cast<std::int32_t>(context_options(worker.options).idle);
    check(netio_init_with(&context, &options));
    worker.on_stop([this] {
      const auto end = [](void* loop) { netio_terminate(static_cast<netio_eventloop*>(loop)); };
      netio_post(&context.evloop, end, &context.evloop);
    });
  }
  CContext(const CContext&) = delete;
  CContext& operator=(const CContext&) = delete;
  ~CContext() { netio_context_free(&context); }

  netio_context context{};
};

// What the call-backs of all roles know.
struct End {
  End(Worker& its_worker, netio_socket& its_socket) : worker(its_worker), socket(its_socket) {
    socket.data = this;
    socket.cb_connection_established = [](netio_socket* of, const netio_peer*) {
      static_cast<End*>(of->data)->up = true;
    };
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  ~End() { netio_socket_free(&socket); }

  void bind() {
    const std::string address = address_of(worker.options);
    check(netio_listen(&socket, address.c_str()));
    worker.ready(port_of(worker.options, netio_address(&socket)));
  }
  void connect(CContext& context) {
    const std::string address = address_of(worker.options);
    check(netio_connect(&socket, address.c_str()));
    while (!up) check(netio_run_once(&context.context.evloop, 1'000'000'000));
    worker.ready();
  }
  void take(const netio_message& message) {
    worker.tally.take({static_cast<const std::byte*>(message.data), message.size});
  }

  Worker& worker;
  netio_socket& socket;
  bool up = false;
};

void receive_all(Worker& worker, CContext& context) {
  netio_listen_socket pull{};
  check(netio_listen_socket_init(&context.context, &pull, nullptr));
  End end(worker, pull.socket);
  pull.socket.cb_msg_received = [](netio_socket* of, const netio_message* message) {
    static_cast<End*>(of->data)->take(*message);
  };
  end.bind();
  check(netio_run(&context.context.evloop));
}

struct Sender : End {
  using End::End;
  bool writable = true;
};

// The loop and the order to stop get their turn as often as with call-backs.
void send_all(Worker& worker, CContext& context) {
  netio_send_socket unbuffered{};
  netio_buffered_send_socket buffered{};
  netio_socket& push = worker.options.buffered ? buffered.socket : unbuffered.socket;
  check(worker.options.buffered
            ? netio_buffered_send_socket_init(&context.context, &buffered, nullptr)
            : netio_send_socket_init(&context.context, &unbuffered, nullptr));
  Sender sender(worker, push);
  push.cb_buffer_available = [](netio_socket* of) {
    static_cast<Sender*>(static_cast<End*>(of->data))->writable = true;
  };
  sender.connect(context);
  Ahead ahead(worker.options.connection_first, worker.options);
  const std::size_t in_turn = std::max<std::size_t>(1, bytes_in_turn / ahead.message_bytes());
  while (!worker.stopping()) {
    for (std::size_t i = 0; sender.writable && i < in_turn; ++i) {
      sender.writable = netio_send(&push, ahead.next().data(), ahead.message_bytes()) == NETIO_OK;
      if (sender.writable) ahead.advance();
    }
    check(netio_run_once(&context.context.evloop, sender.writable ? 0 : -1));
  }
}

netio_socket_options pair_options(const Options& options) {
  netio_socket_options pair;
  netio_socket_defaults(&pair);
  pair.unbuffered = options.buffered ? 0 : 1;
  return pair;
}

struct Replier : End {
  using End::End;
  netio_message refused{};  // the reply that could not be sent; nothing more is taken before it is
};

void reply_all(Worker& worker, CContext& context) {
  netio_pair_socket pair{};
  const netio_socket_options options = pair_options(worker.options);
  check(netio_pair_socket_init(&context.context, &pair, &options));
  Replier replier(worker, pair.socket);
  pair.socket.cb_msg_received = [](netio_socket* of, const netio_message* message) {
    auto& self = *static_cast<Replier*>(static_cast<End*>(of->data));
    self.take(*message);
    if (netio_send(of, message->data, message->size) == NETIO_OK) return;
    if (netio_keep(message, &self.refused) != NETIO_OK) std::abort();  // nothing is thrown here
    netio_pause(of);
  };
  pair.socket.cb_buffer_available = [](netio_socket* of) {
    auto& self = *static_cast<Replier*>(static_cast<End*>(of->data));
    if (netio_pass_on(of, &self.refused) == NETIO_OK) netio_resume(of);
  };
  replier.bind();
  check(netio_run(&context.context.evloop));
}

struct Requester : End {
  Requester(Worker& its_worker, netio_socket& its_socket)
      : End(its_worker, its_socket),
        stamp(0, worker.options.verify),
        message(worker.options.message_bytes) {}

  void send_next() {
    sent_at = now_ns();
    stamp.write(message);
    if (netio_send(&socket, message.data(), message.size()) == NETIO_OK) stamp.advance();
  }

  Stamp stamp;
  std::vector<std::byte> message;
  std::int64_t sent_at = 0;
};

void request_all(Worker& worker, CContext& context) {
  netio_pair_socket pair{};
  const netio_socket_options options = pair_options(worker.options);
  check(netio_pair_socket_init(&context.context, &pair, &options));
  Requester requester(worker, pair.socket);
  pair.socket.cb_msg_received = [](netio_socket* of, const netio_message* back) {
    auto& self = *static_cast<Requester*>(static_cast<End*>(of->data));
    const std::int64_t now = now_ns();
    self.take(*back);
    self.worker.round_trip(now - self.sent_at);
    self.send_next();
  };
  requester.connect(context);
  requester.send_next();
  check(netio_run(&context.context.evloop));
}

}  // namespace

void run_c(Worker& worker) {
  CContext context(worker);
  switch (worker.options.role) {
    case Role::receive:
      receive_all(worker, context);
      break;
    case Role::send:
      send_all(worker, context);
      break;
    case Role::reply:
      reply_all(worker, context);
      break;
    default:
      request_all(worker, context);
  }
  worker.join();
}

}  // namespace netio::bench
