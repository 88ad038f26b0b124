// Tells threads apart at the price of one instruction, and without thread-local variables: those of
// a shared library take from the little static room that all libraries of a process have together,
// or cost a call. Any thread.
#pragma once

#include <pthread.h>

namespace netio::detail {

// Not null. No other thread that lives has the same one; a later thread may. A child of fork() has
// that of the thread that forked.
[[nodiscard]] inline const void* this_thread() noexcept {
#if defined(__x86_64__) && defined(__LP64__)
  const void* thread =
      nullptr;  // the word at fs:0 is its own address, as the ABI of threads has it
  asm("mov %%fs:0, %0" : "=r"(thread));
  return thread;
#elif defined(__aarch64__)
  return __builtin_thread_pointer();
#else
  return reinterpret_cast<const void*>(::pthread_self());
#endif
}

}  // namespace netio::detail
