// One line an option. Written so that a watermark which is no number is refused too.
#include "socket/option_bounds.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include <netio/status.hpp>

#include "wire/hello.hpp"

namespace netio::detail {

namespace {

constexpr std::chrono::milliseconds silence_least{silence_ms_least};
constexpr std::chrono::milliseconds silence_most{silence_ms_most};
// 1 TiB: more than any pool has, and far from where a size plus a header would wrap.
constexpr std::size_t bytes_most = std::size_t{1} << 40U;

// Each takes 16 bytes and more.
constexpr std::size_t ranges_most = std::size_t{1} << 32U;

constexpr std::size_t requests_most = std::size_t{1} << 20U;

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
  throw Error("make a socket", what, advice);
}

void check_bytes(const char* name, std::size_t bytes, bool may_be_zero = false) {
  if (bytes <= bytes_most && (bytes >= 1 || may_be_zero)) return;
  refuse(std::string(name) + " is " + std::to_string(bytes),
         may_be_zero ? "choose up to 1 TiB (2^40)" : "choose 1 byte to 1 TiB (2^40)");
}

void check_ranges(const char* name, std::size_t ranges) {
  if (ranges >= 1 && ranges <= ranges_most) return;
  refuse(std::string(name) + " is " + std::to_string(ranges), "choose 1 to 2^32");
}

void check_requests(const char* name, std::size_t requests) {
  if (requests >= 1 && requests <= requests_most) return;
  refuse(std::string(name) + " is " + std::to_string(requests), "choose 1 to 2^20");
}

void check_time(const char* name, std::chrono::nanoseconds time, bool may_be_zero = false) {
  if (time.count() < 0 || (time.count() == 0 && !may_be_zero)) {
    refuse(std::string(name) + " is " + std::to_string(time.count()) + " ns",
           may_be_zero ? "choose 0 or more" : "choose more than 0");
  }
  if (time > time_most) refuse(std::string(name) + " is over 100 years", "choose less");
}

void check_watermarks(const SocketOptions& options) {
  const double low = options.low_watermark;
  const double high = options.high_watermark;
  if (low >= 0 && low <= high && high <= 1) return;
  refuse("low_watermark is " + std::to_string(low) + " and high_watermark " + std::to_string(high),
         "they are shares of 1, and the low one is not above the high one");
}

}  // namespace

const SocketOptions& checked(const SocketOptions& options, std::size_t receive_block_bytes) {
  if (options.acknowledge != Acknowledge::delivered &&
      options.acknowledge != Acknowledge::released) {
    refuse("acknowledge is " + std::to_string(static_cast<int>(options.acknowledge)),
           "take one of netio::Acknowledge");
  }
  if (options.distribute != Distribute::in_turn && options.distribute != Distribute::by_tag) {
    refuse("distribute is " + std::to_string(static_cast<int>(options.distribute)),
           "take one of netio::Distribute");
  }
  check_bytes("message_bytes_max", options.message_bytes_max);
  check_bytes("send_bytes_max", options.send_bytes_max);
  check_bytes("receive_bytes_max", options.receive_bytes_max);
  check_bytes("resume_bytes_max", options.resume_bytes_max, true);
  if (options.receive_bytes_max < receive_block_bytes) {
    refuse("receive_bytes_max is " + std::to_string(options.receive_bytes_max),
           "messages are read into blocks of " + std::to_string(receive_block_bytes) +
               " bytes (4 pages); allow at least one, better four");
  }
  if (!is_name(options.name)) {
    refuse("name is no name",
           "choose at most 63 bytes of printable ASCII, without spaces at the ends");
  }
  if (options.half_open_max == 0) refuse("half_open_max is 0", "allow at least one");
  if (options.peers_max == 0) refuse("peers_max is 0", "allow at least one");
  check_watermarks(options);
  check_time("flush_after", options.flush_after, true);
  check_time("handshake_within", options.handshake_within);
  check_time("stall_after", options.stall_after);
  check_time("resume_within", options.resume_within);
  check_time("acknowledge_after", options.acknowledge_after);
  check_time("heartbeat_after", options.heartbeat_after, true);
  if (options.heartbeat_after.count() != 0 && options.heartbeat_after < silence_least) {
    refuse("heartbeat_after is " + std::to_string(options.heartbeat_after.count()) + " ns",
           "choose 10 ms or more, or 0 for none");
  }
  check_time("replace_silent_after", options.replace_silent_after, true);
  if (options.replace_silent_after.count() != 0 && (options.replace_silent_after < silence_least ||
                                                    options.replace_silent_after > silence_most)) {
    refuse(
        "replace_silent_after is " + std::to_string(options.replace_silent_after.count()) + " ns",
        "choose 10 ms to a day, or 0 for never");
  }
  check_time("reconnect_after_min", options.reconnect_after_min);
  check_time("reconnect_after_max", options.reconnect_after_max);
  if (options.reconnect_after_max < options.reconnect_after_min) {
    refuse("reconnect_after_max is below reconnect_after_min", "leave the defaults, 10 ms and 1 s");
  }
  // A number of seconds may pass the 292 years that nanoseconds of 64 bits hold.
  check_time("keep_alive_after",
             std::clamp<std::chrono::seconds>(options.keep_alive_after, std::chrono::seconds(0),
                                              time_most + std::chrono::seconds(1)));
  return options;
}

const PublishOptions& checked(const PublishOptions& options) {
  check_time("block_for_max", options.block_for_max, true);
  check_bytes("behind_bytes_max", options.behind_bytes_max, true);
  check_bytes("behind_bytes_all_max", options.behind_bytes_all_max);
  check_ranges("ranges_max", options.ranges_max);
  check_ranges("ranges_all_max", options.ranges_all_max);
  if (options.subscribers_min != 0 && !options.block_allowed) {
    throw Error("make a socket",
                "subscribers_min is " + std::to_string(options.subscribers_min) +
                    ", and counts subscribers that block, but block_allowed is false",
                "allow them to, or leave subscribers_min at 0");
  }
  return options;
}

const RequestOptions& checked(const RequestOptions& options) {
  check_requests("pending_max", options.pending_max);
  return options;
}

const ReplyOptions& checked(const ReplyOptions& options) {
  check_requests("open_max", options.open_max);
  return options;
}

const SubscribeOptions& checked(const SubscribeOptions& options) {
  check_bytes("behind_bytes_max", options.behind_bytes_max, true);
  if (options.behind_for_max.count() < 0 || options.behind_for_max.count() > UINT32_MAX) {
    refuse("behind_for_max is negative, or more than 49 days", "leave the default, 0");
  }
  return options;
}

}  // namespace netio::detail
