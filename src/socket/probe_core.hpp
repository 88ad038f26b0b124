// Says a hello that only asks, reads the answer, and ends the link. Owner thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <netio/probe.hpp>

#include "base/url.hpp"
#include "memory/copies.hpp"
#include "memory/quota.hpp"
#include "socket/wire_menu.hpp"
#include "transport/link.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

class ContextCore;

class ProbeCore final : private LinkEvents, private Deferred {
 public:
  ProbeCore(ContextCore& context, std::string_view address,
            std::function<void(const ProbeResult&)> on_result, std::chrono::nanoseconds within);
  ~ProbeCore() override = default;

 private:
  Hello greet(const Hello* theirs) noexcept override;
  std::optional<Down> judge(const Hello& theirs) noexcept override;
  void on_up(const Hello&) noexcept override {}
  void on_page(const PageHeader&, Block&, std::span<const std::byte>) noexcept override {}
  void on_writable() noexcept override {}
  void on_sent() noexcept override {}
  void on_idle() noexcept override {}
  void on_down(const Down& down) noexcept override;
  void run_deferred() noexcept override;
  void take(const Hello& theirs);

  ContextCore& context_;
  Url url_;
  std::optional<WireMenu> menu_;  // of a netio:// address
  Quota::Ptr receive_quota_;
  Quota::Ptr large_quota_;
  std::uint64_t starved_ = 0;
  Copies copies_;
  LinkOptions options_;
  std::function<void(const ProbeResult&)> on_result_;
  std::int64_t asked_at_ns_ = 0;
  ProbeResult result_;
  std::unique_ptr<Link> link_;
};

}  // namespace netio::detail
