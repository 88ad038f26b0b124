// `netio bench relay`: a sender, a relay and a receiver, of netio and of others.
#pragma once

#include "bench/arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

[[nodiscard]] ExitCode run_bench_relay(const BenchArguments& arguments);

}  // namespace netio::cli
