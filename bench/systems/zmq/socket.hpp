// A ZeroMQ socket and a message object, as every role uses them. Failures throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <zmq.h>

#include "worker/worker.hpp"

namespace netio::bench {

inline void check(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string(what) + ": " + zmq_strerror(zmq_errno()));
}

class Message {
 public:
  Message() { zmq_msg_init(&message_); }
  explicit Message(std::size_t bytes) {
    check(zmq_msg_init_size(&message_, bytes) == 0, "zmq_msg_init_size");
  }
  ~Message() { zmq_msg_close(&message_); }
  Message(Message&& other) noexcept : Message() { zmq_msg_move(&message_, &other.message_); }
  Message& operator=(Message&&) = delete;

  [[nodiscard]] zmq_msg_t* get() noexcept { return &message_; }
  [[nodiscard]] std::span<std::byte> bytes() noexcept {
    return {static_cast<std::byte*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
  }

 private:
  zmq_msg_t message_{};
};

// A blocking call ends now and then, so that the end of the measurement is seen.
inline constexpr int look_up_ms = 100;

class Socket {
 public:
  Socket(void* context, int type, const Options& options) : socket_(zmq_socket(context, type)) {
    check(socket_ != nullptr, "zmq_socket");
    flags_ = options.wait == Wait::sleep ? 0 : ZMQ_DONTWAIT;
    set(ZMQ_RCVTIMEO, look_up_ms);
    set(ZMQ_SNDTIMEO, look_up_ms);
    set(ZMQ_LINGER, 0);
    if (const int waiting_max = options.relay.waiting_max; waiting_max != 0) {
      set(ZMQ_SNDHWM, waiting_max);
      set(ZMQ_RCVHWM, waiting_max);
    }
    set(ZMQ_IPV6, options.host.find(':') != std::string::npos ? 1 : 0);
  }
  ~Socket() { zmq_close(socket_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  std::uint16_t bind(const Options& options) {
    const std::string port = options.port == 0 ? "*" : std::to_string(options.port);
    check(zmq_bind(socket_, address(options, port).c_str()) == 0, "zmq_bind");
    if (!options.name.empty()) return 0;
    std::string bound(256, '\0');
    std::size_t bytes = bound.size();
    check(zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, bound.data(), &bytes) == 0, "zmq_getsockopt");
    return static_cast<std::uint16_t>(std::stoul(bound.substr(bound.rfind(':') + 1)));
  }
  void connect(const Options& options) {
    check(zmq_connect(socket_, address(options, std::to_string(options.port)).c_str()) == 0,
          "zmq_connect");
  }

  [[nodiscard]] void* get() const noexcept { return socket_; }

  // False if nothing came, or nothing could be sent, for a while.
  bool receive(Message& message) {
    if (zmq_msg_recv(message.get(), socket_, flags_) >= 0) return true;
    check(zmq_errno() == EAGAIN || zmq_errno() == EINTR, "zmq_msg_recv");
    return false;
  }
  bool send(Message& message) { return send(message, flags_); }
  bool send_at_once(Message& message) { return send(message, ZMQ_DONTWAIT); }
  // A part of a message; the next send goes on with it.
  bool send_part(Message& message) { return send(message, flags_ | ZMQ_SNDMORE); }
  void set(int option, int value) {
    check(zmq_setsockopt(socket_, option, &value, sizeof value) == 0, "zmq_setsockopt");
  }
  void subscribe(std::uint64_t tag) {
    check(zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, &tag, sizeof tag) == 0, "zmq_setsockopt");
  }

 private:
  bool send(Message& message, int flags) {
    if (zmq_msg_send(message.get(), socket_, flags) >= 0) return true;
    check(zmq_errno() == EAGAIN || zmq_errno() == EINTR, "zmq_msg_send");
    return false;
  }
  static std::string address(const Options& options, const std::string& port) {
    if (options.both) return "inproc://" + options.name;
    if (!options.name.empty()) return "ipc://@netio-bench-zmq/" + options.name;
    const bool v6 = options.host.find(':') != std::string::npos;
    return "tcp://" + (v6 ? "[" + options.host + "]" : options.host) + ":" + port;
  }

  void* socket_;
  int flags_ = 0;
};

}  // namespace netio::bench
