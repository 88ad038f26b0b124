// Sends anything with the buffer protocol, and messages and batches without a copy.
#include <nanobind/nanobind.h>

#include <netio/netio.hpp>

#include "bytes.hpp"
#include "errors.hpp"
#include "message.hpp"
#include "options.hpp"
#include "socket.hpp"
#include "unlocked.hpp"

namespace netio::python {

namespace {

// From this size on a send runs without the lock of the interpreter, which others may want.
constexpr std::size_t long_send_bytes = 65536;

Status send_message(SocketState& state, MessageBase& base, std::uint64_t tag, std::uint64_t peer) {
  if (tag != 0 && tag != base.message.tag()) {
    throw nb::value_error("a message that is sent on has a tag already");
  }
  return send_out(base, [&](Message&& message) { return state.send(peer, std::move(message)); });
}

Status send_batch(SocketState& state, BatchBase& base, std::uint64_t peer) {
  if (peer != 0) throw nb::value_error("a batch goes to the peer whose turn it is");
  if (!base.batch) throw nb::value_error("the batch was sent or released");
  if (base.exports != 0) {
    throw nb::buffer_error("an array of the batch, or a walk over it, is still in use");
  }
  base.layout.reset();
  return state.send(std::move(base.batch));
}

Status send_bytes(SocketBase& self, std::span<const std::byte> bytes, std::uint64_t tag,
                  std::uint64_t peer) {
  SocketState* const open = self.open_state("send");
  if (open == nullptr) return Status::closed;
  if (bytes.size() < long_send_bytes) return open->send(peer, bytes, tag);
  const Unlocked unlocked;
  return open->send(peer, bytes, tag);
}

// Whether the socket is open is asked last: to borrow bytes may run code of Python, which may end
// it.
Status try_send(SocketBase& self, nb::handle data, nb::handle number, nb::handle id) {
  const std::uint64_t tag = tag_of(number);
  const std::uint64_t peer = peer_of(id);
  if (PyBytes_CheckExact(data.ptr())) {  // which needs no buffer
    const std::span all(PyBytes_AS_STRING(data.ptr()),
                        static_cast<std::size_t>(PyBytes_GET_SIZE(data.ptr())));
    return send_bytes(self, std::as_bytes(all), tag, peer);
  }
  const bool is_message = nb::isinstance<MessageBase>(data);
  if (!is_message && !nb::isinstance<BatchBase>(data)) {
    return send_bytes(self, Bytes(data).span(), tag, peer);
  }
  SocketState* const open = self.open_state("send");
  if (open == nullptr) return Status::closed;
  return is_message ? send_message(*open, *nb::inst_ptr<MessageBase>(data), tag, peer)
                    : send_batch(*open, *nb::inst_ptr<BatchBase>(data), peer);
}

ToAll try_send_to_all(SocketBase& self, nb::handle data, nb::handle number) {
  const std::uint64_t tag = tag_of(number);
  const Bytes bytes(data);
  SocketState* const open = self.open_state("send");
  if (open == nullptr) return {Status::closed, 0, 0};
  if (bytes.span().size() < long_send_bytes) return open->send_to_all(bytes.span(), tag);
  const Unlocked unlocked;
  return open->send_to_all(bytes.span(), tag);
}

// The bytes of each, and where they are.
struct Parts {
  explicit Parts(const nb::iterable& segments) {
    for (nb::handle each : segments) held.emplace_back(each);
    borrowed.reserve(held.size());
    for (const Bytes& each : held) borrowed.emplace_back(each.span());
  }
  std::vector<Bytes> held;
  std::vector<Segment> borrowed;
};

Status try_send_segments(SocketBase& self, nb::iterable segments, nb::handle number,
                         nb::handle id) {
  const std::uint64_t tag = tag_of(number);
  const std::uint64_t peer = peer_of(id);
  const Parts parts(segments);
  SocketState* const open = self.open_state("send");
  if (open == nullptr) return Status::closed;
  return open->send_segments(peer, parts.borrowed, tag);
}

// Lends what `held` holds. `future` is resolved when it is released; until then the buffers are
// held, so that they are neither freed nor resized.
template <class Held, class Lend>
Status lend_held(SocketBase& self, std::unique_ptr<Held> held, nb::object future, Lend&& lend) {
  Held& lent = *held;
  nb::capsule holder(held.get(), [](void* it) noexcept { delete static_cast<Held*>(it); });
  (void)held.release();
  SocketState* const open = self.open_state("lend");
  if (open == nullptr) return Status::closed;
  const std::uint64_t token = open->last_token + 1;
  const Status status = lend(*open, lent, token);
  if (status != Status::ok) return status;
  open->last_token = token;
  open->loans[nb::cast(token)] = nb::make_tuple(std::move(holder), std::move(future));
  return status;
}

Status try_lend(SocketBase& self, nb::handle data, nb::object future, nb::handle number,
                nb::handle id) {
  const std::uint64_t tag = tag_of(number);
  const std::uint64_t peer = peer_of(id);
  return lend_held(self, std::make_unique<Bytes>(data), std::move(future),
                   [&](SocketState& open, const Bytes& bytes, std::uint64_t token) {
                     return open.lend(peer, bytes.span(), token, tag);
                   });
}

// The last segment is lent, and copied are those in front of it.
Status try_lend_segments(SocketBase& self, nb::iterable segments, nb::object future,
                         nb::handle number) {
  const std::uint64_t tag = tag_of(number);
  Parts parts(segments);
  if (parts.held.empty()) return Status::invalid;
  auto last = std::make_unique<Bytes>(std::move(parts.held.back()));
  parts.held.pop_back();
  return lend_held(self, std::move(last), std::move(future),
                   [&](SocketState& open, const Bytes&, std::uint64_t token) {
                     return open.lend_segments(parts.borrowed, token, tag);
                   });
}

nb::object try_allocate(SocketBase& self, std::size_t bytes, nb::handle number) {
  const std::uint64_t tag = tag_of(number);
  SocketState* const open = self.open_state("allocate");
  if (open == nullptr) return nb::cast(Status::closed);
  Status status = Status::ok;
  Message message = open->allocate(bytes, status, tag);
  if (status != Status::ok) return nb::cast(status);
  return message_object(std::move(message), 0);
}

}  // namespace

void bind_sending(nb::class_<SocketBase>& type) {
  type.def("_try_send", &try_send, nb::arg("data").none(), nb::arg("tag") = 0, nb::arg("peer") = 0)
      .def("_try_send_to_all", &try_send_to_all, nb::arg("data").none(), nb::arg("tag") = 0)
      .def("_try_send_segments", &try_send_segments, nb::arg("segments"), nb::arg("tag") = 0,
           nb::arg("peer") = 0)
      .def("_try_lend", &try_lend, nb::arg("data").none(), nb::arg("future").none(),
           nb::arg("tag") = 0, nb::arg("peer") = 0)
      .def("_try_lend_segments", &try_lend_segments, nb::arg("segments"), nb::arg("future").none(),
           nb::arg("tag") = 0)
      .def("_try_allocate", &try_allocate, nb::arg("bytes"), nb::arg("tag") = 0)
      .def("_loans", [](SocketBase& self) { return self.state("count loans").loans.size(); })
      .def("_last_loan", [](SocketBase& self) { return self.state("lend").last_token; })
      .def("_is_lent",
           [](SocketBase& self, std::uint64_t token) {
             return self.state("lend").loans.contains(nb::cast(token));
           })
      .def("_flush", [](SocketBase& self) {
        if (SocketState* const open = self.open_state("flush")) open->flush();
      });
}

}  // namespace netio::python
