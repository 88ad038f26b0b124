// A batch as a buffer: equal-sized messages are one array of two dimensions, with a stride over
// what stands between them in the page.
#include <cstdint>
#include <nanobind/nanobind.h>
#include <optional>
#include <span>

#include "message.hpp"

namespace netio::python {

namespace {

// Of frames that all begin with the same word, which is the common case: to walk over them, each
// address waits for the word in front of it, and here none does. Nothing if it is another case.
std::optional<Layout> layout_of_equal_frames(detail::MessageCursor cursor) {
  const std::span<const std::byte> frames = cursor.rest();
  const std::size_t count = cursor.left();
  detail::MessageCursor::Place place;
  if (count < 2 || !cursor.next(place) || !cursor.framed() || place.segments != 0) return {};
  const std::size_t stride = frames.size() - cursor.rest().size();
  if (frames.size() / stride < count) return {};
  const auto word_at = [&](std::size_t offset) {  // once: a peer may change it at any time
    using Word [[gnu::may_alias]] = std::uint64_t;
    return __atomic_load_n(reinterpret_cast<const Word*>(frames.data() + offset), __ATOMIC_RELAXED);
  };
  const std::uint64_t first = word_at(0);
  std::uint64_t different = 0;
  for (std::size_t i = 1; i < count; ++i) different |= word_at(i * stride) ^ first;
  if (different != 0) return {};
  return Layout{.first = place.payload,
                .count = static_cast<Py_ssize_t>(count),
                .bytes = static_cast<Py_ssize_t>(place.bytes),
                .stride = static_cast<Py_ssize_t>(stride)};
}

Layout find_layout(const KeptBatch& batch) {
  if (const auto found = layout_of_equal_frames(batch.cursor())) return *found;
  Layout layout;
  const std::byte* expected = nullptr;
  detail::MessageCursor cursor = batch.cursor();
  detail::MessageCursor::Place place;
  while (cursor.next(place)) {
    if (place.segments != 0) [[unlikely]] {  // what is behind their table
      const MessageView message = cursor.view(place);
      place.payload = message.data();
      place.bytes = message.size();
    }
    const auto bytes = static_cast<Py_ssize_t>(place.bytes);
    if (layout.count > 1) [[likely]] {
      if (place.payload != expected || bytes != layout.bytes) return {};
    } else if (layout.count == 1) {
      layout.stride = place.payload - layout.first;
      if (bytes != layout.bytes) return {};
    } else {
      layout.first = place.payload;
      layout.bytes = layout.stride = bytes;
    }
    expected = place.payload + layout.stride;
    ++layout.count;
  }
  return layout;
}

// Null, and a BufferError, if there is none.
const Layout* layout_of(BatchBase& base) noexcept {
  if (!base.layout) {
    base.layout = find_layout(base.batch);
    base.shape[0] = base.layout->count;
    base.shape[1] = base.layout->bytes;
    base.strides[0] = base.layout->stride;
    base.strides[1] = 1;
  }
  if (base.layout->first != nullptr) return &*base.layout;
  PyErr_SetString(PyExc_BufferError,
                  base.batch ? "the messages of the batch have several sizes, or some have a tag "
                               "and others have none: go over them one by one"
                             : "the batch was sent or released");
  return nullptr;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  BatchBase& base = *nb::inst_ptr<BatchBase>(self);
  view->obj = nullptr;
  const Layout* const found = layout_of(base);
  if (found == nullptr) return -1;
  const Layout& layout = *found;
  constexpr int contiguous =
      (PyBUF_C_CONTIGUOUS | PyBUF_F_CONTIGUOUS | PyBUF_ANY_CONTIGUOUS) & ~PyBUF_STRIDES;
  if ((flags & contiguous) != 0 && layout.count > 1) {
    PyErr_SetString(PyExc_BufferError, "the messages of a batch are not contiguous");
    return -1;
  }
  if ((flags & PyBUF_WRITABLE) != 0 || (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
    PyErr_SetString(PyExc_BufferError, "a batch is a read-only buffer with strides");
    return -1;
  }
  *view = {};
  view->buf = const_cast<std::byte*>(layout.first);
  view->obj = Py_NewRef(self);
  view->len = layout.count * layout.bytes;
  view->readonly = 1;
  view->itemsize = 1;
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>("B") : nullptr;
  view->ndim = 2;
  view->shape = base.shape;
  view->strides = base.strides;
  ++base.exports;
  return 0;
}

void release_buffer(PyObject* self, Py_buffer*) noexcept {
  --nb::inst_ptr<BatchBase>(self)->exports;
}

Py_ssize_t length(PyObject* self) noexcept {
  return static_cast<Py_ssize_t>(nb::inst_ptr<BatchBase>(self)->batch.size());
}

const PyType_Slot slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {0, nullptr},
};

// A buffer of all bytes from the first message to the last one, also those between messages. From
// it numpy.ndarray() makes an array with strides. NumPy releases a buffer at once and keeps only
// the object, so the batch is in use for as long as this object exists.
class Rows {
 public:
  Rows(nb::object batch, const Layout& layout)
      : batch_(std::move(batch)),
        first_(layout.first),
        bytes_((layout.count - 1) * layout.stride + layout.bytes) {
    ++nb::inst_ptr<BatchBase>(batch_)->exports;
  }
  Rows(Rows&& other) noexcept = default;
  Rows& operator=(Rows&&) = delete;
  ~Rows() {
    if (batch_.is_valid()) --nb::inst_ptr<BatchBase>(batch_)->exports;
  }

