// A read-out unit on sockets: the UnitProtocol, the store, and a connection to each builder.
// Fragments of a page that follow each other go as one page. Owner thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <netio/loop.hpp>
#include <netio/readout_unit.hpp>

#include "build/unit_protocol.hpp"
#include "units/build_codec.hpp"
#include "units/build_socket.hpp"
#include "units/page_run.hpp"
#include "units/unit_store.hpp"

namespace netio::detail {

class ReadoutCore final : private UnitOutput, private Deferred {
 public:
  ReadoutCore(Context& context, const ReadoutOptions& options);
  ~ReadoutCore() override;

  void connect(std::uint32_t builder, std::string_view address);
  Status send(EventId event, std::span<const std::byte> fragment, FragmentStatus status) noexcept;
  Status send(EventId event, Message& fragment, FragmentStatus status) noexcept;
  void advance(EventId below) noexcept;
  void flush() noexcept;
  void finish(std::chrono::nanoseconds linger, std::function<void()> then);
  [[nodiscard]] ReadoutBooks books() const noexcept;
  [[nodiscard]] std::size_t builders_connected() const noexcept;
  [[nodiscard]] EventId advanced() const noexcept { return protocol_.advanced(); }

  std::function<void()> on_room_call;
  std::function<void(std::uint32_t, const PeerInfo&)> on_up;
  std::function<void(std::uint32_t, const PeerInfo&, const Down&)> on_down;
  std::function<void(std::uint32_t, std::string_view)> on_refused;

 private:
  struct Builder {
    std::unique_ptr<ReadoutSocket> socket;
    bool up = false;
    bool ending = false;             // it is refused, and nothing more is taken of it
    PageRun run;                     // fragments that wait to be sent together
    std::size_t body_bytes_max = 0;  // of a page to this builder
    std::uint64_t said_run = 0;
    bool run_said = false;
    std::string refused;  // why, to be told
  };

  bool say(std::uint32_t builder, const UnitMessage& message) noexcept override;
  bool send(std::uint32_t builder, const Fragment& fragment,
            std::uint64_t memory) noexcept override;
  void forget(std::uint64_t memory) noexcept override { store_.forget(memory); }
  void refuse(std::uint32_t builder, std::string why) override;
  void on_room() noexcept override;
  void run_deferred() noexcept override;

  [[nodiscard]] bool open_page(std::uint32_t number, std::size_t bytes) noexcept;
  Status without_memory() noexcept;
  Status hold_large(EventId event, std::span<const std::byte> fragment,
                    FragmentStatus status) noexcept;
  [[nodiscard]] bool say_bytes(Builder& builder, const BuildBytes& bytes) noexcept;
  [[nodiscard]] bool say_label(Builder& builder, const Fragment& fragment) noexcept;
  [[nodiscard]] bool send_framed(Builder& builder, const Fragment& fragment, UnitStore::Name name,
                                 const UnitStore::Place& place) noexcept;
  [[nodiscard]] bool send_message(Builder& builder, const Message& message) noexcept;
  [[nodiscard]] bool send_run(Builder& builder) noexcept;
  void came_up(std::uint32_t number, const PeerInfo& peer);
  void went_down(std::uint32_t number, const PeerInfo& peer, const Down& down);
  void take(std::uint32_t number, const Batch& batch) noexcept;
  [[nodiscard]] const char* take(std::uint32_t number, const MessageView& message);
  void writable(std::uint32_t number) noexcept;
  void end_refused(Builder& builder, std::uint32_t number);
  void look_for_end();
  void end();

  Loop& loop_;
  ReadoutOptions options_;
  UnitStore store_;
  std::vector<Builder> builders_;
  UnitProtocol protocol_;
  PlanRange range_;  // of the last event
  std::uint64_t message_bytes_max_;
  bool room_due_ = false;
  bool finishing_ = false;
  std::function<void()> then_;
  std::chrono::nanoseconds until_{0};
  std::size_t sockets_open_ = 0;
  Timer memory_timer_;
  Timer end_timer_;
  bool closing_ = false;
};

}  // namespace netio::detail
