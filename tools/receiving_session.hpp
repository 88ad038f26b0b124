// What `netio recv` and `netio sub` do alike: messages from any number of peers into a file or
// pipe, or into a count, checked if wanted, until the peers have ended. Owner thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include <netio/context.hpp>
#include <netio/receiving.hpp>
#include <netio/socket.hpp>

#include "absences.hpp"
#include "arguments.hpp"
#include "attempt_notes.hpp"
#include "exit_code.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "payload.hpp"
#include "peer_table.hpp"
#include "peer_wait.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "summary.hpp"
#include "turned_away.hpp"
#include "verdict.hpp"
#include "verifier.hpp"

namespace netio::cli {

class ReceivingSession {
 public:
  virtual ~ReceivingSession() = default;
  ReceivingSession(const ReceivingSession&) = delete;
  ReceivingSession& operator=(const ReceivingSession&) = delete;
  ExitCode run();

 protected:
  // `command` is "recv" or "sub"; where the messages come from is a `peer_noun`.
  ReceivingSession(const RecvArguments& arguments, std::string command, std::string peer_noun,
                   Verifier::Begin streams_begin);

  // To be called by the derived class once its socket is made, which it owns.
  void use(Socket& socket, Receiving& receiving);
  // If a peer was lost, or `missed` messages with a connection.
  void fail_for_lost(std::uint64_t missed, const std::string& why);
  // Ends at once; what is not delivered yet will not be.
  void stop() noexcept { context_.stop(); }

  virtual void taken(const MessageView&) {}
  // Its connection ended, for whatever reason.
  virtual void gone(const PeerInfo&) {}
  // Before the verifier's result is looked at.
  virtual void settle() {}
  // Says what is wrong at the end; what the verifier found was said.
  virtual void judge() = 0;
  // What to do about faults that the verifier found; empty: nothing is known.
  [[nodiscard]] virtual std::string_view advice_for(const Verification& checked) const = 0;
  virtual void complete(Summary& summary) const = 0;

  const RecvArguments& arguments_;
  Report report_;
  Context context_;
  Progress progress_;
  TurnedAway turned_away_{progress_};
  std::optional<Verifier> verifier_;
  PeerCounts peers_;
  std::string last_loss_;
  Verdict verdict_;

 private:
  void meet();
  void receive_each();
  void receive_pages();
  void take(const MessageView& message);
  void write_out();
  void on_up(const PeerInfo& peer);
  bool came_back(const PeerInfo& peer);
  void on_down(const PeerInfo& peer, const Down& down);
  void note_not_met(const PeerInfo& peer, const Down& down);
  void look();
  void close();
  void output_ended();
  void give_up();
  void interrupt();
  void verify();
  ProgressSample sample();
  [[nodiscard]] Summary summary() const;

  const std::string command_;
  const std::string peer_noun_;
  const std::string waits_for_;
  Socket* socket_ = nullptr;
  Receiving* receiving_ = nullptr;
  Timer look_timer_;
  Timer time_is_up_;  // --seconds
  PeerTable peer_table_;
  PeerWait wait_;
  Interrupt interrupt_;
  std::optional<Output> output_;

  bool closing_ = false;
  bool interrupted_ = false;
  std::string address_;
  AttemptNotes attempts_;
  std::set<std::uint64_t> up_;  // ids of connected peers
  Absences absences_;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  Payload payload_;
  std::uint64_t sampled_messages_ = 0;
  std::uint64_t sampled_arrived_ = 0;
  std::uint64_t sampled_bytes_ = 0;
  std::chrono::nanoseconds up_at_{0};   // the first peer
  std::chrono::nanoseconds looked_{0};  // nothing had come by then
  std::chrono::nanoseconds begun_{0};
  std::chrono::nanoseconds last_{0};  // message
};

}  // namespace netio::cli
