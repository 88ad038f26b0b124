// See builder_core.hpp. Here: what a builder says of itself, and of runs that are over.
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

double BuilderCore::fill() const noexcept {
  const BuilderProtocol& building = protocol_.building();
  return std::min(1.0, static_cast<double>(building.books().kept_cost) /
                           static_cast<double>(building.settings().keep_bytes_max));
}

void BuilderCore::on_run_end(std::function<void(const RunBooks&)> call) {
  if (protocol_.is_managed()) {
    throw Error("cannot tell of the end of runs",
                "the plan is `managed`, and an event manager gives ranges of a run to whoever is "
                "free: ask the event manager for its books");
  }
  run_books_.missing_by.resize(sources_.size());
  run_begin_.missing_by.resize(sources_.size());
  if (!on_run_end_) {
    count_run();
    run_.reset();
  }
  on_run_end_ = std::move(call);
}

// What is told in a pause, or behind a call that began one, has to wait for its end.
void BuilderCore::runs_closed(EventId below, bool earlier) noexcept {
  if (!on_run_end_) return;
  runs_owed_ = {below, earlier};
  if (paused_) return;
  if (run_ && end_of_run(*run_) <= below) {
    handed_over();
    if (paused_) return;
    end_run(*run_);
    if (paused_) return;
  }
  runs_owed_.reset();
  if (run_ || below != end_of_run(below.run) || (run_told_ && below.run <= *run_told_)) return;
  if (earlier) {
    run_told_ = below.run;
  } else {
    end_run(below.run);
  }
}

bool BuilderCore::takes_more() noexcept {
  if (paused_) return false;
  if (runs_owed_) [[unlikely]] {
    const RunsClosed owed = *std::exchange(runs_owed_, std::nullopt);
    runs_closed(owed.below, owed.earlier);
  }
  return !paused_;
}

void BuilderCore::end_run(std::uint64_t run) noexcept {
  if (closing_) return;
  run_.reset();
  run_told_ = run;
  run_books_.run = run;
  count_run();
  hands_over_ = true;
  tell(on_run_end_, run_books_);
  note_handed_over();
}

void BuilderCore::count_run() noexcept {
  const auto since_begin = [](std::uint64_t now, std::uint64_t& begin) {
    return now - std::exchange(begin, now);
  };
  const auto& all = protocol_.building().books();
  run_books_.complete = since_begin(all.complete, run_begin_.complete);
  run_books_.incomplete = since_begin(all.incomplete, run_begin_.incomplete);
  run_books_.again = since_begin(all.again, run_begin_.again);
  run_books_.bytes = since_begin(bytes_, run_begin_.bytes);
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    for (std::size_t why = 0; why < sources_[source].missing_by.size(); ++why) {
      run_books_.missing_by[source][why] =
          since_begin(sources_[source].missing_by[why], run_begin_.missing_by[source][why]);
    }
  }
}

std::vector<PeerSnapshot> BuilderCore::peers() const {
  std::vector<PeerSnapshot> all(sources_.size());
  for (PeerSnapshot& peer : socket_.peers()) {
    const auto unit = units_.find(peer.id);
    if (unit == units_.end() || unit->second.source == no_source) continue;
    all[unit->second.source] = std::move(peer);
  }
  return all;
}

}  // namespace netio::detail
