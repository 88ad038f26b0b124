// A message as a buffer. It is read-only unless it was allocated and not sent so far.
#include "message.hpp"

#include <nanobind/ndarray.h>

#include "errors.hpp"

namespace netio::python {

namespace {

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  MessageBase& base = *nb::inst_ptr<MessageBase>(self);
  if (base.taken) {
    PyErr_SetString(PyExc_BufferError, "the message was sent or released");
    view->obj = nullptr;
    return -1;
  }
  const bool writable = !base.message.writable_bytes().empty();
  auto* const data = const_cast<std::byte*>(base.message.data());
  static std::byte nothing{};
  const int status =
      PyBuffer_FillInfo(view, self, data != nullptr ? data : &nothing,
                        static_cast<Py_ssize_t>(base.message.size()), writable ? 0 : 1, flags);
  if (status == 0) ++base.exports;
  return status;
}

void release_buffer(PyObject* self, Py_buffer*) noexcept {
  MessageBase& base = *nb::inst_ptr<MessageBase>(self);
  if (--base.exports == 0) base.held = Message();
}

Py_ssize_t length(PyObject* self) noexcept {
  return static_cast<Py_ssize_t>(nb::inst_ptr<MessageBase>(self)->message.size());
}

const PyType_Slot slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {0, nullptr},
};

nb::object viewed(nb::handle self) {
  nb::object view = nb::steal(PyMemoryView_FromObject(self.ptr()));
  if (!view.is_valid()) throw nb::python_error();
  return view;
}

nb::list segments(nb::handle self) {
  const Message& message = nb::inst_ptr<MessageBase>(self)->message;
  const nb::object whole = viewed(self);
  nb::list views;
  for (const std::span<const std::byte> each : message.segments()) {
    const auto begin = each.data() - message.data();
    views.append(whole[nb::slice(begin, begin + static_cast<std::ptrdiff_t>(each.size()))]);
  }
  return views;
}

using Array =
    nb::ndarray<nb::array_api, const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object as_array(nb::handle self) {
  const MessageBase& base = *nb::inst_ptr<MessageBase>(self);
  if (base.taken) throw nb::buffer_error("the message was sent or released");
  return nb::cast(Array(base.message.data(), {base.message.size()}, viewed(self)));
}

void release(MessageBase& self) {
  if (self.exports != 0) {
    throw nb::buffer_error("an array or a memoryview of the message is still in use");
  }
  self.message = Message();
  self.taken = true;
}

}  // namespace

nb::object message_object(Message&& message, std::uint64_t sender) {
  return nb::cast(MessageBase{.message = std::move(message), .sender = sender});
}

void bind_messages(nb::module_& module) {
  nb::class_<MessageBase>(module, "Message", nb::type_slots(slots), nb::pooled(1024),
                          nb::is_weak_referenceable(),
                          "A message: a buffer, in the memory that it came in, without a copy. "
                          "Hold it for as long as you like; it counts in its socket's kept_bytes.")
      .def_prop_ro("tag", [](const MessageBase& self) { return self.message.tag(); })
      .def_ro("sender", &MessageBase::sender, "The id of the peer that sent it (PeerInfo.id).")
      .def_prop_ro("segments", &segments,
                   "The segments that it was sent in, as memoryviews; one if it was not.")
      .def_prop_ro("readonly",
                   [](const MessageBase& self) { return self.message.writable_bytes().empty(); })
      .def(
          "tobytes",
          [](const MessageBase& self) {
            if (self.taken) throw nb::buffer_error("the message was sent or released");
            return nb::bytes(self.message.data(), self.message.size());
          },
          "A copy.")
      .def("release", &release,
           "Gives the memory back now, and not when the last reference is gone.")
      .def("__dlpack__",
           [](nb::handle self, nb::kwargs how) { return as_array(self).attr("__dlpack__")(**how); })
      .def("__dlpack_device__", [](nb::handle) { return nb::make_tuple(1, 0); })
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](MessageBase& self, nb::args) { release(self); })
      .def("__bool__", [](const MessageBase& self) { return !self.taken; })
      .def("__repr__",
           [](const MessageBase& self) {
             if (self.taken) return nb::str("<netio.Message, sent or released>");
             return nb::str("<netio.Message of {} bytes, tag {}>")
                 .format(self.message.size(), self.message.tag());
           })
      .def("__reduce__", [](nb::handle) -> nb::object {
        throw nb::type_error(
            "a message cannot be pickled, because it lies in memory of netio: pickle "
            "bytes(message)");
      });
}

}  // namespace netio::python
