// A read-out unit on sockets: the UnitProtocol, the store, and a connection to each builder.
// Fragments of a page that follow each other go as one page. Owner thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <netio/loop.hpp>
#include <netio/readout_unit.hpp>

#include "base/call_back.hpp"
#include "build/either_unit.hpp"
#include "socket/buriable.hpp"
#include "socket/lent_memory.hpp"
#include "socket/outgoing_stream.hpp"
#include "socket/watermarks.hpp"
#include "units/build_codec.hpp"
#include "units/build_socket.hpp"
#include "units/gathered_fragments.hpp"
#include "units/membership.hpp"
#include "units/page_run.hpp"
#include "units/unit_store.hpp"

namespace netio::detail {

class ReadoutCore final : public SocketOwner,
                          private ManagedUnitOutput,
                          private Membership::Owner,
                          private Deferred {
 public:
  // Throws Error for options that make no sense.
  ReadoutCore(Context& context, const ReadoutOptions& options);

  ~ReadoutCore() override;

  void abandon() noexcept override;
  // From here on, every fragment is refused. Those that flow are not looked at, so none flows.
  void freeze() noexcept override {
    finishing_ = true;
    gathered_ = {};
  }
  void end_within(std::chrono::nanoseconds linger) noexcept override;
  [[nodiscard]] bool has_ended() const noexcept override;
  [[nodiscard]] bool ends_first() const noexcept override { return true; }
  [[nodiscard]] ContextCore& context() noexcept { return home_; }
  void connect(std::uint32_t builder, std::string_view address);
  void connect(std::uint32_t builder, const Addresses& addresses);
  void join(std::string_view manager);
  Status send(EventId event, std::span<const std::byte> fragment, FragmentStatus status) noexcept;
  // readout_messages.cpp
  Status send(EventId event, Message& fragment, FragmentStatus status) noexcept;
  Status send_segments(EventId event, std::span<const Segment> segments,
                       FragmentStatus status) noexcept;
  Status lend(EventId event, std::span<const std::byte> fragment, std::uint64_t token,
              FragmentStatus status) noexcept;
  [[nodiscard]] Message allocate(EventId event, std::size_t bytes, Status& status,
                                 std::size_t head_bytes) noexcept;
  void on_released(std::function<void(std::uint64_t)> call) { lent_.on_released(std::move(call)); }
  void advance(EventId below) noexcept;
  void flush() noexcept;
  void finish(std::chrono::nanoseconds linger, std::function<void()> then);
  [[nodiscard]] ReadoutBooks books() noexcept;
  [[nodiscard]] double fill() noexcept;
  [[nodiscard]] std::vector<HeldForBuilder> held_for_builders();
  [[nodiscard]] std::size_t builders_connected() const noexcept;
  [[nodiscard]] EventId advanced() noexcept { return protocol().advanced(); }
  // What was gathered and not added yet lies above it.
  [[nodiscard]] EventId settled() const noexcept { return protocol_.settled(); }
  [[nodiscard]] std::vector<PeerSnapshot> peers() const;
  [[nodiscard]] std::vector<Counters> counters() const;

  // More or less is held, or settled, or there is somebody new to be told of it: see
  // run_deferred().
  void note_change() noexcept;
  // Null if the plan has no manager.
  [[nodiscard]] Membership* membership() noexcept { return membership_.get(); }

  CallBack<void()> on_room_call;
  Watermarks watermarks;
  CallBack<void(EventId)> on_settled_call;
  CallBack<void(EventId)> on_begin;
  CallBack<void(EventId)> on_stop_call;
  CallBack<void(std::uint32_t, const PeerInfo&)> on_up;
  CallBack<void(std::uint32_t, const PeerInfo&, const Down&)> on_down;
  CallBack<void(std::uint32_t, std::string_view)> on_refused;
  CallBack<void()> on_finished;

 private:
  static constexpr std::chrono::nanoseconds never = std::chrono::nanoseconds::max();

  struct Builder {
    std::unique_ptr<ReadoutSocket> socket;
    bool up = false;
    bool introduced = false;         // this unit, on this connection
    bool accepted = false;           // it takes this unit, and on_up was told
    bool ending = false;             // it is refused, and nothing more is taken of it
    PageRun run;                     // fragments that wait to be sent together
    std::size_t body_bytes_max = 0;  // of a page to this builder
    std::uint64_t said_run = 0;
    bool run_said = false;
    std::string refused;       // why, to be told
    std::string refused_told;  // why, as it was told last, and on_down was not called since
    // With a manager, or if there are several:
    Addresses addresses;
    std::size_t address = 0;  // which of them is tried, modulo their count
    std::size_t failed = 0;   // attempts, since this unit was accepted
    std::chrono::nanoseconds redial_at = never;
  };

  ReadoutCore(Context& context, const SocketOptions& options, const UnitSettings& settings);

  bool say(std::uint32_t builder, const UnitMessage& message) noexcept override;
  bool send(std::uint32_t builder, const Fragment& fragment,
            std::uint64_t memory) noexcept override;
  std::size_t send_together(std::uint32_t builder, const Together& together) noexcept override;
  [[nodiscard]] std::uint64_t behind(std::uint64_t memory,
                                     std::uint64_t bytes) const noexcept override {
    return UnitStore::behind(memory, bytes);
  }
  void forget(std::uint64_t memory, std::uint64_t fragments) noexcept override {
    store_.forget(memory, fragments);
  }
  void refuse(std::uint32_t builder, std::string why) override;
  void on_room() noexcept override;
  void run_deferred() noexcept override;
  // readout_managed.cpp: the event manager, and where it says that builders are.
  bool tell_manager(const UnitToManager& message) noexcept override;
  void refuse_manager(std::string why) override;
  void on_welcome(EventId produced) noexcept override;
  void on_stop(EventId at) noexcept override;
  void manager_came() override;
  void manager_went() noexcept override;
  void manager_takes_more() override;
  const char* manager_says(std::span<const std::byte> message) override;
  void manager_closed() noexcept override { ended(); }
  const char* take_addresses(const UnitBuilder& at);
  void tell_of_run() noexcept;
  void tell_of_change() noexcept;
  // readout_dialing.cpp
  [[nodiscard]] Builder& require_unnamed(std::uint32_t builder, std::string_view address);
  [[nodiscard]] bool move_to(std::uint32_t number, const Addresses& addresses);
  void end_refused(std::uint32_t number) noexcept;
  void tell_refused(std::uint32_t number, std::string why) noexcept;
  void dial(std::uint32_t number) noexcept;
  void dial_anew(std::uint32_t number);
  void try_next_address(Builder& builder) noexcept;
  void redial_later(Builder& builder) noexcept;
  void redial_after(Builder& builder, std::chrono::nanoseconds delay) noexcept;
  void redial() noexcept;
  [[nodiscard]] std::unique_ptr<ReadoutSocket> make_socket(std::uint32_t number);

  [[nodiscard]] static OutgoingStream* outgoing_of(const Builder& builder) noexcept;
  [[nodiscard]] Builder& lender(std::uint32_t number) noexcept;
  [[nodiscard]] static Link* link_of(const Builder& builder) noexcept;
  // With all that was gathered. Nothing more is gathered until it says anew what flows.
  [[nodiscard]] EitherUnit& protocol() noexcept {
    send_gathered();
    gathered_.stop();
    return protocol_;
  }
  void send_gathered() noexcept;
  void gather_what_flows() noexcept;
  Status send_alone(EventId event, std::span<const std::byte> fragment,
                    FragmentStatus status) noexcept;
  [[nodiscard]] bool open_page(std::uint32_t number, std::size_t bytes) noexcept;
  Status without_memory() noexcept;
  Status answered(Status answer, std::size_t bytes) noexcept;
  [[nodiscard]] Message allocate_large(Builder& builder, std::size_t bytes, std::uint64_t tag,
                                       std::size_t head_bytes = 0) noexcept;
  Status hold_large(EventId event, std::span<const std::byte> fragment,
                    FragmentStatus status) noexcept;
  [[nodiscard]] bool say_bytes(Builder& builder, const BuildBytes& bytes) noexcept;
  [[nodiscard]] bool say_label(Builder& builder, const Fragment& fragment) noexcept;
  [[nodiscard]] bool send_framed(Builder& builder, const Fragment& fragment, UnitStore::Name name,
                                 const UnitStore::Place& place) noexcept;
  [[nodiscard]] bool continue_run(Builder& builder, const UnitStore::Place& place,
                                  UnitStore::Name name) noexcept;
  [[nodiscard]] bool send_message(Builder& builder, const Message& message) noexcept;
  void refuse_smaller(Builder& builder, std::size_t bytes) noexcept;
  [[nodiscard]] bool send_run(Builder& builder) noexcept;
  void came_up(std::uint32_t number) noexcept;
  void went_down(std::uint32_t number, const PeerInfo& peer, const Down& down);
  void take(std::uint32_t number, const Batch& batch) noexcept;
  [[nodiscard]] const char* take(std::uint32_t number, const MessageView& message);
  void writable(std::uint32_t number) noexcept;
  bool introduce(std::uint32_t number) noexcept;
  void accept(std::uint32_t number);
  void end_soon(std::uint32_t number, const std::string& why);
  void look_for_end();
  void ended();

  Context& context_;
  ContextCore& home_;  // of the context
  Loop& loop_;
  SocketOptions options_;
  LentMemory lent_;
  UnitStore store_;
  std::vector<Builder> builders_;
  EitherUnit protocol_;  // see protocol()
  GatheredFragments gathered_;
  std::unique_ptr<Membership> membership_;  // null if the plan has no manager
  BuildPlan plan_;
  std::uint32_t source_;
  std::size_t framed_bytes_max_;
  std::uint64_t store_bytes_max_;
  bool room_due_ = false;
  EventId settled_told_;              // to on_settled_call
  std::optional<EventId> begin_due_;  // on_begin() is to be called
  std::optional<EventId> stop_due_;   // on_stop()
  bool finishing_ = false;
  bool finished_told_ = false;  // to on_finished
  std::function<void()> then_;
  std::chrono::nanoseconds until_{0};
  Timer memory_timer_;
  Timer end_timer_;
  std::chrono::nanoseconds redial_at_ = never;
  Timer redial_timer_;
  bool closing_ = false;
};

}  // namespace netio::detail
