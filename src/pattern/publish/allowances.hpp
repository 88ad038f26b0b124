// What the subscribers of one host, and all of them together, may cost a publisher over time. It is
// kept by the host's address, so that a new connection or stream buys nothing. Owner thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace netio::detail {

struct Subscriber;

// Fills up with time, up to `most`. Spending may take it below 0.
class Allowance {
 public:
  Allowance(double most, double a_second, std::int64_t now_ns) noexcept
      : most_(most), a_second_(a_second), left_(most), at_ns_(now_ns) {}

  [[nodiscard]] double left(std::int64_t now_ns) noexcept {
    left_ = std::min(most_, left_ + a_second_ * static_cast<double>(now_ns - at_ns_) / 1e9);
    at_ns_ = now_ns;
    return left_;
  }
  void spend(double amount) noexcept { left_ -= amount; }
  void spend_down_to_zero(double amount) noexcept { left_ = std::max(0.0, left_ - amount); }
  [[nodiscard]] bool full(std::int64_t now_ns) noexcept { return left(now_ns) >= most_; }

 private:
  double most_;
  double a_second_;
  double left_;
  std::int64_t at_ns_;
};

// Of one host.
struct Account {
  // `changes_now_ns` is the time by the clock that only Allowances knows.
  Account(std::int64_t block_for_max_ns, std::int64_t now_ns, std::int64_t changes_now_ns) noexcept;

  // One of the host's subscribers held the publisher up from then to then, by a clock that only
  // HoldUps knows, and for nothing. Time that was charged for another one is not charged again.
  // Such times are charged when they end, so `to_ns` never decreases.
  void charge_held(std::int64_t from_ns, std::int64_t to_ns) noexcept;
  [[nodiscard]] std::int64_t uncharged_ns(std::int64_t from_ns, std::int64_t to_ns) const noexcept;

  // Changes of sets: a range that is named is 1, and a frame, however few it names, 8 more. 64
  // ranges that are walked over are 1, and so are 4 rows that are moved (Groups has all it counts).
  Allowance changes;
  // Nanoseconds for which subscribers with Policy::block hold the publisher up for nothing.
  Allowance holding;
  // The last of those times that was charged.
  std::int64_t charged_from_ns = 0;
  std::int64_t charged_to_ns = 0;
  // In the sets of its subscribers.
  std::size_t ranges = 0;
  // Of a HostTurns: the one whose turn it is first.
  std::list<Subscriber*> waiting;
  std::size_t aside_bytes = 0;  // of their changes, which were put aside
  std::size_t away = 0;         // subscribers whose connection broke, and that may come back
};

class Allowances {
 public:
  // All hosts may have `aside_bytes_max` of changes put aside.
  Allowances(std::int64_t block_for_max_ns, std::size_t aside_bytes_max,
             std::int64_t now_ns) noexcept;

  // The account of the host in "scheme://host:port", the same for all schemes; of shm and inproc,
  // where only the own user gets in, one for all peers of the scheme. It outlives its last
  // connection until it has filled up again. If there are very many, newcomers share one. Throws
  // std::bad_alloc.
  std::shared_ptr<Account> account_of(const std::string& address, std::int64_t now_ns);

  // Whether another change may be looked at now.
  [[nodiscard]] bool may_change(Account& account, std::int64_t now_ns) noexcept {
    return account.changes.left(changes_clock_ns(now_ns)) >= 0 && may_change(now_ns);
  }
  // The same, as far as all hosts together are concerned.
  [[nodiscard]] bool may_change(std::int64_t now_ns) noexcept {
    return all_changes_.left(changes_clock_ns(now_ns)) >= 0;
  }
  void charge_change(Account& account, double cost) noexcept {
    account.changes.spend(cost);
    all_changes_.spend(cost);
  }

  // How many bytes more it may put aside: a host may have as many as it leaves for all others.
  [[nodiscard]] std::size_t may_put_aside(const Account& account) const noexcept {
    const std::size_t of_others = aside_bytes_ - account.aside_bytes;
    const std::size_t most = (aside_bytes_max_ - std::min(of_others, aside_bytes_max_)) / 2;
    return most - std::min(account.aside_bytes, most);
  }
  void put_aside(Account& account, std::size_t bytes) noexcept {
    account.aside_bytes += bytes;
    aside_bytes_ += bytes;
    waited_ = true;
  }
  void take_from_aside(Account& account, std::size_t bytes) noexcept {
    account.aside_bytes -= bytes;
    aside_bytes_ -= bytes;
  }

  // Its subscribers may be given Policy::block.
  [[nodiscard]] bool may_block(Account& account, std::int64_t now_ns) const noexcept;

 private:
  // The clock that allowances for changes fill up by. A turn of the loop in which changes waited
  // counts as turn_max_ns at most. Where a change takes long, because the machine is slow or hardly
  // runs this thread, the changes that a turn allows would else take longer than the turn, and so
  // each turn longer than the one before, until the loop is held for seconds at a time.
  [[nodiscard]] std::int64_t changes_clock_ns(std::int64_t now_ns) noexcept {
    if (now_ns == looked_ns_) return now_ns - lost_ns_;
    const std::int64_t passed_ns = now_ns - std::exchange(looked_ns_, now_ns);
    if (waited_) lost_ns_ += std::max<std::int64_t>(passed_ns - turn_max_ns, 0);
    waited_ = aside_bytes_ != 0;
    return now_ns - lost_ns_;
  }
  static constexpr std::int64_t turn_max_ns = 10'000'000;

  std::int64_t block_for_max_ns_;
  std::size_t aside_bytes_max_;
  std::size_t aside_bytes_ = 0;
  std::int64_t looked_ns_;    // the loop's time when the clock for changes was last read
  bool waited_ = false;       // changes waited in that turn of the loop
  std::int64_t lost_ns_ = 0;  // by which the clock for changes is behind the loop's time
  Allowance all_changes_;
  std::unordered_map<std::string, std::shared_ptr<Account>> accounts_;
  std::shared_ptr<Account> others_;
};

}  // namespace netio::detail
