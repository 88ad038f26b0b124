// An outgoing stream that nobody looks after, without a connection: for tests of what stands on it.
#pragma once

#include <cstddef>

#include "memory/copies.hpp"
#include "memory/large_pool.hpp"
#include "socket/outgoing_stream.hpp"

namespace netio::test {

class UnwatchedStream final : private detail::StreamOwner {
 public:
  [[nodiscard]] detail::OutgoingStream& operator*() noexcept { return stream_; }
  [[nodiscard]] detail::OutgoingStream* operator->() noexcept { return &stream_; }
  [[nodiscard]] detail::LargePool& large_pool() noexcept { return *large_; }

 private:
  static constexpr std::size_t bytes_max = 1U << 20U;

  void on_page_opened() noexcept override {}
  void on_large_begun() noexcept override {}
  void on_starved() noexcept override {}
  void on_stream_memory() noexcept override {}
  void on_kept_unread() noexcept override {}

  detail::LargePool::Ptr large_ = detail::LargePool::create(bytes_max, 0);
  detail::Copies copies_;
  detail::OutgoingStream stream_{*this, *large_, copies_, bytes_max};
};

}  // namespace netio::test
