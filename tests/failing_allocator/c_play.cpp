// A victim that does everything through the C API: no exception passes it, and a call that finds no
// memory says so and can be made again.
#include <array>
#include <cstdint>
#include <string>

#include <netio.h>

#include "failing_allocator/scene.hpp"

namespace netio::test {
namespace {

// Until there is memory. Anything else that is answered is wrong.
template <typename Call>
void in_the_end(const char* what, Call&& call) {
  const Armed armed;
  for (;;) {
    const int answer = call();
    if (answer == NETIO_OK) return;
    if (answer == NETIO_NO_MEMORY || answer == NETIO_ERROR) continue;
    give_up(std::string(what) + ": " + netio_result_name(answer) + ": " + netio_last_error());
  }
}

// What is called may have to wait, too. True if it was done.
template <typename Call>
bool perhaps(const char* what, Call&& call) {
  const Armed armed;
  const int answer = call();
  if (answer > NETIO_NOT_CONNECTED && answer != NETIO_NO_MEMORY) {
    give_up(std::string(what) + ": " + netio_result_name(answer) + ": " + netio_last_error());
  }
  return answer == NETIO_OK;
}

// What call-backs see. They run with memory failing, as the program's own.
struct Heard {
  std::uint64_t received = 0;
  std::uint64_t fired = 0;
  std::uint64_t released = 0;
  netio_message kept{};
};

void on_message(netio_socket* socket, const netio_message* message) {
  auto& heard = *static_cast<Heard*>(socket->data);
  ++heard.received;
  if (heard.kept.memory != nullptr) (void)netio_release(&heard.kept);
  (void)perhaps("netio_keep", [&] { return netio_keep(message, &heard.kept); });
}
void on_completed(netio_socket* socket, std::uint64_t) {
  ++static_cast<Heard*>(socket->data)->released;
}
void on_fired(void* data) { ++static_cast<Heard*>(data)->fired; }

void prepare(netio_socket& socket, Heard& heard) {
  socket.data = &heard;
  socket.cb_msg_received = on_message;
  socket.cb_send_completed = on_completed;
  socket.cb_connection_established = [](netio_socket*, const netio_peer*) {};
  socket.cb_connection_closed = [](netio_socket*, const netio_peer*, const netio_down*) {};
  socket.cb_buffer_available = [](netio_socket*) {};
}

std::string listen(netio_socket& socket, const std::string& at) {
  in_the_end("netio_listen", [&] { return netio_listen(&socket, at.c_str()); });
  return netio_address(&socket);
}

void send_each_way(netio_socket& socket) {
  const auto send = [&](const std::string& text) {
    (void)perhaps("netio_send", [&] { return netio_send(&socket, text.data(), text.size()); });
  };
  send(small_message);
  send(large_message);
  (void)perhaps("netio_lend", [&] {
    return netio_lend(&socket, 7, large_message.data(), large_message.size(), 1);
  });
  netio_message made{};
  void* room = nullptr;
  if (perhaps("netio_allocate", [&] { return netio_allocate(&socket, 7, 9000, &made, &room); })) {
    if (!perhaps("netio_pass_on", [&] { return netio_pass_on(&socket, &made); })) {
      (void)netio_release(&made);
    }
  }
  if (perhaps("netio_reserve", [&] { return netio_reserve(&socket, 100, &room); })) {
    (void)perhaps("netio_commit", [&] { return netio_commit(&socket, 7, 100); });
  }
  (void)perhaps("netio_flush", [&] { return netio_flush(&socket); });
}

// All there is in a context of C's, and how it ends.
struct Victim {
  explicit Victim(Scene& scene) {
    netio_context_options options;
    netio_context_defaults(&options);
    const ContextOptions wanted = small();
    options.page_bytes = wanted.page_bytes;
    options.send_pool_bytes = wanted.send_pool_bytes;
    options.receive_pool_bytes = wanted.receive_pool_bytes;
    options.large_bytes_max = wanted.large_bytes_max;
    netio_socket_defaults(&hurried);
    hurried.reconnect_after_min_ns = 1'000'000;
    hurried.reconnect_after_max_ns = 2'000'000;
    in_the_end("netio_init_with", [&] { return netio_init_with(&context, &options); });
    in_the_end("netio_timer_init", [&] { return netio_timer_init(loop(), &timer); });
    in_the_end("netio_signal_init", [&] { return netio_signal_init(loop(), &signal); });
    in_the_end("listen", [&] { return netio_listen_socket_init(&context, &pull, &hurried); });
    in_the_end("send", [&] { return netio_buffered_send_socket_init(&context, &push, &hurried); });
    in_the_end("publish", [&] { return netio_publish_socket_init(&context, &publish, &hurried); });
    in_the_end("subscribe",
               [&] { return netio_subscribe_socket_init(&context, &subscribe, &hurried); });
    timer.cb = signal.cb = on_fired;
    timer.data = signal.data = &heard;
    for (netio_socket* const socket :
         {&pull.socket, &push.socket, &publish.socket, &subscribe.socket}) {
      prepare(*socket, heard);
    }
    scene.turn_victim = [this] {
      const std::uint64_t before = heard.received;
      in_the_end("netio_run_once", [&] { return netio_run_once(loop(), 0); });
      return heard.received != before;
    };
  }
  ~Victim() {
    const Armed armed;
    if (heard.kept.memory != nullptr) (void)netio_release(&heard.kept);
    for (netio_socket* const socket :
         {&pull.socket, &push.socket, &publish.socket, &subscribe.socket}) {
      if (netio_socket_free(socket) != NETIO_OK) give_up("netio_socket_free");
    }
    if (netio_timer_free(&timer) != NETIO_OK || netio_signal_free(&signal) != NETIO_OK ||
        netio_context_free(&context) != NETIO_OK) {
      give_up(netio_last_error());
    }
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  [[nodiscard]] netio_eventloop* loop() { return &context.evloop; }

  netio_context context{};
  netio_socket_options hurried{};
  netio_timer timer{};
  netio_signal signal{};
  netio_listen_socket pull{};
  netio_buffered_send_socket push{};
  netio_publish_socket publish{};
  netio_subscribe_socket subscribe{};
  Heard heard;
};

void check_books(const netio_socket& socket) {
  netio_books books{};
  if (netio_get_books(&socket, &books) != NETIO_OK ||
      books.sent != books.acknowledged + books.dropped + books.in_doubt + books.unacknowledged) {
    give_up("the books do not add up");
  }
}

void look_at_peers(netio_socket& socket) {
  const netio_peer_snapshot* peers = nullptr;
  std::size_t count = 0;
  (void)perhaps("netio_get_peers", [&] { return netio_get_peers(&socket, &peers, &count); });
  (void)perhaps("netio_pause_peer",
                [&] { return count == 0 ? NETIO_OK : netio_pause_peer(&socket, peers[0].id); });
  (void)perhaps("netio_resume_peer",
                [&] { return count == 0 ? NETIO_OK : netio_resume_peer(&socket, peers[0].id); });
}

}  // namespace

void through_c(Scene& scene) {
  // Ends last: who is connected to the victim sees it go.
  Push sender(scene.other, hasty());
  Pull receiver(scene.other, hasty());
  Subscribe subscriber(scene.other, {}, hasty());
  Publish publisher(scene.other, {}, hasty());
  std::uint64_t received = 0;
  receiver.on_message([&](const MessageView&) { ++received; });
  std::uint64_t published = 0;
  subscriber.on_message([&](const MessageView&) { ++published; });
  subscriber.subscribe_all();
  Victim victim(scene);
  Heard& heard = victim.heard;
  {
    const Armed armed;
    (void)netio_timer_start_once_ns(&victim.timer, 1000);
    (void)netio_signal_fire(&victim.signal);
  }
  in_the_end("netio_post", [&] { return netio_post(victim.loop(), on_fired, &heard); });
  sender.connect(listen(victim.pull.socket, scene.address));
  subscriber.connect(listen(victim.publish.socket, scene.address));
  const std::string to_receiver = receiver.bind(scene.address);
  const std::string to_publisher = publisher.bind(scene.address);
  in_the_end("netio_connect",
             [&] { return netio_connect(&victim.push.socket, to_receiver.c_str()); });
  in_the_end("netio_connect",
             [&] { return netio_connect(&victim.subscribe.socket, to_publisher.c_str()); });
  in_the_end("netio_subscribe_range",
             [&] { return netio_subscribe_range(&victim.subscribe, 3, 9); });
  in_the_end("netio_unsubscribe", [&] { return netio_unsubscribe(&victim.subscribe, 5); });
  scene.must([&] { return heard.fired == 3; }, "the timer, the signal and what was posted");
  scene.must(
      [&] {
        return netio_connections(&victim.push.socket) == 1 && sender.peers_connected() == 1 &&
               netio_connections(&victim.publish.socket) == 1 &&
               netio_connections(&victim.subscribe.socket) == 1;
      },
      "all are connected");
  netio_subscription_cache cache{};
  const auto exchange = [&] {
    send_each_way(victim.push.socket);
    for (std::uint64_t tag = 0; tag < 4; ++tag) {
      const std::string& text = tag == 3 ? large_message : small_message;
      (void)perhaps("netio_publish", [&] {
        return netio_publish(&victim.publish, tag, text.data(), text.size(), &cache);
      });
      (void)(sender.send(text) == Status::ok && publisher.send(text, 4) == Status::ok);
    }
    scene.turns(3);
  };
  for (int i = 0; i < 3; ++i) exchange();
  look_at_peers(victim.pull.socket);
  scene.relent();
  const std::uint64_t received_before = received;
  const std::uint64_t published_before = published;
  const std::uint64_t heard_before = heard.received;
  scene.must(
      [&] {
        exchange();
        return received > received_before && published > published_before &&
               heard.received > heard_before;
      },
      "it goes on");
  for (const netio_socket* const socket : {&victim.push.socket, &victim.publish.socket}) {
    check_books(*socket);
  }
}

}  // namespace netio::test
