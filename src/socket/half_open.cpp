// Who stays and who gives way.
#include "socket/half_open.hpp"

#include <algorithm>

#include "base/out_of_memory.hpp"

namespace netio::detail {

namespace {

// A client says hello as soon as the kernel has connected it, often before we accept. This is the
// time its process may take to be woken.
constexpr std::int64_t to_begin_ns = 10'000'000;
// A hello arrives in one piece, unless a part of it was lost: the kernel sends that again after
// 200 ms. A connection has this long from the moment its hello was seen to have begun.
constexpr std::int64_t to_finish_ns = 500'000'000;

}  // namespace

void HalfOpen::add(Newcomer& newcomer, std::int64_t now_ns) {
  places_.push_back({&newcomer, now_ns + to_begin_ns, false});
}

void HalfOpen::forget_others() noexcept {
  std::erase_if(places_, [](const Place& place) { return !place.newcomer->half_open(); });
}

// Reading a hello may lead to a call of the user's that closes the socket, which clears the list:
// no place is touched behind it without a look at the size.
void HalfOpen::look(std::int64_t now_ns) noexcept {
  forget_others();
  if (!crowded()) return;
  std::size_t excess = places_.size() - stay_max_;
  for (std::size_t i = 0; i < places_.size() && excess > 0; ++i) {
    Place place = places_[i];
    if (place.newcomer->half_open() && !gives_way(place, now_ns)) {
      if (i < places_.size()) places_[i] = place;
    } else {
      --excess;
    }
  }
  forget_others();
}

// True if it is half open no more: it was ended, or its hello was in the kernel.
bool HalfOpen::gives_way(Place& place, std::int64_t now_ns) noexcept {
  if (now_ns < place.stays_until_ns) return false;
  // This thread may be late: a hello that waits in the kernel came in time.
  const bool begun = place.newcomer->hear_greeting();
  if (!place.newcomer->half_open()) return true;
  if (begun && !place.begun) {
    place.begun = true;
    place.stays_until_ns = now_ns + to_finish_ns;
    return false;
  }
  guard_memory(
      [&] {
        place.newcomer->give_way(begun ? "did not finish its greeting while others were waiting"
                                       : "sent no hello while others were waiting");
      },
      [&]() noexcept { place.newcomer->give_way("too slow"); });
  return true;
}

}  // namespace netio::detail
