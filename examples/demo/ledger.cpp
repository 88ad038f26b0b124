// The memory is sparse: what no event has touched takes none.
#include "ledger.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace demo {

namespace {

constexpr std::uint8_t marked_once = 16;
constexpr std::uint8_t half_max = 15;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::uint64_t unmarked_in(std::uint8_t times) { return times % marked_once; }
std::uint64_t marked_in(std::uint8_t times) { return times / marked_once; }

}  // namespace

Ledger::Ledger(std::uint64_t events_max) : fd_(memfd_create("netio-demo-ledger", 0)) {
  if (fd_ < 0) fail("memfd_create");
  bytes_ = sizeof(Head) + 2 * static_cast<std::size_t>(events_max);
  if (ftruncate(fd_, static_cast<off_t>(bytes_)) != 0) fail("ftruncate");
  map();
  head_->events_max = events_max;
  built_ = {reinterpret_cast<Times*>(head_ + 1), static_cast<std::size_t>(events_max)};
  recorded_ = {built_.data() + built_.size(), built_.size()};
}

Ledger::Ledger(Descriptor descriptor) : fd_(descriptor.fd) {
  struct stat status {};
  if (fstat(fd_, &status) != 0) fail("fstat");
  bytes_ = static_cast<std::size_t>(status.st_size);
  map();
  const auto events_max = static_cast<std::size_t>(head_->events_max);
  built_ = {reinterpret_cast<Times*>(head_ + 1), events_max};
  recorded_ = {built_.data() + built_.size(), events_max};
}

Ledger::~Ledger() {
  munmap(head_, bytes_);
  close(fd_);
}

// The kernel gives zeros, and these are valid values of everything in there.
void Ledger::map() {
  void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) fail("mmap");
  head_ = static_cast<Head*>(memory);
}

void Ledger::enter(std::span<Times> list, std::uint64_t event, bool again,
                   std::atomic<std::uint64_t>& unknown) noexcept {
  if (event >= list.size()) {
    ++unknown;
    return;
  }
  std::uint64_t entered = head_->events_end;
  while (entered <= event && !head_->events_end.compare_exchange_weak(entered, event + 1)) {
  }
  Times& times = list[static_cast<std::size_t>(event)];
  const std::uint8_t now = times;
  if ((again ? marked_in(now) : unmarked_in(now)) < half_max) times += again ? marked_once : 1;
}

void Ledger::enter_built(std::size_t builder, std::uint64_t event, bool again,
                         std::uint64_t bytes) noexcept {
  Row& row = head_->built[builder];
  ++row.events;
  if (again) ++row.again;
  row.bytes += bytes;
  enter(built_, event, again, head_->unknown_built);
}

void Ledger::enter_recorded(std::uint64_t event, bool again) noexcept {
  ++head_->recorded.events;
  if (again) ++head_->recorded.again;
  enter(recorded_, event, again, head_->unknown_recorded);
}

Ledger::Line Ledger::built_by(std::size_t builder) const noexcept {
  const Row& row = head_->built[builder];
  return {row.events, row.again, row.bytes};
}

std::uint64_t Ledger::recorded() const noexcept { return head_->recorded.events; }

Ledger::Count Ledger::count(std::span<const Times> list, std::uint64_t end,
                            std::uint64_t unknown) const noexcept {
  Count count;
  count.unknown = unknown;
  // The rest of the memory is not read: it would take memory then.
  const std::uint64_t below =
      std::min<std::uint64_t>(std::max(end, head_->events_end.load()), list.size());
  for (std::uint64_t event = 0; event < below; ++event) {
    const std::uint8_t times = list[static_cast<std::size_t>(event)];
    const std::uint64_t unmarked = unmarked_in(times);
    const std::uint64_t marked = marked_in(times);
    const bool good_before = count.good();
    count.times += unmarked + marked;
    count.marked += marked;
    if (event >= end) {
      if (times != 0) ++count.unknown;
    } else if (times == 0) {
      ++count.missing;
    } else {
      ++count.events;
      if (unmarked + marked > 1) ++count.several;
      if (unmarked > 1) ++count.unmarked_twice;
    }
    if (good_before && !count.good()) count.first_fault = event;
  }
  return count;
}

Ledger::Count Ledger::count_built(std::uint64_t end) const noexcept {
  return count(built_, end, head_->unknown_built);
}

Ledger::Count Ledger::count_recorded(std::uint64_t end) const noexcept {
  return count(recorded_, end, head_->unknown_recorded);
}

}  // namespace demo
