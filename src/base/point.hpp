// Points on the way of a message, for `netio bench breakdown`. In the library a point is nothing at
// all. Sources that have points are compiled a second time for the program `bench-netio-points`,
// with NETIO_WITH_POINTS: there a thread that reaches a point takes the time. Headers have no
// points: what they define would be compiled with and without points into one program.
#pragma once

#include <cstdint>

namespace netio::detail {

// In the order in which a message passes them. `begin`, `send`, `sent` and `end` are in the
// programs of the benchmark, the others in the library.
enum class Point : std::uint8_t {
  begin,     // the user's program begins with a message
  send,      // before the user's call
  sent,      // behind it: of a buffered socket, the message lies in the open page
  post,      // before the page is handed to the link
  write,     // before the page is given to the wire: a system call, a slot, the device
  written,   // behind that
  rung,      // the other side's bell was rung, or need not be
  asleep,    // before `look`, if the loop will sleep there
  look,      // before the loop asks the epoll
  looked,    // behind that
  read,      // before the wire is read
  was_read,  // behind that, if something came
  call,      // before the user's call-back
  end,       // the user's program is done with the message
};
inline constexpr unsigned points_count = static_cast<unsigned>(Point::end) + 1;

#ifdef NETIO_WITH_POINTS
// The program that is linked with these objects defines it. Any thread; never blocks.
void reach(Point point) noexcept;
#define NETIO_POINT(name) ::netio::detail::reach(::netio::detail::Point::name)
#else
#define NETIO_POINT(name) static_cast<void>(0)
#endif

}  // namespace netio::detail
