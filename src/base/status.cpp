// The words for statuses and reasons, and the text of an Error.
#include <cstddef>
#include <iterator>
#include <utility>

#include <netio/books.hpp>
#include <netio/event_building.hpp>
#include <netio/request.hpp>
#include <netio/status.hpp>
#include <netio/subscription.hpp>

namespace netio {
namespace {

// In the order of the enumerations.
constexpr std::string_view status_words[] = {
    "ok", "again", "not connected", "closed", "too big", "invalid",
};
constexpr std::string_view reason_words[] = {
    "closed by the peer",
    "closed here",
    "connection lost",
    "connection refused",
    "host unreachable",
    "host name unknown",
    "name service unavailable",
    "the peer does not speak netio",
    "protocol versions do not match",
    "socket patterns do not match",
    "rejected by the peer",
    "handshake timed out",
    "protocol error",
    "message too big",
    "too slow",
    "message stalled",
    "out of resources",
};
constexpr std::string_view drop_words[] = {
    "peer closed",    "connection lost", "not sent",   "linger expired",
    "dropped as new", "dropped as old",  "superseded",
};
constexpr std::string_view outcome_words[] = {
    "answered", "timed out", "not answered", "cancelled", "not executed", "in doubt",
};
constexpr std::string_view policy_words[] = {
    "block", "drop_new", "drop_old", "sample", "disconnect",
};
constexpr std::string_view fragment_status_words[] = {"good", "truncated", "in_error"};
constexpr std::string_view missing_words[] = {
    "no", "late", "not_connected", "not_begun", "dropped", "forgotten",
};
static_assert(std::size(missing_words) == static_cast<std::size_t>(Missing::count_));
static_assert(std::size(fragment_status_words) ==
              static_cast<std::size_t>(FragmentStatus::in_error) + 1);
static_assert(std::size(policy_words) == static_cast<std::size_t>(Policy::disconnect) + 1);
static_assert(std::size(outcome_words) == static_cast<std::size_t>(Outcome::count_));
static_assert(std::size(drop_words) == static_cast<std::size_t>(DropReason::count_));
static_assert(std::size(status_words) == static_cast<std::size_t>(Status::invalid) + 1);
static_assert(std::size(reason_words) == static_cast<std::size_t>(DownReason::resources) + 1);

std::string sentence(const std::string& operation, const std::string& cause,
                     const std::string& advice) {
  std::string text = operation + ": " + cause;
  if (!advice.empty()) text += "; " + advice;
  return text;
}

}  // namespace

std::string_view to_string(Status status) noexcept {
  return status_words[static_cast<std::size_t>(status)];
}

std::string_view to_string(DownReason reason) noexcept {
  return reason_words[static_cast<std::size_t>(reason)];
}

std::string_view to_string(DropReason reason) noexcept {
  return drop_words[static_cast<std::size_t>(reason)];
}

std::string_view to_string(Outcome outcome) noexcept {
  return outcome_words[static_cast<std::size_t>(outcome)];
}

std::string_view to_string(Policy policy) noexcept {
  return policy_words[static_cast<std::size_t>(policy)];
}

std::string_view to_string(FragmentStatus status) noexcept {
  return fragment_status_words[static_cast<std::size_t>(status)];
}

std::string_view to_string(Missing missing) noexcept {
  return missing_words[static_cast<std::size_t>(missing)];
}

Error::Error(std::string operation, std::string cause, std::string advice)
    : std::runtime_error(sentence(operation, cause, advice)),
      operation_(std::move(operation)),
      cause_(std::move(cause)),
      advice_(std::move(advice)) {}

}  // namespace netio
