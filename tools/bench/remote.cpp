#include "bench/remote.hpp"

#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "exit_code.hpp"
#include "interrupt.hpp"

namespace netio::cli {

using nlohmann::json;

class RemotePlace::RemoteEnd final : public End {
 public:
  RemoteEnd(RemotePlace& place, std::uint64_t id, const std::string& name)
      : End(name), place_(place), id_(id) {
    place_.lines_[id_] = &lines_;
  }
  ~RemoteEnd() override {
    place_.lines_.erase(id_);
    (void)place_.pair_.send(json{{"id", id_}, {"end", true}}.dump());
  }
  void say(const std::string& line) override { place_.tell({{"id", id_}, {"say", line}}); }
  std::string hear(std::chrono::nanoseconds within) override {
    return lines_.next(place_.context_.loop(), name(), within);
  }
  Loop& loop() noexcept override { return place_.context_.loop(); }
  void signal(int) noexcept override {}

 private:
  RemotePlace& place_;
  std::uint64_t id_;
  LineQueue lines_;
};

RemotePlace::RemotePlace(Context& context, const std::string& address)
    : context_(context), pair_(context, {.mode = Mode::unbuffered}) {
  constexpr auto patience = std::chrono::seconds(10);
  bool up = false;
  bool hopeless = false;
  std::string why = "nobody answered";
  pair_.on_message([this](const MessageView& message) { take(message.text()); });
  pair_.on_up([&up](const PeerInfo&) { up = true; });
  pair_.on_down([&](const PeerInfo& peer, const Down& down) {
    why = down.detail;
    hopeless = !peer.retrying;
  });
  pair_.connect(address);
  const auto until = context_.loop().now() + patience;
  while (!up && !hopeless && !Interrupt::requested() && context_.loop().now() < until) {
    context_.loop().run_once(until - context_.loop().now());
  }
  if (!up) {
    throw Failure(fmt::format("cannot reach {}: {}", address, why),
                  "Start `netio bench serve` on that machine first.",
                  Interrupt::requested() ? ExitCode::interrupted : ExitCode::failed);
  }
  pair_.on_up({});
  pair_.on_down([this, address](const PeerInfo&, const Down& down) {
    lost_ = fmt::format("is on a machine that was lost ({})", down.detail);
    for (const auto& [id, lines] : lines_) lines->end(lost_);
  });
}

std::unique_ptr<End> RemotePlace::start(const std::string& name, const std::string& system,
                                        const std::vector<std::string>& arguments) {
  const std::uint64_t id = next_id_++;
  auto end = std::make_unique<RemoteEnd>(*this, id, name + " on the other machine");
  tell({{"id", id}, {"start", system}, {"arguments", arguments}});
  return end;
}

void RemotePlace::tell(const json& message) {
  if (!lost_.empty()) throw EndFailure("the other machine " + lost_);
  if (pair_.send(message.dump()) != Status::ok) {
    throw EndFailure("the other machine does not take any more");
  }
}

void RemotePlace::take(std::string_view text) {
  try {
    const json said = json::parse(text);
    const auto found = lines_.find(said.at("id").get<std::uint64_t>());
    if (found == lines_.end()) return;
    if (said.contains("line")) found->second->add(said["line"].get<std::string>());
    if (said.contains("ended")) found->second->end(said["ended"].get<std::string>());
  } catch (const json::exception& error) {
    lost_ = fmt::format("speaks another language ({})", error.what());
  }
}

}  // namespace netio::cli
