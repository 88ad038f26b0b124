// Bursts of completions, and the graves of those that nobody waits for.
#include "fabric/completion_queue.hpp"

#include <array>
#include <utility>

#include <rdma/fi_errno.h>

#include "base/helper_thread.hpp"
#include "fabric/error.hpp"

namespace netio::detail {

namespace {
// Entries read at once; a burst is also what one turn may take before others get theirs.
constexpr std::size_t burst = 64;

int open_queue(const Domain& domain, std::size_t size, fi_wait_obj wait, fid_cq** opened) {
  fi_cq_attr attributes{};
  attributes.size = size;
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.wait_obj = wait;
  return fi_cq_open(domain.get(), &attributes, opened, nullptr);
}
}  // namespace

CompletionQueue::CompletionQueue(Loop& loop, const Fabric& fabric, const Domain& domain,
                                 std::size_t size, std::size_t size_min)
    : loop_(loop), fabric_(fabric.get()), size_(size) {
  const HelpersStart helpers;
  const bool sleeps = loop_.idle_policy() != IdlePolicy::spin;
  const fi_wait_obj wait = sleeps ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* opened = nullptr;
  int answer = open_queue(domain, size_, wait, &opened);
  for (; answer != 0 && size_ / 2 >= size_min; answer = open_queue(domain, size_, wait, &opened)) {
    size_ /= 2;
  }
  check_fabric(answer, "open a completion queue");
  queue_.reset(opened);
  if (sleeps) {
    check_fabric(fi_control(&opened->fid, FI_GETWAIT, &fd_),
                 "get the completion queue's descriptor to sleep on");
  }
  loop_.add_source(*this);
}

CompletionQueue::~CompletionQueue() { loop_.remove_source(*this); }

// Under load the first read of a turn never finds the queue empty, and graves would stay. The read
// right behind it mostly does.
bool CompletionQueue::poll(int) noexcept {
  const bool worked = read_burst();
  if (worked && !graves_.empty()) (void)read_burst();
  return worked;
}

bool CompletionQueue::read_burst() noexcept {
  std::array<fi_cq_data_entry, burst> entries;
  const auto dead = static_cast<std::ptrdiff_t>(graves_.size());
  const ssize_t count = fi_cq_read(queue_.get(), entries.data(), entries.size());
  if (count == -FI_EAGAIN || count == 0) {
    if (dead != 0) graves_.erase(graves_.begin(), graves_.begin() + dead);
    return false;
  }
  if (count < 0) return read_failure();
  for (ssize_t i = 0; i < count; ++i) {
    const fi_cq_data_entry& entry = entries[static_cast<std::size_t>(i)];
    auto* const operation = static_cast<Operation*>(entry.op_context);
    if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) [[unlikely]] {
      OperationOwner* const owner = operation != nullptr ? operation->owner : immediates_owner_;
      if (owner != nullptr) owner->on_immediate(operation, entry.data);
      continue;
    }
    if (operation == nullptr || operation->owner == nullptr) continue;
    operation->owner->on_completion(*operation, entry.len);
  }
  return true;
}

bool CompletionQueue::read_failure() noexcept {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(queue_.get(), &entry, 0) != 1) return false;
  auto* const operation = static_cast<Operation*>(entry.op_context);
  if (operation != nullptr && operation->owner != nullptr) {
    operation->owner->on_failure(*operation, entry.err < 0 ? -entry.err : entry.err);
  }
  return true;
}

void CompletionQueue::drain() noexcept {
  // A failure takes a whole look.
  for (std::size_t looks = 0; looks <= size_ && poll(0); ++looks) {
  }
}

bool CompletionQueue::may_sleep() noexcept {
  if (fd_ < 0) return false;
  fid* object = &queue_->fid;
  return fi_trywait(fabric_, &object, 1) == 0;
}

void CompletionQueue::will_bury() {
  graves_.reserve(graves_.size() + to_bury_ + 1);
  ++to_bury_;
}

void CompletionQueue::bury(std::vector<Operation> operations) noexcept {
  for (Operation& each : operations) each.owner = nullptr;
  --to_bury_;
  graves_.push_back(std::move(operations));
}

}  // namespace netio::detail
