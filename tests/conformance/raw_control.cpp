#include "conformance/raw_control.hpp"

#include "wire/hello.hpp"
#include "wire/page.hpp"

namespace netio::test {

using detail::ControlKind;
using detail::PageHeader;

Bytes control_frame(ControlKind kind, std::span<const std::byte> payload) {
  const auto number = static_cast<std::uint32_t>(kind);
  return frame_of(payload,
                  detail::frame_flag::control | (number << detail::frame_flag::control_shift));
}

Bytes control_page(std::span<const std::byte> frames, std::uint64_t sequence,
                   std::uint64_t acknowledged) {
  PageHeader header;
  header.bytes = static_cast<std::uint32_t>(frames.size());
  header.flags = detail::page_flag::control;
  header.sequence = sequence;
  header.acknowledged = acknowledged;
  return page_of(header, frames);
}

Bytes payload_of(const Change& change) {
  detail::SubscribeFrame head;
  head.revision = change.revision;
  head.flags = change.flags;
  head.policy = change.policy;
  head.behind_for_ms = change.behind_for_ms;
  head.behind_bytes_max = change.behind_bytes_max;
  Bytes bytes(detail::subscribe_bytes(change.ranges.size()));
  detail::encode(head, bytes);
  detail::store_ranges(change.ranges, bytes.data() + detail::subscribe_head_bytes);
  return bytes;
}
Bytes frame_of(const Change& change) {
  return control_frame(ControlKind::subscribe, payload_of(change));
}
Bytes page_of(const Change& change) { return control_page(frame_of(change)); }

Bytes page_of(const detail::SubscribedFrame& answer, std::uint64_t sequence) {
  Bytes payload(detail::subscribed_bytes);
  detail::encode(answer, payload);
  return control_page(control_frame(ControlKind::subscribed, payload), sequence);
}
Bytes page_of(const detail::GapFrame& gap, std::uint64_t sequence) {
  Bytes payload(detail::gap_bytes);
  detail::encode(gap, payload);
  return control_page(control_frame(ControlKind::gap, payload), sequence);
}

namespace {

void hear(const detail::Frame& frame, Heard& heard) {
  const std::span<const std::byte> payload(frame.payload, frame.size);
  switch (frame.control()) {
    case ControlKind::bye:
      heard.bye = true;
      break;
    case ControlKind::subscribe:
      (void)detail::parse(payload, heard.changes.emplace_back());
      heard.changes.back().ranges = {};
      break;
    case ControlKind::subscribed:
      (void)detail::parse(payload, heard.answers.emplace_back());
      break;
    case ControlKind::gap:
      (void)detail::parse(payload, heard.gaps.emplace_back());
      break;
    case ControlKind::ending:
      heard.ending = true;
      break;
    case ControlKind::confirm:
      (void)detail::parse(payload, heard.confirm.emplace());
      break;
    default:
      break;
  }
}

}  // namespace

Heard heard(std::span<const std::byte> received) {
  Heard heard;
  const detail::HelloResult hello = detail::parse(received, heard.hello);
  if (hello.state != detail::HelloParse::done) return heard;
  std::size_t at = hello.bytes;
  while (received.size() - at >= detail::page_header_bytes) {
    const PageHeader header = detail::load_page_header(received.data() + at);
    at += detail::page_header_bytes;
    if (received.size() - at < header.bytes) break;
    heard.messages += header.messages;
    if ((header.flags & detail::page_flag::control) != 0) {
      // A copy: bodies start at a multiple of 8, and these may not.
      const Bytes body(received.begin() + static_cast<std::ptrdiff_t>(at),
                       received.begin() + static_cast<std::ptrdiff_t>(at + header.bytes));
      detail::FrameWalker walker(body.data(), body.size());
      for (detail::Frame frame; walker.next(frame);) hear(frame, heard);
    }
    at += header.bytes;
  }
  return heard;
}

}  // namespace netio::test
