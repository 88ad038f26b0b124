// Publishes what comes, and subscribes what is wanted. Owner thread only.
#pragma once

#include <span>

#include <netio/subscribe.hpp>

#include "forward/stream_forward.hpp"
#include "forward/tag_counts.hpp"

namespace netio::detail {

class PublishCore;

class PublishForward final : public StreamForward {
 public:
  // `source` subscribes what the subscribers of `to` want; null: nobody does.
  PublishForward(Receiving& from, PublishCore& to, Subscribe* source);
  ~PublishForward() override;

 private:
  Status pass(MessageCursor& messages, const From& from) override;
  void follow(std::span<const TagRange> added, std::span<const TagRange> removed);
  void follow_all() noexcept;
  void follow_no_more() noexcept;

  PublishCore& to_;
  Subscribe* source_;
  TagCounts wanted_;
  bool follows_all_ = false;  // there was no memory to know better
  Timer retry_;
};

}  // namespace netio::detail
