// Where an event enters the library: no memory ends the connection at hand, never the process.
#pragma once

#include <new>
#include <string>
#include <utility>

#include <netio/status.hpp>

namespace netio::detail {

// Why a connection ends. Short enough that a string holds it without memory.
[[nodiscard]] inline Down out_of_memory(DownReason reason = DownReason::resources) noexcept {
  return {reason, "out of memory"};
}

// Does `work`, or `otherwise` if there is no memory for it, which must need none.
template <typename Work, typename Otherwise>
void guard_memory(Work&& work, Otherwise&& otherwise) noexcept {
  try {
    work();
  } catch (const std::bad_alloc&) {
    otherwise();
  }
}

// The same with a reason for a person, if there is memory for it.
[[nodiscard]] inline Down rejected(const std::string& why) noexcept {
  Down down = out_of_memory(DownReason::rejected);
  guard_memory([&] { down.detail = why; }, []() noexcept {});
  return down;
}

// A call-back of the user's. What it throws is not ours to catch: it ends the process.
template <typename Call, typename... Arguments>
void call_user(const Call& call, Arguments&&... arguments) noexcept {
  call(std::forward<Arguments>(arguments)...);
}

}  // namespace netio::detail
