// One look-up of a host name, on a thread of its own because the name service blocks. Destroying
// it forgets the answer; the thread ends when the name service lets it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <netio/loop.hpp>

#include "transport/tcp/address.hpp"

namespace netio::detail {

class Resolver {
 public:
  // `on_answer` runs from the loop, once.
  Resolver(Loop& loop, std::string host, std::uint16_t port, std::function<void(LookUp)> on_answer);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace netio::detail
