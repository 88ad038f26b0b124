// A chain over every wire: a file over tcp, shm, a fabric and inproc into a file, byte for byte.
// Each stage is a process of its own, but for the last, which has two contexts.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <netio/netio.hpp>

#include "integration/cli_support.hpp"
#include "support/pump.hpp"

namespace netio::test {
namespace {

#ifdef NETIO_WITH_FABRIC
constexpr const char* last_wire = any_fabric_port;
#else
constexpr const char* last_wire = any_port;
#endif

// The last stage, and who takes what it passes on over inproc. All of it lives in one thread.
class LastStage {
 public:
  LastStage() : thread_([this] { run(); }) { address_ = bound_.get_future().get(); }
  ~LastStage() { end(); }
  LastStage(const LastStage&) = delete;
  LastStage& operator=(const LastStage&) = delete;

  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  [[nodiscard]] bool has(std::size_t bytes) const {
    for (int i = 0; i < 3000 && bytes_ < bytes; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return bytes_ >= bytes;
  }
  // What came, in order.
  const std::string& end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return came_;
  }

 private:
  void run() try {
    SocketOptions until_released;
    until_released.acknowledge = Acknowledge::released;
    Context stage;
    Context writer;
    Pull pull(stage, until_released);
    Push push(stage);
    Pull sink(writer);
    const Forward forwards = forward(pull, push);
    sink.on_message([this](const MessageView& message) {
      came_.append(message.text());
      bytes_ += message.size();
    });
    push.connect(sink.bind("inproc://chain"));
    bound_.set_value(pull.bind(last_wire));
    Pump pump{&stage, &writer};
    while (!stop_) pump.turn();
  } catch (...) {
    bound_.set_exception(std::current_exception());
  }

  std::promise<std::string> bound_;
  std::string address_;
  std::string came_;
  std::atomic<std::size_t> bytes_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;  // the last: it uses the others
};

TEST(Chain, a_file_over_every_wire_is_the_same_file_though_a_stage_was_killed_in_between) {
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 3000; ++i) {
    sizes.push_back(i % 500 == 499 ? 200'000 + i : 28 + (i * 7919) % 9000);
  }
  const std::string first = datagrams(sizes);
  const std::string second = datagrams({sizes.rbegin(), sizes.rend()});
  const Folder folder;
  LastStage last;
  const std::string shm = "shm://" + folder.path("middle");
  const auto middle = [&] {
    return std::make_unique<Process>(netio_command({"relay", shm, last.address()}));
  };
  std::unique_ptr<Process> stage = middle();
  ASSERT_FALSE(address_of(*stage).empty());
  Process beginning(netio_command({"relay", any_port, shm}));
  Process send(netio_command({"send", address_of(beginning), "--frame", datagram_frame,
                              "--json=" + folder.path("send.json")}));
  ASSERT_TRUE(send.feed(first));
  ASSERT_TRUE(last.has(first.size())) << send.err() << beginning.err() << stage->err();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the acknowledgements
  stage->signal(SIGKILL);
  EXPECT_EQ(stage->wait(), -SIGKILL);
  ASSERT_TRUE(beginning.wait_for_err("lost receiver"));
  stage = middle();
  ASSERT_TRUE(send.feed(second));
  send.end_input();
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(beginning.wait(), 0) << beginning.err();
  EXPECT_EQ(stage->wait(), 0) << stage->err();
  EXPECT_TRUE(last.has(first.size() + second.size()));
  EXPECT_TRUE(last.end() == first + second);
  const auto books = read_json(folder.path("send.json"))["books"];
  EXPECT_EQ(books["sent"], 2 * sizes.size());
  EXPECT_EQ(books["acknowledged"], 2 * sizes.size());
}

}  // namespace
}  // namespace netio::test
