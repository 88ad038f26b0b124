// A Link over a Wire of the world: what transport/link.hpp asks for, with all the freedom it leaves
// to a wire, and a look at whether its owner keeps to it as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <netio/loop.hpp>

#include "memory/store.hpp"
#include "simulation/sim_transport.hpp"
#include "simulation/wire.hpp"
#include "transport/link.hpp"

namespace netio::test {

class SimLink final : public detail::Link, private detail::Deferred, private detail::StoreWaiter {
 public:
  // Dials.
  SimLink(SimTransport& transport, const detail::LinkOptions& options, const detail::Url& url,
          Dial& dial);
  // Was accepted.
  SimLink(SimTransport& transport, const detail::LinkOptions& options, Wire& wire);
  ~SimLink() override;

  void start(detail::LinkEvents& events) noexcept override;
  bool hear_greeting() noexcept override;
  [[nodiscard]] detail::Store& receive_store() noexcept override { return resources_.receive_pool; }
  Status post(detail::Post& post) noexcept override;
  void flush() noexcept override;
  [[nodiscard]] const detail::LinkLimits& limits() const noexcept override { return limits_; }
  [[nodiscard]] bool idle() const noexcept override;
  [[nodiscard]] bool backed_up() const noexcept override;
  [[nodiscard]] std::size_t queued_bytes() const noexcept override;
  [[nodiscard]] detail::Holding holding(const detail::StorePart& of) const noexcept override;
  void pause(bool paused) noexcept override;
  void assembling(bool under_way) noexcept override;
  void finish() noexcept override;
  void cut() noexcept override;
  [[nodiscard]] std::uint64_t bytes_received() const noexcept override { return bytes_received_; }
  [[nodiscard]] bool mid_page() const noexcept override;
  [[nodiscard]] std::uint64_t large_page_begun() const noexcept override;
  [[nodiscard]] std::uint64_t body_begun() const noexcept override;
  [[nodiscard]] bool reading() const noexcept override { return !paused_ && !starved_; }
  // A page was posted and is not done, other than one that only acknowledges, or is a heartbeat.
  [[nodiscard]] bool holds_bodies() const noexcept;
  [[nodiscard]] std::chrono::milliseconds unanswered_for() const noexcept override;
  [[nodiscard]] std::string peer_address() const override { return peer_address_; }

  // One turn. True if it did anything.
  bool poll();
  // What it is doing.
  [[nodiscard]] std::string text() const;

 private:
  enum class State : std::uint8_t { idle, connecting, greeting, up, finishing, down };

  // Greeting (sim_link.cpp)
  bool look_at_attempt();
  bool look_at_greeting();
  void send_hello(detail::Hello hello);
  bool read_hello();
  void take_hello(const detail::Hello& theirs);
  void come_up(const detail::Hello& theirs);
  void look_for_others();
  void look_for_stall();
  bool told_of_end();
  void go_down(Down down) noexcept;
  // Sending (sim_link_sending.cpp)
  [[nodiscard]] bool full() const noexcept;
  [[nodiscard]] bool roomy() const noexcept;
  bool storms() noexcept;
  void check_post(const detail::Post& post) noexcept;
  bool pump() noexcept;
  bool complete() noexcept;
  void let_go(std::size_t index) noexcept;
  bool tell_room();
  bool shut_when_written();
  void run_deferred() noexcept override;
  // Reading (sim_link_reading.cpp)
  bool read();
  bool read_packet(Packet& packet);
  void note_arrival(Packet& packet, std::size_t here) noexcept;
  bool hand_up_begun(Packet& packet, std::size_t here);
  void hand_up_rest();
  bool begin_large(const detail::PageHeader& header);
  bool take_block(std::size_t bytes);
  bool starve(detail::Store& store) noexcept;
  bool read_acknowledgements();
  bool discard();
  bool on_read_end();
  void deliver(detail::PageHeader header, detail::Block& block, std::span<const std::byte> body);
  void deliver_truth(detail::PageHeader header, detail::Block& block,
                     std::span<const std::byte> body);
  bool deliver_exchanged(detail::PageHeader header, detail::Block& block,
                         std::span<const std::byte> body);
  void on_memory() noexcept override;

  [[nodiscard]] Direction& out() noexcept { return wire_->from[static_cast<std::size_t>(side_)]; }
  [[nodiscard]] const Direction& out() const noexcept {
    return wire_->from[static_cast<std::size_t>(side_)];
  }
  [[nodiscard]] Direction& in() noexcept {
    return wire_->from[static_cast<std::size_t>(1 - side_)];
  }
  [[nodiscard]] const Direction& in() const noexcept {
    return wire_->from[static_cast<std::size_t>(1 - side_)];
  }
  [[nodiscard]] const Traits& traits() const noexcept { return wire_->traits; }
  template <typename Event>
  void during_event(Event&& event);

  // A post whose memory is not home yet.
  struct Outstanding {
    std::uint64_t id = 0;
    detail::Lease lease;
    detail::Lease front;
    std::size_t bytes = 0;
    std::int64_t done_ns = never;
  };

  SimTransport& transport_;
  const detail::TransportResources& resources_;
  const detail::LinkOptions& options_;
  World& world_;
  detail::LinkLimits limits_;
  State state_ = State::idle;
  Dial* dial_ = nullptr;  // of a link that dials
  Wire* wire_ = nullptr;
  int side_;
  std::string peer_address_;

  std::int64_t handshake_until_ns_ = never;
  std::vector<std::byte> hello_in_;
  bool refused_ = false;
  bool hello_sent_ = false;

  std::deque<Outstanding> outstanding_;
  std::size_t outstanding_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;  // of posts whose memory is home
  std::int64_t storm_until_ns_ = 0;
  bool want_writable_ = false;
  bool was_busy_ = false;
  bool some_done_ = false;
  bool shut_ = false;
  bool bye_posted_ = false;
  bool confirm_posted_ = false;
  bool begun_ = false;               // a page was posted behind that
  std::uint64_t next_sequence_ = 0;  // that a post must have
  std::uint64_t last_acknowledged_ = 0;

  bool paused_ = false;
  bool starved_ = false;
  bool assembling_ = false;
  bool read_ended_ = false;
  bool confirm_read_ = false;  // the first page that came has a body: it says where the peer stands
  std::uint64_t bytes_received_ = 0;
  std::uint64_t highest_acknowledged_ = 0;
  detail::Lease block_;  // small pages, one behind the other
  std::size_t block_used_ = 0;
  detail::Lease large_;      // the large page under way
  detail::PageHeader rest_;  // of a page that was handed up in part

  std::uint64_t stalled_bytes_ = 0;    // bytes_received_ when it was last seen to grow
  std::int64_t stalled_since_ns_ = 0;  // and when that was
  std::int64_t stalled_look_ns_ = 0;
  unsigned stalled_looks_ = 0;

  // Of lies.
  std::uint64_t hidden_ = 0;  // added to sequences that come
  detail::Lease aside_;       // a page that the next one overtakes
  detail::PageHeader aside_header_;
  std::span<const std::byte> aside_body_;
};

}  // namespace netio::test
