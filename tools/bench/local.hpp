// Ends on this machine.
#pragma once

#include <netio/loop.hpp>

#include "bench/end.hpp"

namespace netio::cli {

class LocalPlace final : public Place {
 public:
  explicit LocalPlace(Loop& loop) noexcept : loop_(loop) {}
  [[nodiscard]] std::unique_ptr<End> start(const std::string& name, const std::string& system,
                                           const std::vector<std::string>& arguments) override;

 private:
  Loop& loop_;
};

}  // namespace netio::cli
