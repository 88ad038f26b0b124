// The usual engine: each message is sent into a receive that the peer has posted for it.
#pragma once

#include <algorithm>

#include "transport/ofi/engine.hpp"

namespace netio::detail {

class MessagesEngine final : public OfiEngine {
 public:
  using OfiEngine::OfiEngine;

  bool may_post(const PageHeader&) const noexcept override { return parts_.credits.may_post(); }
  bool may_send_next() const noexcept override {
    return parts_.sends.next_is_bye() ? parts_.credits.may_say_bye() : parts_.credits.may_post();
  }
  long inject(const PageHeader& header, const Post& post) noexcept override {
    return parts_.sends.inject(parts_.endpoint, header, post);
  }
  long send_next(const PageHeader& tells) noexcept override {
    return parts_.sends.send_next(parts_.endpoint, tells);
  }
  long tell(const PageHeader& header) noexcept override {
    return parts_.sends.inject(parts_.endpoint, header, Post());
  }
  // Half of the receives. Where memory is short there are fewer than the window.
  bool has_much_to_tell(std::size_t window) const noexcept override {
    const std::size_t receives =
        std::max<std::size_t>(1, std::min(window, parts_.receives.in_use()));
    return parts_.credits.untold() * 2 >= receives;
  }
  bool has_to_tell() const noexcept override { return parts_.credits.peer_needs_one(); }

  long replenish(std::size_t window) noexcept override {
    return parts_.receives.post(parts_.endpoint, window);
  }
  bool lacks_memory() const noexcept override { return parts_.receives.starved(); }
  bool is_stopped() const noexcept override { return parts_.receives.starved(); }
  Store& memory() noexcept override { return parts_.receives.pool(); }

  std::byte* data(std::size_t place) noexcept override { return parts_.receives.data(place); }
  Block& block(std::size_t place) noexcept override { return parts_.receives.block(place); }
  bool lend_out(std::size_t) noexcept override { return true; }  // charged when it was posted
  void give_back(std::size_t place) noexcept override { parts_.receives.give_back(place); }
};

}  // namespace netio::detail
