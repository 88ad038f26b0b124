// A Link through shared memory: two boards with the pages, and a Unix socket to greet, to wake a
// side that sleeps, and to see the end. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <netio/loop.hpp>

#include "base/file_descriptor.hpp"
#include "base/out_of_memory.hpp"
#include "base/url.hpp"
#include "memory/range_pool.hpp"
#include "memory/shared_memory.hpp"
#include "memory/store.hpp"
#include "transport/link.hpp"
#include "transport/shm/closing.hpp"
#include "transport/shm/doorbell.hpp"
#include "transport/shm/graves.hpp"
#include "transport/shm/receives.hpp"
#include "transport/shm/sends.hpp"
#include "transport/shm/unix_socket.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

// What the shm links of a context share.
struct ShmShared final : MemoryRoom::Waiter {
  explicit ShmShared(const TransportResources& its_resources);
  void on_room() noexcept override { memory_came_home.notify(); }

  TransportResources resources;
  Signal memory_came_home;
  std::shared_ptr<SharedMemory> memory;  // that peers map
  Pool::Ptr arena;                       // pages in it
  RangePool::Ptr loans;                  // behind them
  std::shared_ptr<EmptyMemory> empty;    // of all peers
  std::size_t links = 0;                 // that are up
  ShmGraves graves;
  ClosingLine closing;
};

class ShmLink final : public Link, private Source, private Deferred, private ShmPeerMemory::Owner {
 public:
  // Connecting.
  ShmLink(ShmShared& shared, const LinkOptions& options, const Url& url);
  // Accepted: takes the descriptor. Throws std::bad_alloc, and has not taken it then.
  ShmLink(ShmShared& shared, const LinkOptions& options, std::string address, FileDescriptor& fd);
  ~ShmLink() override;

  void start(LinkEvents& events) noexcept override;
  bool hear_greeting() noexcept override;
  // The link itself looks for pages of the peer that other threads give back.
  [[nodiscard]] Store& receive_store() noexcept override { return shared_.resources.receive_pool; }
  void collect_received() noexcept override {
    if (wire_) wire_->memory->collect();
  }
  Status post(Post& post) noexcept override;
  void flush() noexcept override { ring(); }
  [[nodiscard]] bool comes_back() const noexcept override { return false; }
  [[nodiscard]] const LinkLimits& limits() const noexcept override { return limits_; }
  [[nodiscard]] bool idle() const noexcept override { return !wire_ || wire_->sends.consumed(); }
  // Always false: the share of the arena bounds a slow peer instead.
  [[nodiscard]] bool backed_up() const noexcept override { return false; }
  [[nodiscard]] bool untaken() const noexcept override { return !idle(); }
  [[nodiscard]] std::size_t queued_bytes() const noexcept override;
  [[nodiscard]] Holding holding(const StorePart& of) const noexcept override {
    return wire_ ? wire_->sends.holding(of) : Holding();
  }
  void pause(bool paused) noexcept override;
  void assembling(bool) noexcept override {}
  void finish() noexcept override;
  void cut() noexcept override;
  [[nodiscard]] std::uint64_t bytes_received() const noexcept override {
    return wire_ ? wire_->receives.bytes() : 0;
  }
  [[nodiscard]] bool mid_page() const noexcept override { return false; }
  [[nodiscard]] bool reading() const noexcept override { return !paused_ && !starved_; }
  [[nodiscard]] std::string peer_address() const override { return peer_address_; }

 private:
  enum class State : std::uint8_t { idle, greeting, answered, refusing, up, finishing, down };

  // Exists once both boards are known.
  struct Wire {
    Wire(ShmLink& link, SharedMemory board, ShmPeerMemory::Passed passed);
    ShmBoard& ours;
    SharedMemory their_board;
    const ShmBoard& theirs;
    ShmDoorbell<ShmBell> doorbell;
    Signal came_home;  // pages that other threads gave back
    ShmPeerMemory::Ptr memory;
    ShmSends sends;
    ShmReceives receives;
    std::list<ShmGrave> grave = std::list<ShmGrave>(1);
  };

