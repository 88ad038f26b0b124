// A link without a wire, for unit tests of what posts to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "memory/pool.hpp"
#include "support/unwatched_stream.hpp"
#include "transport/link.hpp"

namespace netio::test {

inline constexpr std::size_t fake_page_bytes = 8192;

// A link that an outgoing stream is attached to. It takes posts until its queue is full, and keeps
// them until the test takes them off.
class FakeLink final : public detail::Link {
 public:
  FakeLink(detail::Pool& pool, UnwatchedStream& stream) : pool_(pool) {
    fit_ = {.pages = &pool, .large = &stream.large_pool()};
    fit_.borrowed_bytes_max = fit_.whole_page_bytes_max = fake_page_bytes;
    limits_.page_bytes_max = fake_page_bytes;
    limits_.message_bytes_max = 1U << 20U;
    stream->attach(*this);
  }
  void wire_takes_all() {
    posts_.clear();
    queued_bytes_ = 0;
  }
  std::size_t posts_max = 4;
  std::vector<std::vector<std::byte>> controls;  // the payloads of all control frames so far

  void start(detail::LinkEvents&) noexcept override {}
  bool hear_greeting() noexcept override { return true; }
  detail::Store& receive_store() noexcept override { return pool_; }
  Status post(detail::Post& post) noexcept override {
    if (posts_.size() == posts_max) return Status::again;
    queued_bytes_ += post.body.bytes;
    if ((post.flags & detail::page_flag::control) != 0) {
      controls.emplace_back(post.body.data, post.body.data + post.body.bytes);
    }
    posts_.push_back(std::move(post.body.lease));
    return Status::ok;
  }
  void flush() noexcept override {}
  const detail::LinkLimits& limits() const noexcept override { return limits_; }
  bool idle() const noexcept override { return posts_.empty(); }
  bool backed_up() const noexcept override { return !posts_.empty(); }
  std::size_t queued_bytes() const noexcept override { return queued_bytes_; }
  detail::Holding holding(const detail::StorePart&) const noexcept override { return {}; }
  void pause(bool) noexcept override {}
  void assembling(bool) noexcept override {}
  void finish() noexcept override {}
  void cut() noexcept override {}
  std::uint64_t bytes_received() const noexcept override { return 0; }
  bool mid_page() const noexcept override { return false; }
  bool reading() const noexcept override { return true; }
  std::string peer_address() const override { return {}; }

 private:
  detail::Pool& pool_;
  detail::LinkLimits limits_;
  std::vector<detail::Lease> posts_;
  std::size_t queued_bytes_ = 0;
};

}  // namespace netio::test
