// The streams of accepted peers that went, in case they come back: found by their id, and forgotten
// in the order in which they went. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>

#include "socket/stream.hpp"

namespace netio::detail {

class StreamRecords {
 public:
  // All are summed up where the books are asked for.
  static constexpr std::size_t most = 8192;

  [[nodiscard]] bool full() const noexcept { return by_id_.size() == most; }
  [[nodiscard]] const StreamRecord* find(const StreamId& stream) const noexcept;
  // Takes it out.
  std::optional<StreamRecord> take(const StreamId& stream) noexcept;
  // The same by the PeerInfo::id. Looks at all.
  std::optional<StreamRecord> take_of_peer(std::uint64_t id) noexcept;
  // There is none of this stream, and it is not full. Throws std::bad_alloc, and has changed
  // nothing, the record included.
  StreamRecord& add(StreamRecord& record);
  // Takes out the oldest one on which nothing was sent, or else the oldest one: so peers that only
  // connect and leave cannot make the socket forget others. It is not empty.
  StreamRecord take_least() noexcept;

  template <typename Call>
  void for_each(Call&& call) const {
    for (const auto* const list : {&unused_, &used_}) {
      for (const StreamRecord& record : *list) call(record);
    }
  }
  // Those on which something was sent, the oldest first.
  [[nodiscard]] std::list<StreamRecord>& used() noexcept { return used_; }

 private:
  using List = std::list<StreamRecord>;
  struct Place {
    List* list;
    List::iterator at;
  };
  using ById = std::map<StreamId, Place>;
  StreamRecord take_out(ById::iterator place) noexcept;

  List unused_;
  List used_;
  ById by_id_;
};

}  // namespace netio::detail
