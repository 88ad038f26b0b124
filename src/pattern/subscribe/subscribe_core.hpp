// The inside of a Subscribe socket: the set of tags, and what each publisher has been told of it.
// Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include <netio/socket.hpp>
#include <netio/subscribe.hpp>

#include "base/call_back.hpp"
#include "base/tag_set.hpp"
#include "socket/distribution.hpp"
#include "wire/control.hpp"

namespace netio::detail {

class SocketCore;

class SubscribeCore final : public Distribution {
 public:
  SubscribeCore(SocketCore& socket, const SubscribeOptions& options);

  // The user's side. Throw Error for a range that makes no sense.
  void add(std::span<const TagRange> ranges);
  void remove(std::span<const TagRange> ranges);
  [[nodiscard]] const TagSet& set() const noexcept { return set_; }
  CallBack<void(const PeerInfo&, const Subscribed&)> on_subscribed;

  // The socket's side.
  void ready(Peer& peer) noexcept override;
  void not_ready(Peer& peer) noexcept override { publishers_.erase(&peer); }
  void connection_ended(Peer& peer, DropReason) noexcept override { publishers_.erase(&peer); }
  void wire_idle(Peer&) noexcept override {}
  const char* take_control(Peer& peer, const Frame& frame) override;
  void lost(Peer& peer, std::uint64_t first, std::uint64_t count) noexcept override;
  void tell_writable() noexcept override {}
  bool end_turn() noexcept override;
  void flush() noexcept override {}
  void stop() noexcept override { stopped_ = true; }
  [[nodiscard]] double fill() const noexcept override { return 0; }
  void freeze() noexcept override { stopped_ = true; }
  void add_to(Counters&) const noexcept override {}

 private:
  // What a publisher was told. The whole set may take many pages: it goes on when there is room.
  struct Publisher {
    std::uint64_t revision = 0;  // of what it has been told, or is being told; 0: nothing
    std::uint64_t first = 0;     // that it was told on this connection
    std::uint64_t version = 0;   // of the set that this is
    std::size_t ranges_told = 0;
    bool complete = true;
    std::deque<std::uint64_t> unanswered = {};  // revisions, complete
    std::uint64_t answered = 0;                 // the last of them that was
    bool goes_on = false;                       // it has kept the set of an earlier connection
    bool refused = false;  // it refused a set, and has an older one: tell it the whole set next
    bool waits = false;    // changes were not told to it, as it has too many to answer
  };
  // If a publisher has so many changes to answer, it is told of no more. Later it is told of all of
  // them as one.
  static constexpr std::size_t unanswered_max = 256;
  void tell_those_who_wait();
  void tell_all();
  void begin(Peer& peer);
  void tell(Peer& peer, Publisher& publisher, const TagSet& removed, const TagSet& added);
  void tell_whole(Peer& peer, Publisher& publisher);
  // False if the link has no room for all of it.
  bool tell_change(Peer& peer, std::span<const TagRange> removed, std::span<const TagRange> added);
  Status post(Peer& peer, std::span<const TagRange> ranges, std::uint64_t revision,
              std::uint16_t flags);
  [[nodiscard]] static std::size_t ranges_per_page(const Peer& peer) noexcept;
  const char* take_answer(Peer& peer, const SubscribedFrame& answer);
  const char* take_gap(Peer& peer, const GapFrame& gap);

  SocketCore& socket_;
  SubscribeOptions options_;
  TagSet set_;
  TagSet announced_;            // the set of version_
  std::uint64_t version_ = 0;   // counts the changes of the set, from 1
  std::uint64_t revision_ = 0;  // the last that a publisher was told
  bool changed_ = false;
  bool answered_ = false;  // by somebody who waits
  bool stopped_ = false;
  std::unordered_map<const Peer*, Publisher> publishers_;
  std::vector<std::byte> frame_;
};

}  // namespace netio::detail
