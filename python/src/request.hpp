// The states of Request and Reply: which future waits for which answer, and requests that came and
// were not taken.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "state_of.hpp"

namespace netio::python {

struct Answered {
  Outcome outcome = Outcome::answered;
  Message message{};
};

class RequestState : public StateOf<Request> {
 public:
  RequestState(ContextState& context, Context& made_in, const RequestOptions& requesting,
               const SocketOptions& options);
  ~RequestState() override { *here_ = nullptr; }

  void tell_more() override;
  void let_go() noexcept override { waiting.clear(); }
  // Gives up a request, on whichever thread, with the lock.
  void cancel(std::uint64_t id);

  // By the id of the request: the future that waits, or none for a call that blocks.
  std::unordered_map<std::uint64_t, nb::object> waiting;
  // Answers for calls that block.
  std::unordered_map<std::uint64_t, Answered> answers;
  RequestBooks last_requests{};
  void end() override;

 private:
  struct Ended {
    std::uint64_t id;
    Answered answer;
  };
  void request_ended(std::uint64_t id, Answered answer);

  std::vector<Ended> ended_;  // in this turn
  // This, for what is posted to the loop; null once this is gone.
  std::shared_ptr<RequestState*> here_ = std::make_shared<RequestState*>(this);
};

class ReplyState : public StateOf<Reply> {
 public:
  ReplyState(ContextState& context, Context& made_in, const ReplyOptions& replying,
             const SocketOptions& options);
  ~ReplyState() override = default;

  struct Asked {
    Message request;
    ReplyTo to;
    std::uint64_t sender;
  };
  // The next request; false if there is none.
  bool take(Asked& asked);
  // After an answer: the one that leaves no request open goes at once, and takes along those
  // before.
  void answered() noexcept;
  void pause(bool paused) override;
  void end() override;

  ReplyBooks last_requests{};

 private:
  // Requests that may wait here. With more, nothing is read until all of them were taken.
  static constexpr std::size_t asked_max = 1024;
  static constexpr std::size_t asked_bytes_max = std::size_t{4} << 20U;

  std::deque<Asked> asked_;
  std::size_t bytes_ = 0;
};

void bind_requests(nb::module_& module, nb::class_<SocketBase>& type);

}  // namespace netio::python
