// What has to be true of requests once all has settled.
#include <algorithm>
#include <string>

#include "simulation/play.hpp"

namespace netio::test {

std::uint64_t Play::untold_to(Kind kind) const noexcept {
  std::uint64_t untold = 0;
  for (const auto& run : runs_) {
    if (asks_or_answers(run->kind()) && run->kind() != kind) untold += run->untold_here();
  }
  return untold;
}

void Play::answer_all(bool keeps_some) {
  for (const auto& run : runs_) {
    if (run->working() && run->kind() == Kind::reply) run->answer_all(keeps_some);
  }
}

bool Play::stays_in_time(const Run& run) const noexcept {
  const auto passed_ns = static_cast<std::int64_t>(world_.passed_ms() + 1) * ms;
  return run.actor().options.resume_within.count() > passed_ns;
}

// Where both ends keep what is not acknowledged, nobody restarted, and nobody was away for too
// long, each request was executed, and the one who asked knows what came of it.
void Play::judge_requests(Run& run) {
  const bool nothing_lost = std::ranges::all_of(runs_, [this](const auto& other) {
    return other->working() && other->actor().options.resume_bytes_max != 0 &&
           stays_in_time(*other) && other->socket().counters().resume_given_up == 0;
  });
  if (!nothing_lost || restarted_) return;
  for (const Asked& asked : run.asked()) {
    if (asked.ended == Outcome::not_executed || asked.ended == Outcome::in_doubt) {
      run.fail("was told that " + run.request_name(asked) + " is " +
               std::string(to_string(*asked.ended)) + ", and nothing was lost");
    }
  }
}

}  // namespace netio::test
