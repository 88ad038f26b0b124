// See readout_core.hpp. Here: where builders are, which of its addresses a builder is tried at, and
// that it was refused.
#include <algorithm>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/retry_delay.hpp"
#include "transport/transport.hpp"
#include "units/plan.hpp"
#include "units/readout_core.hpp"

namespace netio::detail {

ReadoutCore::Builder& ReadoutCore::require_unnamed(std::uint32_t builder,
                                                   std::string_view address) {
  require_builder(builder, builders_.size(), "connect to a builder");
  if (membership_) {
    throw Error("cannot connect to builder " + std::to_string(builder),
                "the event manager says where builders are", "call join() with its address");
  }
  Builder& named = builders_[builder];
  if (!named.addresses.empty() || !named.socket->peers().empty()) {
    throw Error(
        "cannot connect to builder " + std::to_string(builder) + " at " + std::string(address),
        "it was given an address before",
        "name each builder once, with all its addresses if it has several");
  }
  return named;
}

void ReadoutCore::connect(std::uint32_t builder, std::string_view address) {
  require_unnamed(builder, address).socket->connect(address);
}

void ReadoutCore::connect(std::uint32_t builder, const Addresses& addresses) {
  if (addresses.empty()) {
    throw Error("cannot connect to builder " + std::to_string(builder), "it has no address",
                "name at least one");
  }
  (void)require_unnamed(builder, addresses.front());
  if (addresses.size() == 1) return connect(builder, addresses.front());
  for (const std::string& each : addresses) {
    (void)context().transport(each);
    (void)parse_address(each);
  }
  (void)move_to(builder, addresses);
  redial_after(builders_[builder], {});  // no call-back comes within this call
}

// False if the address that is in use is among them: nothing changes then.
bool ReadoutCore::move_to(std::uint32_t number, const Addresses& addresses) {
  Builder& builder = builders_[number];
  const Addresses before = std::exchange(builder.addresses, addresses);
  const std::size_t used = std::exchange(builder.address, source_);
  if (before.empty()) return true;
  const auto same = std::ranges::find(addresses, before[used % before.size()]);
  if (same == addresses.end()) return true;
  builder.address = static_cast<std::size_t>(same - addresses.begin());
  return false;
}

// Without memory it is tried again.
void ReadoutCore::dial(std::uint32_t number) noexcept {
  if (closing_) return;
  guard_memory([&] { dial_anew(number); }, [&]() noexcept { redial_later(builders_[number]); });
}

// A new socket takes the place of the one before. Throws std::bad_alloc: then the one before has
// changed nothing, or is gone.
void ReadoutCore::dial_anew(std::uint32_t number) {
  Builder& builder = builders_[number];
  std::unique_ptr<ReadoutSocket> socket = make_socket(number);
  const PeerInfo before = builder.socket->peer_up();
  builder.run.clear();
  if (std::exchange(builder.up, false)) protocol().disconnected(number);
  builder.socket = std::move(socket);
  if (std::exchange(builder.accepted, false)) {
    tell(on_down, number, before, Down{DownReason::closed_here, "it has moved"});
  }
  if (abandoned() || builder.addresses.empty()) return;
  const std::string& address = builder.addresses[builder.address % builder.addresses.size()];
  try {
    builder.socket->connect(address);
  } catch (const Error& error) {  // this machine has no such wire
    tell_refused(number, error.what());
    try_next_address(builder);
  }
}

void ReadoutCore::end_refused(std::uint32_t number) noexcept {
  Builder& builder = builders_[number];
  std::string why = std::move(builder.refused);
  builder.refused.clear();
  builder.socket->fail(rejected(why));
  tell_refused(number, std::move(why));
}

// It is tried again and again, and says the same each time.
void ReadoutCore::tell_refused(std::uint32_t number, std::string why) noexcept {
  std::string& told = builders_[number].refused_told;
  if (told == why) return;
  told = std::move(why);
  tell(on_refused, number, told);
}

// It was not reached. Meanwhile the socket goes on with its address.
void ReadoutCore::try_next_address(Builder& builder) noexcept {
  if (builder.addresses.size() < 2) return;
  ++builder.address;
  redial_later(builder);
}

// The delay grows with each round through the addresses, as that of a socket does with each
// attempt.
void ReadoutCore::redial_later(Builder& builder) noexcept {
  const auto rounds = builder.failed / std::max<std::size_t>(builder.addresses.size(), 1);
  const int failed = static_cast<int>(std::min<std::size_t>(rounds, retry_delays_max));
  ++builder.failed;
  redial_after(
      builder,
      std::chrono::nanoseconds(less_random_half(retry_delay_ns(
          options_.reconnect_after_min.count(), options_.reconnect_after_max.count(), failed))));
}

void ReadoutCore::redial_after(Builder& builder, std::chrono::nanoseconds delay) noexcept {
  if (closing_) return;
  builder.redial_at = loop_.now() + delay;
  if (!redial_timer_.running() || builder.redial_at < redial_at_) {
    redial_at_ = builder.redial_at;
    redial_timer_.start_once(delay);
  }
}

void ReadoutCore::redial() noexcept {
  if (closing_) return;
  const std::chrono::nanoseconds now = loop_.now();
  std::chrono::nanoseconds next = never;
  for (std::uint32_t number = 0; number < builders_.size(); ++number) {
    std::chrono::nanoseconds& at = builders_[number].redial_at;
    if (at <= now) {
      at = never;
      dial(number);
    }
    next = std::min(next, at);
  }
  redial_at_ = next;
  if (next != never && !closing_)
    redial_timer_.start_once(std::max(next - now, std::chrono::nanoseconds(0)));
}

}  // namespace netio::detail
