// See probe_core.hpp.
#include "socket/probe_core.hpp"

#include <span>
#include <utility>

#include "base/clock.hpp"
#include "base/out_of_memory.hpp"
#include "base/random.hpp"
#include "socket/context_core.hpp"

namespace netio::detail {

ProbeCore::ProbeCore(ContextCore& context, std::string_view address,
                     std::function<void(const ProbeResult&)> on_result,
                     std::chrono::nanoseconds within)
    : context_(context),
      url_((context.loop.require_owner("probe", address), parse_address(address))),
      receive_quota_(Quota::create(context.options().receive_pool_bytes, [] {})),
      large_quota_(Quota::create(0, [] {})),
      options_{.queue_bytes_max = context.options().page_bytes,
               .message_bytes_max = context.options().page_bytes,
               .handshake_within = within,
               .look_up_within = within,
               .keep_alive_after = std::chrono::seconds(60),
               .receive_quota = receive_quota_.get(),
               .large_quota = large_quota_.get(),
               .starved_count = &starved_,
               .copies = &copies_},
      on_result_(std::move(on_result)) {
  Transport& transport = context.transport(address);
  if (is_netio(url_)) menu_.emplace(context, url_);
  link_ = transport.connect(without_options_of_netio(url_), options_);
  link_->start(*this);
}

Hello ProbeCore::greet(const Hello*) noexcept {
  Hello hello;
  hello.asks = true;
  hello.page_bytes_max = static_cast<std::uint32_t>(context_.options().page_bytes);
  hello.message_bytes_max = options_.message_bytes_max;
  hello.run = random_bytes<std::tuple_size_v<RunId>>();
  hello.stream = random_bytes<std::tuple_size_v<StreamId>>();
  hello.epoch = 1;
  asked_at_ns_ = monotonic_ns();  // the time of the loop stands still within a turn
  return hello;
}

std::optional<Down> ProbeCore::judge(const Hello& theirs) noexcept {
  result_.round_trip = std::chrono::nanoseconds(monotonic_ns() - asked_at_ns_);
  std::optional<Down> end = out_of_memory();
  guard_memory(
      [&] {
        take(theirs);
        end = Down{DownReason::closed_here, "that was all that was asked"};
      },
      []() noexcept {});
  return end;
}

void ProbeCore::take(const Hello& theirs) {
  result_.name = theirs.name;
  result_.pattern = to_string(theirs.pattern);
  result_.release = theirs.release;
  result_.run = theirs.run;
  result_.wire_version_min = theirs.version_min;
  result_.wire_version_max = theirs.version_max;
  result_.message_bytes_max = theirs.message_bytes_max;
  for (const WireOffer& offer : std::span(theirs.offers.offers).first(theirs.offers.count)) {
    result_.offers.emplace_back(scheme_of(offer.wire));
  }
  result_.wire = url_.scheme;
  if (menu_) {
    const WireMenu::Choice choice = menu_->look_at(theirs.offers, link_->peer_host());
    std::optional<OfferedWire> taken;
    if (!choice.candidates.empty()) taken = choice.candidates.front().wire;
    result_.wire = taken ? scheme_of(*taken) : "tcp";
    result_.wire_reason = WireMenu::reason(choice, taken);
  }
  result_.answered = true;
}

void ProbeCore::on_down(const Down& down) noexcept {
  if (!result_.answered) {
    result_.down.reason = down.reason;
    guard_memory([&] { result_.down.detail = down.detail; }, []() noexcept {});
  }
  context_.loop.defer(*this);
}

// The call may destroy this object.
void ProbeCore::run_deferred() noexcept {
  const auto call = std::move(on_result_);
  const ProbeResult result = std::move(result_);
  if (call) call_user(call, result);
}

}  // namespace netio::detail

namespace netio {

Probe::Probe(Context& context, std::string_view address,
             std::function<void(const ProbeResult&)> on_result, std::chrono::nanoseconds within)
    : core_(std::make_unique<detail::ProbeCore>(context.core(), address, std::move(on_result),
                                                within)) {}
Probe::~Probe() = default;

}  // namespace netio
