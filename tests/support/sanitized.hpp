// Whether this build has a sanitizer in it: ten times slower, memory with a shadow, and of no use
// where descriptors or address space are short.
#pragma once

namespace netio::test {

inline constexpr bool sanitized =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    true;
#else
    false;
#endif
#else
    false;
#endif

}  // namespace netio::test
