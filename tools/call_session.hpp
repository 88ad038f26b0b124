// What `netio request` and `netio reply` do alike: a socket that meets any number of peers, and
// when it ends. Owner thread only.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include <netio/context.hpp>
#include <netio/socket.hpp>

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

class CallSession {
 public:
  virtual ~CallSession() = default;
  CallSession(const CallSession&) = delete;
  CallSession& operator=(const CallSession&) = delete;
  ExitCode run();

 protected:
  // `command` is "request" or "reply"; a peer is a `peer_noun`.
  CallSession(const CallArguments& arguments, std::string command, std::string peer_noun,
              bool output_carries_data);

  // To be called by the derived class once its socket is made, which it owns.
  void use(Socket& socket);
  // Ends in order: what was sent is delivered.
  void close();

  // Before the first peer is met.
  virtual void prepare() {}
  // A peer came.
  virtual void peer_up() {}
  // --seconds have passed.
  virtual void time_is_up() { close(); }
  // No peer came, or came back. verdict_.fail() was called, unless ends_with_peer() says that it is
  // no error.
  virtual void gave_up() { close(); }
  // Whether it is no error that no other peer comes after one that has ended in order.
  [[nodiscard]] virtual bool ends_with_peer() const { return false; }
  [[nodiscard]] std::uint64_t peers_lost() const noexcept { return peers_.lost; }
  [[nodiscard]] virtual ProgressSample sample() = 0;
  // It has ended, and not by Ctrl-C: says what is wrong, if anything.
  virtual void judge() = 0;
  virtual void complete(Summary& summary) const = 0;
  // The summary in words. A program reads it in any case.
  [[nodiscard]] virtual bool to_be_told(const Summary& summary) const {
    return summary.to_be_told();
  }

  const CallArguments& arguments_;
  Report report_;
  Context context_;
  Progress progress_;
  PeerWait wait_;
  std::map<std::uint64_t, std::uint64_t> up_;  // connected peers: id, the largest message it takes
  bool closing_ = false;
  bool interrupted_ = false;
  Verdict verdict_;

 private:
  void meet();
  void on_up(const PeerInfo& peer);
  void on_down(const PeerInfo& peer, const Down& down);
  void interrupt();
  void give_up();
  [[nodiscard]] Summary summary() const;

  const std::string command_;
  const std::string peer_noun_;
  Socket* socket_ = nullptr;
  std::string address_;
  PeerCounts peers_;
  ConnectedTime connected_;
  TurnedAway turned_away_{progress_};
  Timer time_is_up_;  // --seconds
  Interrupt interrupt_;
  AttemptNotes attempts_;
};

}  // namespace netio::cli
