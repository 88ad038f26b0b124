// Each peer that was connected, with what became of its messages and for how long it was behind:
// looked at five times a second. A note names who drops or takes nothing, one a second at most.
// Owner thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <netio/loop.hpp>
#include <netio/socket.hpp>

namespace netio::cli {

// One peer, as the report has it.
struct PeerLine {
  PeerSnapshot last;  // its books are those of its end, if it has ended
  bool connected = true;
  std::chrono::nanoseconds behind{0};          // in all
  std::chrono::nanoseconds behind_longest{0};  // at a time
  std::uint64_t noted_dropped = 0;             // and noted so far
  bool noted_stuck = false;                    // since it is behind

  // Messages that were dropped for it, or that it did not send here, or may have lost.
  [[nodiscard]] std::uint64_t lost() const noexcept {
    return last.books.dropped() + last.books.missed;
  }
  [[nodiscard]] bool slow() const noexcept;
};

class PeerTable {
 public:
  PeerTable(Loop& loop, std::function<void(const std::string&)> note);

  void use(const Socket& socket);
  // The socket's call-backs of these names. Who comes back takes the line that it left.
  void up(const PeerInfo& peer);
  void down(const PeerInfo& peer);
  // A last look, before the socket is closed at once; and the end.
  void look();
  void stop() noexcept { timer_.stop(); }

  // The address of who is behind for the longest now, and how many more are; empty if nobody is.
  [[nodiscard]] std::string behind() const;
  [[nodiscard]] std::vector<PeerLine> lines() const;
  // Came when the table was full.
  [[nodiscard]] std::uint64_t not_listed() const noexcept { return not_listed_; }

 private:
  void take(const PeerSnapshot& now, std::chrono::nanoseconds since_last);
  void note_slow();

  Loop& loop_;
  std::function<void(const std::string&)> note_;
  const Socket* socket_ = nullptr;
  Timer timer_;
  std::map<std::uint64_t, PeerLine> lines_;  // by id
  std::uint64_t not_listed_ = 0;
  std::chrono::nanoseconds looked_{0};
  std::chrono::nanoseconds noted_{0};
};

// "127.0.0.1:4000 (unit 7) (policy drop new)"
[[nodiscard]] std::string name_of(const PeerSnapshot& peer);

}  // namespace netio::cli
