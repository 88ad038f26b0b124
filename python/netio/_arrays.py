"""NumPy arrays of batches and messages, without a copy. NumPy is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._netio import Batch, Message

if TYPE_CHECKING:
    import numpy
    from numpy.typing import DTypeLike, NDArray

_numpy: Any = None


def _load() -> Any:
    global _numpy
    if _numpy is None:
        import numpy

        _numpy = numpy
    return _numpy


def _batch_array(self: Batch, dtype: DTypeLike = "u1") -> NDArray[Any]:
    """The messages as one read-only array, where they lie: no copy.

    They must have one size, which is a multiple of the dtype's. A structured dtype of that size
    gives one record for each message; any other dtype gives a row for each message.
    """
    numpy = _numpy or _load()
    kind = numpy.dtype(dtype)
    width = kind.itemsize
    if kind.hasobject:
        raise TypeError("messages hold bytes, and no objects of Python")
    rows, count, size, stride = self._rows()
    if size == 0 or width == 0 or size % width != 0:
        del rows  # the exception keeps this frame, and the batch is not in use any more
        raise ValueError(f"messages of {size} bytes are no whole number of {kind}")
    if width == size and kind.names is not None:
        return numpy.ndarray(count, kind, rows, 0, stride)
    return numpy.ndarray((count, size // width), kind, rows, 0, (stride, width))


def _batch_tags(self: Batch) -> NDArray[numpy.uint64]:
    """The tags of the messages, whatever their sizes, as an array of uint64 (a copy)."""
    return (_numpy or _load()).asarray(self._tags())


def _batch_sizes(self: Batch) -> NDArray[numpy.uint64]:
    """The sizes of the messages in bytes, as an array of uint64 (a copy)."""
    return (_numpy or _load()).asarray(self._sizes())


def _message_array(self: Message, dtype: DTypeLike = "u1") -> NDArray[Any]:
    """The message as an array of one dimension, where it lies: no copy.

    It can be written if the message was allocated and is not sent. Do not write to it after that.
    """
    numpy = _numpy or _load()
    kind = numpy.dtype(dtype)
    if kind.itemsize == 0 or len(self) % kind.itemsize != 0:
        raise ValueError(f"a message of {len(self)} bytes is no whole number of {kind}")
    return numpy.frombuffer(self, kind)


Batch.array = _batch_array
Batch.tags = _batch_tags
Batch.sizes = _batch_sizes
Message.array = _message_array
