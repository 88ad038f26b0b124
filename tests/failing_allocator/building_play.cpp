// A victim that builds events, or reads out: whatever fails, everything is settled in the end.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "failing_allocator/scene.hpp"

namespace netio::test {
namespace {

constexpr std::uint32_t units_count = 2;
constexpr std::uint64_t events = 120;

BuildPlan plan(bool managed = false) { return {units_count, 1, 16, managed}; }

std::unique_ptr<ReadoutUnit> make_unit(Context& context, std::uint32_t source,
                                       bool managed = false) {
  ReadoutOptions options;
  options.plan = plan(managed);
  options.source = source;
  options.socket = hasty();
  return std::make_unique<ReadoutUnit>(context, options);
}
std::unique_ptr<BuilderUnit> make_builder(Context& context, bool managed = false) {
  BuilderOptions options;
  options.plan = plan(managed);
  options.deadline = 5s;
  options.socket = hasty();
  try {
    return std::make_unique<BuilderUnit>(context, options);
  } catch (const Error& error) {
    give_up(error.what());
  }
}

const std::string& fragment_of(std::uint64_t number) {
  return number % 20 == 3 ? large_message : small_message;
}
// A few at a time. The number of the next event that was not taken.
std::uint64_t send_from(ReadoutUnit& unit, std::uint64_t number) {
  const std::uint64_t end = std::min(number + 40, events);
  for (; number < end; ++number) {
    const auto bytes = std::as_bytes(std::span(fragment_of(number)));
    if (unit.send({1, number}, bytes) != Status::ok) break;
  }
  return number;
}

// A manager and what else is needed, in the context that has all memory.
class Management {
 public:
  explicit Management(Scene& scene) : scene_(scene) {
    ManagerOptions options;
    options.plan = plan(true);
    options.lease = 50ms;
    options.wait = 5s;
    options.socket = hasty();
    manager_ = std::make_unique<EventManager>(scene.other, options);
    address = manager_->bind(scene.address);
  }

  // A builder that is good, in place of the one before.
  void build() {
    builder_.reset();
    builder_ = make_builder(scene_.other, true);
    builder_->on_event([](const Event&) {});
    builder_->bind(scene_.address);
    builder_->join(address);
  }
  // All events of this unit, as far as there is room, and then its end.
  static void send(ReadoutUnit& unit, std::uint64_t& sent) {
    sent = send_from(unit, sent);
    if (sent == events) unit.advance({1, events});
  }
  [[nodiscard]] bool stops() {
    if (!std::exchange(stopping_, true)) {
      manager_->stop({1, events}, [this] { stopped_ = true; });
    }
    return stopped_;
  }

  std::string address;

