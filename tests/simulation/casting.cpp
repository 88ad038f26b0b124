// Who plays: patterns, numbers of ends, who binds and who dials, options and tempers.
#include <algorithm>
#include <chrono>
#include <utility>

#include "simulation/play.hpp"

namespace netio::test {

namespace {

std::chrono::nanoseconds up_to(Random& random, std::int64_t least_ns, std::int64_t most_ns) {
  return std::chrono::nanoseconds(
      least_ns +
      static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most_ns - least_ns) + 1)));
}

}  // namespace

void Play::cast() {
  const Settings& settings = world_.settings;
  page_bytes_ = std::min<std::size_t>(world_.usual.page_bytes_max, 4096);
  static constexpr std::size_t message_sizes[] = {6'000, 20'000, 60'000};
  message_bytes_max_ = message_sizes[random_.below(3)];
  scratch_.resize(std::size_t{64} << 10U);
  const std::uint64_t pattern = random_.below(100);
  const bool asks = random_.one_in(3) && settings.has(Part::requests);
  const auto crowd = [&] { return settings.has(Part::crowds) ? 1 + random_.below(3) : 1; };
  const std::size_t lefts = crowd();
  const std::size_t rights = crowd();
  if (asks) {
    world_.tally.add(Happened::request_reply);
    cast_actors(Kind::request, Kind::reply, lefts, rights);
    cast_edges(lefts);
  } else if (pattern < 20 && settings.has(Part::pairs)) {
    world_.tally.add(Happened::pair);
    const bool busy = random_.one_in(8) && settings.has(Part::crowds);
    cast_actors(Kind::pair, Kind::pair, 1, busy ? 2 : 1);
    cast_edges(1);
  } else if (pattern < 60 || !settings.has(Part::publishing)) {
    world_.tally.add(Happened::push_pull);
    cast_actors(Kind::push, Kind::pull, lefts, rights);
    cast_edges(lefts);
  } else {
    world_.tally.add(Happened::publish);
    cast_actors(Kind::publish, Kind::subscribe, lefts, rights);
    cast_edges(lefts);
  }
  life_ = static_cast<std::uint32_t>(random_.one_in(3) ? 0 : 10 + random_.below(100));
}

// A context that sends large messages to itself can lock up: what it sends takes the memory that it
// would need to receive. So senders and receivers are apart, or have memory enough. Those who ask
// and those who answer send both, and a Reply does not read on while its answers find no page: they
// have memory enough, and are apart.
void Play::cast_actors(Kind left, Kind right, std::size_t lefts, std::size_t rights) {
  const bool asks = asks_or_answers(left);
  const bool apart = left != right && random_.one_in(2) && !asks;
  const std::size_t all = machines_.size();
  const std::size_t roomy = all - roomy_machines;
  const std::size_t spread = random_.below(3);
  for (std::size_t i = 0; i < lefts + rights; ++i) {
    Actor& actor = actors_.emplace_back();
    actor.index = static_cast<std::uint32_t>(i);
    actor.kind = i < lefts ? left : right;
    actor.host =
        std::string(1, static_cast<char>((i < lefts ? 'a' : 'x') + (i < lefts ? i : i - lefts)));
    std::size_t place = roomy + random_.below(std::min(spread + 1, roomy_machines));
    if (asks)
      place = i < lefts ? roomy
                        : roomy + 1 +
                              random_.below(std::min<std::size_t>(spread + 1, roomy_machines - 1));
    if (apart && i < lefts) place = 0;
    if (apart && i >= lefts) place = 1 + random_.below(spread + 1);
    actor.machine = machines_[place].get();
    if (std::find(in_use_.begin(), in_use_.end(), actor.machine) == in_use_.end()) {
      in_use_.push_back(actor.machine);
    }
    draw_options(actor);
    draw_temper(actor);
    if (actor.kind == Kind::publish) draw_publishing(actor);
    if (actor.kind == Kind::subscribe) draw_subscription(actor);
    if (asks_or_answers(actor.kind)) draw_requests(actor);
    describe(actor);
  }
}

// For the trace.
void Play::describe(const Actor& actor) {
  const SocketOptions& options = actor.options;
  std::string kind = "publisher";
  if (actor.kind == Kind::push) kind = "push";
  if (actor.kind == Kind::pull) kind = "pull";
  if (actor.kind == Kind::pair) kind = "pair";
  if (actor.kind == Kind::request) {
    kind = "request, " + text(actor.asking.pending_max) + " under way at most";
  }
  if (actor.kind == Kind::reply) {
    kind = "reply, " + text(actor.replying.open_max) + " open at most";
  }
  if (actor.kind == Kind::subscribe) {
    kind = "subscriber, policy " + std::string(to_string(actor.subscription.policy)) +
           ", behind by " + text(actor.subscription.behind_bytes_max) + " bytes at most";
  }
  world_.say(actor.host, " is a ", kind, ", ",
             options.mode == Mode::buffered ? "buffered" : "unbuffered", ", pages of ",
             actor.machine->page_bytes(), ", on machine ", actor.machine->place());
}

// One side dials all, or each edge has a direction of its own.
void Play::cast_edges(std::size_t lefts) {
  const std::uint64_t style = random_.below(3);
  const bool twins = random_.one_in(6);
  for (std::size_t l = 0; l < lefts; ++l) {
    for (std::size_t r = lefts; r < actors_.size(); ++r) {
      Actor& left = actors_[l];
      Actor& right = actors_[r];
      if (r > lefts && random_.one_in(10)) continue;
      left.first_receiver = std::min(left.first_receiver, right.machine->place());
      right.first_receiver = std::min(right.first_receiver, left.machine->place());
      bool left_dials = style == 0;
      if (style == 2) left_dials = random_.one_in(2);
      // A Pair takes the first that comes: only those that dial it can try again.
      if (left.kind == Kind::pair && actors_.size() > 2) left_dials = false;
      Actor& dialing = left_dials ? left : right;
      Actor& binding = left_dials ? right : left;
      binding.binds = true;
      dialing.dials.push_back(&binding);
      if (!twins || left.kind == Kind::pair || !world_.settings.has(Part::twins)) continue;
      if (random_.one_in(3)) dialing.dials.push_back(&binding);
      if (random_.one_in(3)) {
        dialing.binds = true;
        binding.dials.push_back(&dialing);
      }
    }
  }
}

void Play::draw_options(Actor& actor) {
  SocketOptions& options = actor.options;
  options.mode = random_.one_in(2) ? Mode::buffered : Mode::unbuffered;
  options.flush_after = up_to(random_, 0, random_.one_in(2) ? 5 * ms : 200 * us);
  options.flush_when_idle = !random_.one_in(4);
  options.message_bytes_max = message_bytes_max_;
  if (world_.settings.has(Part::tight)) {
    if (random_.one_in(2)) options.send_bytes_max = 256U << random_.below(9);
    if (random_.one_in(2)) {
      options.receive_bytes_max = actor.machine->page_bytes() * 4 * (1 + random_.below(4));
    }
  }
  options.high_watermark = 0.1 + 0.1 * static_cast<double>(random_.below(10));
  options.low_watermark = options.high_watermark / 2;
  options.reconnect_after_min = up_to(random_, 100 * us, 5 * ms);
  options.reconnect_after_max = options.reconnect_after_min + up_to(random_, 0, 40 * ms);
  options.handshake_within = up_to(random_, 10 * ms, 100 * ms);
  if (random_.one_in(6)) options.half_open_max = 1 + random_.below(2);
  options.stall_after = up_to(random_, 40 * ms, random_.one_in(2) ? 1000 * ms : 100 * ms);
  // Where one small page comes in a round trip, a large message needs as long for 1/64 of it.
  if (world_.usual.window_bytes < 1024) options.stall_after *= 10;
  options.keep_alive_after = std::chrono::seconds(1);
  if (random_.one_in(2) && world_.settings.has(Part::resumes)) {
    options.resume_bytes_max = 1 + random_.below(std::uint64_t{1} << (6 + random_.below(14)));
    options.resume_within = up_to(random_, 5 * ms, random_.one_in(4) ? 500 * ms : 20'000 * ms);
  }
  options.replace_silent_after = {};
  if (random_.one_in(3) && world_.settings.has(Part::heartbeats)) {
    options.heartbeat_after = up_to(random_, 50 * ms, 400 * ms);
    options.replace_silent_after = 2 * options.heartbeat_after;
  }
  options.acknowledge_after = up_to(random_, 50 * us, random_.one_in(3) ? 20 * ms : 2 * ms);
  if (random_.one_in(3)) options.acknowledge = Acknowledge::released;
}

void Play::draw_publishing(Actor& actor) {
  PublishOptions& options = actor.publishing;
  options.block_allowed = !random_.one_in(6);
  if (random_.one_in(2)) options.block_for_max = up_to(random_, 0, 100 * ms);
  if (random_.one_in(4)) options.behind_bytes_max = random_.below(20'000);
  if (random_.one_in(4)) options.behind_bytes_all_max = 1 + random_.below(40'000);
  // A change names at most 64 ranges; a publisher ends who names more than four times what it
  // takes.
  if (random_.one_in(6)) options.ranges_max = 16 + random_.below(12);
  if (random_.one_in(6)) options.ranges_all_max = 1 + random_.below(64);
  if (options.block_allowed && random_.one_in(8)) options.subscribers_min = 1;
}

void Play::draw_subscription(Actor& actor) {
  SubscribeOptions& options = actor.subscription;
  options.policy = static_cast<Policy>(random_.below(5));
  if (!random_.one_in(3)) options.behind_bytes_max = random_.below(20'000);
  if (random_.one_in(2)) options.behind_for_max = std::chrono::milliseconds(random_.below(50));
  const Atoms some = random_.next() & random_.next();
  static_assert(sizeof(Atoms) == sizeof(std::uint64_t));
  switch (random_.below(4)) {
    case 0:
      actor.first_set = ~Atoms{0};
      break;
    case 1:
      actor.first_set = 0x5555'5555'5555'5555U;  // all plain tags: 32 ranges
      break;
    case 2:
      actor.first_set = some;
      break;
    default:
      actor.first_set = some | 0xffffU;
      break;
  }
}

// A peer that is away does not hold up the end of a schedule for long.
void Play::draw_requests(Actor& actor) {
  const Settings& settings = world_.settings;
  const auto share = [this](unsigned one_in) {
    const bool drawn = random_.one_in(one_in);
    const auto thousandths = static_cast<unsigned>(random_.below(1000));
    return drawn ? thousandths : 0;
  };
  SocketOptions& options = actor.options;
  const auto within = up_to(random_, 5 * ms, random_.one_in(4) ? 20'000 * ms : 500 * ms);
  if (options.resume_bytes_max == 0) options.resume_within = within;
  const bool few = random_.one_in(3) && settings.has(Part::few_at_once);
  const std::size_t most = 1 + random_.below(8);
  if (few && actor.kind == Kind::request) actor.asking.pending_max = most;
  if (few && actor.kind == Kind::reply) actor.replying.open_max = most;
  few_at_once_ |= few;
  Temper& temper = actor.temper;
  temper.limits = share(2);
  temper.repeats = share(2);
  temper.names_peer = share(3);
  temper.holds = share(2);
  temper.gives_up = share(3) / 2;
}

void Play::draw_temper(Actor& actor) {
  const Settings& settings = world_.settings;
  Temper& temper = actor.temper;
  if (random_.one_in(2)) temper.sends_when_writable = static_cast<unsigned>(random_.below(12));
  if (random_.one_in(3)) temper.replies = static_cast<unsigned>(random_.below(1000));
  const auto keeps = static_cast<unsigned>(random_.below(random_.one_in(2) ? 100 : 800));
  if (random_.one_in(2) && settings.has(Part::keeps)) temper.keeps = keeps;
  const auto pauses = static_cast<unsigned>(random_.below(200));
  if (random_.one_in(4) && settings.has(Part::pauses)) temper.pauses = pauses;
  temper.takes_batches = random_.one_in(3);
  const std::uint64_t acts = random_.one_in(2) ? 0 : 1 + random_.below(3);
  for (std::uint64_t i = 0; i < acts; ++i) {
    Mischief mischief;
    mischief.in =
        static_cast<CallBack>(random_.below(static_cast<std::uint64_t>(CallBack::count_)));
    mischief.nth = static_cast<unsigned>(random_.below(random_.one_in(2) ? 2 : 12));
    mischief.act = static_cast<Act>(random_.below(static_cast<std::uint64_t>(Act::count_)));
    if (settings.has(Part::in_call_backs)) temper.mischief.push_back(mischief);
  }
}

}  // namespace netio::test
