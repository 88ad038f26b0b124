// The read-out's side of the books: which role each subscriber has, and what became of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <netio/netio.hpp>

#include "roles.hpp"

namespace demo {

struct Subscription {
  bool came = false;
  bool ended = false;     // and then:
  bool in_order = false;  // it lived until the end
  netio::Books books;     // the last
  std::uint64_t peer_id = 0;
};

class Subscriptions {
 public:
  // A socket's call-backs.
  void add(const netio::PeerInfo& peer, std::span<const netio::TagRange> ranges) noexcept {
    for (std::size_t i = 0; i < list_.size(); ++i) {
      const netio::TagRange name{name_tag(i), name_tag(i)};
      for (const netio::TagRange& range : ranges) {
        if (range != name) continue;
        list_[i].came = true;
        list_[i].peer_id = peer.id;
      }
    }
  }
  void end(const netio::PeerInfo& peer, const netio::Down& down) noexcept {
    for (Subscription& one : list_) {
      if (!one.came || one.ended || one.peer_id != peer.id) continue;
      one.ended = true;
      one.in_order = down.reason == netio::DownReason::closed_here;
      one.books = peer.books;
    }
  }

  [[nodiscard]] const Subscription& of(std::size_t role) const noexcept { return list_[role]; }
  // Those that are there before the card starts.
  [[nodiscard]] bool complete() const noexcept {
    for (std::size_t i = 0; i < first_subscriber_count; ++i) {
      if (!list_[i].came) return false;
    }
    return true;
  }

 private:
  std::array<Subscription, roles.size()> list_;
};

}  // namespace demo
