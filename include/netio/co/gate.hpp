// Where one coroutine waits for what a socket or a unit hands over in place. It is resumed inside
// the call-back. Invariant: the source is paused whenever no coroutine waits, so what comes is held
// back.
#pragma once

#include <utility>

#include <netio/co/waiter.hpp>

namespace netio::detail {

// `Given` is what the coroutine gets; one without a value says that nothing more will come.
template <class Source, class Given>
class Gate {
 public:
  // What the coroutine waits in.
  class Awaiter final : public Waiter {
   public:
    explicit Awaiter(Gate& gate) noexcept : gate_(&gate) {}
    ~Awaiter() override {
      if (waits_) gate_->leave();
    }
    [[nodiscard]] bool await_ready() const {
      if (gate_->reader_ != nullptr) [[unlikely]]
        refuse_to_wait(gate_->what_);
      return gate_->closed_;
    }
    void await_suspend(std::coroutine_handle<> waiting) noexcept {
      set_waiting(waiting);
      waits_ = true;
      gate_->wait(*this);
    }
    [[nodiscard]] Given await_resume() noexcept { return std::move(given_); }

   private:
    friend class Gate;
    Gate* gate_;
    bool waits_ = false;
    Given given_{};
  };

  // `what` cannot be done by two coroutines at a time.
  Gate(Loop& loop, Source& source, const char* what) : loop_(loop), source_(source), what_(what) {
    source_.pause();
  }
  ~Gate() {
    if (gone_ != nullptr) *gone_ = true;
    close();
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Nothing more comes. The loop tells the coroutine that waits.
  void close() noexcept {
    closed_ = true;
    if (reader_ == nullptr) return;
    Awaiter& reader = *std::exchange(reader_, nullptr);
    reader.waits_ = false;
    loop_.defer(reader);
    hold();
  }
  // The source hands it over, so a coroutine waits.
  void deliver(Given given) noexcept {
    Awaiter& reader = *std::exchange(reader_, nullptr);
    reader.waits_ = false;
    reader.given_ = std::move(given);
    const GoneWatch watch(gone_);
    reader.resume();
    if (!watch.gone() && reader_ == nullptr) hold();
  }

 private:
  void wait(Awaiter& reader) noexcept {
    reader_ = &reader;
    if (std::exchange(paused_, false)) source_.resume();
  }
  void leave() noexcept {
    reader_ = nullptr;
    hold();
  }
  void hold() noexcept {
    if (!std::exchange(paused_, true)) source_.pause();
  }

  Loop& loop_;
  Source& source_;
  const char* what_;
  Awaiter* reader_ = nullptr;
  bool paused_ = true;
  bool closed_ = false;
  bool* gone_ = nullptr;
};

}  // namespace netio::detail
