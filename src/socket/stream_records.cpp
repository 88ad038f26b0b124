// See stream_records.hpp.
#include "socket/stream_records.hpp"

#include <utility>

namespace netio::detail {

const StreamRecord* StreamRecords::find(const StreamId& stream) const noexcept {
  const auto found = by_id_.find(stream);
  return found != by_id_.end() ? &*found->second.at : nullptr;
}

std::optional<StreamRecord> StreamRecords::take(const StreamId& stream) noexcept {
  const auto found = by_id_.find(stream);
  if (found == by_id_.end()) return std::nullopt;
  return take_out(found);
}

std::optional<StreamRecord> StreamRecords::take_of_peer(std::uint64_t id) noexcept {
  for (const List* const list : {&unused_, &used_}) {
    for (const StreamRecord& record : *list) {
      if (record.peer_id == id) return take(record.identity.id);
    }
  }
  return std::nullopt;
}

StreamRecord StreamRecords::take_out(ById::iterator place) noexcept {
  const auto [list, at] = place->second;
  StreamRecord record = std::move(*at);
  list->erase(at);
  by_id_.erase(place);
  return record;
}

StreamRecord& StreamRecords::add(StreamRecord& record) {
  Books books;
  record.add_to(books);
  const bool unused = books.sent + books.delivered + books.missed == 0;
  List& list = unused ? unused_ : used_;
  List one(1);
  by_id_.emplace(record.identity.id, Place{&list, one.begin()});
  one.front() = std::move(record);
  list.splice(list.end(), one);
  return list.back();
}

StreamRecord StreamRecords::take_least() noexcept {
  const List& list = unused_.empty() ? used_ : unused_;
  return take_out(by_id_.find(list.front().identity.id));
}

}  // namespace netio::detail
