// What the tests of the `netio` command share: starting it, a folder for its files, and a whole
// transfer from one process to another. Ports are always the system's choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/process.hpp"

namespace netio::test {

using Words = std::vector<std::string>;

// `netio` with these arguments.
[[nodiscard]] Process::Options netio_command(Words arguments);

// Of a command that binds: the address it says it listens on. Fails the test if it does not.
[[nodiscard]] std::string address_of(Process& command);

inline constexpr const char* any_port = "tcp://127.0.0.1:0";
inline constexpr const char* any_fabric_port = "ofi+tcp://127.0.0.1:0";

// A folder of this test's own, gone with it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string path(std::string_view name) const;
  // Returns its path.
  [[nodiscard]] std::string write(std::string_view name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

[[nodiscard]] std::string read_file(const std::string& path);
// What `--json=path` left there; null, with a test failure, if it is no JSON.
[[nodiscard]] nlohmann::json read_json(const std::string& path);

// False if it is not so for half a minute.
[[nodiscard]] bool wait_until(const std::function<bool()>& is_so);

// `size` bytes that differ from place to place.
[[nodiscard]] std::string some_bytes(std::size_t size, std::uint64_t seed = 1);

// A file as the detector recordings are: datagrams whose size less 12 is in the 4 bytes at 20.
[[nodiscard]] std::string datagrams(const std::vector<std::size_t>& sizes);
inline constexpr const char* datagram_frame = "length:20,4,12";

// recv --out FILE, send of `send_arguments` to it, both to their end.
struct Transfer {
  int send_code = -1;
  int recv_code = -1;
  std::string send_err;
  std::string recv_err;
  std::string received;  // the output file
  nlohmann::json send;   // their reports
  nlohmann::json recv;
};
[[nodiscard]] Transfer transfer(const Folder& folder, Words send_arguments,
                                Words recv_arguments = {});

}  // namespace netio::test
