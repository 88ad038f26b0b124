// `netio bench surface`: coroutines, Asio's loop and blocking calls, against netio's call-backs.
#pragma once

#include "bench/arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

[[nodiscard]] ExitCode run_surface(const BenchArguments& arguments);

}  // namespace netio::cli
