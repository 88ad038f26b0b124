// See builder_core.hpp. Here: what a builder says of itself.
#include <algorithm>
#include <utility>

#include "units/builder_core.hpp"

namespace netio::detail {

netio::BuilderBooks BuilderCore::books() const {
  const BuilderProtocol& building = protocol_.building();
  const auto& all = building.books();
  netio::BuilderBooks books;
  books.complete = all.complete;
  books.incomplete = all.incomplete;
  books.again = all.again;
  books.open = building.open_events();
  books.bytes = bytes_;
  books.open_bytes = all.held_cost;
  books.open_bytes_max = all.held_cost_max;
  books.kept_bytes = all.kept_cost;
  books.kept_bytes_max = all.kept_cost_max;
  for (std::uint32_t number = 0; number < sources_.size(); ++number) {
    const SourceBooks& of = building.books(number);
    books.sources.push_back({of.received, of.built, of.incomplete, of.late,
                             of.received - of.built - of.incomplete - of.late,
                             sources_[number].peer != 0, building.is_busy(number),
                             sources_[number].missing_by});
  }
  return books;
}

std::vector<PeerSnapshot> BuilderCore::peers() const {
  std::vector<PeerSnapshot> all(sources_.size());
  for (PeerSnapshot& peer : socket_.peers()) {
    const auto of = std::ranges::find(sources_, peer.id, &Source::peer);
    if (of != sources_.end())
      all[static_cast<std::size_t>(of - sources_.begin())] = std::move(peer);
  }
  return all;
}

}  // namespace netio::detail
