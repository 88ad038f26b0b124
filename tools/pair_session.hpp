// What `netio echo` and `netio ping` do alike: a Pair, who is at its other end, and when it ends.
// Owner thread only.
#pragma once

#include <chrono>
#include <string>

#include <netio/context.hpp>
#include <netio/pair.hpp>

#include "arguments.hpp"
#include "attempt_notes.hpp"
#include "connected_time.hpp"
#include "exit_code.hpp"
#include "interrupt.hpp"
#include "peer_wait.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "summary.hpp"
#include "turned_away.hpp"
#include "verdict.hpp"

namespace netio::cli {

class PairSession {
 public:
  virtual ~PairSession() = default;
  PairSession(const PairSession&) = delete;
  PairSession& operator=(const PairSession&) = delete;
  ExitCode run();

 protected:
  // `command` is "echo" or "ping".
  PairSession(const PairArguments& arguments, std::string command);

  virtual void take(const MessageView& message) = 0;
  virtual void on_writable() = 0;
  virtual void peer_up(const PeerInfo& peer) = 0;
  // The peer that was up has gone.
  virtual void peer_down() = 0;
  // --seconds have passed.
  virtual void time_is_up() { close(); }
  [[nodiscard]] virtual ProgressSample sample() = 0;
  // It has ended, and not by Ctrl-C: says what is wrong, if anything.
  virtual void judge() {}
  virtual void publish(Report& report) = 0;

  // What was sent is delivered, then it ends.
  void close();

  const PairArguments& arguments_;
  Report report_;
  Context context_;
  Progress progress_;
  Pair pair_;
  std::string address_;
  PeerCounts peers_;
  ConnectedTime connected_;
  bool up_ = false;
  bool closing_ = false;
  bool interrupted_ = false;
  Verdict verdict_;

 private:
  void meet();
  void on_up(const PeerInfo& peer);
  void on_down(const PeerInfo& peer, const Down& down);
  void note_not_met(const PeerInfo& peer, const Down& down);
  void interrupt();
  void give_up();

  TurnedAway turned_away_{progress_};
  PeerWait wait_;
  Timer time_is_up_;  // --seconds
  Interrupt interrupt_;
  AttemptNotes attempts_;
};

}  // namespace netio::cli
