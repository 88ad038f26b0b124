// `netio bench fanout`: one publisher and its subscribers, against others in the same place.
#pragma once

#include "bench/arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

[[nodiscard]] ExitCode run_fanout(const BenchArguments& arguments);

}  // namespace netio::cli
