// The socket of a read-out unit to one builder, and that of a builder to all its units. Both send
// and receive. The classes of the public headers are made of these.
#pragma once

#include <netio/context.hpp>
#include <netio/receiving.hpp>
#include <netio/sending.hpp>
#include <netio/socket.hpp>

namespace netio::detail {

class SocketCore;

class BuildSocket : public Socket, public Sending, public Receiving {
 public:
  [[nodiscard]] SocketCore& core() noexcept { return *core_; }

 protected:
  explicit BuildSocket(std::unique_ptr<SocketCore> core);
  ~BuildSocket() = default;
};

class ReadoutSocket final : public BuildSocket {
 public:
  // Throws Error for options that make no sense.
  ReadoutSocket(Context& context, const SocketOptions& options);
};

class BuilderSocket final : public BuildSocket {
 public:
  // Throws Error for options that make no sense.
  BuilderSocket(Context& context, const SocketOptions& options);
};

}  // namespace netio::detail
