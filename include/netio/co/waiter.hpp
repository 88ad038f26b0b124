// What all awaitables are made of: the coroutine that waits, and the way to resume it. A Waiter
// lies in the frame of that coroutine, so waiting takes no memory.
#pragma once

#include <optional>
#include <utility>

#include <netio/co/task.hpp>
#include <netio/status.hpp>

namespace netio::detail {

// The object that has the answer resumes the coroutine at once, or leaves that to the loop: a
// Waiter is a Deferred.
class Waiter : public Deferred {
 public:
  void set_waiting(std::coroutine_handle<> waiting) noexcept { waiting_ = waiting; }
  void resume() noexcept { waiting_.resume(); }
  void run_deferred() noexcept override { resume(); }

 private:
  std::coroutine_handle<> waiting_;
};

[[noreturn]] inline void refuse_to_wait(const char* what) {
  throw Error(what, "another coroutine waits for it already",
              "let one coroutine wait, and hand on what it gets");
}

// The place where one coroutine may wait, for an answer of this type.
template <class Answer>
class WaitingPlace {
 public:
  class Awaiter final : public Waiter {
   public:
    Awaiter(WaitingPlace* place, Answer answer) noexcept : place_(place), answer_(answer) {}
    ~Awaiter() override {
      if (place_ != nullptr && place_->waiting_ == this) place_->waiting_ = nullptr;
    }
    // Without a place the answer is known already, and with one that has come to its end.
    [[nodiscard]] bool await_ready() noexcept {
      if (place_ == nullptr) return true;
      if (place_->last_) answer_ = *place_->last_;
      return place_->last_.has_value();
    }
    void await_suspend(std::coroutine_handle<> waiting) {
      place_->check_free();
      set_waiting(waiting);
      place_->waiting_ = this;
    }
    [[nodiscard]] Answer await_resume() const noexcept { return answer_; }

   private:
    friend class WaitingPlace;
    WaitingPlace* place_;
    Answer answer_;
  };

  WaitingPlace() noexcept = default;
  WaitingPlace(const WaitingPlace&) = delete;
  WaitingPlace& operator=(const WaitingPlace&) = delete;

  [[nodiscard]] bool taken() const noexcept { return waiting_ != nullptr; }
  void check_free() const {
    if (waiting_ != nullptr) refuse_to_wait("wait for an event");
  }
  [[nodiscard]] Awaiter wait() noexcept { return Awaiter(this, Answer{}); }
  [[nodiscard]] static Awaiter at_once(Answer answer) noexcept { return Awaiter(nullptr, answer); }
  void resume(Answer answer) noexcept {
    if (Awaiter* const waiting = take(answer)) waiting->resume();
  }
  // Nothing else comes: this is the answer also to who waits later.
  void end(Loop& loop, const Answer& answer) {
    last_ = answer;
    resume_later(loop, answer);
  }
  // The same as resume(), but the loop resumes the coroutine: for destructors.
  void resume_later(Loop& loop, Answer answer) noexcept {
    if (Awaiter* const waiting = take(answer)) loop.defer(*waiting);
  }

 private:
  Awaiter* take(Answer answer) noexcept {
    Awaiter* const waiting = std::exchange(waiting_, nullptr);
    if (waiting == nullptr) return nullptr;
    waiting->place_ = nullptr;
    waiting->answer_ = answer;
    return waiting;
  }

  Awaiter* waiting_ = nullptr;
  std::optional<Answer> last_;
};

// Tells a member function that a coroutine which it resumed has destroyed the object. The
// destructor of the object sets the flag that the slot points to.
class GoneWatch {
 public:
  explicit GoneWatch(bool*& slot) noexcept : slot_(slot) { slot = &gone_; }
  ~GoneWatch() {
    if (!gone_) slot_ = nullptr;
  }
  GoneWatch(const GoneWatch&) = delete;
  GoneWatch& operator=(const GoneWatch&) = delete;
  [[nodiscard]] bool gone() const noexcept { return gone_; }

 private:
  bool*& slot_;
  bool gone_ = false;
};

}  // namespace netio::detail
