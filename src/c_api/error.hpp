// The words for a call that failed, for each thread, and the wall that no exception passes.
#pragma once

#include <exception>
#include <new>
#include <type_traits>

#include <netio.h>
#include <netio/not_there_yet.hpp>
#include <netio/status.hpp>

namespace netio::c_api {

// Keeps the words and returns `code`. Never allocates. Cold: what leads here is kept out of the way
// of calls that succeed.
[[gnu::cold]] int fail(int code, const char* call, const char* cause,
                       const char* advice = "") noexcept;
[[gnu::cold]] int fail(int code, const char* text) noexcept;
// Of an argument that may not be null: NETIO_INVALID.
[[gnu::cold]] int fail_null(const char* call) noexcept;
// What is wrong with a struct: NETIO_INVALID.
[[gnu::cold]] int fail_struct(const char* call, const void* own) noexcept;
// The code of this thread's latest failure.
[[nodiscard]] int last_code() noexcept;

// The answer of a hot call, with its words.
[[gnu::noinline]] int refused(const char* call, Status status) noexcept;
inline int result(const char* call, Status status) noexcept {
  if (status == Status::ok) [[likely]]
    return NETIO_OK;
  return refused(call, status);
}

// What `work` answers (NETIO_OK if nothing), or what became of its exception.
template <typename Work>
int guarded(const char* call, Work&& work) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      return NETIO_OK;
    } else {
      return work();
    }
  } catch (const AddressError& error) {
    return fail(NETIO_BAD_ADDRESS, error.what());
  } catch (const NotThereYet& error) {
    return fail(NETIO_NOT_THERE_YET, error.what());
  } catch (const Error& error) {
    return fail(NETIO_ERROR, error.what());
  } catch (const std::bad_alloc&) {
    return fail(NETIO_NO_MEMORY, call, "no memory is left");
  } catch (const std::exception& error) {
    return fail(NETIO_ERROR, call, error.what());
  }
}

}  // namespace netio::c_api
