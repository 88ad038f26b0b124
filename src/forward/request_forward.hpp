// Asks what it is asked, and passes the answers back. Owner thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <netio/reply.hpp>
#include <netio/request.hpp>

#include "base/growing_ring.hpp"
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
  using Asked = std::unordered_map<std::uint64_t, ReplyTo>;

  void take(const MessageView& request, ReplyTo to);
  [[nodiscard]] bool make_room() noexcept;
  [[nodiscard]] ReplyTo take_out(std::uint64_t id) noexcept;
  template <typename What>
  Status ask(What&& request, ReplyTo& to);
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
  Asked asked_;                           // who waits for which request
  std::vector<Asked::node_type> places_;  // in asked_, for others
  std::size_t places_made_ = 0;
  std::optional<Waiting> held_;   // what the output does not take yet
  GrowingRing<Waiting> answers_;  // that their requesters do not take yet
  std::size_t answer_bytes_ = 0;  // of these
  std::uint64_t given_up_ = 0;    // requests that were asked and not answered to the end
  Timer retry_;
  ForwardBooks books_;
};

}  // namespace netio::detail
