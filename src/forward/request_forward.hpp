// Asks what it is asked, and passes the answers back. Owner thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory_resource>
#include <optional>
#include <unordered_map>

#include <netio/reply.hpp>
#include <netio/request.hpp>

#include "forward/forward_core.hpp"

namespace netio::detail {

class RequestForward final : public ForwardCore {
 public:
  RequestForward(Reply& from, Request& to, Loop& loop);
  ~RequestForward() override;
  [[nodiscard]] ForwardBooks books() const noexcept override;

 private:
  struct Waiting {
    Message message;
    ReplyTo to;
  };
  void take(const MessageView& request, ReplyTo to);
  Status ask(Message& request, ReplyTo& to);
  void answer(std::uint64_t id, const MessageView& answer);
  void go_on_asking();
  void go_on_answering();
  void begin_to_end() override { from_.pause(); }
  [[nodiscard]] bool ended() override;
  void give_up() noexcept override;

  Reply& from_;
  Request& to_;
  ForwardUse use_from_;
  ForwardUse use_to_;
  std::pmr::unsynchronized_pool_resource memory_;  // of what waits: taken again, not given back
  std::pmr::unordered_map<std::uint64_t, ReplyTo> waiting_{&memory_};  // by the number of a request
  std::optional<Waiting> held_;                 // what the output does not take yet
  std::pmr::deque<Waiting> answers_{&memory_};  // that their requesters do not take yet
  std::size_t answer_bytes_ = 0;                // of these
  ForwardBooks books_;
};

}  // namespace netio::detail