  // Greeting (handshake.cpp)
  void connect();
  void begin();
  void make_what_is_passed();
  int say(const Hello& hello, std::span<const int> passed) noexcept;
  void send_hello(const Hello& hello);
  Down refusal(DownReason reason, const std::string& why);
  void on_readable();
  void hear(std::span<std::byte> bytes, UnixMessage& message, int error);
  void take_hello(const Hello& theirs, UnixMessage& message);
  bool map_theirs(UnixMessage& message);
  void come_up(const Hello& theirs);
  // Moving pages (link_datapath.cpp)
  bool poll(int budget) noexcept override;
  bool may_sleep() noexcept override;
  bool look_on() noexcept;
  [[nodiscard]] int fd() const noexcept override { return -1; }  // watch_ wakes
  bool take_pages(int budget);
  bool take_turn(int budget);
  [[nodiscard]] bool nothing_to_do() const noexcept;
  bool reap() noexcept;
  bool reap_quietly() noexcept;
  [[nodiscard]] bool has_room() const noexcept;
  void ring() noexcept;
  void on_ended();
  void on_memory_home() noexcept;
  void stop_starving() noexcept;
  void run_deferred() noexcept override;
  void on_page_returned() noexcept override;
  [[nodiscard]] bool moves_pages() const noexcept {
    return state_ == State::up || state_ == State::finishing;
  }
  [[nodiscard]] Down why_not_connected(int error) const;
  void go_down(Down down) noexcept;
  void go_bad(DownReason reason, std::string_view what) noexcept;
  // An event of the loop's: without memory for it the link is down.
  template <typename Event>
  void guarded(Event&& event) noexcept {
    guard_memory(event, [this]() noexcept { go_down(out_of_memory()); });
  }

  ShmShared& shared_;
  const LinkOptions& options_;
  Loop& loop_;
  LinkLimits limits_;
  State state_ = State::idle;
  std::string peer_address_;
  std::optional<Url> url_;    // dialed only
  ClosingLine::Place place_;  // of socket_, which may hold what the peer has passed
  FileDescriptor socket_;
  FileDescriptor lifeline_;          // the end that is read
  FileDescriptor lifeline_to_pass_;  // to the peer, who closes it last
  std::optional<SharedMemory> board_;
  std::optional<Watch> watch_;
  std::optional<Down> failure_;       // found in start(), told from the loop
  std::optional<Hello> their_hello_;  // answered; up once they have mapped what is ours
  Timer handshake_timer_;
  std::optional<Wire> wire_;

  void tell_room() noexcept;
  CallingWaiter room_waiter_{[this] { tell_room(); }, StoreWaiter::Lack::share};
  CallingWaiter pool_waiter_{[this] { on_memory_home(); }};
  // Waits, while the loop sleeps, for pages that are given back meanwhile.
  CallingWaiter home_waiter_{[] {}};
  bool polled_ = false;       // the loop has it as a Source
  bool polling_ = false;      // poll() is on the stack, which rings when its work is done
  bool took_lately_ = false;  // pages, since it last slept
  bool reaps_idle_ = false;   // although the peer has nothing of ours
  bool paused_ = false;
  bool starved_ = false;
  bool want_writable_ = false;  // a post was answered again
  bool lacks_memory_ = false;   // for that
  bool room_found_ = false;     // inside a call of the user's; the owner is still to be told
  bool room_to_tell_ = false;   // on_writable, on_sent or on_idle may be owed
  bool was_busy_ = false;       // on_idle is owed
  bool stranger_ = false;  // at the other end there is another user, or one that is not known yet
  bool ended_ = false;     // the peer has ended, or died: what it left is still read
  bool shut_ = false;      // our side of the socket is shut
};

}  // namespace netio::detail
