// What `netio send` and `netio pub` do alike: a source's messages into a socket, at a pace, until
// the source or the time has ended, or Ctrl-C. Owner thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <netio/context.hpp>
#include <netio/socket.hpp>

#include "arguments.hpp"
#include "connected_time.hpp"
#include "exit_code.hpp"
#include "interrupt.hpp"
#include "outlet.hpp"
#include "pace.hpp"
#include "peer_table.hpp"
#include "peer_wait.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "source.hpp"
#include "summary.hpp"
#include "verdict.hpp"

namespace netio::cli {

class SendingSession {
 public:
  virtual ~SendingSession() = default;
  SendingSession(const SendingSession&) = delete;
  SendingSession& operator=(const SendingSession&) = delete;
  ExitCode run();

 protected:
  enum class Phase : std::uint8_t { waiting, sending, closing, closed };

  // `command` is "send" or "pub"; who takes the messages is a `peer_noun`.
  SendingSession(const SendArguments& arguments, std::string command, std::string peer_noun);

  // To be called by the derived class once its socket is made, which it owns: what a source has
  // lent is read until that is gone.
  void use(Socket& socket, Outlet& outlet);

  // A call-back of the socket: it takes messages again.
  void on_writable();
  // The first message may go.
  void begin();
  // What is not as it was asked for: exit code 3 if nothing has failed so far.
  void add_doubt(const std::string& cause, const std::string& advice);
  // For what became of `books` that was not asked for: "3 messages dropped (...)".
  void fail_for_doubt(const Books& books);

  [[nodiscard]] virtual bool waits_for_peers() const { return true; }
  // Of those that --wait-for counts, how many are there.
  [[nodiscard]] virtual std::size_t present() const { return up_.size(); }
  // Several are waited for: "1 of 2 receivers".
  [[nodiscard]] bool gathers() const { return phase_ == Phase::waiting && arguments_.wait_for > 1; }
  [[nodiscard]] std::string gathered() const;
  // A peer came; one ended, or did not come.
  virtual void peer_up(const PeerInfo& peer) = 0;
  virtual void peer_down(const PeerInfo& peer, const Down& down) = 0;
  // Says what is wrong with the final books, unless it was interrupted.
  virtual void judge(const Books& books) = 0;
  // What to say instead of rates; empty: nothing is waited for.
  [[nodiscard]] virtual std::string waits_for() const;
  virtual void complete(Summary& summary) const = 0;

  const SendArguments& arguments_;
  Report report_;
  Context context_;
  std::unique_ptr<MessageSource> source_;
  Progress progress_;
  PeerTable peer_table_;
  std::uint64_t connections_lost_ = 0;
  PeerWait wait_;
  Phase phase_ = Phase::waiting;
  bool blocked_ = false;  // The socket will say when.
  bool held_up_ = false;  // for as long as progress was last shown
  bool interrupted_ = false;
  std::map<std::uint64_t, std::uint64_t> up_;  // connected peers: id, the largest message it takes
  std::optional<std::chrono::nanoseconds> begun_;  // sending
  std::chrono::nanoseconds ended_{0};              // the socket was closed
  Verdict verdict_;

 private:
  void meet();
  void make_source();
  void pump();
  void on_up(const PeerInfo& peer);
  void on_down(const PeerInfo& peer, const Down& down);
  void close(std::chrono::nanoseconds linger);
  void close_when_all_are_back();
  void on_closed();
  void end_now();
  void give_up();
  void interrupt();
  void fail_for_defect();
  void judge();
  ProgressSample sample();
  [[nodiscard]] Summary summary() const;

  const std::string command_;
  const std::string peer_noun_;
  Socket* socket_ = nullptr;
  Outlet* outlet_ = nullptr;
  Pace pace_;
  Timer turn_;        // The next pump().
  Timer time_is_up_;  // --seconds
  Timer waits_for_absent_;
  Interrupt interrupt_;

  bool gave_up_ = false;            // no peer came, or came back
  std::set<std::uint64_t> absent_;  // ids of peers that were lost and have not come back
  std::chrono::nanoseconds linger_{0};
  std::uint64_t sampled_messages_ = 0;
  std::string address_;
  ConnectedTime connected_;
  Books books_;
};

}  // namespace netio::cli
