#include "bench/end.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "interrupt.hpp"

namespace netio::cli {

nlohmann::json End::answer(std::chrono::nanoseconds within) {
  const std::string line = hear(within);
  nlohmann::json said = nlohmann::json::parse(line, nullptr, false);
  if (!said.is_object()) throw EndFailure(fmt::format("{} said \"{}\"", name_, line));
  if (said.contains("error")) {
    throw EndFailure(fmt::format("{}: {}", name_, said["error"].get<std::string>()));
  }
  return said;
}

nlohmann::json End::ask(const std::string& command) {
  say(command);
  return answer();
}

void let_pass(Loop& loop, std::chrono::nanoseconds time) {
  const auto until = loop.now() + time;
  while (!Interrupt::requested()) {
    const auto left = until - loop.now();
    if (left <= std::chrono::nanoseconds(0)) return;
    loop.run_once(left);
  }
  throw Interrupted();
}

}  // namespace netio::cli
