// The steps of a schedule.
#include "simulation/play.hpp"

#include <algorithm>
#include <utility>

#include "simulation/arena.hpp"

namespace netio::test {

namespace {

// What may be out of a schedule's heap at one time: what a few sockets with small pools can need.
constexpr std::size_t heap_bytes_max = std::size_t{48} << 20U;

}  // namespace

Play::Play(std::uint64_t seed, const Settings& settings, Tally& tally,
           std::vector<std::unique_ptr<Machine>>& machines)
    : world_(seed, settings, tally), random_(mix(seed ^ 0x91a7U)), machines_(machines) {}

Play::~Play() {
  kept_.clear();
  runs_.clear();
}

std::string Play::run() {
  cast();
  for (Machine* const machine : in_use_) machine->begin(world_);
  for (Actor& actor : actors_) {
    if (!random_.one_in(10)) make(actor);
  }
  for (std::uint64_t i = random_.one_in(3) ? 0 : random_.below(20); i > 0; --i) {
    turn_all();
    world_.advance(static_cast<std::int64_t>(random_.below(2 * ms)));
  }
  const std::uint64_t drawn = 10 + random_.below(random_.one_in(4) ? 120 : 40);
  const std::uint64_t steps = std::min<std::uint64_t>(drawn, world_.settings.steps_max);
  for (std::uint64_t i = 0; i < steps && !world_.failed(); ++i) {
    step();
    look();
  }
  if (!world_.failed()) look_at_queues();
  if (!world_.failed()) wake_all();
  if (!world_.failed() && settle("the faults had ended")) judge_settled();
  if (!world_.failed()) probe();
  if (!world_.failed()) close_all();
  destroy_all();
  for (Machine* const machine : in_use_) {
    const std::string what = machine->end();
    if (!what.empty()) world_.fail(what);
  }
  if (Arena::bytes_most() > heap_bytes_max) world_.fail("the heap grew beyond its bound");
  world_.tally.add(Happened::time_ms, world_.passed_ms());
  return world_.failure();
}

void Play::make(Actor& actor) {
  const auto number = static_cast<std::uint32_t>(runs_.size() + 1);
  runs_.push_back(std::make_unique<Run>(*this, actor, number));
  runs_.back()->begin();
}

// All that may be looked at whenever no call-back is under way.
void Play::look() {
  for (const auto& run : runs_) run->look();
}

bool Play::turn(Machine& machine) {
  const bool worked = machine.turn();
  world_.note(worked ? 1 : 2);
  return worked;
}

bool Play::turn_all() {
  bool worked = false;
  const std::size_t first = random_.below(in_use_.size());
  for (std::size_t i = 0; i < in_use_.size(); ++i) {
    worked |= turn(*in_use_[(first + i) % in_use_.size()]);
  }
  return worked;
}

void Play::step() {
  world_.tally.add(Happened::step);
  Actor& actor = any_actor();
  if (!chance(life_) || !step_of_life(actor)) step_of_use(actor);
  if (!world_.failed()) step_of_time();
}

// Sockets come and go. False if this one does not now.
bool Play::step_of_life(Actor& actor) {
  const bool restarts = world_.settings.has(Part::restarts);
  const bool closes = world_.settings.has(Part::closes);
  const std::uint64_t draw = random_.below(100);
  if (actor.run == nullptr || actor.run->closed()) {
    if (actor.run != nullptr && restarts) act(*actor.run, Act::destroy);
    if (actor.run == nullptr) make(actor);
    return true;
  }
  if (draw < 35 && restarts) {
    act(*actor.run, Act::destroy);
  } else if (draw < 70 && restarts) {
    act(*actor.run, Act::remake);
  } else if (draw >= 70 && closes) {
    act(*actor.run, Act::close);
  } else {
    return false;
  }
  return true;
}

void Play::step_of_use(Actor& actor) {
  const std::uint64_t draw = random_.below(100);
  if (draw < 8) return release_kept(random_.below(8));
  if (draw < 10) return cut_a_wire();
  Run* const run = actor.run;
  if (run == nullptr) return;
  if (draw < 15) return run->flush();
  if (draw < 35 && run->kind() == Kind::request) return act(*run, Act::cancel);
  if (draw >= 35 && run->kind() == Kind::reply) {
    return act(*run, random_.one_in(3) ? Act::give_up : Act::answer);
  }
  if (draw < 22 && run->kind() == Kind::subscribe) return act(*run, Act::change_set);
  if (draw < 35 && receives(run->kind())) {
    const bool stopped = run->paused() || !run->takes_messages();
    return act(*run, stopped ? Act::resume : random_.one_in(6) ? Act::take_away : Act::pause);
  }
  if (!begins(run->kind())) return;
  const std::uint64_t messages = random_.one_in(4) ? random_.below(20) : 1;
  for (std::uint64_t i = 0; i < messages && actor.run == run; ++i) send_something(*run);
}

void Play::step_of_time() {
  const std::uint64_t turns = random_.below(100);
  if (turns < 45) turn_all();
  if (turns >= 45 && turns < 75) turn(*in_use_[random_.below(in_use_.size())]);
  const std::uint64_t clock = random_.below(100);
  std::int64_t most_ns = 200 * us;
  if (clock >= 60) most_ns = 10 * ms;
  if (clock >= 92) most_ns = 100 * ms;
  if (clock >= 98) most_ns = 3000 * ms;
  world_.advance(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most_ns))));
}

void Play::cut_a_wire() {
  auto& wires = world_.wires();
  if (wires.empty() || !world_.settings.has(Part::cuts) || world_.faults.cut_page == 0) return;
  Wire& wire = *wires[random_.below(wires.size())];
  if (wire.ends[0] != nullptr && wire.ends[1] != nullptr) wire.cut();
}

