// What the rest of the library has to know of PosixSignals. Any thread.
#pragma once

namespace netio::detail {

// True while the handler of this signal is that of PosixSignals. Whoever puts an earlier handler
// back leaves this one alone. May be called in a signal handler.
[[nodiscard]] bool taken_by_posix_signals(int number) noexcept;

}  // namespace netio::detail
