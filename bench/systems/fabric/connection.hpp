// One endpoint with its buffers, all in one registered region: those that receives are posted
// into, or that the other end writes to, and those that are sent from.
#pragma once

#include <cstddef>
#include <vector>

#include <rdma/fi_endpoint.h>

#include "systems/fabric/device.hpp"

namespace netio::bench::fabric {

class Connection {
 public:
  // `info` is the device's, or of who asks for a connection. Its first `posted` receives are
  // posted before anything can come.
  Connection(Device& device, fi_info& info, std::size_t posted);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Until it is up.
  void connect();
  // It is up when the event queue says so.
  void accept(const Offer& theirs);

  // Receives into it until it completes. Reads the completion queue (gather) while it is full.
  // With a ring nothing is received into, but a device may take a receive for each write.
  void post_receive(Slot& slot);
  // The other end has written to this slot. `took_receive`: the device took one for it.
  [[nodiscard]] Completion written(std::uint64_t slot, bool took_receive);
  // Sends, or writes to the next slot of the other end's ring. False if the queue of sends is full:
  // read completions, then try again. The bytes are a slot's, and stay as they are until the other
  // end is known to have them.
  [[nodiscard]] bool try_send(const std::byte* bytes, std::size_t size);
  // As try_send, until it can.
  void send(const std::byte* bytes, std::size_t size);

  [[nodiscard]] Slot& receive_slot(std::size_t index) noexcept { return receives_[index]; }
  [[nodiscard]] std::size_t index_of(const Slot& slot) const noexcept {
    return static_cast<std::size_t>(&slot - receives_.data());
  }
  [[nodiscard]] std::byte* send_bytes(std::size_t index) noexcept {
    return sends_ + index * send_stride_;
  }

  [[nodiscard]] const fid* id() const noexcept { return &endpoint_->fid; }
  // The other end has gone.
  void end() noexcept { ended_ = true; }
  [[nodiscard]] bool ended() const noexcept { return ended_; }

  // Its owner's.
  std::uint32_t number = 0;
  std::uint32_t received_since_credit = 0;

 private:
  struct FreeBytes {
    void operator()(std::byte* bytes) const noexcept;
  };

  void take_memory();
  void open_endpoint(fi_info& info);
  [[nodiscard]] Offer offer() const noexcept;
  [[nodiscard]] ssize_t write(const std::byte* bytes, std::size_t size) noexcept;

  Device& device_;
  std::unique_ptr<std::byte[], FreeBytes> region_;
  Handle<fid_mr> registered_;  // null where the provider needs none
  void* descriptor_ = nullptr;
  std::vector<Slot> receives_;
  std::byte* sends_ = nullptr;
  std::size_t send_stride_ = 0;
  Slot sending_;  // the context of all sends, which complete only when they fail
  std::size_t inject_bytes_max_ = 0;
  Offer theirs_;
  std::uint32_t next_theirs_ = 0;
  std::size_t receives_lacking_ = 0;  // with a ring
  bool ended_ = false;
  Handle<fid_ep> endpoint_;
};

}  // namespace netio::bench::fabric
