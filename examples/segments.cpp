// Sends a header and a large body as one message of two segments. The body is written where the
// wire sends from, and only the header is copied.
#include <cstdio>
#include <cstring>

#include <netio/netio.hpp>

struct Header {
  std::uint32_t run = 0;
  std::uint32_t event = 0;
};

int main() {
  netio::Context context;
  netio::Push push(context);
  netio::Pull pull(context);

  pull.on_message([&](const netio::MessageView& message) {
    const netio::Segments segments = message.segments();
    Header header;
    if (segments.size() != 2 || segments[0].size() != sizeof header) return;
    std::memcpy(&header, segments[0].data(), sizeof header);
    std::printf("run %u, event %u: %zu bytes\n", header.run, header.event, segments[1].size());
    push.close();
  });
  const auto send = [&] {
    const Header header{42, 1};
    netio::Status status;
    netio::Message body = push.allocate(std::size_t{8} << 20U, status, 0, sizeof header);
    if (!body) return;  // not connected: on_writable follows
    std::memset(body.writable_bytes().data(), 0xda, body.size());
    (void)push.send_segments({std::as_bytes(std::span(&header, 1)), std::move(body)});
  };
  push.on_writable(send);
  push.on_closed([&](const netio::Books&) { context.stop(); });
  push.connect(pull.bind("tcp://127.0.0.1:0"));
  send();
  context.run();
}
