// Where a source's messages go: a socket that sends, whichever it is. The answers are the socket's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include <netio/publish.hpp>
#include <netio/push.hpp>

namespace netio::cli {

class Outlet {
 public:
  Outlet() = default;
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;
  virtual ~Outlet() = default;

  [[nodiscard]] virtual Status send(std::span<const std::byte> message) noexcept = 0;
  [[nodiscard]] virtual Status lend(std::span<const std::byte> message,
                                    std::uint64_t token) noexcept = 0;
  virtual void on_released(std::function<void(std::uint64_t token)> call) = 0;
};

class PushOutlet : public Outlet {
 public:
  // With `head_bytes` each message that is sent (not lent) is of two segments: so many bytes, and
  // the rest.
  PushOutlet(Push& push, std::size_t head_bytes) noexcept : push_(push), head_bytes_(head_bytes) {}
  Status send(std::span<const std::byte> message) noexcept override {
    if (head_bytes_ == 0) return push_.send(message);
    const std::size_t head = std::min(head_bytes_, message.size());
    return push_.send_segments({message.first(head), message.subspan(head)});
  }
  Status lend(std::span<const std::byte> message, std::uint64_t token) noexcept override {
    return push_.lend(message, token);
  }
  void on_released(std::function<void(std::uint64_t token)> call) override {
    push_.on_released(std::move(call));
  }

 private:
  Push& push_;
  std::size_t head_bytes_;
};

// Each message goes to every receiver that is connected. Nothing is lent: sources copy.
class ToAllOutlet : public Outlet {
 public:
  // Over all messages so far.
  struct Reach {
    std::size_t receivers_min = 0;
    std::size_t receivers_max = 0;
    std::size_t away_max = 0;
  };

  explicit ToAllOutlet(Push& push) noexcept : push_(push) {}
  Status send(std::span<const std::byte> message) noexcept override {
    const ToAll answer = push_.send_to_all(message);
    if (answer.status == Status::ok) note(answer);
    return answer.status;
  }
  Status lend(std::span<const std::byte>, std::uint64_t) noexcept override {
    return Status::invalid;
  }
  void on_released(std::function<void(std::uint64_t token)> call) override {
    push_.on_released(std::move(call));
  }
  [[nodiscard]] const Reach& reach() const noexcept { return reach_; }

 private:
  void note(const ToAll& answer) noexcept {
    const bool first = reach_.receivers_max == 0;
    reach_.receivers_min = first ? answer.peers : std::min(reach_.receivers_min, answer.peers);
    reach_.receivers_max = std::max(reach_.receivers_max, answer.peers);
    reach_.away_max = std::max(reach_.away_max, answer.away);
  }

  Push& push_;
  Reach reach_;
};

// Each message bears the next tag of a range; behind its last comes its first again.
class PublishOutlet : public Outlet {
 public:
  PublishOutlet(Publish& publish, TagRange tags) noexcept
      : publish_(publish), tags_(tags), next_(tags.first) {}
  Status send(std::span<const std::byte> message) noexcept override {
    return taken(publish_.send(message, next_));
  }
  Status lend(std::span<const std::byte> message, std::uint64_t token) noexcept override {
    return taken(publish_.lend(message, token, next_));
  }
  void on_released(std::function<void(std::uint64_t token)> call) override {
    publish_.on_released(std::move(call));
  }

 private:
  Status taken(Status status) noexcept {
    if (status == Status::ok) next_ = next_ == tags_.last ? tags_.first : next_ + 1;
    return status;
  }

  Publish& publish_;
  TagRange tags_;
  std::uint64_t next_;
};

}  // namespace netio::cli