// What a user does, from outside or in a call-back.
void Play::act(Run& run, Act act) {
  if (!run.alive()) return;
  const Settings& settings = world_.settings;
  switch (act) {
    case Act::destroy:
    case Act::remake: {
      if (!settings.has(Part::restarts)) return;
      Actor& actor = run.actor();
      world_.tally.add(Happened::restart);
      restarted_ = true;
      run.destroy();
      if (act == Act::remake && actor.run == nullptr) make(actor);
      return;
    }
    case Act::destroy_other: {
      Run* const other = any_actor().run;
      if (other != nullptr && other != &run) this->act(*other, Act::destroy);
      return;
    }
    case Act::close:
      if (!settings.has(Part::closes) || run.closed()) return;
      restarted_ = true;
      return run.close(static_cast<std::int64_t>(random_.below(random_.one_in(2) ? 200 * ms : ms)));
    case Act::send:
      for (std::uint64_t i = random_.below(6); i > 0 && run.working(); --i) send_something(run);
      return;
    case Act::pause:
      return pause_something(run);
    case Act::resume:
      run.pause(false);
      run.take_messages(true);
      for (PeerSeen& peer : run.peers()) {
        if (peer.paused && run.alive()) run.pause_peer(peer, false);
      }
      return;
    case Act::release:
      return release_kept(8);
    case Act::change_set:
      if (run.kind() == Kind::subscribe && run.working()) {
        const Atoms removed = random_.one_in(6) ? ~Atoms{0} : random_.next() & random_.next();
        run.change_set(random_.one_in(3) ? 0 : random_.next() & random_.next(), removed);
      }
      return;
    case Act::take_away:
      if (settings.has(Part::pauses)) run.take_messages(false);
      return;
    case Act::cancel:
      return run.cancel_something();
    case Act::answer:
      return run.answer_some(1 + random_.below(6));
    case Act::give_up:
      return run.give_up_some(1 + random_.below(2));
    case Act::count_:
      return;
  }
}

void Play::pause_something(Run& run) {
  if (!receives(run.kind()) || !world_.settings.has(Part::pauses)) return;
  PeerSeen* peer = nullptr;
  if (!run.peers().empty() && run.kind() != Kind::reply)
    peer = &run.peers()[random_.below(run.peers().size())];
  if (peer != nullptr && random_.one_in(2)) {
    run.pause_peer(*peer, !peer->paused);
  } else {
    run.pause(true);
  }
}

// Of every size: none, a few bytes, nearly a page, more than a page.
void Play::send_something(Run& run) {
  if (!begins(run.kind()) || !run.alive()) return;
  const Settings& settings = world_.settings;
  const std::uint64_t draw = random_.below(100);
  std::size_t bytes = 8 + random_.below(57);
  if (draw < 5) bytes = 0;
  if (draw >= 5 && draw < 10) bytes = random_.below(8);
  if (draw >= 50 && draw < 70) bytes = random_.below(page_bytes_ / 4);
  if (draw >= 70 && draw < 85) bytes = page_bytes_ - random_.below(80);
  if (draw >= 85 && settings.has(Part::large))
    bytes = page_bytes_ * 4 * (1 + random_.below(1000)) / 1000;
  if (draw == 99 && settings.has(Part::large)) bytes = message_bytes_max_ + random_.below(2);
  bytes = std::min(bytes, message_bytes_max_ + 1);
  Way way = Way::copied;
  // A request that is passed on would hold memory that its answer needs.
  const std::uint64_t ways = run.kind() == Kind::request ? 4 : 5;
  if (random_.one_in(3) && settings.has(Part::lends)) way = static_cast<Way>(random_.below(ways));
  if (run.kind() == Kind::request) {
    (void)run.ask(way, bytes);
  } else {
    (void)run.send(way, bytes, chance(300));
  }
}

void Play::keep(Kept kept) { kept_.push_back(std::move(kept)); }

Play::Kept Play::take_kept() {
  if (kept_.empty()) return {};
  std::swap(kept_[random_.below(kept_.size())], kept_.back());
  Kept kept = std::move(kept_.back());
  kept_.pop_back();
  return kept;
}

void Play::release_kept(std::size_t most) {
  for (std::size_t i = 0; i < most && !kept_.empty(); ++i) {
    const Kept kept = take_kept();
    if (kept.message.size() == kept.bytes && kept.message.tag() == kept.tag &&
        has_content(kept.message.bytes(), kept.name)) {
      continue;
    }
    world_.fail("a message that was kept is not what it was");
  }
}

Play::Loan& Play::lend(Run& run, Name name, std::size_t bytes, std::uint64_t& token) {
  token = loans_.size();
  loans_.push_back({std::vector<std::byte>(bytes), name, &run, false});
  write_content(loans_.back().bytes, name);
  return loans_.back();
}

// What comes back is written to, so that who reads it still reads nonsense.
void Play::end_loan(std::uint64_t token, Run& run) {
  if (token >= loans_.size() || loans_[token].run != &run || !loans_[token].out) {
    return run.fail("was told of the end of a loan that is not out");
  }
  Loan& loan = loans_[token];
  if (!has_content(loan.bytes, loan.name)) run.fail("has lent memory that was written to");
  std::fill(loan.bytes.begin(), loan.bytes.end(), std::byte{0xdd});
  loan.out = false;
}

void Play::end_loans_of(Run& run) {
  for (Loan& loan : loans_) {
    if (loan.run != &run || !loan.out) continue;
    std::fill(loan.bytes.begin(), loan.bytes.end(), std::byte{0xdd});
    loan.out = false;
  }
}

}  // namespace netio::test
