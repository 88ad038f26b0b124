// What becomes of connections on a fabric, watched by the loop. Owner thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

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

class EventQueue final : private Deferred {
 public:
  // Throws FabricError.
  EventQueue(Loop& loop, const Fabric& fabric);

  [[nodiscard]] fid_eq* get() const noexcept { return queue_.get(); }
  // Tells what there is. Not from inside a call of the user's.
  void read_all();
  // The object is open; its owner is told of what comes, until forget(). Throws std::bad_alloc.
  void add(fid* object);
  // Before the object is closed: nothing is told of it any more, its requests are rejected.
  void forget(fid* object);

 private:
  // What was read and is still to be told.
  struct Event {
    std::uint32_t code = 0;
    fid* object = nullptr;
    Info request;
    int error = 0;  // positive: it failed
  };
  void keep(Event event) noexcept;
  static void reject(const Event& event) noexcept;
  bool read_one();
  bool read_failure();
  void tell_all();
  void run_deferred() noexcept override { tell_all(); }

  Loop& loop_;
  fid_fabric* fabric_;
  std::deque<Event> events_;
  // Sorted. The tcp provider tells of objects that were closed before: they are no memory any more.
  std::vector<fid*> objects_;
  FabricHandle<fid_eq> queue_;
  std::optional<Watch> watch_;
};

}  // namespace netio::detail
