// netio.h is C++ as well, also beside the C++ API: one library, two ways in.
#include <cstdio>

#include <netio.h>
#include <netio/netio.hpp>

int main() {
  netio::Context context;
  netio::Pull pull(context);
  int received = 0;
  pull.on_message(
      [&](const netio::MessageView& message) { received += message.text() == "hello"; });
  netio_context c_context{};
  netio_buffered_send_socket out{};
  if (netio_init(&c_context) != NETIO_OK) return 1;
  if (netio_buffered_send_socket_init(&c_context, &out, nullptr) != NETIO_OK) return 2;
  if (netio_connect(&out.socket, pull.bind("tcp://127.0.0.1:0").c_str()) != NETIO_OK) return 3;
  while (received == 0) {
    if (netio_connections(&out.socket) == 1 && netio_send(&out.socket, "hello", 5) != NETIO_OK) {
      return 4;
    }
    netio_run_once(&c_context.evloop, 1'000'000);
    context.loop().run_once(std::chrono::milliseconds(1));
  }
  return netio_socket_free(&out.socket) + netio_context_free(&c_context);
}
