#include "siege/flow.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace netio::test {

namespace {

using namespace std::chrono_literals;
using Arguments = std::vector<std::string>;

// Exit codes of the commands.
constexpr int peer_lost = 3;
constexpr int interrupted = 130;

bool sends(Victim victim) { return victim == Victim::send || victim == Victim::pub; }

// Of both ends: checked, reported, and attacked while it lasts.
Arguments sending(const Attack& attack, const char* command, const std::string& address,
                  double rate) {
  Arguments arguments{command, address, "--size", attack.message_bytes, "--verify", "--json"};
  if (rate != 0) {
    arguments.insert(arguments.end(), {"--rate", std::to_string(rate)});
  }
  return arguments;
}

Arguments victim_of(const Attack& attack, double rate) {
  switch (attack.victim) {
    case Victim::recv:
      return {"recv", attack.address, "--keep", "--verify", "--json"};
    case Victim::send: {
      Arguments arguments = sending(attack, "send", attack.address, rate);
      arguments.emplace_back("--bind");
      return arguments;
    }
    case Victim::pub: {
      Arguments arguments = sending(attack, "pub", attack.address, rate);
      // Where strangers may block, for a moment.
      arguments.insert(arguments.end(), {"--tags", "0-4095", "--block-for-max", "100ms"});
      return arguments;
    }
    case Victim::sub:
      break;
  }
  return {"sub", attack.address, "--bind", "--policy", "block", "--keep", "--verify", "--json"};
}

Arguments good_of(const Attack& attack, const std::string& address, double rate) {
  switch (attack.victim) {
    case Victim::recv:
      return sending(attack, "send", address, rate);
    case Victim::send:
      return {"recv", address, "--connect", "--verify", "--shared", "--json"};
    case Victim::pub:
      return {"sub", address, "--policy", "block", "--verify", "--json"};
    case Victim::sub:
      break;
  }
  Arguments arguments = sending(attack, "pub", address, rate);
  arguments.emplace_back("--connect");
  return arguments;
}

std::unique_ptr<Process> start(const std::string& netio, Arguments arguments) {
  arguments.insert(arguments.begin(), netio);
  Process::Options options;
  options.arguments = std::move(arguments);
  return std::make_unique<Process>(std::move(options));
}

std::int64_t entries_in(const std::string& folder) {
  const std::filesystem::directory_iterator all(folder);
  return std::distance(begin(all), end(all));
}

std::uint64_t number_at(const nlohmann::json& report, const char* pointer) {
  return report.value(nlohmann::json::json_pointer(pointer), std::uint64_t{0});
}

}  // namespace

Flow::Flow(const std::string& netio, const Attack& attack, double rate)
    : attack_(attack), victim_sends_(sends(attack.victim)) {
  victim_ = start(netio, victim_of(attack, rate));
  const std::string prefix = "netio " + victim_of(attack, rate).front() + ": listening on ";
  const auto address = victim_->line_after(prefix);
  if (!address) throw std::runtime_error("the victim does not listen: " + victim_->err());
  address_ = *address;
  good_ = start(netio, good_of(attack, address_, rate));
  // Both print a line of progress a second once something moves.
  if (!victim_->wait_for_err("messages/s") || !good_->wait_for_err("messages/s")) {
    throw std::runtime_error("no message arrives: " + victim_->err() + good_->err());
  }
}

Holding Flow::holding() const {
  const std::string process = "/proc/" + std::to_string(victim_->pid());
  Holding holding;
  holding.descriptors = entries_in(process + "/fd");
  holding.threads = entries_in(process + "/task");
  std::ifstream status(process + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) holding.resident_kib = std::stoll(line.substr(6));
  }
  return holding;
}

std::int64_t Flow::lines() {
  const std::string said = victim_->err();
  std::int64_t lines = 0;
  for (std::size_t at = said.find("netio "); at != std::string::npos;
       at = said.find("\nnetio ", at + 1)) {
    ++lines;
  }
  return lines;
}

bool Flow::running() { return victim_->running() && good_->running(); }

nlohmann::json Flow::report_of(Process& process, const char* name, std::string& trouble) {
  if (!process.wait(20s)) {
    trouble += std::string(name) + " does not end; ";
    return {};
  }
  nlohmann::json report = nlohmann::json::parse(process.out(), nullptr, false);
  if (report.is_discarded()) {
    trouble += std::string(name) + " left no report: " + process.err();
    return {};
  }
  // That peers were lost is as it should be: they attacked.
  const int code = report.value("exit_code", 1);
  if (code != 0 && code != peer_lost && code != interrupted) {
    trouble += std::string(name) + ": " + report["error"].dump() + "; ";
  }
  return report;
}

Flow::Result Flow::end() {
  Process& sender = victim_sends_ ? *victim_ : *good_;
  Process& receiver = victim_sends_ ? *good_ : *victim_;
  Result result;
  sender.signal(SIGINT);
  const nlohmann::json sent = report_of(sender, "the sender", result.trouble);
  receiver.signal(SIGINT);
  const nlohmann::json received = report_of(receiver, "the receiver", result.trouble);
  if (!received.value(nlohmann::json::json_pointer("/verification/passed"), false)) {
    result.trouble += "not verified: " + received.value("verification", nlohmann::json()).dump();
  }
  // An attacker may claim to have sent some that never came. That the good sender's all came is
  // seen below.
  if (victim_sends_ && number_at(received, "/books/missed") != 0) {
    result.trouble += std::to_string(number_at(received, "/books/missed")) + " missed; ";
  }
  // What a victim had taken for those who attack it is lost with them.
  if (!victim_sends_ && number_at(sent, "/books/acknowledged") != number_at(sent, "/books/sent")) {
    result.trouble += "not all acknowledged: " + sent.value("books", nlohmann::json()).dump();
  }
  result.received = number_at(received, "/messages");
  result.seconds = received.value("seconds", 0.0);
  return result;
}

}  // namespace netio::test
