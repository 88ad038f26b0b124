// A Link over one TCP connection: connects or was accepted, greets, then moves pages. Owns the
// descriptor; owner thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <netio/loop.hpp>

#include "base/file_descriptor.hpp"
#include "base/out_of_memory.hpp"
#include "base/url.hpp"
#include "memory/store.hpp"
#include "transport/inquiry.hpp"
#include "transport/internet_address.hpp"
#include "transport/link.hpp"
#include "transport/tcp/address_race.hpp"
#include "transport/tcp/good_addresses.hpp"
#include "transport/tcp/reader.hpp"
#include "transport/tcp/writer.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

// What the tcp links of a context share.
struct TcpShared {
  TransportResources resources;
  GoodAddresses good_addresses{};
  int links_polled = 0;
};

class TcpLink final : public Link, private Deferred, private StoreWaiter, private Source {
 public:
  // Connecting: `url` names the peer.
  TcpLink(TcpShared& shared, const LinkOptions& options, const Url& url);
  // Accepted at an address of that scheme: takes the descriptor.
  TcpLink(TcpShared& shared, const LinkOptions& options, const std::string& scheme,
          FileDescriptor connection);
  ~TcpLink() override;

  void start(LinkEvents& events) noexcept override;
  bool hear_greeting() noexcept override;
  [[nodiscard]] Store& receive_store() noexcept override { return resources_.receive_pool; }
  Status post(Post& post) noexcept override;
  void flush() noexcept override;
  [[nodiscard]] const LinkLimits& limits() const noexcept override { return limits_; }
  [[nodiscard]] bool idle() const noexcept override { return writer_.empty(); }
  [[nodiscard]] bool backed_up() const noexcept override { return !writer_.empty(); }
  [[nodiscard]] std::size_t queued_bytes() const noexcept override { return writer_.taken_bytes(); }
  [[nodiscard]] Holding holding(const StorePart& of) const noexcept override {
    return writer_.holding(of);
  }
  void pause(bool paused) noexcept override;
  void assembling(bool under_way) noexcept override { reader_.assembling(under_way); }
  void finish() noexcept override;
  void cut() noexcept override;
  [[nodiscard]] std::uint64_t bytes_received() const noexcept override {
    return reader_.bytes_received();
  }
  [[nodiscard]] bool mid_page() const noexcept override { return reader_.mid_page(); }
  [[nodiscard]] std::uint64_t large_page_begun() const noexcept override {
    return reader_.large_page_begun();
  }
  [[nodiscard]] std::uint64_t body_begun() const noexcept override { return reader_.body_begun(); }
  [[nodiscard]] std::chrono::milliseconds unanswered_for() const noexcept override;
  [[nodiscard]] bool reading() const noexcept override { return !paused_ && !starved_; }
  [[nodiscard]] std::string peer_address() const override { return peer_address_; }
  [[nodiscard]] std::string peer_host() const override;

 private:
  enum class State : std::uint8_t { idle, resolving, connecting, greeting, up, finishing, down };

  // Connecting (link.cpp)
  void on_resolved(LookUp answer);
  void race(std::vector<InternetAddress> addresses);
  void connect_to_any() noexcept;
  void on_raced(AddressRace::Outcome outcome);
  void on_handshake_late();
  void adopt(FileDescriptor fd);
  // Greeting (handshake.cpp)
  void begin();
  void begin_greeting();
  void end_turn();
  void send_hello(Hello hello);
  void write_hello();
  void read_hello();
  void take_hello(const Hello& theirs);
  void come_up(const Hello& theirs);
  // Moving pages (link_datapath.cpp)
  void on_ready(std::uint32_t events);
  void read_pages();
  void write_pages();
  Status inject(const Post& post) noexcept;
  void read_on();
  void tell_room() noexcept;
  void discard();
  void on_read_end(bool failed, int error);
  void on_memory() noexcept override;
  // A spinning loop reads without asking the epoll first.
  bool poll(int budget) noexcept override;
  bool may_sleep() noexcept override { return true; }
  [[nodiscard]] int fd() const noexcept override { return -1; }
  void run_deferred() noexcept override;
  void update_watch() noexcept;
  void shut_when_written();

  // Ends the link from inside the loop: the last event.
  void go_down(Down down) noexcept;
  // An event of the loop's: without memory for it the link is down.
  template <typename Event>
  void guarded(Event&& event) noexcept {
    guard_memory(event, [this]() noexcept { go_down(out_of_memory()); });
  }
  [[nodiscard]] Down down_from_errno(int error) const;
  [[nodiscard]] bool moves_pages() const noexcept {
    return state_ == State::up || state_ == State::finishing;
  }

  TcpShared& shared_;
  const TransportResources& resources_;
  const LinkOptions& options_;
  Loop& loop_;
  LinkLimits limits_;
  State state_ = State::idle;
  bool dialed_;
  FileDescriptor fd_;
  std::string peer_address_;

  std::optional<Url> url_;  // dialed only
  std::optional<Inquiry<LookUp>> resolver_;
  std::optional<AddressRace> race_;
  std::optional<InternetAddress> chosen_;  // of several; until then without bytes
  Timer handshake_timer_;
  std::vector<std::byte> hello_out_;
  std::size_t hello_out_done_ = 0;
  std::vector<std::byte> hello_in_;
  std::size_t hello_in_bytes_ = 0;  // of the whole, once the head has told
  bool refused_ = false;            // our hello carries a refusal

  std::optional<Watch> watch_;
  TcpReader reader_;
  TcpWriter writer_;
  // Waits for a page to copy to; the link itself waits for memory to read into.
  CallingWaiter room_waiter_{[this] { tell_room(); }};
  bool polled_ = false;  // the loop has it as a Source
  bool paused_ = false;
  bool lacks_memory_ = false;   // already at its start
  bool starved_ = false;        // waits for on_memory
  bool read_pending_ = false;   // pages may wait in the reader; the descriptor need not tell
  bool blocked_ = false;        // the kernel takes no more; EPOLLOUT tells
  bool want_writable_ = false;  // a post was answered again
  bool write_failed_ = false;   // what the peer said before it went is still read
  bool shut_ = false;           // our side of the connection is shut
  bool read_ended_ = false;     // theirs is
};

}  // namespace netio::detail
