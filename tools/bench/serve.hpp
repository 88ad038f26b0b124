// `netio bench serve`: starts ends for one `netio bench ... --remote` at a time.
#pragma once

#include "bench/arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

[[nodiscard]] ExitCode run_serve(const BenchArguments& arguments);

}  // namespace netio::cli
