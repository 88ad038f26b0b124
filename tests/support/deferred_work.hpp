// Deferred work that is a function.
#pragma once

#include <functional>
#include <utility>

#include <netio/loop.hpp>

namespace netio::test {

class Work final : public detail::Deferred {
 public:
  explicit Work(std::function<void()> work) : work_(std::move(work)) {}
  void run_deferred() noexcept override { work_(); }

 private:
  std::function<void()> work_;
};

}  // namespace netio::test