  int fill(PyObject* self, Py_buffer* view, int flags) const noexcept {
    return PyBuffer_FillInfo(view, self, const_cast<std::byte*>(first_), bytes_, 1, flags);
  }

 private:
  nb::object batch_;
  const std::byte* first_;
  Py_ssize_t bytes_;
};

int get_rows(PyObject* self, Py_buffer* view, int flags) noexcept {
  return nb::inst_ptr<Rows>(self)->fill(self, view, flags);
}

const PyType_Slot rows_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_rows)},
    {0, nullptr},
};

// The rows, how many there are, the bytes of each, and from one to the next.
nb::tuple rows_of(nb::object self) {
  const Layout* const layout = layout_of(*nb::inst_ptr<BatchBase>(self));
  if (layout == nullptr) throw nb::python_error();
  return nb::make_tuple(Rows(std::move(self), *layout), layout->count, layout->bytes,
                        layout->stride);
}

// Eight bytes for each message, as a memoryview of a bytearray with the format "Q".
template <class Number>
nb::object column(const BatchBase& self, Number&& number) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(self.batch.size());
  for (const MessageView& message : self.batch) numbers.push_back(number(message));
  const nb::bytearray copy(reinterpret_cast<const char*>(numbers.data()), numbers.size() * 8);
  const nb::object view = nb::steal(PyMemoryView_FromObject(copy.ptr()));
  if (!view.is_valid()) throw nb::python_error();
  return view.attr("cast")("Q");
}

// Goes over the messages. Each is in the memory of the batch, which is in use until the last one
// was given, as if this were an array of it.
class BatchWalk {
 public:
  explicit BatchWalk(nb::object batch) : batch_(std::move(batch)), at_(base().batch.begin()) {
    ++base().exports;
  }
  BatchWalk(BatchWalk&& other) noexcept = default;
  BatchWalk& operator=(BatchWalk&&) = delete;
  ~BatchWalk() { end(); }

  nb::object next() {
    if (!batch_.is_valid() || at_ == std::default_sentinel) {
      end();
      throw nb::stop_iteration();
    }
    const MessageView view = *at_++;
    return message_object(view.keep(), base().sender);
  }

 private:
  [[nodiscard]] BatchBase& base() const { return *nb::inst_ptr<BatchBase>(batch_); }
  void end() noexcept {
    if (!batch_.is_valid()) return;
    --base().exports;
    batch_.reset();
  }

  nb::object batch_;
  BatchIterator at_;
};

void bind_walk(nb::module_& module) {
  nb::class_<BatchWalk>(module, "_BatchWalk")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &BatchWalk::next);
}

void release(BatchBase& self) {
  if (self.exports != 0) {
    throw nb::buffer_error("an array of the batch, or a walk over it, is still in use");
  }
  self.batch = KeptBatch();
  self.layout.reset();
}

}  // namespace

nb::object batch_object(ReceivedBatch&& received) {
  return nb::cast(BatchBase{.batch = std::move(received.batch), .sender = received.sender});
}

void bind_batches(nb::module_& module) {
  bind_walk(module);
  nb::class_<Rows>(module, "_Rows", nb::type_slots(rows_slots), nb::pooled(128));
  nb::class_<BatchBase>(module, "Batch", nb::type_slots(slots), nb::pooled(128),
                        nb::is_weak_referenceable(),
                        "The messages of one page, in the memory that they came in.")
      .def_ro("sender", &BatchBase::sender, "The id of the peer that sent them (PeerInfo.id).")
      .def("__iter__", [](nb::handle self) { return BatchWalk(nb::borrow(self)); })
      .def("_rows", &rows_of)
      .def("_tags",
           [](const BatchBase& self) {
             return column(self, [](const MessageView& message) { return message.tag(); });
           })
      .def("_sizes",
           [](const BatchBase& self) {
             return column(self, [](const MessageView& m) { return std::uint64_t{m.size()}; });
           })
      .def_prop_ro("page_bytes", [](const BatchBase& self) { return self.batch.page_bytes(); })
      .def("release", &release,
           "Gives the memory back now, and not when the last reference is gone.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](BatchBase& self, nb::args) { release(self); })
      .def("__bool__", [](const BatchBase& self) { return static_cast<bool>(self.batch); })
      .def("__repr__",
           [](const BatchBase& self) {
             return nb::str("<netio.Batch of {} messages>").format(self.batch.size());
           })
      .def("__reduce__", [](nb::handle) -> nb::object {
        throw nb::type_error(
            "a batch cannot be pickled, because it lies in memory of netio: pickle a copy");
      });
}

}  // namespace netio::python
