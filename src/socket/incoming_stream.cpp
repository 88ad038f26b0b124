// The data path of an IncomingStream.
#include "socket/incoming_stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/point.hpp"
#include "wire/segments.hpp"

namespace netio::detail {

namespace {
constexpr const char* wrong_number = "a page without the number of messages it says";
constexpr const char* too_large = "a message larger than is allowed here";
}  // namespace

IncomingStream::Result IncomingStream::take(const PageHeader& header, Block& block,
                                            std::span<const std::byte> body) {
  if (!delivery_.until_released) return take_page(header, block, body);
  return noting_what_is_kept([&] { return take_page(header, block, body); });
}

IncomingStream::Result IncomingStream::go_on() {
  if (!delivery_.until_released) return go_on_with_page();
  return noting_what_is_kept([this] { return go_on_with_page(); });
}

template <typename Deliver>
IncomingStream::Result IncomingStream::noting_what_is_kept(Deliver&& deliver) {
  if (!unreleased_.make_room()) {
    return fail("messages, and there is no memory here to remember which of them are kept",
                DownReason::resources);
  }
  look_at_released();  // a message in parts may need the memory
  const std::uint64_t position = books_.expected;
  delivering_from_ = position;
  const Result result = deliver();
  delivering_from_.reset();
  delivery_.kept_memory->take_noted(
      [&](Lease block) { unreleased_.add(position, std::move(block)); });
  // Whoever found no memory waits for it before any comes home.
  if (result != Result::starved) look_at_released();
  return result;
}

void IncomingStream::acknowledge(const ReceiveBooks::Place& taken) noexcept {
  taken_ = taken;
  if (delivery_.until_released) return look_at_released();
  books_.acknowledge(taken);
}

void IncomingStream::look_at_all_released() noexcept {
  unreleased_.look_at_all(*delivery_.kept_memory);
  look_at_released();
}

void IncomingStream::look_at_released() noexcept {
  unreleased_.look(*delivery_.kept_memory);
  ReceiveBooks::Place place = delivery_.until_taken ? taken_ : books_.place();
  if (!unreleased_.empty()) place.position = std::min(place.position, unreleased_.first());
  if (delivering_from_) place.position = std::min(place.position, *delivering_from_);
  books_.acknowledge(place);
}

IncomingStream::Result IncomingStream::take_page(const PageHeader& header, Block& block,
                                                 std::span<const std::byte> body) {
  if (header.sequence != books_.expected) return fail("page out of sequence");
  page_expects_ = books_.expected + header.messages;
  if (page_expects_ >= sequence_end) return fail("messages beyond the last sequence");
  body_ = body;
  started_ = false;
  block.kept_memory = delivery_.kept_memory;
  return start(block);
}

IncomingStream::Result IncomingStream::go_on_with_page() {
  if (!held_) return Result::done;
  const Lease page = std::move(held_);
  if (!started_) return start(*page.get());
  return delivery_.stopped ? hold(*page.get(), Result::held) : deliver(*page.get());
}

// A page is either one part of a large message or whole messages only (docs/wire.md).
IncomingStream::Result IncomingStream::start(Block& block) {
  if (delivery_.stopped) return hold(block, Result::held);
  if (FrameWalker::begins_with_part(body_)) [[unlikely]] {
    FrameWalker probe(body_.data(), body_.size(), delivery_.offered);
    Frame frame;
    if (probe.next(frame) && frame.part()) {
      if (!probe.at_end()) return fail("a part shares its page");
      return take_part(frame, block);
    }
  }
  if (large_ && !body_.empty()) return fail("a message begins inside another");
  walker_ = FrameWalker(body_.data(), body_.size(), delivery_.offered);
  started_ = true;
  return deliver(block);
}

// Delivers the rest of the page, from walker_ on, to the call-back that is set now.
IncomingStream::Result IncomingStream::deliver(Block& block) {
  if (delivery_.requests != nullptr) return walk_requests(block);
  return delivery_.on_batch ? walk_batch(block) : walk(block);
}

IncomingStream::Result IncomingStream::walk_requests(Block& block) {
  RequestTaker& taker = *delivery_.requests;
  Frame frame;
  while (walker_.next_request(frame)) {
    if (frame.size > message_bytes_max_) [[unlikely]]
      return fail(too_large, DownReason::message_too_big);
    count(1, frame.size);
    const MessageView view(&block, {frame.payload, frame.size}, 0);
    const RequestTaker::Breach* const breach = taker.take(view, {frame.tag, frame.flags});
    if (breach != nullptr) [[unlikely]]
      return refuse_request(*breach, frame.size);
    if (delivery_.stopped && !walker_.at_end()) [[unlikely]]
      return hold(block, Result::held);
  }
  return end_walk(block);
}

// From a frame on that is not a whole request or answer in one segment: frames of any kind.
IncomingStream::Result IncomingStream::walk_other_requests(Block& block) {
  Frame frame;
  while (walker_.next(frame)) {
    if (!frame.whole_message()) return fail(wrong_frame_kind);
    if (frame.size > message_bytes_max_) return fail(too_large, DownReason::message_too_big);
    MessageView view(&block, {frame.payload, frame.size}, 0);
    if (!view_segments(view, frame.flags)) return fail(wrong_segment_table);
    count(1, view.size());
    const RequestTaker::Breach* const breach = delivery_.requests->take(view, frame.label());
    if (breach != nullptr) return refuse_request(*breach, view.size());
    if (delivery_.stopped && !walker_.at_end()) return hold(block, Result::held);
  }
  return finish_page();
}

// The request, or answer, was not taken: it does not count.
IncomingStream::Result IncomingStream::refuse_request(const RequestTaker::Breach& breach,
                                                      std::size_t bytes) noexcept {
  --books_.expected;
  --books_.delivered;
  delivery_.bytes -= bytes;
  return fail(breach.what, breach.reason);
}

IncomingStream::Result IncomingStream::walk(Block& block) {
  Frame frame;
  while (walker_.next_plain(frame)) {
    if (frame.size > message_bytes_max_) [[unlikely]]
      return fail(too_large, DownReason::message_too_big);
    // Before the call: what the user is given counts as delivered, in a reply from inside it too.
    walker_.prefetch(frame);
    count(1, frame.size);
    NETIO_POINT(call);
    delivery_.on_message(MessageView(&block, {frame.payload, frame.size}, frame.tag));
    if (delivery_.stopped && !walker_.at_end()) [[unlikely]]
      return hold(block, Result::held);
  }
  return end_walk(block);
}

// The end of the page, mostly. It is a function of its own so that what it looks at takes no
// registers in the loops of walk() and walk_requests().
IncomingStream::Result IncomingStream::end_walk(Block& block) {
  if (walker_.at_end()) [[likely]]
    return finish_page();
  return delivery_.requests != nullptr ? walk_other_requests(block) : walk_rest(block);
}

// From a frame on that is not a whole message with at most a tag: frames of any kind.
IncomingStream::Result IncomingStream::walk_rest(Block& block) {
  Frame frame;
  while (walker_.next(frame)) {
    if (!frame.whole_message()) return fail(wrong_frame_kind);
    if (frame.size > message_bytes_max_) return fail(too_large, DownReason::message_too_big);
    MessageView view(&block, {frame.payload, frame.size}, frame.tag);
    if (!view_segments(view, frame.flags)) return fail(wrong_segment_table);
    count(1, view.size());
    NETIO_POINT(call);
    delivery_.on_message(view);
    if (delivery_.stopped && !walker_.at_end()) return hold(block, Result::held);
  }
  return finish_page();
}

IncomingStream::Result IncomingStream::walk_batch(Block& block) {
  const MessageView page(&block, walker_.rest(), 0);
  FrameSums sums;
  const char* const defect = sum_frames(walker_, sums);
  if (sums.largest > message_bytes_max_) return fail(too_large, DownReason::message_too_big);
  if (defect != nullptr) return fail(defect);
  // The page as a whole, before anybody sees or counts any of it.
  if (walker_.defect() != nullptr) return fail(walker_.defect());
  if (books_.expected + sums.messages != page_expects_) return fail(wrong_number);
  if (sums.messages == 0) return Result::done;
  count(sums.messages, sums.bytes);
  delivery_.page = sums;
  give_batch(Batch(page, sums.messages, true));
  return Result::done;
}

// If it was sent in segments: the view is of what stands behind their table. False if that is
// wrong.
bool IncomingStream::view_segments(MessageView& view, std::uint32_t flags) noexcept {
  if ((flags & frame_flag::segmented) == 0) return true;
  const std::size_t count = segments_of(flags);
  if (!has_segments(view.data(), view.size(), count)) return false;
  view = view.behind_table(count);
  return true;
}

IncomingStream::Result IncomingStream::begin_parts(const Frame& frame, Block& block) {
  if (large_) return fail("a message begins inside another");
  if (delivery_.requests != nullptr && (frame.flags & frame_flag::request) == 0) {
    return fail("a message that is neither request nor answer");
  }
  if (frame.total > message_bytes_max_) {
    return fail(too_large, DownReason::message_too_big);
  }
  large_ = large_pool_.take(frame.total, large_quota_);
  if (!large_) {
    const bool may_come = large_pool_.could_ever_take(frame.total, large_quota_);
    if (may_come && !large_pool_.system_refused()) return hold(block, Result::starved);
    return fail("a message that does not fit large_bytes_max, or that the system has no memory for",
                DownReason::resources);
  }
  large_bytes_ = frame.total;
  large_filled_ = 0;
  large_label_ = frame.label();
  return Result::done;
}

IncomingStream::Result IncomingStream::take_part(const Frame& frame, Block& block) {
  if (frame.first_part()) {
    if (const Result result = begin_parts(frame, block); result != Result::done) return result;
  } else if (!large_) {
    return fail("a part without a beginning");
  }
  const std::size_t left = large_bytes_ - large_filled_;
  const bool last = (frame.flags & frame_flag::more) == 0;
  if (frame.size > left || last != (frame.size == left)) {
    return fail("parts that do not make up their total");
  }
  if (frame.size != 0) {
    std::memcpy(large_->data() + large_filled_, frame.payload, frame.size);
    delivery_.copies.add(frame.size);
  }
  large_filled_ += frame.size;
  if (last) {
    if (const Result result = deliver_whole(); result != Result::done) return result;
  }
  return finish_page();
}

IncomingStream::Result IncomingStream::deliver_whole() {
  const Lease whole = std::move(large_);
  whole_bytes_ += std::exchange(large_filled_, 0);
  whole->kept_memory = delivery_.kept_memory;
  const bool tagged = delivery_.requests == nullptr;  // and not numbered by an id
  MessageView view(whole.get(), {whole->data(), large_bytes_}, tagged ? large_label_.number : 0);
  if (!view_segments(view, large_label_.flags)) return fail(wrong_segment_table);
  count(1, view.size());
  if (delivery_.requests != nullptr) {
    const RequestTaker::Breach* const breach = delivery_.requests->take(view, large_label_);
    if (breach != nullptr) return refuse_request(*breach, view.size());
  } else if (delivery_.on_batch) {
    delivery_.page = {};
    give_batch(Batch(view, 1, false));
  } else if (delivery_.on_message) {
    NETIO_POINT(call);
    delivery_.on_message(view);
  }
  return Result::done;
}

void IncomingStream::give_batch(const Batch& batch) {
  delivery_.books = &books_;
  delivery_.on_batch(batch);
}

void IncomingStream::count(std::uint32_t messages, std::size_t bytes) noexcept {
  books_.expected += messages;
  books_.delivered += messages;
  delivery_.bytes += bytes;
}

IncomingStream::Result IncomingStream::finish_page() noexcept {
  if (walker_.defect() != nullptr) return fail(walker_.defect());
  if (books_.expected != page_expects_) return fail(wrong_number);
  return Result::done;
}

IncomingStream::Result IncomingStream::hold(Block& block, Result why) noexcept {
  block.add_count();
  held_ = Lease::adopt(&block);
  return why;
}

IncomingStream::Result IncomingStream::fail(const char* what, DownReason reason) noexcept {
  defect_ = what;
  reason_ = reason;
  return Result::bad;
}

void IncomingStream::end() noexcept {
  held_.reset();
  large_.reset();
  whole_bytes_ += std::exchange(large_filled_, 0);
}

}  // namespace netio::detail
