// Links of a ring whose members know nothing of where they are: joining and leaving cost a few
// stores and no memory. One thread at a time.
#pragma once

namespace netio::detail {

class RingNode {
 public:
  RingNode() noexcept = default;
  RingNode(const RingNode&) = delete;
  RingNode& operator=(const RingNode&) = delete;
  ~RingNode() { leave(); }

  [[nodiscard]] bool alone() const noexcept { return next_ == this; }
  [[nodiscard]] RingNode* next() const noexcept { return next_; }
  [[nodiscard]] RingNode* previous() const noexcept { return prev_; }
  // As the last one before `head` comes round again.
  void join(RingNode& head) noexcept {
    leave();
    prev_ = head.prev_;
    next_ = &head;
    prev_->next_ = head.prev_ = this;
  }
  void leave() noexcept {
    next_->prev_ = prev_;
    prev_->next_ = next_;
    next_ = prev_ = this;
  }

 private:
  RingNode* next_ = this;
  RingNode* prev_ = this;
};

}  // namespace netio::detail
