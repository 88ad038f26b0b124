// The clock and the dice of a schedule.
#include "simulation/world.hpp"

#include <algorithm>
#include <cstdio>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "simulation/sim_transport.hpp"

namespace netio::test {

namespace {

constexpr std::int64_t begin_ns = 1'000'000 * ms;
std::int64_t clock_ns = begin_ns;
std::uint64_t library_random = 0;

}  // namespace

void World::take_over() {
  detail::simulated_clock_ns = &clock_ns;
  detail::simulated_random = &library_random;
}

std::int64_t World::now_ns() noexcept { return clock_ns; }
void World::advance(std::int64_t by_ns) noexcept {
  clock_ns += by_ns;
  note(static_cast<std::uint64_t>(clock_ns));
}

std::uint64_t World::passed_ms() const noexcept {
  return static_cast<std::uint64_t>((clock_ns - begin_ns) / ms);
}

World::World(std::uint64_t seed, const Settings& its_settings, Tally& its_tally)
    : settings(its_settings), tally(its_tally), random(mix(seed ^ 0x31e5U)) {
  clock_ns = begin_ns;
  library_random = mix(seed ^ 0x1bdaU);
  draw_faults();
  draw_usual_traits();
}

World::~World() = default;

// Most schedules have a few kinds of fault, and some have none: then nothing may be lost at all.
void World::draw_faults() {
  const bool any = !random.one_in(6);
  const auto draw = [&](Part part, unsigned& likely, unsigned most) {
    const bool drawn = random.one_in(2);
    const auto how = static_cast<unsigned>(1 + random.below(most));
    if (any && drawn && settings.has(part)) likely = how;
  };
  draw(Part::cuts, faults.cut_hello, 150);
  draw(Part::cuts, faults.cut_page, 500);
  draw(Part::late_ends, faults.told_late, 500);
  draw(Part::silence, faults.silence, 150);
  draw(Part::attempts, faults.attempt_refused, 300);
  draw(Part::attempts, faults.attempt_fails, 200);
  draw(Part::attempts, faults.attempt_hangs, 150);
  draw(Part::late_hellos, faults.hello_late, 200);
  draw(Part::storms, faults.storm, 50);
  draw(Part::parts, faults.split, 500);
  draw(Part::late_hellos, faults.slow_packet, 50);
}

void World::draw_usual_traits() {
  const auto tight = [&](unsigned one_in) {
    const bool drawn = random.one_in(one_in);
    return drawn && settings.has(Part::tight);
  };
  if (tight(2)) usual.queue_posts_max = 1 + random.below(6);
  if (tight(2)) usual.queue_bytes_max = 256U << random.below(7);
  if (tight(2)) usual.page_bytes_max = 256U << random.below(4);
  if (tight(8)) usual.page_bytes_max = 80 + 8 * random.below(16);
  if (tight(3)) usual.lent_page_bytes_max = usual.page_bytes_max << random.below(3);
  if (tight(3)) usual.window_bytes = 64U << random.below(8);
  if (random.one_in(2)) usual.latency_ns = between(0, 3 * ms);
  if (random.one_in(4)) usual.take_ns = between(0, 300 * us);
  const bool slow = random.one_in(2);
  const auto completes = static_cast<Completes>(random.below(4));
  if (slow && settings.has(Part::completions)) usual.completes = completes;
  usual.completion_ns = between(0, random.one_in(4) ? 20 * ms : ms);
  if (random.one_in(2)) usual.pages_per_turn = static_cast<unsigned>(1 + random.below(4));
}

// What differs from wire to wire even between the same two sockets.
Traits World::traits_like_usual() noexcept {
  Traits traits = usual;
  if (chance(200)) traits.latency_ns = between(0, 5 * ms);
  if (settings.has(Part::completions) && chance(200)) {
    traits.completes = static_cast<Completes>(random.below(4));
  }
  if (settings.has(Part::tight) && chance(200)) {
    traits.page_bytes_max = std::max<std::size_t>(80, traits.page_bytes_max / 2) & ~std::size_t{7};
  }
  traits.takes_in_post = chance(400);
  traits.hands_up_parts = settings.has(Part::parts) && chance(500);
  traits.tells_sent = chance(500);
  traits.reads_acknowledgements_ahead = chance(400);
  return traits;
}

Fate World::draw_fate() noexcept {
  Fate fate;
  if (fault(faults.cut_page)) {
    fate.cut_side = static_cast<int>(random.below(2));
    fate.cut_packet = 1 + random.below(random.one_in(3) ? 30 : 5);
    fate.cut_where = static_cast<unsigned>(random.below(1000));
  }
  if (fault(faults.cut_hello)) {
    fate.cut_side = static_cast<int>(random.below(2));
    fate.cut_packet = 0;
    fate.cut_where = static_cast<unsigned>(random.below(1000));
  }
  for (std::uint64_t& silent : fate.silent_packet) {
    if (fault(faults.silence)) silent = random.below(12);
  }
  fate.silence_heals = chance(400);
  fate.tells_unanswered = chance(600);
  return fate;
}

bool World::lies(Lie lie) noexcept { return settings.lie == lie && random.one_in(12); }

void World::begin_calm() {
  calm_ = true;
  say("  the faults end");
  for (const auto& wire : wires_) wire->calm_down();
}

Dial& World::add_dial(Run& by, const std::string& host) {
  auto dial = std::make_unique<Dial>();
  dial->index = static_cast<std::uint32_t>(dials_.size());
  dial->by = &by;
  dial->url = "sim://" + host + ":1?dial=" + std::to_string(dial->index);
  dials_.push_back(std::move(dial));
  return *dials_.back();
}

Wire& World::add_wire(Dial& dial) {
  const auto number = static_cast<std::uint32_t>(wires_.size());
  const Traits traits = traits_like_usual();
  wires_.push_back(std::make_unique<Wire>(*this, number, dial, traits, draw_fate()));
  Wire& wire = *wires_.back();
  wire.answer_ns = now_ns() + traits.latency_ns;
  if (fault(faults.attempt_hangs)) {
    wire.answer = Wire::Answer::nothing;
    wire.answer_ns = never;
    tally.add(Happened::hung);
  } else if (fault(faults.attempt_fails)) {
    wire.answer = chance(500) ? Wire::Answer::unreachable : Wire::Answer::lost;
    tally.add(Happened::failed);
  } else if (fault(faults.attempt_refused)) {
    wire.answer = Wire::Answer::refused;
    tally.add(Happened::refused);
  }
  tally.add(Happened::attempt);
  return wire;
}

Wire* World::find_wire(std::string_view peer_address) noexcept {
  const auto found = std::find_if(wires_.rbegin(), wires_.rend(), [&](const auto& wire) {
    return peer_address == wire->dial.url || peer_address == wire->accepted_address();
  });
  return found != wires_.rend() ? found->get() : nullptr;
}

SimListener* World::find_listener(const std::string& address) noexcept {
  const auto found = std::find_if(
      listeners_.begin(), listeners_.end(),
      [&](const SimListener* listener) { return listener->host_and_port() == address; });
  return found != listeners_.end() ? *found : nullptr;
}

void World::add_listener(SimListener& listener) { listeners_.push_back(&listener); }
void World::remove_listener(SimListener& listener) noexcept { std::erase(listeners_, &listener); }

std::int64_t World::next_ns() const noexcept {
  std::int64_t next = never;
  for (const auto& wire : wires_) next = std::min(next, wire->next_ns());
  return next;
}

void World::fail(const std::string& what) {
  if (failed()) return;
  failure_ = what;
  say("FAILED: ", what);
}

// The times of a trace begin with the schedule.
void World::write_line(const std::string& line) {
  std::printf("%11.3f ms  %s\n", static_cast<double>(clock_ns - begin_ns) / 1e6, line.c_str());
}

}  // namespace netio::test
