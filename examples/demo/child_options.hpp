// What the demo tells each process that it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace demo {

struct ChildOptions {
  std::size_t index = 0;       // of its role
  std::string name;            // the demo's: addresses are made of it
  std::string report_address;  // where its reports go
  int ledger_fd = -1;          // the memory of the ledger
  double events_per_second = 0;
  std::int64_t start_ns = 0;  // when event 0 is due, by steady_ns()
};

}  // namespace demo
