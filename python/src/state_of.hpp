// The state of a socket of each pattern: what the pattern cannot do answers invalid. Its call-backs
// run in the turns of the loop, without the lock of the interpreter: they only take note.
#pragma once

#include <memory>
#include <utility>

#include "records.hpp"
#include "socket.hpp"

namespace netio::python {

// Events of Publish and Subscribe alone.
void take_note_of_subscribers(SocketState& state, Publish& socket);
void take_note_of_publishers(SocketState& state, Subscribe& socket);

template <class S>
class StateOf : public SocketState {
  static constexpr bool is_publish = std::is_same_v<S, Publish>;
  static constexpr bool sends = std::is_base_of_v<Sending, S> || is_publish;
  static constexpr bool chooses_peer = std::is_base_of_v<Sending, S>;
  static constexpr bool receives = std::is_base_of_v<Receiving, S>;
  static constexpr bool waits_for_room = requires(S & socket) { socket.flush(); };

 public:
  template <class... Options>
  explicit StateOf(ContextState& context, Context& made_in, const Options&... options)
      : SocketState(context), socket_(std::make_unique<S>(made_in, options...)) {
    S& socket = *socket_;
    socket.on_up([this](const PeerInfo& peer) {
      came(peer);
      record([peer] { return nb::make_tuple("up", peer); });
    });
    socket.on_down([this](const PeerInfo& peer, const Down& down) {
      went(peer, down);
      record([peer, down] { return nb::make_tuple("down", peer, down.reason, down.detail); });
    });
    socket.on_closed([this](const Books&) {
      for (const Kind kind : {Kind::closed, Kind::readable, Kind::writable, Kind::event}) {
        happened(kind);
      }
    });
    socket.on_high_watermark([this] { record([] { return nb::make_tuple("watermark", true); }); });
    socket.on_low_watermark([this] { record([] { return nb::make_tuple("watermark", false); }); });
    if constexpr (waits_for_room) socket.on_writable([this] { happened(Kind::writable); });
    if constexpr (sends) {
      socket.on_released([this](std::uint64_t token) {
        released.push_back(token);
        happened(Kind::writable);
      });
    }
    if constexpr (is_publish) take_note_of_subscribers(*this, socket);
    if constexpr (std::is_same_v<S, Subscribe>) take_note_of_publishers(*this, socket);
    if constexpr (receives) {
      inbox.open(socket, [this] { happened(Kind::readable); });
      socket.on_gap([this](const PeerInfo& peer, const Gap& gap) {
        record(
            [peer, gap] { return nb::make_tuple("gap", peer, gap.first, gap.count, gap.reason); });
      });
    }
  }

  [[nodiscard]] Socket* socket() noexcept override { return socket_.get(); }
  [[nodiscard]] S* get() noexcept { return socket_.get(); }
  void end() override {
    if (!socket_) return;
    last_books = socket_->books();
    last_counters = socket_->counters();
    inbox.detach();
    socket_.reset();
    end_loans();
  }
  ~StateOf() override {
    inbox.detach();
    socket_.reset();
  }

  Status send(std::uint64_t peer, std::span<const std::byte> bytes, std::uint64_t tag) override {
    return to(
        peer, [&](auto& socket) { return socket.send_to(peer, bytes, tag); },
        [&](auto& socket) { return socket.send(bytes, tag); });
  }
  Status send(std::uint64_t peer, Message&& message) override {
    return to(
        peer, [&](auto& socket) { return socket.send_to(peer, std::move(message)); },
        [&](auto& socket) { return socket.send(std::move(message)); });
  }
  Status send(KeptBatch&& batch) override {
    if constexpr (sends) return socket_->send(std::move(batch));
    return Status::invalid;
  }
  Status send_segments(std::uint64_t peer, std::span<const Segment> segments,
                       std::uint64_t tag) override {
    return to(
        peer, [&](auto& socket) { return socket.send_segments_to(peer, segments, tag); },
        [&](auto& socket) { return socket.send_segments(segments, tag); });
  }
  ToAll send_to_all(std::span<const std::byte> bytes, std::uint64_t tag) override {
    if constexpr (chooses_peer) return socket_->send_to_all(bytes, tag);
    return {Status::invalid, 0, 0};
  }
  Status lend(std::uint64_t peer, std::span<const std::byte> bytes, std::uint64_t token,
              std::uint64_t tag) override {
    return to(
        peer, [&](auto& socket) { return socket.lend_to(peer, bytes, token, tag); },
        [&](auto& socket) { return socket.lend(bytes, token, tag); });
  }
  Status lend_segments(std::span<const Segment> segments, std::uint64_t token,
                       std::uint64_t tag) override {
    if constexpr (sends) return socket_->lend_segments(segments, token, tag);
    return Status::invalid;
  }
  Status pause_peer(std::uint64_t peer, bool paused) override {
    if constexpr (receives) {
      return paused ? socket_->pause_peer(peer) : socket_->resume_peer(peer);
    }
    return Status::invalid;
  }
  Message allocate(std::size_t bytes, Status& status, std::uint64_t tag) override {
    if constexpr (sends) return socket_->allocate(bytes, status, tag);
    status = Status::invalid;
    return {};
  }
  void flush() override {
    if constexpr (waits_for_room) socket_->flush();
  }

 private:
  // To this peer by `one`; if it is 0, to those whom the pattern chooses, by `any`.
  template <class One, class Any>
  Status to(std::uint64_t peer, One&& one, Any&& any) {
    if constexpr (chooses_peer) {
      if (peer != 0) return one(*socket_);
    }
    if constexpr (sends) {
      if (peer == 0) return any(*socket_);
    }
    return Status::invalid;
  }

  std::unique_ptr<S> socket_;
};

}  // namespace netio::python
