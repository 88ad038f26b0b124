// netio_last_error() and the names of what can be answered.
#include "c_api/error.hpp"

#include <array>
#include <cstddef>
#include <cstdio>

#include <netio/books.hpp>
#include <netio/event_building.hpp>
#include <netio/request.hpp>
#include <netio/subscription.hpp>

namespace netio::c_api {
namespace {

struct LastError {
  int code = NETIO_OK;
  const char* words = "";  // `text`, or a literal
  char text[1024] = "";    // a sentence with two long addresses; what is longer is cut
};
constinit thread_local LastError last_error;

static_assert(NETIO_OK == static_cast<int>(Status::ok));
static_assert(NETIO_AGAIN == static_cast<int>(Status::again));
static_assert(NETIO_NOT_CONNECTED == static_cast<int>(Status::not_connected));
static_assert(NETIO_CLOSED == static_cast<int>(Status::closed));
static_assert(NETIO_TOO_BIG == static_cast<int>(Status::too_big));
static_assert(NETIO_INVALID == static_cast<int>(Status::invalid));
static_assert(NETIO_DOWN_CLOSED_BY_PEER == static_cast<int>(DownReason::closed_by_peer));
static_assert(NETIO_DOWN_RESOURCES == static_cast<int>(DownReason::resources));
static_assert(NETIO_DROP_PEER_CLOSED == static_cast<int>(DropReason::peer_closed));
static_assert(NETIO_DROP_SUPERSEDED + 1 == static_cast<int>(DropReason::count_));
static_assert(NETIO_OUTCOME_ANSWERED == static_cast<int>(Outcome::answered));
static_assert(NETIO_OUTCOME_NOT_EXECUTED == static_cast<int>(Outcome::not_executed));
static_assert(NETIO_OUTCOME_IN_DOUBT + 1 == static_cast<int>(Outcome::count_));
static_assert(NETIO_FRAGMENT_GOOD == static_cast<int>(FragmentStatus::good));
static_assert(NETIO_FRAGMENT_IN_ERROR == static_cast<int>(FragmentStatus::in_error));
static_assert(NETIO_MISSING_NO == static_cast<int>(Missing::no));
static_assert(NETIO_MISSING_FORGOTTEN + 1 == static_cast<int>(Missing::count_));
static_assert(NETIO_POLICY_BLOCK == static_cast<int>(Policy::block));
static_assert(NETIO_POLICY_DISCONNECT == static_cast<int>(Policy::disconnect));

// The library's words end in a zero: they are literals.
template <typename Enumeration>
const char* word(int value, Enumeration last) noexcept {
  if (value < 0 || value > static_cast<int>(last)) return "unknown";
  return to_string(static_cast<Enumeration>(value)).data();
}

const char* advice_on(Status status) noexcept {
  switch (status) {
    case Status::closed:
      return "nothing can be sent after netio_close(), nor in a child of fork()";
    case Status::too_big:
      return "split the message, or raise message_bytes_max at both ends, or large_bytes_max there";
    default:
      return "see netio.h for when it may be called";
  }
}

}  // namespace

int fail(int code, const char* text) noexcept {
  last_error.code = code;
  last_error.words = last_error.text;
  std::snprintf(last_error.text, sizeof last_error.text, "%s", text);
  return code;
}

int fail(int code, const char* call, const char* cause, const char* advice) noexcept {
  last_error.code = code;
  last_error.words = last_error.text;
  std::snprintf(last_error.text, sizeof last_error.text, "%s: %s%s%s", call, cause,
                *advice != '\0' ? "; " : "", advice);
  return code;
}

int fail_null(const char* call) noexcept {
  return fail(NETIO_INVALID, call, "a null pointer was given");
}

int fail_struct(const char* call, const void* own) noexcept {
  if (own == nullptr) return fail_null(call);
  return fail(NETIO_INVALID, call,
              "this struct was not made by its init call, or was freed, moved or copied",
              "make it first, use it where it was made, and pass pointers to it");
}

int last_code() noexcept { return last_error.code; }

int refused(const char* call, Status status) noexcept {
  const int code = static_cast<int>(status);
  if (status == Status::again) {
    last_error.words = "again: nothing was taken; cb_buffer_available is called when it may be";
    return code;
  }
  if (status == Status::not_connected) {
    last_error.words =
        "not connected: nothing was taken, no peer is there; cb_buffer_available is called when "
        "one is";
    return code;
  }
  return fail(code, call, to_string(status).data(), advice_on(status));
}

extern "C" {

NETIO_API const char* netio_last_error() { return last_error.words; }

NETIO_API const char* netio_result_name(int result) {
  // Those that are C's alone follow each other, behind what a Status can be.
  constexpr std::array own{"bad address", "error",        "no memory",
                           "busy",        "wrong thread", "not there yet"};
  static_assert(NETIO_BAD_ADDRESS + own.size() == NETIO_NOT_THERE_YET + 1);
  if (result < NETIO_BAD_ADDRESS || result > NETIO_NOT_THERE_YET)
    return word(result, Status::invalid);
  return own[static_cast<std::size_t>(result - NETIO_BAD_ADDRESS)];
}

NETIO_API const char* netio_down_reason_name(int reason) {
  return word(reason, DownReason::resources);
}

NETIO_API const char* netio_drop_reason_name(int reason) {
  return word(reason, DropReason::superseded);
}

NETIO_API const char* netio_outcome_name(int outcome) { return word(outcome, Outcome::in_doubt); }

NETIO_API const char* netio_fragment_status_name(int status) {
  return word(status, FragmentStatus::in_error);
}

NETIO_API const char* netio_missing_name(int missing) { return word(missing, Missing::forgotten); }

}  // extern "C"
}  // namespace netio::c_api
