// The thread and the loop share a State; whoever is last frees it.
#include "transport/tcp/resolver.hpp"

#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace netio::detail {

struct Resolver::State {
  std::mutex mutex;
  Loop* loop;                             // null once nobody waits for the answer; guarded by mutex
  std::function<void(LookUp)> on_answer;  // loop thread only

  void post(std::shared_ptr<State> self, LookUp answer) const {
    loop->post([self = std::move(self), answer = std::move(answer)]() mutable {
      // Taken out first: the call may destroy the resolver.
      if (auto call = std::exchange(self->on_answer, nullptr)) call(std::move(answer));
    });
  }
};

Resolver::Resolver(Loop& loop, std::string host, std::uint16_t port,
                   std::function<void(LookUp)> on_answer)
    : state_(std::make_shared<State>()) {
  state_->loop = &loop;
  state_->on_answer = std::move(on_answer);
  auto ask = [state = state_, host = std::move(host), port] {
    LookUp answer = look_up_name(host, port);
    const std::lock_guard lock(state->mutex);
    if (state->loop != nullptr) state->post(state, std::move(answer));
  };
  try {
    std::thread(std::move(ask)).detach();
  } catch (const std::system_error& error) {
    LookUp answer;
    answer.failure = {DownReason::resources,
                      std::string("cannot start a thread for the name service: ") + error.what()};
    state_->post(state_, std::move(answer));
  }
}

Resolver::~Resolver() {
  state_->on_answer = nullptr;
  const std::lock_guard lock(state_->mutex);
  state_->loop = nullptr;
}

}  // namespace netio::detail
