// Messages and batches as objects of Python: read-only buffers in the memory that they came in,
// which they hold by a count. They may outlive their socket and context, and be used on any thread.
#pragma once

#include <cstdint>
#include <nanobind/nanobind.h>
#include <optional>
#include <vector>

#include <netio/batch.hpp>
#include <netio/message.hpp>
#include <netio/status.hpp>

#include "inbox.hpp"

namespace netio::python {

namespace nb = nanobind;

// A message that was received, or allocated to be written.
struct MessageBase {
  Message message;
  std::uint64_t sender = 0;
  Py_ssize_t exports = 0;  // buffers that are given out
  bool taken = false;      // it was sent or released
  // The memory of a message that was sent while somebody still had a buffer of it.
  Message held{};
};

// Sends the message by `send`, which takes a Message&& and answers a Status. If that is ok, the
// message is gone; its memory stays while somebody has a buffer of it.
template <class Send>
Status send_out(MessageBase& base, Send&& send) {
  if (base.taken) throw nb::value_error("the message was sent or released");
  Message message;
  if (base.exports != 0) {
    base.held = MessageView::of_kept(base.message.block(), base.message.bytes(), 0).keep();
  }
  message = std::move(base.message);
  const Status status = send(std::move(message));
  if (status == Status::ok) {
    base.taken = true;
  } else {
    base.message = std::move(message);
    base.held = Message();
  }
  return status;
}

// Where the messages of a batch lie, if all have one size and one distance.
struct Layout {
  const std::byte* first = nullptr;
  Py_ssize_t count = 0, bytes = 0, stride = 0;
};

struct BatchBase {
  KeptBatch batch;
  std::uint64_t sender = 0;
  Py_ssize_t exports = 0;
  std::optional<Layout> layout{};  // once it was looked for; without a place if there is none
  // What a buffer describes:
  Py_ssize_t shape[2] = {0, 0};
  Py_ssize_t strides[2] = {0, 0};
};

nb::object message_object(Message&& message, std::uint64_t sender);
nb::object batch_object(ReceivedBatch&& received);
void bind_messages(nb::module_& module);
void bind_batches(nb::module_& module);

}  // namespace netio::python
