// What the tests of evil peers on a fabric have in common.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "conformance/evil.hpp"
#include "support/raw_fabric.hpp"
#include "wire/frame.hpp"

namespace netio::test {

inline constexpr std::uint32_t receives = 64;  // that the attacker says it has
using Messages = std::vector<Bytes>;
using RawFabricPtr = std::unique_ptr<RawFabric>;

inline Bytes grant(std::uint16_t credits, std::uint16_t fetched = 0) {
  detail::PageHeader header;
  header.credits = credits;
  header.fetched = fetched;
  return page_of(header, {});
}
inline Bytes lent_page(std::uint32_t size, RawFabric::Place place, std::uint64_t sequence = 0) {
  return page(all({frame_word(size), word(place.address), word(place.key)}), 1, sequence,
              detail::page_flag::lent);
}
// Pages with a body that came: the first says where the peer stands, before and behind it are
// grants.
inline std::size_t bodies(RawFabric& raw) {
  std::size_t count = 0;
  const std::deque<Bytes>& received = raw.received();
  for (std::size_t i = 1; i < received.size(); ++i) {
    if (received[i].size() > detail::page_header_bytes) ++count;
  }
  return count;
}
inline detail::Hello fabric_hello(detail::WirePattern pattern, std::uint8_t session) {
  detail::Hello hello = sound_hello(pattern, session);
  hello.receives = receives;
  hello.receive_bytes = hello.page_bytes_max;
  return hello;
}

}  // namespace netio::test
