#include "bench/local.hpp"

#include "bench/line_queue.hpp"
#include "bench/process.hpp"
#include "bench/system.hpp"

namespace netio::cli {

namespace {

class LocalEnd final : public End {
 public:
  LocalEnd(Loop& loop, const std::string& name, const std::string& program,
           const std::vector<std::string>& arguments)
      : End(name),
        loop_(loop),
        process_(
            loop, program, arguments, [this](std::string line) { lines_.add(std::move(line)); },
            [this](std::string how) { lines_.end(std::move(how)); }) {}

  void say(const std::string& line) override { process_.say(line); }
  std::string hear(std::chrono::nanoseconds within) override {
    return lines_.next(loop_, name(), within);
  }
  bool has_said() const noexcept override { return !lines_.empty(); }
  Loop& loop() noexcept override { return loop_; }
  void signal(int number) noexcept override { process_.signal(number); }
  pid_t process_id() const noexcept override { return process_.id(); }
  std::optional<std::string> ending() const override { return lines_.ending(); }

 private:
  Loop& loop_;
  LineQueue lines_;
  Process process_;
};

}  // namespace

std::unique_ptr<End> LocalPlace::start(const std::string& name, const std::string& system,
                                       const std::vector<std::string>& arguments) {
  const System* const known = find_system(system);
  const Invocation command = known == nullptr ? Invocation() : command_for(*known, arguments);
  if (command.program.empty()) throw EndFailure(system + ": its program is not there");
  return std::make_unique<LocalEnd>(loop_, name, command.program, command.arguments);
}

}  // namespace netio::cli
