// A Link over one connected endpoint: connects or was accepted, greets, then moves pages in order.
// How they get to the peer is its engine's. Owner thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <netio/loop.hpp>

#include "base/out_of_memory.hpp"
#include "base/url.hpp"
#include "fabric/endpoint.hpp"
#include "fabric/passive_endpoint.hpp"
#include "transport/inquiry.hpp"
#include "transport/link.hpp"
#include "transport/ofi/address_options.hpp"
#include "transport/ofi/credits.hpp"
#include "transport/ofi/engine.hpp"
#include "transport/ofi/fabric_set.hpp"
#include "transport/ofi/fetches.hpp"
#include "transport/ofi/receives.hpp"
#include "transport/ofi/ring.hpp"
#include "transport/ofi/ring_engine.hpp"
#include "transport/ofi/sends.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

// What the look-up of an address came to: ways to it, in the order to try.
struct Ways {
  std::vector<Info> infos;
  Down failure;
};

class OfiLink final : public Link,
                      private Deferred,
                      private ConnectionOwner,
                      private OfiOperationsOwner {
 public:
  // Connecting: `url` names the peer.
  OfiLink(FabricSet& fabrics, const LinkOptions& options, const Url& url,
          const OfiAddressOptions& address);
  // Accepted: `request` came to `listener`.
  OfiLink(FabricSet& fabrics, const LinkOptions& options, Info request,
          std::shared_ptr<PassiveEndpoint> listener, const OfiAddressOptions& address);
  ~OfiLink() override;

  void start(LinkEvents& events) noexcept override;
  bool hear_greeting() noexcept override;
  [[nodiscard]] Store& receive_store() noexcept override {
    return wire_ && wire_->ring ? wire_->ring->store() : resources_.receive_pages();
  }
  void collect_received() noexcept override {
    if (wire_ && wire_->ring && !wire_->ring->store().waited_for()) wire_->ring->store().collect();
  }
  Status post(Post& post) noexcept override;
  void flush() noexcept override {}  // what is posted is with the wire
  [[nodiscard]] const LinkLimits& limits() const noexcept override { return limits_; }
  [[nodiscard]] bool idle() const noexcept override { return !wire_ || wire_->sends.idle(); }
  [[nodiscard]] bool backed_up() const noexcept override { return wire_ && wire_->sends.unsent(); }
  [[nodiscard]] std::size_t queued_bytes() const noexcept override;
  [[nodiscard]] Holding holding(const StorePart& of) const noexcept override {
    return wire_ ? wire_->sends.holding(of) : Holding();
  }
  void pause(bool paused) noexcept override;
  void assembling(bool under_way) noexcept override { assembling_ = under_way; }
  void finish() noexcept override;
  void cut() noexcept override;
  [[nodiscard]] std::uint64_t bytes_received() const noexcept override;
  [[nodiscard]] std::uint64_t ring_writes() const noexcept override;
  [[nodiscard]] bool mid_page() const noexcept override {
    return wire_ && wire_->fetches.under_way();
  }
  [[nodiscard]] std::uint64_t large_page_begun() const noexcept override {
    return wire_ ? wire_->fetches.bytes_held() : 0;
  }
  [[nodiscard]] std::uint64_t page_progress() const noexcept override {
    return wire_ ? wire_->fetches.bytes_fetched() : 0;
  }
  // While reads are outstanding it is the peer's turn, even if this side waits for memory to read
  // the next message into.
  [[nodiscard]] bool reading() const noexcept override {
    const bool waits = (receive_waiter_.waiting() && wire_ && wire_->engine->is_stopped()) ||
                       large_waiter_.waiting() || hand_up_waiter_.waiting();
    return !paused_ && (!waits || (wire_ && wire_->fetches.reading()));
  }
  [[nodiscard]] std::string peer_address() const override { return peer_address_; }
  [[nodiscard]] std::string variant() const override {
    return wire_ && wire_->ring_engine != nullptr ? "ring" : "";
  }
  [[nodiscard]] std::string variant_reason() const override { return why_no_ring_; }

 private:
  enum class State : std::uint8_t {
    idle,
    resolving,
    connecting,
    greeting,
    refusing,
    up,
    finishing,
    down
  };

  // What exists from the first attempt to connect on; made anew for each. The order is that of
  // making: the endpoint goes first.
  struct Wire {
    Wire(OfiLink& link, Device& device, const Info& info);
    ~Wire() { queue.own_immediates(nullptr); }
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;
    OfiParts parts() noexcept { return {credits, sends, receives, endpoint}; }

    CompletionQueue& queue;
    Sharer of_queue;
    Sharer of_pool;
    Sharer of_quota;
    EventQueue& events;
    Credits credits;
    OfiSends sends;
    OfiReceives receives;
    OfiFetches fetches;
    std::unique_ptr<OfiRing> ring;  // ours, for the peer to write to
    Endpoint endpoint;
    std::unique_ptr<OfiEngine> engine;
    RingEngine* ring_engine = nullptr;  // the engine, if it is one
  };
  // What came and was not handed up: one or more pages in a slot of the receives, or the first
  // among the fetches.
  struct Arrived {
    std::uint32_t slot = 0;
    std::uint32_t begin = 0;  // of the next page in it
    std::uint32_t end = 0;
    bool lent = false;
    bool noticed = false;  // it lies in good_bye_
  };

  // Connecting (link.cpp)
  void begin();
  void connect_next(Down last_failure);
  void open(const Info& info);
  void make_ring(Device& device, const Info& info);
  void on_handshake_late();
  void on_connected() noexcept override;
  void on_shutdown() noexcept override;
  void on_connection_failed(int error) noexcept override;
  // Greeting (handshake.cpp)
  void send_hello(Hello hello);
  void arrive(std::size_t slot, std::size_t bytes);
  void take_hello(std::span<const std::byte> bytes);
  void come_up(const Hello& theirs);
  bool choose_engine(const Hello& theirs);
  // Moving pages (link_datapath.cpp)
  void on_arrival(std::size_t slot, std::size_t bytes) noexcept override;
  void on_immediate(std::uint32_t word) noexcept override;
  void take_word(RingWord word);
  void take_notice(RingWord word);
  void take_written(RingWord word);
  void append(Arrived arrived);
  void take_message(std::size_t slot, std::size_t bytes);
  bool take_header(const PageHeader& header);
  bool take_lent(std::size_t slot, const PageHeader& header);
  void deliver();
  void hand_up(Arrived& arrived);
  void wait_to_hand_up() noexcept;
  void hand_up_fetched();
  void on_progress() noexcept override;
  void on_wire_failure(int error) noexcept override;
  void run_deferred() noexcept override;
  void end_turn();
  [[nodiscard]] std::size_t window() const noexcept;
  void replenish();
  void tell_peer();
  bool tell_now();
  void keep_alive();
  void tell_room();
  void fetch();
  void end_if_over();
  bool taken(long answer) noexcept;
  Status refuse() noexcept;
  // It is the last that is posted: while any waits, it does.
  [[nodiscard]] bool bye_sent() const noexcept { return bye_posted_ && !wire_->sends.unsent(); }
  void send_next() noexcept;
  void posted(const PageHeader& header) noexcept;
  [[nodiscard]] PageHeader header_of(const Post& post) const noexcept;

  // Ends the link from inside the loop: the last event.
  void go_down(Down down) noexcept;
  void go_bad(DownReason reason, std::string_view what) noexcept;
  // An event of the loop's, or of the fabric's: without memory for it the link is down.
  template <typename Event>
  void guarded(Event&& event) noexcept {
    guard_memory(event, [this]() noexcept { go_down(out_of_memory()); });
  }
  [[nodiscard]] Down down_from(int error) const;
  [[nodiscard]] bool moves_pages() const noexcept {
    return state_ == State::up || state_ == State::finishing;
  }

  FabricSet& fabrics_;
  const TransportResources& resources_ = fabrics_.resources();
  const LinkOptions& options_;
  Loop& loop_ = resources_.loop;
  LinkLimits limits_;
  State state_ = State::idle;
  std::string peer_address_;
  std::optional<Url> url_;  // dialed only
  std::optional<Inquiry<Ways>> inquiry_;
  std::vector<Info> ways_;                     // not yet tried, last first
  Info request_;                               // accepted only, until it is started
  std::shared_ptr<PassiveEndpoint> listener_;  // the same
  Timer handshake_timer_{loop_, [this] { guarded([this] { on_handshake_late(); }); }};
  std::unique_ptr<Wire> wire_;

  OfiAddressOptions address_;
  bool window_is_given_;                           // so many are posted, whoever shares the memory
  std::size_t window_;                             // the most receives of the usual engine
  std::size_t depth_;                              // the same, of either engine
  std::size_t busy_window_ = Credits::window_min;  // grows while the peer uses it
  // A ring.
  std::vector<Arrived> arrived_ = std::vector<Arrived>(depth_ + OfiFetches::fetches_max);
  std::array<std::byte, page_header_bytes + wire_align> good_bye_{};  // that came in a notice
  std::unique_ptr<OfiRing> last_ring_;                                // once the link is down
  std::string why_no_ring_;                                           // though it was asked for
  std::size_t arrived_first_ = 0;
  std::size_t arrived_count_ = 0;
  std::uint64_t bytes_received_ = 0;
  std::uint64_t ring_writes_ = 0;  // once the wire is gone
  std::uint64_t highest_acknowledged_ = 0;
  std::uint64_t next_sequence_ = 0;  // of the next page that holds nothing

  CallingWaiter room_waiter_{[this] { run_deferred(); }};     // for a page to copy a post to
  CallingWaiter receive_waiter_{[this] { run_deferred(); }};  // for pages to receive into
  CallingWaiter large_waiter_{[this] { run_deferred(); }};    // for a place to fetch a message to
  CallingWaiter hand_up_waiter_{[this] { run_deferred(); }};  // for the user to give back some
  // The wire takes nothing more, and will not tell when.
  Timer retry_timer_{loop_, [this] { loop_.defer(*this); }};
  Timer keep_alive_timer_{loop_, [this] { keep_alive(); }};
  std::uint64_t kept_alive_at_ = 0;  // bytes received by then
  bool paused_ = false;
  bool assembling_ = false;
  bool delivering_ = false;
  bool want_writable_ = false;   // a post was answered again
  bool was_busy_ = false;        // on_idle is owed
  bool progress_ = false;        // on_sent is owed
  bool bye_posted_ = false;      // nothing is granted behind it
  bool bye_heard_ = false;       // nor by the peer behind its own
  bool refused_ = false;         // our hello carries a refusal
  bool ended_ = false;           // the connection is no more
  bool stopped_ = false;         // the peer has no place left, for want of memory here
  std::optional<Down> refusal_;  // of start(), to be told by the loop
  int failure_ = 0;              // why, if it broke
};

}  // namespace netio::detail
