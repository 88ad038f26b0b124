// Opens what is to be sent and chooses how: a regular file as one, all else as a stream.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <netio/loop.hpp>

#include "framing.hpp"
#include "source.hpp"

namespace netio::cli {

struct InputSpec {
  std::string path;  // "-": standard input
  FrameSpec frame;
  std::uint64_t message_bytes_max = 0;
  bool unbuffered = false;
};

// `on_ready` is called, from the loop, when there is input again after Turn::waiting. Opening a
// named pipe blocks until it has a writer. Throws Failure.
[[nodiscard]] std::unique_ptr<MessageSource> open_input(const InputSpec& spec, Loop& loop,
                                                        Outlet& outlet,
                                                        std::function<void()> on_ready);

}  // namespace netio::cli
