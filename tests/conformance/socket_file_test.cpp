// Several processes that find a socket file which a dead one left: one of them replaces it.
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/child.hpp"
#include "support/raw_shm.hpp"

namespace netio::test {
namespace {

using detail::FileDescriptor;

class SocketFiles : public testing::Test {
 protected:
  SocketFiles() {
    std::string name = "/tmp/netio-test-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
  }
  ~SocketFiles() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return folder_ + "/socket"; }
  [[nodiscard]] std::string address() const { return "shm://" + path(); }
  void leave_one() const { const RawShmListener gone(address(), SOCK_SEQPACKET); }
  [[nodiscard]] FileDescriptor locked_folder() const {
    FileDescriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(::flock(folder.get(), LOCK_EX | LOCK_NB), 0);
    return folder;
  }

  std::string folder_;
};

// Binds at the path in each round, and reports whether it could. Begins and ends rounds as it is
// told, by a byte each.
class Racer {
 public:
  explicit Racer(const std::string& address) {
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()) != 0) std::abort();
    child_ = std::make_unique<Child>([this, address](const std::string&, int) {
      ::close(ends_[0]);
      Context context(small_context());
      Pull warm(context);
      (void)warm.bind("shm://*");  // the context has its arena then
      while (wait(ends_[1])) {
        auto pull = std::make_unique<Pull>(context);
        char answer = 'y';
        try {
          (void)pull->bind(address);
        } catch (const Error&) {
          answer = 'n';
        }
        say(ends_[1], answer);
        if (!wait(ends_[1])) return;
        pull.reset();
        say(ends_[1], 'e');
      }
    });
    ::close(ends_[1]);
    child_->begin("go");
  }
  ~Racer() { ::close(ends_[0]); }
  Racer(const Racer&) = delete;
  Racer& operator=(const Racer&) = delete;

  void go_on() const { say(ends_[0], 'g'); }
  [[nodiscard]] char answer() const { return wait(ends_[0]).value_or('?'); }

 private:
  static void say(int end, char what) { (void)!::write(end, &what, 1); }
  static std::optional<char> wait(int end) {
    char told = 0;
    return ::read(end, &told, 1) == 1 ? std::optional(told) : std::nullopt;
  }

  std::array<int, 2> ends_{};
  std::unique_ptr<Child> child_;
};

TEST_F(SocketFiles, are_replaced_by_one_of_those_that_begin_at_once) {
  std::vector<std::unique_ptr<Racer>> racers;
  for (int i = 0; i < 4; ++i) racers.push_back(std::make_unique<Racer>(address()));
  for (int round = 0; round < 1000; ++round) {
    leave_one();
    for (const auto& racer : racers) racer->go_on();
    int listening = 0;
    for (const auto& racer : racers) {
      const char answer = racer->answer();
      ASSERT_TRUE(answer == 'y' || answer == 'n') << answer;
      if (answer == 'y') ++listening;
    }
    ASSERT_EQ(listening, 1) << "round " << round;
    for (const auto& racer : racers) racer->go_on();
    for (const auto& racer : racers) ASSERT_EQ(racer->answer(), 'e');
    ASSERT_FALSE(std::filesystem::exists(path())) << "round " << round;
  }
}

// As a process does that was stopped while it replaced one.
TEST_F(SocketFiles, are_not_replaced_while_somebody_else_may_be_replacing_them) {
  leave_one();
  Context context(small_context());
  Pull pull(context);
  {
    const FileDescriptor folder = locked_folder();
    try {
      (void)pull.bind(address());
      ADD_FAILURE() << "bound";
    } catch (const Error& error) {
      EXPECT_NE(error.advice().find("lslocks"), std::string::npos) << error.what();
    }
  }
  EXPECT_TRUE(std::filesystem::is_socket(path()));
  (void)pull.bind(address());
}

TEST_F(SocketFiles, are_made_at_a_free_path_also_in_a_folder_that_stays_locked) {
  const FileDescriptor folder = locked_folder();
  Context context(small_context());
  Pull pull(context);
  (void)pull.bind(address());
  EXPECT_TRUE(std::filesystem::is_socket(path()));
}

}  // namespace
}  // namespace netio::test
