// What the tests of a stage between two wires share: a source, the stage with its two sockets, and
// a sink. The first wire is that of the row, the second each of the others in turn.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {

class Forwarding : public Conformance {
 protected:
  Forwarding()
      : Conformance(roomy_pool_bytes), middle_(small_context(GetParam(), roomy_pool_bytes)) {
    pump_.add(middle_);
  }

  [[nodiscard]] static std::vector<Row> other_wires() {
    std::vector<Row> rows;
    for (Row& row : every_transport()) {
      if (row.why_absent == nullptr || row.why_absent().empty()) rows.push_back(std::move(row));
    }
    return rows;
  }
  // The source sends until nothing was taken for a while, and both wires are held up: on a busy
  // machine the network may take more after that while. `sent` is how many messages were taken.
  void hold_up(std::size_t (*size)(std::uint64_t), std::uint64_t& sent) {
    const auto end = std::chrono::steady_clock::now() + soon_max;
    for (int quiet = 0; quiet < 30 || !held_up();) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << sent << " messages hold nothing up";
      if (source_->send(payload(sent, size(sent)), sent) == Status::ok) {
        ++sent;
        quiet = 0;
      } else {
        ++quiet;
        pump_.run_for(std::chrono::milliseconds(2));
      }
    }
    source_->flush();
  }
  // The stage holds what the output does not take; or, where it reads messages in the memory of the
  // source, that was spent first, and the source is full.
  [[nodiscard]] bool held_up() const {
    return forward_.books().held != 0 || (GetParam().read_in_place && source_->fill() == 1);
  }

  Context middle_;
  std::unique_ptr<Push> source_;
  std::unique_ptr<Pull> input_;
  std::unique_ptr<Push> output_;
  std::unique_ptr<Pull> sink_;
  Forward forward_;  // destroyed before the sockets
  std::uint64_t came_ = 0;
};

}  // namespace netio::test
