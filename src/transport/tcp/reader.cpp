// The receive side of a tcp link: see reader.hpp for how pages find their place.
#include "transport/tcp/reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

#include "base/point.hpp"

namespace netio::detail {

namespace {
// A large page's body begins here in its buffer, so that the payload behind an 8-byte frame word
// is aligned to a cache line. Not to the first one: what comes after a silence lies in the kernel
// from the beginning of a memory page on, and so the body 32 bytes behind that. A copy to a place
// up to 31 bytes farther in its memory page than where it comes from takes several times as long
// (rep movsb on AMD).
constexpr std::size_t large_offset = 128 - frame_word_bytes;
static_assert(large_offset - page_header_bytes >= 32);
static_assert(large_offset + frame_prefix_bytes_max + wire_align <= around_large_message);
}  // namespace

TcpReader::TcpReader(const TransportResources& resources, const LinkOptions& options)
    : pool_(resources.receive_pool),
      large_pool_(resources.large_pool),
      quota_(options.receive_quota),
      large_quota_(options.large_quota),
      page_bytes_(resources.page_bytes),
      starved_count_(options.starved_count),
      copied_(options.copies),
      fills_blocks_(options.fills_blocks) {
  // One message with all that may stand before it, in a body whose size has 32 bits.
  constexpr std::uint64_t body_field_max = UINT32_MAX - (wire_align - 1);
  const std::uint64_t message = std::min(options.message_bytes_max, body_field_max);
  body_bytes_max_ =
      std::min<std::uint64_t>(wire_padded(message) + frame_prefix_bytes_max, body_field_max);
}

bool TcpReader::mid_page() const noexcept {
  return begin_ != end_ || large_ || staged_bytes_ != 0 || rest_.bytes != 0;
}

std::uint64_t TcpReader::body_begun() const noexcept {
  if (large_) return large_filled_;
  const std::size_t here = end_ - begin_ + staged_bytes_;
  const std::size_t head = rest_.bytes != 0 ? 0 : page_header_bytes;
  return here - std::min(here, head);
}

ReadResult TcpReader::read(int fd, LinkEvents& events, const bool& paused,
                           std::size_t budget_bytes) {
  bool short_read = false;
  // The rest of a block comes on top. Otherwise reads would be the shorter, and turns the more, the
  // fuller the block is.
  if (fills_blocks_ && block_) budget_bytes += block_->capacity() - end_;
  for (;;) {
    ReadResult result = deliver(events, paused);
    // A pause may last, and nothing is left in the block.
    if (result == ReadResult::paused && begin_ == end_) give_block_back();
    if (result != ReadResult::drained) return result;
    if (short_read || budget_bytes == 0) {
      deliver_begun(events);
      give_block_back();
      return short_read ? ReadResult::drained : ReadResult::more;
    }
    result = receive(fd, budget_bytes, short_read);
    if (result != ReadResult::more) {
      if (result == ReadResult::drained) deliver_begun(events);
      give_block_back();
      return result;
    }
  }
}

// Hands out every complete page. `drained` when the next one needs more bytes.
ReadResult TcpReader::deliver(LinkEvents& events, const bool& paused) {
  for (;;) {
    if (paused) return ReadResult::paused;
    if (large_) {
      if (large_filled_ < large_header_.bytes) return ReadResult::drained;
      const Lease page = std::move(large_);
      after_large_ = true;
      events.on_page(large_header_, *page.get(), {page->data() + large_offset, large_filled_});
      continue;
    }
    if (after_large_ && staged_bytes_ == page_header_bytes) {
      if (const ReadResult result = unstage(); result != ReadResult::more) return result;
      continue;
    }
    PageHeader header = rest_;
    const std::size_t head = header.bytes != 0 ? 0 : page_header_bytes;
    if (end_ - begin_ < head) return ReadResult::drained;
    if (head != 0) {
      header = load_page_header(block_->data() + begin_);
      if (!allowed(header)) return ReadResult::bad;
      if (header.bytes > page_bytes_ - page_header_bytes) {
        if (const ReadResult result = begin_large(header); result != ReadResult::more) {
          return result;
        }
        continue;
      }
    }
    if (end_ - begin_ < head + header.bytes) return ReadResult::drained;
    hand_out(header, head, events);
  }
}

void TcpReader::hand_out(const PageHeader& header, std::size_t head, LinkEvents& events) {
  const std::byte* body = block_->data() + begin_ + head;
  begin_ += head + header.bytes;
  after_large_ = false;
  if (small_pages_ <= few_small_pages) ++small_pages_;
  rest_ = {};
  events.on_page(header, *block_.get(), {body, header.bytes});
}

// Hands up the whole messages of a page that is not complete, as a page of their own. Otherwise a
// block would wait for the end of each page: with a thousand peers, a thousand blocks.
void TcpReader::deliver_begun(LinkEvents& events) {
  const std::size_t head = rest_.bytes != 0 ? 0 : page_header_bytes;
  if (!block_ || end_ - begin_ <= head) return;
  const std::byte* body = block_->data() + begin_ + head;
  PageHeader first = head != 0 ? load_page_header(body - head) : rest_;
  PageHeader rest = first;
  first.bytes = first.messages = 0;
  FrameWalker walker(body, end_ - begin_ - head, ability::every_frame);
  for (Frame frame; rest.messages > 1 && walker.next(frame) && frame.whole_message();) {
    first.bytes = static_cast<std::uint32_t>(frame.payload + wire_padded(frame.size) - body);
    ++first.messages;
    --rest.messages;
    ++rest.sequence;
  }
  if (first.messages == 0) return;
  rest.bytes -= first.bytes;
  first.flags |= page_flag::begun;
  hand_out(first, head, events);
  rest_ = rest;
}

// A complete header read behind a large page: of another large one, or of the first in a block.
ReadResult TcpReader::unstage() {
  const PageHeader header = load_page_header(staged_.data());
  if (!allowed(header)) return ReadResult::bad;
  if (header.bytes > page_bytes_ - page_header_bytes) {
    if (const ReadResult result = begin_large(header); result != ReadResult::more) return result;
  } else {
    if (!take_block()) return starve(pool_);
    after_large_ = false;
  }
  staged_bytes_ = 0;
  return ReadResult::more;
}

// The header was staged, or is in the block with some of the body behind it.
ReadResult TcpReader::begin_large(const PageHeader& header) {
  const std::size_t bytes = large_offset + header.bytes;
  Lease large = large_pool_.take(bytes, large_quota_);
  if (!large) {
    const bool may_come = large_pool_.could_ever_take(bytes, large_quota_);
    if (may_come && !large_pool_.system_refused()) return starve(large_pool_);
    down_ = {DownReason::resources,
             "a message of " + std::to_string(header.bytes) +
                 " bytes does not fit this context's large_bytes_max, or the system has no "
                 "memory for it"};
    return ReadResult::bad;
  }
  large_ = std::move(large);
  large_header_ = header;
  large_filled_ = 0;
  few_between_ = std::exchange(small_pages_, 0) <= few_small_pages;
  if (end_ != begin_) {
    const std::byte* body = block_->data() + begin_ + page_header_bytes;
    const std::size_t here = std::min<std::size_t>(end_ - begin_ - page_header_bytes, header.bytes);
    std::memcpy(large_->data() + large_offset, body, here);
    if (copied_ != nullptr && here != 0) copied_->add(here);
    large_filled_ = here;
    begin_ += page_header_bytes + here;
    // What follows a large page in the block can only be small pages, which go on from there.
  }
  return ReadResult::more;
}

// One system call. `more` if it brought something.
ReadResult TcpReader::receive(int fd, std::size_t& budget_bytes, bool& short_read) {
  std::array<iovec, 2> parts{};
  std::size_t count = 1;
  const bool header_alone = expects_header();
  if (large_) {
    parts[0] = {large_->data() + large_offset + large_filled_, large_header_.bytes - large_filled_};
    parts[1] = {staged_.data(), page_header_bytes};
    count = 2;
  } else if (header_alone) {
    parts[0] = {staged_.data() + staged_bytes_, page_header_bytes - staged_bytes_};
  } else {
    if (!take_block()) return starve(pool_);
    parts[0] = {block_->data() + end_, read_limit() - end_};
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  ssize_t got = 0;
  NETIO_POINT(read);
  do {
    // The plain call costs the kernel less.
    got = count == 1 ? recv(fd, parts[0].iov_base, parts[0].iov_len, 0) : recvmsg(fd, &message, 0);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return ReadResult::end;
  if (got < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return ReadResult::drained;
    error_ = errno;
    return ReadResult::failed;
  }
  NETIO_POINT(was_read);
  auto bytes = static_cast<std::size_t>(got);
  short_read = bytes < parts[0].iov_len + parts[1].iov_len;
  bytes_received_ += bytes;
  budget_bytes -= std::min(budget_bytes, bytes);
  if (large_) {
    const std::size_t body = std::min(bytes, parts[0].iov_len);
    large_filled_ += body;
    staged_bytes_ = bytes - body;
  } else if (header_alone) {
    staged_bytes_ += bytes;
  } else {
    end_ += bytes;
  }
  return ReadResult::more;
}

// A block with room for the page at begin_, whatever its size.
bool TcpReader::take_block() {
  if (block_ && begin_ == end_) {
    if (pool_.blocks_free() == 0 && pool_.waited_for() && !assembling_ && !has_room_to_fill()) {
      block_.reset();  // in turn
    } else if (block_->sole()) {
      begin_ = end_ = 0;  // nobody kept anything: the warm beginning again
      Store::forget_kept(*block_.get());
    } else if (begin_ > block_->capacity() - page_bytes_) {
      block_.reset();
    } else {
      begin_ = end_ = wire_padded(end_);  // a large page may have begun in the block
    }
  }
  if (!block_) {
    block_ = pool_.take(quota_);
    begin_ = end_ = 0;
  }
  if (block_ && staged_bytes_ != 0) {
    std::memcpy(block_->data() + end_, staged_.data(), staged_bytes_);
    end_ += std::exchange(staged_bytes_, 0);
  }
  return static_cast<bool>(block_);
}

// How far to fill the block: to the end of the page under way if its size is known, and else no
// farther than a page of the largest size could begin. Both keep the next page whole. If the next
// page may be large, its header is the last that is read.
std::size_t TcpReader::read_limit() const noexcept {
  const std::size_t last_begin = block_->capacity() - page_bytes_;
  const bool size_known = rest_.bytes != 0 || end_ - begin_ >= page_header_bytes;
  std::size_t page_end = begin_ + (rest_.bytes != 0 ? rest_.bytes : page_header_bytes);
  if (rest_.bytes == 0 && size_known) page_end += load_page_header(block_->data() + begin_).bytes;
  if (!large_page_near()) return std::max(page_end, last_begin);
  return page_end + (size_known && page_end <= last_begin ? page_header_bytes : 0);
}

// The owner keeps something in the block, and the largest page fits the rest.
bool TcpReader::has_room_to_fill() const noexcept {
  return fills_blocks_ && begin_ <= block_->capacity() - page_bytes_ && !block_->sole();
}

// Between pages, and with a few bytes of a header or message, no block is held, unless the rest of
// it is to be filled.
void TcpReader::give_block_back() noexcept {
  if (!block_ || assembling_ || end_ - begin_ > staged_.size() || has_room_to_fill()) return;
  if (end_ != begin_) {
    staged_bytes_ = end_ - begin_;
    std::memcpy(staged_.data(), block_->data() + begin_, staged_bytes_);
    // A page header is no payload.
    const std::size_t head = rest_.bytes != 0 ? 0 : std::min(staged_bytes_, page_header_bytes);
    if (copied_ != nullptr && staged_bytes_ > head) copied_->add(staged_bytes_ - head);
    after_large_ = false;
  }
  block_.reset();
  begin_ = end_ = 0;
}

bool TcpReader::allowed(const PageHeader& header) {
  if (const char* what = defect(header); what != nullptr) {
    down_ = {DownReason::protocol_error, what};
    return false;
  }
  const bool large = header.bytes > page_bytes_ - page_header_bytes;
  if (const char* what = large ? large_page_defect(header) : nullptr; what != nullptr) {
    down_ = {DownReason::protocol_error, what};
    return false;
  }
  if (assembling_ && large) {
    down_ = {DownReason::protocol_error, "sent a large page inside a message in parts"};
    return false;
  }
  if (header.bytes > body_bytes_max_ && header.bytes > page_bytes_ - page_header_bytes) {
    down_ = {DownReason::message_too_big, "the peer announced a page of " +
                                              std::to_string(header.bytes) +
                                              " bytes, which no message allowed here fills"};
    return false;
  }
  return true;
}

ReadResult TcpReader::starve(Store& store) noexcept {
  starved_store_ = &store;
  if (starved_count_ != nullptr) ++*starved_count_;
  return ReadResult::starved;
}

}  // namespace netio::detail
