// Which connected peer gets the messages of a tag (Distribute::by_tag). A tag has one of 1,024
// slots, and each slot belongs to the peer with the highest weight there (rendezvous hashing). The
// weights depend on the runs of the peers alone, so all Push sockets with the same peers agree.
// Owner thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/hello.hpp"

namespace netio::detail {

class Peer;

class TagPeers {
 public:
  static constexpr std::size_t slots = 1024;

  struct Member {
    RunId run{};
    std::uint64_t id = 0;  // not 0; no two members have the same
    Peer* peer = nullptr;
  };

  // The slot of a tag, and the weight of a run in a slot. They must never change: Push sockets of
  // different releases may have the same peers.
  [[nodiscard]] static std::size_t slot_of(std::uint64_t tag) noexcept {
    return static_cast<std::size_t>(mixed(tag) % slots);
  }
  [[nodiscard]] static std::uint64_t weight(std::size_t slot, const RunId& run) noexcept;

  [[nodiscard]] bool empty() const noexcept { return members_.empty(); }
  [[nodiscard]] const std::vector<Member>& members() const noexcept { return members_; }
  // Null if nobody is connected.
  [[nodiscard]] Peer* of(std::uint64_t tag) const noexcept { return owners_[slot_of(tag)].peer; }
  // 0 if nobody is connected.
  [[nodiscard]] std::uint64_t id_of(std::uint64_t tag) const noexcept {
    return owners_[slot_of(tag)].id;
  }

  // The newcomer gets the slots in which it has the highest weight; no other slot changes. Throws
  // std::bad_alloc, with nothing changed.
  void join(const Member& newcomer);
  // Its slots go to those who come next; no other slot changes. It is a member.
  void leave(std::uint64_t id) noexcept;

 private:
  struct Owner {
    std::uint64_t weight = 0;
    std::uint64_t id = 0;  // 0: nobody
    Peer* peer = nullptr;
  };

  // splitmix64: every bit of the result depends on every bit of `x`.
  [[nodiscard]] static constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
  }
  static void offer(std::size_t slot, Owner& owner, const Member& member) noexcept;

  std::array<Owner, slots> owners_{};
  std::vector<Member> members_;
};

}  // namespace netio::detail
