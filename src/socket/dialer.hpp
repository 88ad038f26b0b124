// Where a dialed peer is, and when the next attempt to connect there is made. Owner thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <netio/loop.hpp>
#include <netio/options.hpp>
#include <netio/status.hpp>

#include "base/url.hpp"

namespace netio::detail {

class Dialer {
 public:
  // `options` outlive it. The first attempt is the caller's; `dial` makes the others, from the
  // loop.
  Dialer(Loop& loop, const SocketOptions& options, Url url, std::function<void()> dial);

  [[nodiscard]] const Url& url() const noexcept { return url_; }
  // Another attempt is scheduled or under way.
  [[nodiscard]] bool retrying() const noexcept { return retrying_; }

  void came_up() noexcept;

  // How a connection, or an attempt, ended.
  struct Ending {
    DownReason reason;
    bool was_up = false;
    bool met = false;     // a netio was met there before, on this connection or an earlier one
    bool wanted = false;  // there is something to come back for
  };
  // Schedules the next attempt, or gives up: retrying() tells. True if the user knows already what
  // it ended for: the attempt before it ended for the same reason, which is told once.
  bool ended(const Ending& ending) noexcept;
  // The peer has forgotten the stream. If it is wanted, an attempt with another one is made in the
  // next turn, and the user need not be told of this one.
  void dial_at_once(bool wanted) noexcept;
  // No attempt any more.
  void stop() noexcept { timer_.stop(); }

 private:
  [[nodiscard]] std::int64_t next_delay_ns(bool slowly) noexcept;

  Loop& loop_;
  const SocketOptions& options_;
  Url url_;
  Timer timer_;
  bool retrying_ = false;
  int attempts_ = 0;                // that failed since the last connection that lasted
  std::int64_t delay_ns_ = 0;       // before the last one
  std::int64_t up_since_ns_ = 0;    // 0: not up since the last ending
  std::optional<DownReason> told_;  // what the last attempt ended for, if that is told once
};

}  // namespace netio::detail
