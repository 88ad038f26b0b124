// netio_socket_options: the defaults of C++, and back.
#include <chrono>
#include <cstdint>
#include <string>

#include <netio/status.hpp>

#include "c_api/socket.hpp"
#include "c_api/times.hpp"

namespace netio::c_api {

netio_socket_options default_options() noexcept {
  netio_socket_options c{};
  const SocketOptions socket;
  c.flush_after_ns = count_of(socket.flush_after);
  c.message_bytes_max = socket.message_bytes_max;
  c.send_bytes_max = socket.send_bytes_max;
  c.receive_bytes_max = socket.receive_bytes_max;
  c.high_watermark = socket.high_watermark;
  c.low_watermark = socket.low_watermark;
  c.reconnect_after_min_ns = count_of(socket.reconnect_after_min);
  c.reconnect_after_max_ns = count_of(socket.reconnect_after_max);
  c.handshake_within_ns = count_of(socket.handshake_within);
  c.half_open_max = socket.half_open_max;
  c.peers_max = socket.peers_max;
  c.stall_after_ns = count_of(socket.stall_after);
  c.keep_alive_after_s = count_of(socket.keep_alive_after);
  c.acknowledge_after_ns = count_of(socket.acknowledge_after);
  c.resume_bytes_max = socket.resume_bytes_max;
  c.resume_within_ns = count_of(socket.resume_within);
  c.heartbeat_after_ns = count_of(socket.heartbeat_after);
  c.replace_silent_after_ns = count_of(socket.replace_silent_after);
  c.flush_when_idle = socket.flush_when_idle ? 1 : 0;
  const SubscribeOptions subscribe;
  c.policy = static_cast<std::int32_t>(subscribe.policy);
  c.behind_for_max_ms = static_cast<std::int32_t>(subscribe.behind_for_max.count());
  c.behind_bytes_max = subscribe.behind_bytes_max;
  const PublishOptions publish;
  c.granted_bytes_max = publish.behind_bytes_max;
  c.ranges_max = publish.ranges_max;
  c.block_allowed = publish.block_allowed ? 1 : 0;
  c.subscribers_min = publish.subscribers_min;
  c.block_for_max_ns = count_of(publish.block_for_max);
  c.ranges_all_max = publish.ranges_all_max;
  c.behind_bytes_all_max = publish.behind_bytes_all_max;
  c.pending_max = RequestOptions().pending_max;
  c.open_max = ReplyOptions().open_max;
  return c;
}

netio_socket_options checked(const netio_socket_options* options) {
  if (options == nullptr) return default_options();
  if (options->message_bytes_max == 0 && options->half_open_max == 0) {
    throw Error("make a socket", "the options are all zero", "begin with netio_socket_defaults()");
  }
  if (options->policy < NETIO_POLICY_BLOCK || options->policy > NETIO_POLICY_DISCONNECT) {
    throw Error("make a socket", "there is no policy " + std::to_string(options->policy),
                "take one of netio_policy");
  }
  if (options->acknowledge != NETIO_DELIVERED && options->acknowledge != NETIO_RELEASED) {
    throw Error("make a socket", "acknowledge is " + std::to_string(options->acknowledge),
                "take one of netio_acknowledge");
  }
  return *options;
}

SocketOptions socket_options(const netio_socket_options& c, Mode mode) {
  using std::chrono::nanoseconds;
  SocketOptions options;
  options.mode = mode;
  if (c.name != nullptr) options.name = c.name;
  options.flush_after = time_from<nanoseconds>(c.flush_after_ns);
  options.message_bytes_max = c.message_bytes_max;
  options.send_bytes_max = c.send_bytes_max;
  options.receive_bytes_max = c.receive_bytes_max;
  options.high_watermark = c.high_watermark;
  options.low_watermark = c.low_watermark;
  options.reconnect_after_min = time_from<nanoseconds>(c.reconnect_after_min_ns);
  options.reconnect_after_max = time_from<nanoseconds>(c.reconnect_after_max_ns);
  options.handshake_within = time_from<nanoseconds>(c.handshake_within_ns);
  options.half_open_max = c.half_open_max;
  options.peers_max = c.peers_max;
  options.stall_after = time_from<nanoseconds>(c.stall_after_ns);
  options.keep_alive_after = time_from<std::chrono::seconds>(c.keep_alive_after_s);
  options.acknowledge_after = time_from<nanoseconds>(c.acknowledge_after_ns);
  options.acknowledge = static_cast<Acknowledge>(c.acknowledge);
  options.resume_bytes_max = c.resume_bytes_max;
  options.resume_within = time_from<nanoseconds>(c.resume_within_ns);
  options.heartbeat_after = time_from<nanoseconds>(c.heartbeat_after_ns);
  options.replace_silent_after = time_from<nanoseconds>(c.replace_silent_after_ns);
  options.flush_when_idle = c.flush_when_idle != 0;
  return options;
}

SubscribeOptions subscribe_options(const netio_socket_options& c) noexcept {
  SubscribeOptions options;
  options.policy = static_cast<Policy>(c.policy);
  options.behind_for_max = std::chrono::milliseconds(c.behind_for_max_ms);
  options.behind_bytes_max = c.behind_bytes_max;
  return options;
}

PublishOptions publish_options(const netio_socket_options& c) noexcept {
  PublishOptions options;
  options.block_allowed = c.block_allowed != 0;
  options.behind_bytes_max = c.granted_bytes_max;
  options.ranges_max = c.ranges_max;
  options.subscribers_min = c.subscribers_min;
  options.block_for_max = time_from<std::chrono::nanoseconds>(c.block_for_max_ns);
  options.ranges_all_max = c.ranges_all_max;
  options.behind_bytes_all_max = c.behind_bytes_all_max;
  return options;
}

RequestOptions request_options(const netio_socket_options& c) noexcept {
  return {.pending_max = c.pending_max};
}

ReplyOptions reply_options(const netio_socket_options& c) noexcept {
  return {.open_max = c.open_max};
}

extern "C" NETIO_API void netio_socket_defaults(netio_socket_options* options) {
  if (options != nullptr) *options = default_options();
}

}  // namespace netio::c_api
