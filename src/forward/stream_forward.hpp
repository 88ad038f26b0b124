// Passes on pages of messages as they come, and holds those that the output does not take. Owner
// thread only.
#pragma once

#include <cstdint>
#include <vector>

#include <netio/batch.hpp>
#include <netio/receiving.hpp>

#include "forward/forward_core.hpp"
#include "socket/writable_calls.hpp"
#include "wire/frame_sums.hpp"

namespace netio::detail {

class StreamForward : public ForwardCore, protected WritableWaiter {
 public:
  [[nodiscard]] ForwardBooks books() const noexcept override;

 protected:
  // From which input a page came, and its place there.
  using From = BatchPlace;

  StreamForward(Receiving& from, Loop& loop);
  ~StreamForward() override;
  // Once the derived object is made: pages may come.
  void start();

  // As much as the output takes: ok if that is all; otherwise the answer is about the first message
  // that is left.
  virtual Status pass(MessageCursor& messages, const From& from) = 0;
  // What the page comes to that the input is delivering; null if that is not what is passed on.
  [[nodiscard]] const FrameSums* page_at_hand() const noexcept { return page_at_hand_; }
  void count_bytes(std::uint64_t bytes) noexcept { books_.bytes += bytes; }
  // All messages of the page were passed on, or dropped.
  virtual void passed(const From&) noexcept {}
  // Pages that were held have been passed on, outside the call-back of the input.
  virtual void passed_later() noexcept {}
  // A message that is refused holds up its own input only.
  [[nodiscard]] virtual bool inputs_are_apart() const noexcept { return false; }
  void on_writable() noexcept override { go_on(); }
  // Passes on what is held, as far as the output takes it.
  void go_on() noexcept;
  void begin_to_end() override;
  [[nodiscard]] bool ended() override { return held_.empty(); }
  void give_up() noexcept override;

  Receiving& from_;

 private:
  struct Held {
    KeptBatch batch;
    MessageCursor left;
    From from;
  };
  void take(const Batch& batch);
  enum class Passed : std::uint8_t {
    all,
    part,
    gone,  // this was destroyed meanwhile
  };
  Passed pass_all(MessageCursor& messages, const From& from);
  void hold(const Batch& batch, std::uint32_t done, const From& from);
  [[nodiscard]] bool holds(std::uint64_t input, std::size_t first, std::size_t last) const noexcept;

  ForwardUse use_;
  const FrameSums* page_at_hand_ = nullptr;
  ForwardBooks books_;
  std::vector<Held> held_;   // mostly one of each input; of all inputs, if they are not apart
  bool all_paused_ = false;  // by this, and not for the end
};

}  // namespace netio::detail
