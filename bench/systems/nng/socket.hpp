// An nng socket, as every role uses it. Failures throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nng/nng.h>
#include <nng/protocol/pubsub0/sub.h>
#include <span>
#include <stdexcept>
#include <string>

#include "worker/worker.hpp"

namespace netio::bench {

inline void check(int error, const char* what) {
  if (error != 0) throw std::runtime_error(std::string(what) + ": " + nng_strerror(error));
}

inline std::span<std::byte> bytes_of(nng_msg* message) {
  return {static_cast<std::byte*>(nng_msg_body(message)), nng_msg_len(message)};
}

class Socket {
 public:
  Socket(int (*open)(nng_socket*), const Options& options) {
    check(open(&socket_), "nng open");
    flags_ = options.wait == Wait::sleep ? 0 : NNG_FLAG_NONBLOCK;
    // A blocking call ends now and then, so that the end of the measurement is seen.
    nng_socket_set_ms(socket_, NNG_OPT_RECVTIMEO, 100);
    nng_socket_set_ms(socket_, NNG_OPT_SENDTIMEO, 100);
    nng_socket_set_size(socket_, NNG_OPT_RECVMAXSZ, 0);
  }
  ~Socket() { nng_close(socket_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  std::uint16_t bind(const Options& options) {
    nng_listener listener;
    check(nng_listen(socket_, address(options).c_str(), &listener, 0), "nng_listen");
    if (!options.name.empty()) return 0;
    int port = options.port;
    if (port == 0) check(nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port), "port");
    return static_cast<std::uint16_t>(port);
  }
  void connect(const Options& options) {
    check(nng_dial(socket_, address(options).c_str(), nullptr, 0), "nng_dial");
  }

  // Null if nothing came for a while. The caller's to free or send.
  nng_msg* receive() {
    nng_msg* message = nullptr;
    const int error = nng_recvmsg(socket_, &message, flags_);
    if (error != NNG_ETIMEDOUT && error != NNG_EAGAIN) check(error, "nng_recvmsg");
    return message;
  }
  // On true the message is gone.
  bool send(nng_msg* message) { return send(message, flags_); }
  // Requests and replies: one that is not taken at once would lose its turn. On false the turn is
  // lost: the other side has to ask anew.
  bool send_in_turn(nng_msg* message) {
    const bool sent = send(message, 0);
    if (!sent) nng_msg_free(message);
    return sent;
  }

  [[nodiscard]] nng_socket get() const noexcept { return socket_; }

  void set(const char* option, int value) {
    check(nng_socket_set_int(socket_, option, value), option);
  }
  void subscribe(std::uint64_t tag) {
    check(nng_socket_set(socket_, NNG_OPT_SUB_SUBSCRIBE, &tag, sizeof tag), "subscribe");
  }

 private:
  bool send(nng_msg* message, int flags) {
    const int error = nng_sendmsg(socket_, message, flags);
    if (error != NNG_ETIMEDOUT && error != NNG_EAGAIN) check(error, "nng_sendmsg");
    return error == 0;
  }
  static std::string address(const Options& options) {
    if (options.both) return "inproc://" + options.name;
    if (!options.name.empty()) return "abstract://netio-bench-nng/" + options.name;
    const bool v6 = options.host.find(':') != std::string::npos;
    return "tcp://" + (v6 ? "[" + options.host + "]" : options.host) + ":" +
           std::to_string(options.port);
  }

  nng_socket socket_{};
  int flags_ = 0;
};

inline nng_msg* next_message(const Options& options, Stamp& stamp) {
  nng_msg* message = nullptr;
  check(nng_msg_alloc(&message, options.message_bytes), "nng_msg_alloc");
  stamp.write(bytes_of(message));
  stamp.advance();
  return message;
}

}  // namespace netio::bench
