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

// In memory that the builder reads too, if the wire has such memory, and plenty of it.
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
  store_.wrote(gathered_.builder(), gathered_.frames().size(), gathered_.sums().messages);
  protocol_.send(gathered_.run());
  gather_what_flows();
}

void ReadoutCore::gather_what_flows() noexcept {
  const UnitProtocol::Flow flow = protocol_.flow();
  gathered_.begin_anew(flow, store_.rest(flow.builder));
}

bool ReadoutCore::send_together(std::uint32_t number, const FragmentRun& fragments) noexcept {
  Builder& builder = builders_[number];
  const bool labelled = builder.run_said && builder.said_run == fragments.first().run;
  if (!builder.up || builder.ending || !labelled) return false;
  PageRun& run = builder.run;
  const std::span<const std::byte> frames = gathered_.frames();
  const UnitStore::Name name = fragments.fragments()[0].memory;
  if (!run.continues(store_.at(name).page, frames.data()) ||
      run.bytes() + frames.size() > builder.body_bytes_max) {
    if (!send_run(builder)) return false;
    run.begin(store_.lease(name), frames.data());
  }
  run.add(frames.size(), gathered_.sums());
  return true;
}

}  // namespace netio::detail
