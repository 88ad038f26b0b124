// The flow beside which an attack happens: two netio commands, one of which is the victim.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "siege/attack.hpp"
#include "support/process.hpp"

namespace netio::test {

// What a process has open, and the memory it has.
struct Holding {
  std::int64_t descriptors = 0;
  std::int64_t threads = 0;
  std::int64_t resident_kib = 0;
};

class Flow {
 public:
  // Starts both, and returns when messages arrive. `rate`: messages a second; 0: as many as go.
  // Throws std::runtime_error.
  Flow(const std::string& netio, const Attack& attack, double rate);

  // Where the victim listens.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  // Of the victim, now.
  [[nodiscard]] Holding holding() const;
  // What the victim has said so far about its peers, in lines.
  [[nodiscard]] std::int64_t lines();
  // Both still run.
  [[nodiscard]] bool running();

  struct Result {
    std::uint64_t received = 0;
    double seconds = 0;   // that the flow was measured for
    std::string trouble;  // what was lost, corrupt or not as it should be; empty if nothing
  };
  // Ends both in order.
  Result end();

 private:
  [[nodiscard]] nlohmann::json report_of(Process& process, const char* name, std::string& trouble);

  const Attack& attack_;
  std::string address_;
  std::unique_ptr<Process> victim_;
  std::unique_ptr<Process> good_;
  bool victim_sends_;
};

}  // namespace netio::test
