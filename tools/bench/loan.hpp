// `netio bench loan --touch none`: round trips of loans that neither end touches, by their size.
#pragma once

#include "bench/arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

[[nodiscard]] ExitCode run_untouched_loans(const BenchArguments& arguments);

}  // namespace netio::cli
