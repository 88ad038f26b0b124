// What the shared library exports: everything marked NETIO_API, nothing else.
#pragma once

#if defined(__GNUC__)
#define NETIO_API __attribute__((visibility("default")))
#else
#define NETIO_API
#endif
