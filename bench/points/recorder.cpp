#include "points/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "worker/timeline.hpp"

namespace netio::bench {

namespace {

using nlohmann::ordered_json;

// Of 8 bytes for each point: 2 MiB a thread.
constexpr std::size_t messages_kept = std::size_t{1} << 14U;

struct Delay {
  Part part = Part::elsewhere;  // none
  std::int64_t ns = 0;
};

Delay parse_delay(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t equals = text.find('=');
  const std::optional<Part> part = find_part(text.substr(0, equals));
  if (equals == std::string::npos || !part) throw std::invalid_argument("no such delay: " + text);
  return {*part, std::strtoll(text.c_str() + equals + 1, nullptr, 10)};
}

void spin(std::int64_t ns) noexcept {
  for (const std::int64_t until = now_ns() + ns; now_ns() < until;) {
  }
}

// What one thread reached, and when. Its thread writes; another one reads what is finished.
class Track {
 public:
  explicit Track(const Worker& worker)
      : worker_(worker),
        dials_(worker.options.role == Role::send || worker.options.role == Role::request),
        delay_(parse_delay(worker.options.delay)),
        kept_(messages_kept) {}

  void reach(Point point) noexcept {
    if (delay_.ns != 0 && ends_delayed_part(point)) spin(delay_.ns);
    const std::int64_t now = now_ns();
    switch (point) {
      case Point::begin:
        open(point);
        break;
      case Point::call:
        open(point);  // an answer belongs to the message that was begun before
        for (const Point seen :
             {Point::asleep, Point::look, Point::looked, Point::read, Point::was_read}) {
          at(seen) = arrival_[index(seen)];
        }
        break;
      case Point::look:
        // A look that sleeps is known by `asleep` alone.
        if (loop_[index(Point::asleep)] > loop_[index(Point::looked)]) return;
        [[fallthrough]];
      case Point::asleep:
      case Point::looked:
        loop_[index(point)] = now;
        return;
      case Point::read:
        arrival_ = loop_;  // the look that led here
        [[fallthrough]];
      case Point::was_read:
        arrival_[index(point)] = now;
        return;
      default:
        if (!counts(point)) return;
    }
    const bool first = at(point) == 0;
    at(point) = now;
    if (delay_.ns != 0 && first && begins_delayed_part(point)) spin(delay_.ns);
  }

  // What taking the time once costs, in ns: the median of many.
  void calibrate() {
    std::vector<std::int64_t> costs(2001);
    std::int64_t before = 0;
    for (std::int64_t& cost : costs) {
      reach(Point::look);
      cost = loop_[index(Point::look)] - before;
      before = loop_[index(Point::look)];
    }
    const auto middle = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2);
    std::nth_element(costs.begin(), middle, costs.end());
    stamp_ns_ = *middle;
  }

  [[nodiscard]] ordered_json to_json() const {
    const std::uint64_t done = done_.load(std::memory_order_acquire);
    const std::uint64_t kept = std::min<std::uint64_t>(done, kept_.size());
    const std::uint64_t first = std::max(done - kept, first_);
    ordered_json messages = ordered_json::array();
    for (std::uint64_t number = first; number < done; ++number) {
      messages.push_back(kept_[number % kept_.size()]);
    }
    return {{"dials", dials_},
            {"stamp_ns", stamp_ns_},
            {"first", first},
            {"messages", std::move(messages)}};
  }

 private:
  static constexpr std::size_t index(Point point) noexcept {
    return static_cast<std::size_t>(point);
  }
  [[nodiscard]] std::int64_t& at(Point point) noexcept { return current_[index(point)]; }

  // Another message begins if this one has been begun in this way.
  void open(Point point) noexcept {
    if (at(point) == 0) return;
    const std::uint64_t done = done_.load(std::memory_order_relaxed);
    kept_[done % kept_.size()] = current_;
    if (!worker_.told_to_begin() && dials_) first_ = done + 1;
    done_.store(done + 1, std::memory_order_release);
    current_ = {};
  }

  // Acknowledgements pass some of the points, too: of a message each counts once, in its order. A
  // message that is written in several pieces is written with the last.
  [[nodiscard]] bool counts(Point point) noexcept {
    switch (point) {
      case Point::write:
        return at(point) == 0 && at(Point::post) != 0;
      case Point::written:
        return at(Point::write) != 0;
      case Point::rung:
        return at(point) == 0 && at(Point::written) != 0;
      default:
        return at(point) == 0;
    }
  }

  // Parts take longer on the way there only. Those of the sender, at the end that dials: from their
  // beginning on, because the message may be with the receiver before they end.
  [[nodiscard]] bool begins_delayed_part(Point point) const noexcept {
    if (!dials_) return false;
    switch (delay_.part) {
      case Part::encode:
        return point == Point::send;
      case Part::post:
        return point == Point::post;
      case Part::write:
        return point == Point::write;
      case Part::doorbell:
        return point == Point::written;
      default:
        return false;
    }
  }

  // Those of the receiver, at the other end: at their end, because they may begin in vain.
  [[nodiscard]] bool ends_delayed_part(Point point) const noexcept {
    if (dials_) return false;
    switch (delay_.part) {
      case Part::wake_up:
        return point == Point::looked && loop_[index(Point::asleep)] > loop_[index(Point::look)];
      case Part::read:
        return point == Point::was_read;
      case Part::decode:
        return point == Point::call;
      case Part::call_back:  // inside it, in front of the answer or at its end
        return point == Point::send || point == Point::end;
      default:
        return false;
    }
  }

  const Worker& worker_;
  bool dials_;
  Delay delay_;
  PointTimes loop_{};  // the latest of the loop's points, and of the reader's: mostly in vain
  PointTimes arrival_{};
  PointTimes current_{};  // of the message at hand
  std::vector<PointTimes> kept_;
  std::uint64_t first_ = 0;  // message that counts: those before warm up
  std::int64_t stamp_ns_ = 0;
  std::atomic<std::uint64_t> done_{0};
};

// Of both threads, if the ends share this process. Never destroyed: the process ends while they
// run.
struct Tracks {
  std::mutex mutex;
  std::vector<std::unique_ptr<Track>> all;
};
Tracks& tracks() {
  static auto& tracks = *new Tracks;
  return tracks;
}

thread_local Track* track = nullptr;

}  // namespace

void record_points(Worker& worker) {
  auto own = std::make_unique<Track>(worker);
  own->calibrate();
  track = own.get();
  const std::lock_guard lock(tracks().mutex);
  tracks().all.push_back(std::move(own));
  worker.on_finish([](ordered_json& said) {
    const std::lock_guard reading(tracks().mutex);
    said["points"] = ordered_json::array();
    for (const auto& each : tracks().all) said["points"].push_back(each->to_json());
  });
}

}  // namespace netio::bench

namespace netio::detail {

void reach(Point point) noexcept {
  if (bench::track != nullptr) bench::track->reach(point);
}

}  // namespace netio::detail
