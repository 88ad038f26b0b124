#include "bench/serve.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <netio/context.hpp>
#include <netio/pair.hpp>

#include "bench/process.hpp"
#include "bench/system.hpp"
#include "interrupt.hpp"
#include "standard_error.hpp"

namespace netio::cli {

namespace {

using nlohmann::json;

// iperf3 can be told to write files; our own programs cannot.
bool harmless(const std::string& name, const std::vector<std::string>& arguments) {
  static const std::set<std::string> known = {"-s", "-1", "-B", "-p", "--forceflush"};
  return name != "iperf3" ||
         std::all_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
           return !argument.starts_with('-') || known.count(argument) != 0;
         });
}

class Server {
 public:
  explicit Server(const BenchArguments& arguments)
      : arguments_(arguments), pair_(context_, {.mode = Mode::unbuffered}) {
    pair_.on_message([this](const MessageView& message) { take(message.text()); });
    pair_.on_up([this](const PeerInfo& peer) { note(peer.address + " measures"); });
    pair_.on_down([this](const PeerInfo& peer, const Down&) {
      processes_.clear();
      note(peer.address + " is done");
    });
  }

  void run() {
    Interrupt interrupt(context_.loop(), [this] { context_.stop(); });
    note("listening at " + pair_.bind(arguments_.address));
    context_.run();
  }

 private:
  void take(std::string_view text) {
    const json said = json::parse(text, nullptr, false);
    try {
      const auto id = said.at("id").get<std::uint64_t>();
      if (said.contains("start")) {
        start(id, said.at("start").get<std::string>(),
              said.at("arguments").get<std::vector<std::string>>());
      } else if (const auto found = processes_.find(id); found != processes_.end()) {
        if (said.contains("say")) found->second->say(said["say"].get<std::string>());
        if (said.contains("end")) processes_.erase(found);
      }
    } catch (const json::exception& error) {
      note(fmt::format("a message that makes no sense here: {}", error.what()));
    }
  }

  // Only programs of systems that are known are ever started.
  void start(std::uint64_t id, const std::string& name, const std::vector<std::string>& arguments) {
    const System* const system = find_system(name);
    Invocation command = system == nullptr ? Invocation() : command_for(*system, arguments);
    if (!harmless(name, arguments)) command = {};
    if (command.program.empty()) {
      tell({{"id", id}, {"ended", "is not there: " + name + " is not built or installed"}});
      return;
    }
    try {
      processes_[id] = std::make_unique<Process>(
          context_.loop(), command.program, command.arguments,
          [this, id](std::string line) {
            tell({{"id", id}, {"line", std::move(line)}});
          },
          [this, id](std::string how) {
            tell({{"id", id}, {"ended", std::move(how)}});
            processes_.erase(id);
          });
    } catch (const Failure& failure) {
      tell({{"id", id}, {"ended", failure.what()}});
    }
  }

  void tell(const json& message) {
    if (pair_.send(message.dump()) != Status::ok) note("a line could not be sent");
  }
  void note(const std::string& text) const {
    if (!arguments_.report.quiet) say("netio bench serve: {}\n", text);
  }

  const BenchArguments& arguments_;
  Context context_;
  Pair pair_;
  std::map<std::uint64_t, std::unique_ptr<Process>> processes_;
};

}  // namespace

ExitCode run_serve(const BenchArguments& arguments) {
  Server(arguments).run();
  return ExitCode::interrupted;
}

}  // namespace netio::cli
