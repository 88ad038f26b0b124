#include "fragment_source.hpp"

#include <algorithm>

#include "fragment_stamp.hpp"

namespace netio::cli {

FragmentLoad::FragmentLoad(std::size_t fragment_bytes, std::uint32_t source,
                           const FragmentOutlet& outlet)
    : fragment_bytes_(fragment_bytes),
      source_(source),
      numbers_(outlet),
      fragment_(std::make_unique<std::byte[]>(fragment_bytes)) {}

Turn FragmentLoad::send_some(Outlet& outlet, Allowance allowance) {
  const std::uint64_t bytes = std::min(allowance.bytes, turn_bytes_max);
  // Rounded up: the fragment that crosses a limit of bytes is still sent.
  const std::uint64_t share =
      std::min(std::min(allowance.messages, turn_messages_max), (bytes - 1) / fragment_bytes_ + 1);
  const std::span<std::byte> fragment(fragment_.get(), fragment_bytes_);
  for (std::uint64_t i = 0; i < share; ++i) {
    stamp_fragment(fragment, {source_, numbers_.next()});
    const Status status = outlet.send(fragment);
    if (status != Status::ok) return not_taken(status, fragment.size());
    count(fragment.size());
  }
  return Turn::more;
}

}  // namespace netio::cli
