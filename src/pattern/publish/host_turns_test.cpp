// Whose turn it is.
#include "pattern/publish/host_turns.hpp"

#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pattern/publish/subscriber.hpp"

namespace netio::detail {
namespace {

// Hosts "a", "b", ..., with subscribers "a0", "a1", ... that are never looked at.
class HostTurn : public testing::Test {
 protected:
  struct alignas(Subscriber) Place {};
  void add(char host, int count) {
    for (int i = 0; i < count; ++i) {
      names_.push_back(host + std::to_string(i));
      turns_.add(account_of(host), subscriber(names_.size() - 1));
    }
  }
  void remove(const std::string& name) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) turns_.remove(account_of(name[0]), subscriber(i));
    }
  }
  // The next ones in turn, as one text.
  std::string next(int count, const std::string& may_not = "") {
    std::string all;
    while (count-- > 0) {
      const Subscriber* const next = turns_.next([&](const Account& account) {
        ++asked_;
        return may_not.find(host_of(account)) == may_not.npos;
      });
      if (next == nullptr) return all + "none";
      const auto at = reinterpret_cast<const Place*>(next) - places_.data();
      all += names_[static_cast<std::size_t>(at)] + " ";
    }
    return all;
  }
  HostTurns turns_;
  int asked_ = 0;

 private:
  Account& account_of(char host) {
    while (accounts_.size() <= static_cast<std::size_t>(host - 'a'))
      accounts_.emplace_back(1, 0, 0);
    return accounts_[static_cast<std::size_t>(host - 'a')];
  }
  char host_of(const Account& account) {
    for (char host = 'a';; ++host) {
      if (&account_of(host) == &account) return host;
    }
  }
  // An address for each: they are compared, and nothing else.
  Subscriber& subscriber(std::size_t number) {
    return *reinterpret_cast<Subscriber*>(&places_.at(number));
  }
  std::deque<Account> accounts_;
  std::vector<std::string> names_;
  std::vector<Place> places_ = std::vector<Place>(5000);
};

TEST_F(HostTurn, is_one_of_each_host_however_many_wait) {
  add('a', 3);
  add('b', 1);
  add('c', 2);
  EXPECT_EQ(next(8), "a0 b0 c0 a1 b0 c1 a2 b0 ");
}

TEST_F(HostTurn, is_not_of_one_that_may_not_until_the_next_round) {
  add('a', 2);
  add('b', 2);
  EXPECT_EQ(next(2, "a"), "b0 b1 ");
  EXPECT_EQ(next(1), "b0 ");
  EXPECT_EQ(next(2, "ab"), "none");
  turns_.begin_round();
  EXPECT_EQ(next(3), "a0 b1 a1 ");
}

// The looks of a publisher are bounded by that.
TEST_F(HostTurn, asks_a_host_once_in_a_round_if_it_may_not) {
  add('a', 4000);
  add('b', 1);
  EXPECT_EQ(next(256, "a"), [] {
    std::string all;
    for (int i = 0; i < 256; ++i) all += "b0 ";
    return all;
  }());
  EXPECT_EQ(asked_, 1 + 256);
}

TEST_F(HostTurn, is_not_of_one_that_went) {
  add('a', 2);
  add('b', 1);
  add('c', 1);
  remove("b0");
  remove("a0");
  EXPECT_EQ(next(3), "a1 c0 a1 ");
  EXPECT_EQ(next(1, "ac"), "none");  // both rest
  remove("c0");
  remove("a1");
  EXPECT_TRUE(turns_.empty());
  turns_.begin_round();
  EXPECT_EQ(next(1), "none");
}

}  // namespace
}  // namespace netio::detail
