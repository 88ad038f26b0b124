// See readout_core.hpp. Here: fragments that are copied into pages. Most of them flow.
#include "units/readout_core.hpp"

namespace netio::detail {

Status ReadoutCore::send(EventId event, std::span<const std::byte> fragment,
                         FragmentStatus status) noexcept {
  const std::size_t bytes = fragment.size();
  const bool flows = status == FragmentStatus::good && bytes <= framed_bytes_max_ &&
                     gathered_.takes(event.run, event.number, bytes);
  if (!flows) [[unlikely]]
    return send_alone(event, fragment, status);
  if (gathered_.empty() && !scheduled()) [[unlikely]]
    loop_.defer(*this);
  gathered_.add(event.number, fragment);
  if (gathered_.full()) [[unlikely]]
    send_gathered();
  return Status::ok;
}

// In memory that the builder reads too, if the wire has such memory, and plenty of it: that for
// pages, or else that for large messages, of which there is more.
bool ReadoutCore::open_page(std::uint32_t number, std::size_t bytes) noexcept {
  const Builder& builder = lender(number);
  Link* const link = link_of(builder);
  if (builder.up && link != nullptr && link->fit().loans != nullptr) {
    Pool& pool = link->pool();
    const std::size_t room = std::min(pool.block_bytes(), builder.body_bytes_max);
    if (pool.plenty() && room >= frame_prefix_bytes_max + wire_padded(bytes)) {
      Lease page = pool.take();
      if (page) return store_.open(number, std::move(page), room);
    }
    RangePool& loans = *link->fit().loans;
    if (loans.plenty()) {
      constexpr std::size_t end = loan_headroom + UnitStore::page_bytes;
      Lease page = loans.take(end);
      if (page) return store_.open(number, std::move(page), end, loan_headroom);
    }
  }
  return store_.open(number);
}

Status ReadoutCore::send_alone(EventId event, std::span<const std::byte> fragment,
                               FragmentStatus status) noexcept {
  if (finishing_) return Status::closed;
  if (fragment.size() > options_.message_bytes_max) return Status::too_big;
  if (fragment.size() > UnitStore::framed_bytes_max) return hold_large(event, fragment, status);
  const std::uint32_t number = protocol().builder_of(event);
  if (store_.needs_page(number, fragment.size()) && !open_page(number, fragment.size())) {
    return without_memory();
  }
  const UnitStore::Name name = store_.add(number, event.number, fragment);
  const Status answer = protocol().send(event, fragment.size(), name, status);
  if (answer == Status::ok) [[likely]] {
    gather_what_flows();
    note_change();
    return answer;
  }
  store_.take_back(number, name);
  return answered(answer, fragment.size());
}

void ReadoutCore::send_gathered() noexcept {
  if (gathered_.empty()) return;
  const auto fragments = static_cast<std::uint32_t>(gathered_.run().sizes().size());
  store_.wrote(gathered_.builder(), gathered_.frame_bytes(), fragments);
  protocol_.send(gathered_.run());
  gather_what_flows();
}

void ReadoutCore::gather_what_flows() noexcept {
  const UnitProtocol::Flow flow = protocol_.flow();
  gathered_.begin_anew(flow, store_.rest(flow.builder));
}

// Those that stand behind one another in one page, as far as the window and a body take them.
std::size_t ReadoutCore::send_together(std::uint32_t number, const Together& together) noexcept {
  Builder& builder = builders_[number];
  const std::uint64_t first = together.sizes.front();
  if (window_cost(first) > together.cost_max) return 0;
  const Fragment label{together.event, first, together.before, FragmentStatus::good};
  if (!builder.up || builder.ending || !say_label(builder, label)) return 0;
  const UnitStore::Place place = store_.at(together.memory, first);
  if (place.message != nullptr || !continue_run(builder, place, together.memory)) return 0;
  FrameSums sums;
  std::size_t bytes = 0;
  const std::size_t room = builder.body_bytes_max - builder.run.bytes();
  for (const std::uint64_t each : together.sizes) {
    const std::size_t frame_bytes = UnitStore::frame_bytes(together.memory, each);
    const std::uint64_t cost = sums.bytes + each + (sums.messages + 1) * fragment_cost;
    if (frame_bytes > room - bytes || cost > together.cost_max) break;
    bytes += frame_bytes;
    ++sums.messages;
    sums.largest = std::max(sums.largest, static_cast<std::uint32_t>(each));
    sums.bytes += each;
  }
  builder.run.add(bytes, sums);
  return sums.messages;
}

}  // namespace netio::detail
