// A name service that never answers: its look-ups take few threads, hold up no peer with a number,
// and are told for what they are. The test runs in a process with a name service of its own.
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/evil.hpp"
#include "support/in_a_child.hpp"
#include "support/own_network.hpp"

namespace netio::test {
namespace {

constexpr std::size_t dead_names = 500;

bool mount_over(const char* path, std::string_view text) {
  std::array<char, 32> file = {"/tmp/netio-names-XXXXXX"};
  const int fd = ::mkostemp(file.data(), O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = ::write(fd, text.data(), text.size()) == std::ssize(text) &&
                    ::mount(file.data(), path, nullptr, MS_BIND, nullptr) == 0;
  ::close(fd);
  ::unlink(file.data());
  return done;
}

// A network of our own, whose one name server takes questions and answers none.
bool kill_name_service() {
  if (!enter_own_network(CLONE_NEWNS)) return false;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  if (!mount_over("/etc/resolv.conf", "nameserver 127.0.0.1\n")) return false;
  if (!mount_over("/etc/nsswitch.conf", "hosts: files dns\n")) return false;
  const int server = ::socket(AF_INET, SOCK_DGRAM, 0);  // open until the process ends
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(53);
  return ::bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

std::size_t threads_of_this_process() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

// 500 peers whose names nobody finds, and one that has a number.
bool names_hold_up_nobody(const std::string& scheme) {
  Context context(wary_context());
  Pump pump{&context};
  Pull pull(context, wary_options());
  Push push(context, wary_options());
  Seen at_push(push);
  const std::string address = pull.bind(scheme + "://127.0.0.1:0");
  for (std::size_t i = 0; i < dead_names; ++i) {
    push.connect(scheme + "://nobody-" + std::to_string(i) + ".example:5000");
  }
  push.connect(address);
  std::size_t threads = 0;
  pump.after_each_turn([&] { threads = std::max(threads, threads_of_this_process()); });
  const auto told = [&] { return push.peers_connected() == 1 && !at_push.downs.empty(); };
  if (!pump.until(told, "connected, and a look-up given up", soon_max)) return fail("not told");
  pump.forget_checks();
  // Beside the threads of the line: our own, and those of a fabric's provider.
  if (threads > 20) return fail(std::to_string(threads) + " threads");
  const std::string& why = at_push.downs.front().down.detail;
  return why.find("the name service did not find") != std::string::npos || fail("told as: " + why);
}

int where_no_name_is_found(const std::function<bool()>& work) {
  return in_a_child([&] { return !kill_name_service() ? not_possible : work() ? 0 : 1; });
}

class DeadNameService : public testing::TestWithParam<std::string> {};

TEST_P(DeadNameService, takes_few_threads_and_is_told) {
  const int code = where_no_name_is_found([] { return names_hold_up_nobody(GetParam()); });
  if (code == not_possible) GTEST_SKIP() << "no network and name service of one's own here";
  EXPECT_EQ(code, 0);
}

std::vector<std::string> schemes_with_names() {
#ifdef NETIO_WITH_FABRIC
  return {"tcp", "ofi+tcp"};
#else
  return {"tcp"};
#endif
}

INSTANTIATE_TEST_SUITE_P(on, DeadNameService, testing::ValuesIn(schemes_with_names()),
                         [](const auto& row) { return row.param == "tcp" ? "tcp" : "ofi_tcp"; });

}  // namespace
}  // namespace netio::test
