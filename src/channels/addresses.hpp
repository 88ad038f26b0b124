// The addresses of a channel: FairMQ's, with its transport, as netio writes them. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <netio/channels.hpp>

namespace netio::detail {

// What FairMQ's key `transport` asks for.
enum class ChannelTransport : std::uint8_t { as_written, shmem, ofi };

// Throws BadValue, which names the nearest.
[[nodiscard]] ChannelTransport parse_transport(std::string_view text);

// What one address became.
struct TranslatedAddress {
  std::string address;
  std::string remark;  // why it is another one; empty if it is as it was written
};

// Throws BadValue.
[[nodiscard]] TranslatedAddress translate_address(std::string_view address,
                                                  ChannelTransport transport);

// One address, or several with ';' between them. Each may begin with '@' (bind), or '+' or '>'
// (connect).
struct WrittenEndpoint {
  std::string_view address;
  char method = 0;  // 'b', 'c', or 0 if the address does not say
};
// Throws BadValue if one is empty.
[[nodiscard]] std::vector<WrittenEndpoint> split_endpoints(std::string_view text);

}  // namespace netio::detail
