// Texts and files of channels, as somebody may have written them. Whatever stands there, the answer
// is a list of channels, or an Error that a terminal can show.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <netio/channels.hpp>

#include "require.hpp"

namespace {

template <typename Parse>
void answer(Parse parse) {
  try {
    for (const netio::ChannelConfig& channel : parse()) {
      require(!channel.name.empty() && !channel.endpoints.empty());
      require(channel.socket.name == to_string(channel));
    }
  } catch (const netio::Error& error) {
    require(!error.cause().empty());
    for (const char* at = error.what(); *at != 0; ++at) require(*at >= ' ' && *at <= '~');
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  answer([&] { return netio::parse_channel(text); });
  answer([&] { return netio::parse_channels_json(text, "a"); });
  return 0;
}
