#include "worker/timeline.hpp"

#include <algorithm>

namespace netio::bench {

namespace {

std::int64_t at(const PointTimes& times, Point point) noexcept {
  return times[static_cast<std::size_t>(point)];
}

bool has(const PointTimes& times, std::initializer_list<Point> points) noexcept {
  return std::all_of(points.begin(), points.end(),
                     [&times](Point point) { return at(times, point) != 0; });
}

// As it began to read; or, if it was reading already, when the message was written.
std::int64_t noticed_by_reading(const PointTimes& from, const PointTimes& to) noexcept {
  if (at(to, Point::read) > at(from, Point::write)) return at(to, Point::read);
  return std::min(at(from, Point::written), at(to, Point::was_read));
}

// Goes along the way. Each moment belongs to one part, so the parts make up the whole.
class Walk {
 public:
  Walk(std::int64_t begin, std::int64_t stamp_ns) noexcept : now_(begin), stamp_ns_(stamp_ns) {}

  // The time from where the walk is belongs to the part. A time that is past, or not there, changes
  // nothing.
  void until(std::int64_t time, Part part, PartTimes& parts) noexcept {
    if (time <= now_) return;
    const std::int64_t stamp = std::min(time - now_, stamp_ns_);
    parts[static_cast<std::size_t>(part)] += time - now_ - stamp;
    stamps_ns_ += stamp;
    now_ = time;
  }

  // From one end's send() to the other end's call-back.
  void message(const PointTimes& from, const PointTimes& to, PartTimes& parts) noexcept {
    // Where the epoll told of the message, the receiver noticed then. An end that looked before the
    // message was written cannot have seen it.
    const bool told = at(to, Point::looked) > at(from, Point::write);
    const std::int64_t noticed = told ? at(to, Point::looked) : noticed_by_reading(from, to);
    until(at(from, Point::send), Part::elsewhere, parts);
    const bool gathered = has(from, {Point::sent}) && at(from, Point::sent) < at(from, Point::post);
    if (gathered) until(at(from, Point::sent), Part::encode, parts);
    until(at(from, Point::post), gathered ? Part::gather : Part::encode, parts);
    // The message may arrive before the sender's call returns: from then on time is the receiver's.
    const auto sender = [&](Point point, Part part) {
      until(std::min(at(from, point), noticed), part, parts);
    };
    sender(Point::write, Part::post);
    sender(Point::written, Part::write);
    const bool slept = told && at(to, Point::asleep) > at(to, Point::look);
    // Only who sleeps waits for the bell.
    if (slept) sender(Point::rung, Part::doorbell);
    if (told) {
      const std::int64_t asked = std::max(at(to, Point::asleep), at(to, Point::look));
      if (slept && asked <= now_) {
        until(noticed, Part::wake_up, parts);
      } else {
        until(asked, Part::poll, parts);  // the turn before was not over
        until(noticed, Part::descriptors, parts);
      }
    }
    until(at(to, Point::read), told ? Part::poll : Part::wire, parts);
    until(at(to, Point::was_read), Part::read, parts);
    until(at(to, Point::call), Part::decode, parts);
  }

  [[nodiscard]] std::int64_t stamps_ns() const noexcept { return stamps_ns_; }

 private:
  std::int64_t now_;
  std::int64_t stamp_ns_;
  std::int64_t stamps_ns_ = 0;
};

constexpr auto sent_points = {Point::send, Point::post, Point::write, Point::written};
constexpr auto received_points = {Point::read, Point::was_read, Point::call};

}  // namespace

std::optional<Part> find_part(std::string_view name) noexcept {
  const auto* const found = std::find(part_names.begin(), part_names.end(), name);
  if (found == part_names.end()) return std::nullopt;
  return static_cast<Part>(found - part_names.begin());
}

std::optional<Trip> round_trip(const PointTimes& asks, const PointTimes& answers,
                               std::int64_t stamp_ns) noexcept {
  for (const PointTimes* const end : {&asks, &answers}) {
    if (!has(*end, sent_points) || !has(*end, received_points)) return std::nullopt;
  }
  if (!has(asks, {Point::begin, Point::end})) return std::nullopt;
  Trip trip;
  Walk walk(at(asks, Point::begin), stamp_ns);
  walk.message(asks, answers, trip.there);
  walk.until(at(answers, Point::send), Part::call_back, trip.there);
  walk.message(answers, asks, trip.back);
  walk.until(at(asks, Point::end), Part::call_back, trip.back);
  trip.stamps_ns = walk.stamps_ns();
  return trip;
}

std::optional<Trip> one_way(const PointTimes& sends, const PointTimes& takes,
                            std::int64_t stamp_ns) noexcept {
  if (!has(sends, {Point::begin}) || !has(sends, sent_points)) return std::nullopt;
  if (!has(takes, received_points) || !has(takes, {Point::end})) return std::nullopt;
  Trip trip;
  Walk walk(at(sends, Point::begin), stamp_ns);
  walk.message(sends, takes, trip.there);
  walk.until(at(takes, Point::end), Part::call_back, trip.there);
  trip.stamps_ns = walk.stamps_ns();
  return trip;
}

}  // namespace netio::bench
