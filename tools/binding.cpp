#include "binding.hpp"

#include <chrono>
#include <poll.h>

#include <fmt/format.h>

#include <netio/not_there_yet.hpp>

#include "exit_code.hpp"
#include "interrupt.hpp"
#include "peer_wait.hpp"

namespace netio::cli {

namespace {
constexpr int again_after_ms = 500;
}  // namespace

std::string bind_when_there(const std::function<std::string()>& bind, const PeerArguments& peer,
                            Progress& progress) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto limit = peer.connect_timeout.value_or(PeerWait::timeout_default);
  for (bool noted = false;; noted = true) {
    try {
      return bind();
    } catch (const NotThereYet& error) {
      if (Clock::now() - begin >= limit) throw;
      const std::string cause = fmt::format("{}: {}", error.operation(), error.cause());
      if (!noted) {
        progress.note(fmt::format("{}; trying again until it can be had", cause));
      }
      (void)::poll(nullptr, 0, again_after_ms);  // a signal ends it
      if (Interrupt::requested()) throw Failure(cause, error.advice(), ExitCode::interrupted);
    }
  }
}

}  // namespace netio::cli
