// Subscribers that wait for their turn. The hosts take turns, and within a host its subscribers do,
// so that a host with one subscriber waits no longer than one with many. Owner thread only.
#pragma once

#include <list>

#include "pattern/publish/allowances.hpp"

namespace netio::detail {

struct Subscriber;

class HostTurns {
 public:
  // The subscriber waits behind the others of its host. It is not waiting yet. Throws
  // std::bad_alloc, and has changed nothing.
  void add(Account& account, Subscriber& subscriber) {
    account.waiting.push_back(&subscriber);
    if (account.waiting.size() != 1) return;
    try {
      hosts_.push_back(&account);
    } catch (...) {
      account.waiting.pop_back();
      throw;
    }
  }
  // It waits no more, if it did.
  void remove(Account& account, Subscriber& subscriber) noexcept {
    account.waiting.remove(&subscriber);
    if (!account.waiting.empty()) return;
    hosts_.remove(&account);
    resting_.remove(&account);
  }
  [[nodiscard]] bool empty() const noexcept { return hosts_.empty() && resting_.empty(); }

  // Hosts that were passed over are asked again, behind the others.
  void begin_round() noexcept { hosts_.splice(hosts_.end(), resting_); }
  // The next subscriber, which stays in line behind the others of its host, and its host behind
  // other hosts. A host for which `may(account)` is false is passed over until the next round. Null
  // if there is no other host in this round.
  template <typename May>
  Subscriber* next(May&& may) noexcept {
    while (!hosts_.empty()) {
      Account& account = *hosts_.front();
      if (!may(account)) {
        resting_.splice(resting_.end(), hosts_, hosts_.begin());
        continue;
      }
      hosts_.splice(hosts_.end(), hosts_, hosts_.begin());
      account.waiting.splice(account.waiting.end(), account.waiting, account.waiting.begin());
      return account.waiting.back();
    }
    return nullptr;
  }

 private:
  std::list<Account*> hosts_;    // the one whose turn it is first
  std::list<Account*> resting_;  // until the next round
};

}  // namespace netio::detail
