// An event manager on a socket: the ManagerProtocol, and the units and builders that are connected.
// It also keeps at which addresses units reach the builders, which the protocol does not know.
// Owner thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <netio/event_manager.hpp>
#include <netio/loop.hpp>

#include "base/call_back.hpp"
#include "base/out_of_memory.hpp"
#include "build/manager_protocol.hpp"
#include "socket/buriable.hpp"
#include "units/build_socket.hpp"
#include "units/manager_codec.hpp"

namespace netio::detail {

class ManagerCore final : public SocketOwner, private ManagerOutput, private Deferred {
 public:
  ManagerCore(Context& context, const ManagerOptions& options);
  ~ManagerCore() override;

  void abandon() noexcept override;
  void end_within(std::chrono::nanoseconds linger) noexcept override;
  [[nodiscard]] bool has_ended() const noexcept override;
  [[nodiscard]] ContextCore& context() noexcept { return socket_.context(); }
  std::string bind(std::string_view address) { return socket_.bind(address); }
  void stop(EventId at, std::function<void()> then);
  void close(std::chrono::nanoseconds linger, std::function<void()> then);
  [[nodiscard]] netio::ManagerBooks books() const;
  [[nodiscard]] Counters counters() const { return socket_.counters(); }

  CallBack<void(std::uint32_t, const PeerInfo&)> on_unit_up;
  CallBack<void(std::uint32_t, const PeerInfo&)> on_builder_up;
  CallBack<void(std::uint32_t, const PeerInfo&, const Down&)> on_unit_down;
  CallBack<void(std::uint32_t, const PeerInfo&, const Down&)> on_builder_down;
  CallBack<void(const PeerInfo&, std::string_view)> on_refused;
  CallBack<void(std::uint64_t)> on_superseded_call;
  CallBack<void(std::string_view)> on_failed;

 private:
  enum class Kind : std::uint8_t { none, unit, builder };
  enum class End : std::uint8_t { none, superseded, failed };
  // A connection of a peer.
  struct Member {
    PeerInfo info;
    Kind kind = Kind::none;  // until it has said hello
    std::uint32_t number = 0;
    std::uint64_t told = 0;  // a unit was told all addresses up to this change
    bool ending = false;     // it is refused, and nothing more is taken of it
    std::string refused;     // why, to be told
  };
  struct Place {
    Addresses addresses;
    std::uint64_t change = 0;  // the number of the change that made them; 0: they are not known
  };

  bool say_to_unit(std::uint32_t source, const ManagerToUnit& message) noexcept override;
  bool say_to_builder(std::uint32_t builder, const ManagerToBuilder& message) noexcept override;
  void refuse_unit(std::uint32_t source, std::string why) override;
  void refuse_builder(std::uint32_t builder, std::string why) override;
  void on_superseded(std::uint64_t term) noexcept override;
  void on_stopped(EventId at) noexcept override;
  std::int64_t clock_ns() noexcept override;
  void run_deferred() noexcept override;

  void came_up(const PeerInfo& peer);
  void went_down(const PeerInfo& peer, const Down& down);
  void take(const Batch& batch) noexcept;
  [[nodiscard]] const char* take(std::uint64_t peer, Member& member, const SaidToManager& said);
  [[nodiscard]] const char* take_hello(std::uint64_t peer, Member& member, const UnitJoins& hello);
  [[nodiscard]] const char* take_hello(std::uint64_t peer, Member& member,
                                       const BuilderJoins& hello);
  template <typename Connect>
  [[nodiscard]] const char* join(std::uint64_t peer, Member& member, Kind kind,
                                 std::uint32_t number, Connect&& connect);
  [[nodiscard]] const char* take_addresses(Member& member, const BuilderAt& at);
  void tell_addresses(std::uint64_t peer, Member& unit) noexcept;
  void tell_addresses() noexcept;
  template <typename Message>
  [[nodiscard]] bool say(std::uint64_t peer, const Message& message) noexcept;
  void refuse(std::uint64_t peer, std::string_view why, const char* joint = " ") noexcept;
  void fail(std::uint64_t peer, Down down) noexcept;
  // A call of the protocol. If it needs memory and has none, the manager is at its end, because the
  // call may have done a part of its work. False then.
  template <typename Work>
  [[nodiscard]] bool done(Work&& work) noexcept {
    if (end_ != End::none) return false;
    guard_memory(work, [this]() noexcept {
      end_ = End::failed;
      loop_.defer(*this);
    });
    return end_ == End::none;
  }
  void writable() noexcept;
  void look_at_time() noexcept;
  void rearm();
  void end_refused() noexcept;
  void end_all() noexcept;
  [[nodiscard]] std::string_view end_text() const noexcept;
  void ended();

  Loop& loop_;
  ManagerSettings settings_;
  ManagerSocket socket_;
  ManagerProtocol protocol_;
  std::vector<std::uint64_t> unit_peers_;              // by source; 0: it is not connected
  std::vector<std::uint64_t> builder_peers_;           // by builder
  std::unordered_map<std::uint64_t, Member> members_;  // by peer
  std::vector<Place> places_;                          // by builder
  std::map<std::uint64_t, std::uint32_t> changes_;     // the last change of each builder's place
  std::uint64_t last_change_ = 0;
  ManagerBytes bytes_;
  End end_ = End::none;
  bool end_told_ = false;
  std::uint64_t newer_term_ = 0;
  bool stopped_ = false;
  std::function<void()> stopped_call_;
  bool closing_ = false;
  std::chrono::nanoseconds until_{0};  // on the loop's clock, once it is closing
  std::function<void()> closed_call_;
  Timer timer_;
};

}  // namespace netio::detail
