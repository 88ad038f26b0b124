// `netio bench breakdown`: where the time of a message goes, on its way and back.
#pragma once

#include "bench/arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

[[nodiscard]] ExitCode run_breakdown(const BenchArguments& arguments);

}  // namespace netio::cli
