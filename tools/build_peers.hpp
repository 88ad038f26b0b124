// The builders of a read-out unit, the units of a builder, or the event manager of both: which of
// them are there, what is noted of them, and for how long they are waited for. Owner thread only.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <netio/loop.hpp>
#include <netio/socket.hpp>

#include "attempt_notes.hpp"
#include "exit_code.hpp"
#include "progress.hpp"
#include "summary.hpp"

namespace netio::cli {

class BuildPeers {
 public:
  struct Options {
    std::string noun;  // "unit", "builder", "manager"
    std::size_t count = 0;
    bool missed_when_ended = false;                   // one that has ended in order is still needed
    std::optional<std::chrono::nanoseconds> timeout;  // of one that is missed; none: for ever
    bool only_one = false;                            // it has no number
  };
  // `on_give_up` is called in the loop, once: see cause().
  BuildPeers(Loop& loop, Progress& progress, Options options, std::function<void()> on_give_up);

  // Where `number` is to be found: messages name it even if it never comes.
  void expect(std::uint32_t number, std::string_view address);
  // Begins to wait for all of them.
  void begin();
  void up(std::uint32_t number, const PeerInfo& peer);
  void down(std::uint32_t number, const PeerInfo& peer, const Down& down);
  // `number` does not work with this side; `why` names it.
  void refused(std::uint32_t number, std::string_view why);
  // Somebody at this address does not work with this side. Notes it.
  void refused(const PeerInfo& peer, std::string_view why);
  // Nobody is waited for any more, and no more ends are noted.
  void closing();

  [[nodiscard]] std::size_t here() const noexcept;
  [[nodiscard]] bool all_ended() const noexcept;
  // Those that are missed: "unit 2", "units 0, 2 and 7 more", "the manager"; empty if none is.
  [[nodiscard]] std::string missed() const;
  [[nodiscard]] PeerCounts counts() const;
  // How often somebody was refused, or has refused this side.
  [[nodiscard]] std::uint64_t refusals() const noexcept { return refusals_; }
  // "unit 2 tcp://...: why", of the last one that was lost; empty: none.
  [[nodiscard]] const std::string& last_loss() const noexcept { return last_loss_; }
  // Why it gave up, and with which code it ends.
  [[nodiscard]] std::string cause() const;
  [[nodiscard]] std::string advice() const;
  [[nodiscard]] ExitCode code() const;

 private:
  enum class State : std::uint8_t { never, here, ended, lost, refused };
  struct Peer {
    State state = State::never;
    bool met = false;  // it was here
    AttemptNotes attempts;
    std::array<std::uint8_t, 16> run{};
    std::string name;  // "unit 2 tcp://..."
    std::string last_why;
    std::string last_advice;
  };
  [[nodiscard]] bool is_missed(const Peer& peer) const noexcept;
  [[nodiscard]] std::string noun_of(std::size_t number) const;
  void came(Peer& peer, std::array<std::uint8_t, 16> run);
  void look_for_missed();
  [[nodiscard]] const Peer* first_missed() const noexcept;

  Progress& progress_;
  Options options_;
  std::vector<Peer> peers_;  // by number
  std::set<std::string> reasons_noted_;
  std::uint64_t refusals_ = 0;
  std::uint64_t restarted_ = 0;
  std::string last_loss_;
  const Peer* hopeless_ = nullptr;  // it will not come
  bool closing_ = false;
  std::function<void()> on_give_up_;
  Timer missed_;
};

}  // namespace netio::cli
