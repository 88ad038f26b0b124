// Connects to the addresses of one host (RFC 8305): the next one is tried when one has failed, or
// has not answered for a while, and the first that connects is taken. Owner thread only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include <netio/loop.hpp>

#include "base/file_descriptor.hpp"
#include "transport/internet_address.hpp"

namespace netio::detail {

class AddressRace {
 public:
  // An address that has not answered for so long is no longer waited for alone.
  static constexpr std::chrono::milliseconds next_after{250};

  struct Outcome {
    FileDescriptor connection;  // none: no address can be reached
    InternetAddress address;
    int error = 0;  // of the last one that failed; 0: the last ones did not answer in time
  };
  // `addresses` are in the order to try; each may take `within`. `on_outcome` is called once, from
  // the loop, and may destroy the race.
  AddressRace(Loop& loop, std::vector<InternetAddress> addresses, std::chrono::nanoseconds within,
              std::function<void(Outcome)> on_outcome);
  AddressRace(const AddressRace&) = delete;
  AddressRace& operator=(const AddressRace&) = delete;

  // From the loop, once: `on_outcome` may be called from inside.
  void start() noexcept;

 private:
  struct Attempt {
    InternetAddress address;
    FileDescriptor socket;
    std::unique_ptr<Watch> watch;
  };

  void try_next();
  [[nodiscard]] int begin(const InternetAddress& address);
  void look_at(Attempt& attempt);
  void on_late();
  void end(Outcome outcome);
  // Without memory for an event nothing can be reached.
  template <typename Event>
  void guarded(Event&& event) noexcept;

  Loop& loop_;
  std::vector<InternetAddress> left_;  // not yet tried, last first
  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::chrono::nanoseconds within_;
  int error_ = 0;
  std::function<void(Outcome)> on_outcome_;
  Timer next_timer_;
  Timer late_timer_;
};

}  // namespace netio::detail
