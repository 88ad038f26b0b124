// What becomes of connections on a fabric, watched by the loop. Owner thread only.
#pragma once

#include <optional>

#include <rdma/fi_eq.h>

#include <netio/loop.hpp>

#include "fabric/fabric.hpp"

namespace netio::detail {

// What an endpoint or passive endpoint is opened for; told by its event queue.
class ConnectionOwner {
 public:
  // A passive endpoint's: what the endpoint that takes the request is made from.
  virtual void on_request(Info) noexcept {}
  virtual void on_connected() noexcept {}
  // The peer ended the connection.
  virtual void on_shutdown() noexcept {}
  // `error` is positive.
  virtual void on_connection_failed(int error) noexcept = 0;

 protected:
  ~ConnectionOwner() = default;
};

class EventQueue {
 public:
  // Throws FabricError.
  EventQueue(Loop& loop, const Fabric& fabric);

  [[nodiscard]] fid_eq* get() const noexcept { return queue_.get(); }

 private:
  void read_all();
  bool read_one();
  bool read_failure();

  fid_fabric* fabric_;
  FabricHandle<fid_eq> queue_;
  std::optional<Watch> watch_;
};

}  // namespace netio::detail
