// How much each account may hold, and when it is forgotten.
#include "pattern/publish/allowances.hpp"

#include <algorithm>
#include <string_view>

namespace netio::detail {

namespace {

// A million ranges take 0.1 to 0.3 s of the publisher's time. So the changes of one host take at
// most some hundredths of it over time, and those of all hosts a quarter.
constexpr double changes_a_second = 1U << 18U;
constexpr double changes_most = 1U << 21U;
constexpr double all_parts = 4;

// A host may hold the publisher up for four times block_for_max, and then for a sixteenth of the
// time.
constexpr double hold_times = 4;
constexpr double hold_part = 16;
// Policy::block is granted to a host that may hold the publisher up for this part of block_for_max.
constexpr double hold_least_part = 8;

constexpr std::size_t accounts_max = 4096;

// What tells one host from another: its address, by whichever scheme it connected, or for shm and
// inproc the scheme.
std::string host_of(const std::string& address) {
  const std::size_t scheme = address.find("://");
  if (scheme == address.npos) return address;
  if (address.starts_with("shm:") || address.starts_with("inproc:")) {
    return address.substr(0, scheme + 1);  // with the colon, which no host ends in
  }
  const std::size_t host = scheme + std::string_view("://").size();
  const std::size_t port = address.rfind(':');
  return address.substr(host, port > host ? port - host : address.npos);
}

}  // namespace

Account::Account(std::int64_t block_for_max_ns, std::int64_t now_ns,
                 std::int64_t changes_now_ns) noexcept
    : changes(changes_most, changes_a_second, changes_now_ns),
      holding(hold_times * static_cast<double>(block_for_max_ns), 1e9 / hold_part, now_ns) {}

std::int64_t Account::uncharged_ns(std::int64_t from_ns, std::int64_t to_ns) const noexcept {
  const std::int64_t charged = charged_to_ns - std::max(from_ns, charged_from_ns);
  return to_ns - from_ns - std::max<std::int64_t>(charged, 0);
}

void Account::charge_held(std::int64_t from_ns, std::int64_t to_ns) noexcept {
  holding.spend_down_to_zero(static_cast<double>(uncharged_ns(from_ns, to_ns)));
  charged_from_ns = from_ns <= charged_to_ns ? std::min(from_ns, charged_from_ns) : from_ns;
  charged_to_ns = to_ns;
}

Allowances::Allowances(std::int64_t block_for_max_ns, std::size_t aside_bytes_max,
                       std::int64_t now_ns) noexcept
    : block_for_max_ns_(block_for_max_ns),
      aside_bytes_max_(aside_bytes_max),
      looked_ns_(now_ns),
      all_changes_(all_parts * changes_most, all_parts * changes_a_second, now_ns) {}

std::shared_ptr<Account> Allowances::account_of(const std::string& address, std::int64_t now_ns) {
  const std::string host = host_of(address);
  if (const auto found = accounts_.find(host); found != accounts_.end()) return found->second;
  const std::int64_t changes_now_ns = changes_clock_ns(now_ns);
  if (accounts_.size() >= accounts_max) {
    std::erase_if(accounts_, [&](const auto& entry) {
      Account& account = *entry.second;
      return entry.second.use_count() == 1 && account.changes.full(changes_now_ns) &&
             account.holding.full(now_ns);
    });
  }
  if (accounts_.size() >= accounts_max && others_) return others_;
  auto account = std::make_shared<Account>(block_for_max_ns_, now_ns, changes_now_ns);
  if (accounts_.size() >= accounts_max) return others_ = std::move(account);
  return accounts_.emplace(host, std::move(account)).first->second;
}

bool Allowances::may_block(Account& account, std::int64_t now_ns) const noexcept {
  return account.holding.left(now_ns) >= static_cast<double>(block_for_max_ns_) / hold_least_part;
}

}  // namespace netio::detail