 private:
  Scene& scene_;
  std::unique_ptr<EventManager> manager_;
  std::unique_ptr<BuilderUnit> builder_;
  bool stopping_ = false;
  bool stopped_ = false;
};

}  // namespace

void build(Scene& scene) {
  std::unique_ptr<BuilderUnit> builder;
  if (!scene.call([&] { builder = make_builder(scene.victim); })) return;
  std::uint64_t came = 0;
  std::vector<KeptEvent> kept;
  kept.reserve(events);
  builder->on_event([&](const Event& event) {
    ++came;
    if (event.id().number % 5 != 0) return;
    try {
      KeptEvent one = event.keep();
      const Armed armed(false);
      kept.push_back(std::move(one));
    } catch (const std::bad_alloc&) {  // it is not kept
    }
  });
  std::string address;
  if (!scene.call([&] { address = builder->bind(scene.address); })) return;
  std::array<std::unique_ptr<ReadoutUnit>, units_count> all;
  for (std::uint32_t source = 0; source < units_count; ++source) {
    all[source] = make_unit(scene.other, source);
    all[source]->connect(0, address);
    all[source]->advance({1, 0});
  }
  {
    // One of another plan, which is turned away.
    ReadoutOptions other;
    other.plan = {5, 1, 16};
    ReadoutUnit stranger(scene.other, other);
    stranger.connect(0, address);
    stranger.advance({1, 0});
    scene.turns(30);
  }
  std::array<std::uint64_t, units_count> sent{};
  const auto all_settled = [&] {
    bool done = true;
    for (std::uint32_t source = 0; source < units_count; ++source) {
      sent[source] = send_from(*all[source], sent[source]);
      if (sent[source] == events) all[source]->advance(end_of_run(1));
      done = done && sent[source] == events && all[source]->books().held == 0;
    }
    if (came % 40 == 39) kept.clear();
    return done;
  };
  scene.until(all_settled, patience);
  scene.relent();
  scene.must(all_settled, "everything is settled");
  kept.clear();
  scene.must([&] { return builder->books().kept_bytes == 0; }, "what was kept is released");
  const BuilderBooks books = builder->books();
  if (books.open != 0 || books.open_bytes != 0) give_up("the builder holds memory of no event");
  if (books.complete + books.incomplete != came) give_up("the books do not add up");
}

void read_out(Scene& scene) {
  std::unique_ptr<BuilderUnit> builder = make_builder(scene.other);
  std::uint64_t came = 0;
  builder->on_event([&](const Event&) { ++came; });
  const std::string address = builder->bind(scene.address);
  std::unique_ptr<ReadoutUnit> good = make_unit(scene.other, 0);
  good->connect(0, address);
  std::unique_ptr<ReadoutUnit> unit;
  if (!scene.call([&] { unit = make_unit(scene.victim, 1); })) return;
  bool waits = false;
  unit->on_room([&] { waits = false; });
  if (!scene.call([&] { unit->connect(0, address); })) return;
  std::uint64_t sent = 0;
  std::uint64_t good_sent = 0;
  const auto all_settled = [&] {
    good_sent = send_from(*good, good_sent);
    if (good_sent == events) good->advance(end_of_run(1));
    if (!waits && sent < events) {
      const Armed armed;
      const auto bytes = std::as_bytes(std::span(fragment_of(sent)));
      waits = unit->send({1, sent}, bytes) != Status::ok;
      if (!waits) ++sent;
    }
    if (sent == events) unit->advance(end_of_run(1));
    return sent == events && good_sent == events && unit->books().held + good->books().held == 0;
  };
  scene.until(all_settled, patience);
  scene.relent();
  scene.must(all_settled, "everything is settled");
  const ReadoutBooks books = unit->books();
  if (books.sent != books.settled + books.dropped + books.late + books.held) {
    give_up("the books do not add up");
  }
}

void build_managed(Scene& scene) {
  Management management(scene);
  std::unique_ptr<BuilderUnit> builder;
  if (!scene.call([&] { builder = make_builder(scene.victim, true); })) return;
  builder->on_event([](const Event&) {});
  if (!scene.call([&] { builder->bind(scene.address); })) return;
  if (!scene.call([&] { builder->join(management.address); })) return;
  std::array<std::unique_ptr<ReadoutUnit>, units_count> all;
  for (std::uint32_t source = 0; source < units_count; ++source) {
    all[source] = make_unit(scene.other, source, true);
    all[source]->join(management.address);
    all[source]->advance({1, 0});
  }
  std::array<std::uint64_t, units_count> sent{};
  const auto all_settled = [&] {
    for (std::uint32_t source = 0; source < units_count; ++source) {
      Management::send(*all[source], sent[source]);
    }
    return management.stops();
  };
  scene.until(all_settled, patience);
  scene.relent();
  scene.must(all_settled, "everything is settled");
  const auto held = [&] { return all[0]->books().held + all[1]->books().held; };
  scene.must([&] { return held() == 0; }, "nothing is held");
}

// The builder has another address in the middle of it.
void read_out_managed(Scene& scene) {
  Management management(scene);
  management.build();
  std::unique_ptr<ReadoutUnit> good = make_unit(scene.other, 0, true);
  good->join(management.address);
  good->advance({1, 0});
  std::unique_ptr<ReadoutUnit> unit;
  if (!scene.call([&] { unit = make_unit(scene.victim, 1, true); })) return;
  bool waits = false;
  unit->on_room([&] { waits = false; });
  if (!scene.call([&] { unit->join(management.address); })) return;
  unit->advance({1, 0});
  std::uint64_t sent = 0;
  std::uint64_t good_sent = 0;
  bool moved = false;
  const auto all_settled = [&] {
    Management::send(*good, good_sent);
    if (!waits && sent < events) {
      const Armed armed;
      const auto bytes = std::as_bytes(std::span(fragment_of(sent)));
      waits = unit->send({1, sent}, bytes) != Status::ok;
      if (!waits) ++sent;
    }
    if (sent == events) unit->advance({1, events});
    if (sent == events / 2 && !std::exchange(moved, true)) management.build();
    return sent == events && good_sent == events && management.stops();
  };
  scene.until(all_settled, patience);
  scene.relent();
  scene.must(all_settled, "everything is settled");
  const ReadoutBooks books = unit->books();
  if (books.sent != books.settled + books.dropped + books.late + books.held) {
    give_up("the books do not add up");
  }
}

}  // namespace netio::test
