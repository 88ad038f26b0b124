// A builder unit on a socket: the BuilderProtocol, the pages in which open events lie, and the
// units that are connected. Owner thread only.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <netio/builder_unit.hpp>
#include <netio/loop.hpp>

#include "build/builder_protocol.hpp"
#include "units/build_codec.hpp"
#include "units/build_socket.hpp"
#include "units/event_releases.hpp"
#include "units/fragment_pages.hpp"

namespace netio::detail {

class BuilderCore final : private BuilderOutput, private Deferred {
 public:
  BuilderCore(Context& context, const BuilderOptions& options);
  ~BuilderCore() override;

  std::string bind(std::string_view address) { return socket_.bind(address); }
  void on_event(std::function<void(const Event&)> call);
  void close(std::chrono::nanoseconds linger, std::function<void()> then);
  [[nodiscard]] netio::BuilderBooks books() const;
  [[nodiscard]] Counters counters() const { return socket_.counters(); }
  [[nodiscard]] EventId settled() const noexcept { return protocol_.settled(); }

  // For the event that is being handed over.
  [[nodiscard]] EventFragment fragment(const BuiltEvent& event, std::size_t source) const noexcept;
  [[nodiscard]] KeptEvent keep(const BuiltEvent& event);

  std::function<void(std::uint32_t, const PeerInfo&)> on_up;
  std::function<void(std::uint32_t, const PeerInfo&, const Down&)> on_down;
  std::function<void(const PeerInfo&, std::string_view)> on_refused;

 private:
  static constexpr std::uint32_t no_source = UINT32_MAX;
  // A connection of a peer.
  struct Unit {
    PeerInfo info;
    std::uint32_t source = no_source;              // until it has said hello
    std::uint64_t run = 0;                         // of the fragments that follow
    FragmentStatus status = FragmentStatus::good;  // of the next fragment
    std::uint64_t fragments = 0;
    bool ending = false;  // it is refused, and nothing more is taken of it
    std::string refused;  // why, to be told
  };
  struct Source {
    std::uint64_t peer = 0;  // 0: it is not connected
    std::array<std::uint64_t, static_cast<std::size_t>(Missing::count_)> missing_by{};
  };

  bool say(std::uint32_t source, const BuilderMessage& message) noexcept override;
  bool hand_over(const BuiltEvent& event) noexcept override;
  void drop(std::uint32_t source, EventId event, std::uint64_t memory) noexcept override;
  void refuse(std::uint32_t source, std::string why) override;
  bool may_hand_over(EventId) noexcept override { return on_event_ && !closing_; }
  void run_deferred() noexcept override;

  void take(const Batch& batch) noexcept;
  [[nodiscard]] const char* take_control(std::uint64_t peer, Unit& unit,
                                         std::span<const std::byte> message);
  [[nodiscard]] const char* take_hello(std::uint64_t peer, Unit& unit, const UnitHello& hello);
  void take_fragment(Unit& unit, const MessageCursor::Place& place);
  void came_up(const PeerInfo& peer);
  void went_down(const PeerInfo& peer, const Down& down);
  void refuse(std::uint64_t peer, Unit& unit, std::string why, const char* joint = " ");
  void fail(std::uint64_t peer, Down down) noexcept;
  void look_at_time() noexcept;
  void end();
  void rearm();

  Loop& loop_;
  BuilderOptions options_;
  BuilderSocket socket_;
  FragmentPages pages_;
  BuilderProtocol protocol_;
  std::function<void(const Event&)> on_event_;
  std::unordered_map<std::uint64_t, Unit> units_;  // by peer
  std::vector<Source> sources_;
  std::shared_ptr<EventReleases> releases_;
  std::uint64_t bytes_ = 0;  // that were handed over
  bool keeps_ = false;       // the event that is being handed over is kept
  bool hands_over_ = false;  // an event
  bool ends_ = false;        // close() was called meanwhile
  std::chrono::nanoseconds linger_{0};
  std::function<void()> then_;
  bool closing_ = false;
  Timer timer_;
  std::int64_t armed_ns_ = INT64_MAX;
};

}  // namespace netio::detail
