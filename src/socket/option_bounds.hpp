// What the options of a socket may be: bounds that keep every sum of sizes and times far from the
// end of its type, and that no user can mean to pass.
#pragma once

#include <chrono>
#include <cstddef>

#include <netio/options.hpp>
#include <netio/reply.hpp>
#include <netio/request.hpp>
#include <netio/subscription.hpp>

namespace netio::detail {

// A hundred years: doubled, or added to the clock, it is still a time.
inline constexpr std::chrono::hours time_most{24 * 36525};

// The options as they are. Throws Error for the first that makes no sense, and says what to choose.
// `receive_block_bytes`: what the context reads into.
const SocketOptions& checked(const SocketOptions& options, std::size_t receive_block_bytes);
const PublishOptions& checked(const PublishOptions& options);
const RequestOptions& checked(const RequestOptions& options);
const ReplyOptions& checked(const ReplyOptions& options);
const SubscribeOptions& checked(const SubscribeOptions& options);

}  // namespace netio::detail
