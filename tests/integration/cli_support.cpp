#include "integration/cli_support.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdlib.h>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

namespace netio::test {

Process::Options netio_command(Words arguments) {
  Process::Options options;
  options.arguments = std::move(arguments);
  options.arguments.insert(options.arguments.begin(), netio_program());
  return options;
}

std::string address_of(Process& command) {
  static constexpr std::string_view text = ": listening on ";
  if (command.wait_for_err(text)) {
    // The line may still be on its way.
    for (const char* const name : {"netio recv", "netio send", "netio pub", "netio sub",
                                   "netio request", "netio reply", "netio relay", "netio echo",
                                   "netio ping", "netio build builder", "netio build manager"}) {
      const std::string prefix = name + std::string(text);
      if (command.err().find(prefix) == std::string::npos) continue;
      if (const auto address = command.line_after(prefix)) return *address;
    }
  }
  ADD_FAILURE() << "no address was printed, but: " << command.err();
  return "tcp://127.0.0.1:1";
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "netio-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), name);
  }
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::path(std::string_view name) const { return (path_ / name).string(); }

std::string Folder::write(std::string_view name, std::string_view bytes) const {
  const std::string to = path(name);
  std::ofstream file(to, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + to);
  return to;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

nlohmann::json read_json(const std::string& path) {
  const std::string text = read_file(path);
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    ADD_FAILURE() << path << " holds no JSON, but: " << text;
    return nullptr;
  }
  return json;
}

bool wait_until(const std::function<bool()>& is_so) {
  for (int i = 0; i < 3'000; ++i) {
    if (is_so()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::string some_bytes(std::size_t size, std::uint64_t seed) {
  std::string bytes(size, '\0');
  std::uint64_t state = seed;
  for (char& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<char>(state >> 56U);
  }
  return bytes;
}

std::string datagrams(const std::vector<std::size_t>& sizes) {
  std::string file;
  for (const std::size_t size : sizes) {
    std::string datagram = some_bytes(size, size + file.size());
    const auto extent = static_cast<std::uint32_t>(size - 12);
    for (unsigned i = 0; i < 4; ++i) {
      datagram[20 + i] = static_cast<char>((extent >> (8 * i)) & 0xffU);
    }
    file += datagram;
  }
  return file;
}

Transfer transfer(const Folder& folder, Words send_arguments, Words recv_arguments) {
  Transfer result;
  const std::string out = folder.path("received");
  const std::string recv_json = folder.path("recv.json");
  const std::string send_json = folder.path("send.json");
  recv_arguments.insert(recv_arguments.begin(),
                        {"recv", any_port, "--out", out, "--json=" + recv_json});
  Process recv(netio_command(std::move(recv_arguments)));
  send_arguments.insert(send_arguments.begin(), {"send", address_of(recv), "--json=" + send_json});
  Process send(netio_command(std::move(send_arguments)));
  result.send_code = send.wait().value_or(-1000);
  result.recv_code = recv.wait().value_or(-1000);
  result.send_err = send.err();
  result.recv_err = recv.err();
  result.received = read_file(out);
  result.send = read_json(send_json);
  result.recv = read_json(recv_json);
  return result;
}

}  // namespace netio::test
