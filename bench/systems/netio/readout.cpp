// The sending end of event building: a ReadoutUnit, which sends a fragment of each event. --plain:
// the same messages through a Push for each build end, which are sent in the same order.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "systems/netio/ahead.hpp"
#include "systems/netio/netio.hpp"
#include "systems/netio/timed.hpp"
#include "worker/bursts.hpp"

namespace netio::bench {

namespace {

using nlohmann::ordered_json;
using Bytes = std::span<const std::byte>;

// How long the last fragments may take, after the end was told to stop.
constexpr std::chrono::seconds time_to_settle{15};

// What was handed to netio, and what of it is known to have been taken.
struct Sent {
  std::uint64_t sent = 0;
  std::uint64_t settled = 0;
  std::uint64_t lost = 0;  // given up in some way
  std::uint64_t resent = 0;
};

class Unit {
 public:
  Unit(Context& context, const Options& options)
      : builders_(options.build.builders), unit_(context, options_for(options)) {
    unit_.on_room([this] { has_room = true; });
    unit_.on_refused([](std::uint32_t, std::string_view why) {
      end_with(std::runtime_error("was refused: " + std::string(why)));
    });
    unit_.on_manager_refused([](std::string_view why) {
      end_with(std::runtime_error("was refused by the manager: " + std::string(why)));
    });
    unit_.advance({0, 0});  // it begins with the first event
    if (options.build.managed) {
      unit_.join(address_of(options_of_manage_end(options)));
      return;
    }
    for (std::uint32_t number = 0; number < builders_; ++number) {
      unit_.connect(number, address_of(options_of_build_end(options, number)));
    }
  }

  [[nodiscard]] bool connected() const { return unit_.builders_connected() == builders_; }
  Status send(std::uint64_t event, std::uint32_t, Bytes bytes) noexcept {
    return unit_.send({0, event}, bytes);
  }
  [[nodiscard]] Sent sent() const noexcept {
    const ReadoutBooks books = unit_.books();
    return {books.sent, books.settled, books.dropped + books.late, books.resent};
  }
  // `then` is called when everything is settled, or too late.
  void finish(std::function<void()> then) {
    unit_.advance(end_of_run(0));
    unit_.finish(time_to_settle, std::move(then));
  }

  bool has_room = true;

 private:
  static ReadoutOptions options_for(const Options& options) {
    ReadoutOptions readout;
    readout.plan = plan_of(options);
    readout.source = options.build.number;
    if (options.build.store_bytes != 0) readout.store_bytes_max = options.build.store_bytes;
    readout.socket = socket_options(options);
    return readout;
  }

  std::uint32_t builders_;
  ReadoutUnit unit_;
};

class Pushes {
 public:
  Pushes(Context& context, const Options& options) {
    for (std::uint32_t number = 0; number < options.build.builders; ++number) {
      pushes_.push_back(std::make_unique<Push>(context, socket_options(options)));
      Push& push = *pushes_.back();
      push.on_up([this](const PeerInfo&) { ++connected_; });
      push.on_writable([this] { has_room = true; });
      push.connect(address_of(options_of_build_end(options, number)));
    }
  }

  [[nodiscard]] bool connected() const { return connected_ == pushes_.size(); }
  Status send(std::uint64_t event, std::uint32_t builder, Bytes bytes) noexcept {
    return pushes_[builder]->send(bytes, event);
  }
  [[nodiscard]] Sent sent() const noexcept {
    Sent all;
    for (const auto& push : pushes_) {
      const Books books = push->books();
      all.sent += books.sent;
      all.settled += books.acknowledged;
      all.lost += books.dropped();
      all.resent += push->counters().resent;
    }
    return all;
  }
  void finish(const std::function<void()>& then) {
    for (const auto& push : pushes_) {
      push->on_closed([this, then](const Books&) {
        if (++closed_ == pushes_.size()) then();
      });
      push->close(time_to_settle);
    }
  }

  bool has_room = true;

