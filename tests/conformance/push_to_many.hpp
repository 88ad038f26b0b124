// One Push, and any number of Pulls that it sends to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {

class PushToMany : public Conformance {
 protected:
  struct Puller {
    Puller(Context& context, const SocketOptions& options) : pull(context, options), inbox(pull) {}
    Pull pull;
    Inbox inbox;
  };

  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) return;
    make_push(here_, push_options());
    pump_.after_each_turn([this] {
      if (push_) (*books_)();
    });
  }
  void TearDown() override {
    if (push_) {
      EXPECT_TRUE(add_up(push_->books()));
    }
  }
  [[nodiscard]] virtual SocketOptions push_options() const { return options(); }
  // In place of the one that is there.
  void make_push(Context& context, const SocketOptions& options) {
    push_.emplace(context, options);
    books_ = std::make_unique<BooksCheck>(*push_);
    push_->on_writable([this] { ++writable_; });
  }

  // The ids at the push are 1, 2, ... It connects to all of them.
  Puller& add(const SocketOptions& options) {
    pullers_.push_back(std::make_unique<Puller>(there_, options));
    join(pullers_.back()->pull, *push_);
    return *pullers_.back();
  }
  Puller& add() { return add(options()); }
  // The same, but this one connects to the push.
  Puller& add_accepted() {
    if (bound_.empty()) bound_ = bind(*push_);
    pullers_.push_back(std::make_unique<Puller>(there_, options()));
    const std::size_t before = push_->peers_connected();
    pullers_.back()->pull.connect(bound_);
    EXPECT_SOON(pump_, push_->peers_connected() == before + 1);
    return *pullers_.back();
  }
  // Sends to this one until it takes nothing more: how many it took.
  std::uint64_t fill_up(std::uint64_t id, std::size_t size) {
    return count_until_again([this, id, size](std::uint64_t number) {
      return push_->send_to(id, payload(number, size));
    });
  }

  std::string bound_;
  std::optional<Push> push_;
  std::unique_ptr<BooksCheck> books_;
  std::vector<std::unique_ptr<Puller>> pullers_;
  int writable_ = 0;
};

}  // namespace netio::test
