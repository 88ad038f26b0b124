// What the library does not promise yet. The oracle looks away where one of these is true; who
// makes the promise true makes the constant false.
#pragma once

namespace netio::test {

// What was posted and is not acknowledged when a connection breaks is lost, though both sides live.
inline constexpr bool messages_may_be_lost_with_a_connection = true;

}  // namespace netio::test