 private:
  std::vector<std::unique_ptr<Push>> pushes_;  // by build end
  std::size_t connected_ = 0;
  std::size_t closed_ = 0;
};

// Sends a message for each event in turn, to the build end of its range.
template <typename Target>
class EventSender {
 public:
  EventSender(Target& target, const Options& options)
      : target_(target), options_(options), left_(options.build.range_events) {
    // Of ranges that a manager gives away, the unit does not know the builder.
    const std::uint32_t known = options.build.managed ? 1 : options.build.builders;
    for (std::uint32_t number = 0; number < known; ++number) {
      ahead_.emplace_back(options.build.number, options);
    }
  }

  // False if the target took fewer.
  bool send_some(std::uint64_t count) {
    for (const std::uint64_t end = event_ + count; event_ != end; ++event_) {
      Ahead& ahead = ahead_[builder_];
      if (is_timed(event_, options_)) write_time(ahead.next_writable());
      if (target_.send(event_, builder_, ahead.next()) != Status::ok) return false;
      ahead.advance();
      if (--left_ == 0) {
        left_ = options_.build.range_events;
        builder_ = builder_ + 1 == ahead_.size() ? 0 : builder_ + 1;
      }
    }
    return true;
  }
  [[nodiscard]] std::uint64_t sent() const noexcept { return event_; }

 private:
  Target& target_;
  const Options& options_;
  std::vector<Ahead> ahead_;  // by build end, as each counts what it gets; managed: one for all
  std::uint64_t event_ = 0;
  std::uint64_t left_;  // of this range
  std::uint32_t builder_ = 0;
};

void run_for(Loop& loop, std::chrono::nanoseconds time) {
  const auto until = loop.now() + time;
  for (auto left = time; left > std::chrono::nanoseconds(0); left = until - loop.now()) {
    loop.run_once(left);
  }
}

template <typename Target>
void send_events(Worker& worker, Loop& loop, Target& target) {
  const Options& options = worker.options;
  while (!worker.told_to_begin() && !worker.stopping()) loop.run_once(std::chrono::milliseconds(5));
  const std::int64_t begin_ns = worker.begin_ns() != 0 ? worker.begin_ns() : now_ns();
  run_for(loop, std::chrono::nanoseconds(begin_ns - now_ns()));
  EventSender<Target> sender(target, options);
  Bursts bursts(options.rate, begin_ns);
  const std::uint64_t in_turn = std::max<std::size_t>(1, bytes_in_turn / options.message_bytes);
  while (!worker.stopping()) {
    target.has_room = false;
    if (options.rate > 0) {
      (void)sender.send_some(bursts.due(now_ns(), sender.sent()));
      run_for(loop, Bursts::apart);
    } else if (sender.send_some(in_turn)) {
      loop.run_once(std::chrono::seconds(0));
    } else {
      while (!target.has_room && !worker.stopping()) loop.run_once(std::chrono::seconds(-1));
    }
  }
}

template <typename Target>
void run_end(Worker& worker) {
  Context context(context_options(worker.options));
  Loop& loop = context.loop();
  stop_with(worker, context);
  Target target(context, worker.options);
  worker.on_snap([&](ordered_json& said) {
    said["messages"] = ask_loop(context, [&target] { return target.sent().sent; });
  });
  while (!target.connected()) loop.run_once(std::chrono::seconds(1));
  worker.ready();
  send_events(worker, loop, target);
  bool finished = false;
  target.finish([&finished] { finished = true; });
  while (!finished) loop.run_once(std::chrono::seconds(1));
  worker.join();
  const Sent last = target.sent();
  worker.on_finish([last](ordered_json& said) {
    said.update({{"sent", last.sent},
                 {"settled", last.settled},
                 {"lost", last.lost},
                 {"resent", last.resent}});
  });
}

}  // namespace

void readout(Worker& worker) {
  worker.options.build.plain ? run_end<Pushes>(worker) : run_end<Unit>(worker);
}

}  // namespace netio::bench
