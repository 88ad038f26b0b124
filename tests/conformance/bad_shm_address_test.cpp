// Names and paths of shared memory that cannot be had: taken, of another user, in another network
// namespace, without rights; and a machine that has no more to give.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conformance/evil.hpp"
#include "support/child.hpp"
#include "support/raw_shm.hpp"
#include "support/sanitized.hpp"

namespace netio::test {
namespace {

using detail::FileDescriptor;
using detail::WirePattern;

constexpr uid_t nobody = 65534;

std::string free_name() {
  static int number = 0;
  return "shm://test-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
}

class Folder {
 public:
  Folder() {
    std::string name = "/tmp/netio-test-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string path(const std::string& name = "") const { return path_ / name; }
  [[nodiscard]] std::string address(const std::string& name) const { return "shm://" + path(name); }

 private:
  std::filesystem::path path_;
};

class ShmAddress : public testing::Test {
 protected:
  static Error error_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_FALSE(error.cause().empty()) << error.what();
      return error;
    }
    ADD_FAILURE() << "no error";
    return {"", ""};
  }
  // One message, from a push of its own.
  void expect_served(Pull& pull, const std::string& address) {
    std::uint64_t received = 0;
    pull.on_message([&](const MessageView&) { ++received; });
    Push push(here_, wary_options());
    push.connect(address);
    ASSERT_SOON(pump_, push.peers_connected() == 1);
    ASSERT_EQ(push.send("one"), Status::ok);
    EXPECT_SOON(pump_, received == 1);
  }
  Down told_of_connecting(const std::string& address) {
    Push push(here_, wary_options());
    Seen at_push(push);
    push.connect(address);
    EXPECT_SOON(pump_, !at_push.downs.empty());
    if (at_push.downs.empty()) return {};
    EXPECT_TRUE(is_readable(at_push.downs[0].down));
    return at_push.downs[0].down;
  }

  Context here_{wary_context()};
  Context there_{wary_context()};
  Pump pump_{&here_, &there_};

 private:
};

TEST_F(ShmAddress, a_name_in_use_is_thrown_and_leaves_the_socket_usable) {
  Pull first(there_, wary_options());
  Pull second(there_, wary_options());
  const std::string name = first.bind(free_name());
  const Error error = error_of([&] { second.bind(name); });
  EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
  EXPECT_NE(error.cause().find("in use"), std::string::npos) << error.what();
  EXPECT_FALSE(error.advice().empty());
  const RawShmListener foreign(free_name(), SOCK_SEQPACKET);
  const Error of_foreign = error_of([&] { second.bind(foreign.address()); });
  EXPECT_NE(of_foreign.cause().find("in use"), std::string::npos) << of_foreign.what();
  expect_served(first, name);
  expect_served(second, second.bind(free_name()));
}

TEST_F(ShmAddress, a_path_in_use_stays_with_who_has_it) {
  const Folder folder;
  Pull first(there_, wary_options());
  Pull second(there_, wary_options());
  Seen at_first(first);
  const std::string path = first.bind(folder.address("netio"));
  EXPECT_FALSE(error_of([&] { second.bind(path); }).advice().empty());
  pump_.run_for(20ms);
  EXPECT_TRUE(at_first.downs.empty()) << at_first.why();  // it saw nothing of that
  for (const int type : {SOCK_SEQPACKET, SOCK_STREAM, SOCK_DGRAM}) {
    SCOPED_TRACE(type);
    const RawShmListener foreign(folder.address("foreign" + std::to_string(type)), type);
    (void)error_of([&] { second.bind(foreign.address()); });
    EXPECT_TRUE(std::filesystem::is_socket(foreign.address().substr(6)));
  }
  expect_served(first, path);
}

TEST_F(ShmAddress, a_socket_file_that_was_left_over_is_replaced) {
  const Folder folder;
  { const RawShmListener gone(folder.address("left"), SOCK_SEQPACKET); }
  ASSERT_TRUE(std::filesystem::is_socket(folder.path("left")));
  {
    Pull pull(there_, wary_options());
    expect_served(pull, pull.bind(folder.address("left")));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("left")));
}

TEST_F(ShmAddress, what_is_no_socket_is_not_deleted) {
  const Folder folder;
  std::ofstream(folder.path("data")) << "precious";
  std::filesystem::create_directory(folder.path("folder"));
  std::filesystem::create_symlink("nowhere", folder.path("link"));
  Pull pull(there_, wary_options());
  for (const std::string name : {"data", "folder", "link"}) {
    const Error error = error_of([&] { pull.bind(folder.address(name)); });
    EXPECT_NE(error.advice().find("no socket"), std::string::npos) << error.what();
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::symlink_status(folder.path(name))));
  }
  EXPECT_EQ(std::filesystem::file_size(folder.path("data")), 8U);
  expect_served(pull, pull.bind(folder.address("pull")));
}

// Whoever has the path now keeps it.
TEST_F(ShmAddress, a_socket_file_that_another_has_made_since_is_not_deleted) {
  const Folder folder;
  Pull second(there_, wary_options());
  {
    Pull first(there_, wary_options());
    (void)first.bind(folder.address("moved"));
    std::filesystem::remove(folder.path("moved"));
    (void)second.bind(folder.address("moved"));
  }
  EXPECT_TRUE(std::filesystem::is_socket(folder.path("moved")));
  expect_served(second, folder.address("moved"));
}

TEST_F(ShmAddress, names_that_do_not_fit_are_thrown) {
  const Folder folder;
  Pull pull(there_, wary_options());
  for (const std::string& address :
       {std::string("shm://"), "shm://" + std::string(102, 'a'), "shm:///" + std::string(107, 'a'),
        "inproc://" + std::string(108, 'a'), std::string("shm://a?b=c")}) {
    EXPECT_FALSE(error_of([&] { pull.bind(address); }).advice().empty()) << address;
    EXPECT_FALSE(error_of([&] { pull.connect(address); }).advice().empty()) << address;
  }
  // A path is no way out of a process's own names.
  const std::string inside = "inproc://" + std::string(108, 'a');
  const std::string advice = error_of([&] { pull.bind(inside); }).advice();
  EXPECT_EQ(advice.find("path"), std::string::npos) << advice;
  expect_served(pull, pull.bind("shm://" + std::string(101, 'a')));
  const std::string longest = folder.path(std::string(107 - folder.path().size(), 'a'));
  expect_served(pull, pull.bind("shm://" + longest));
}

TEST_F(ShmAddress, a_folder_that_is_not_there_or_not_ours_is_thrown) {
  const Folder folder;
  Pull pull(there_, wary_options());
  const Error missing = error_of([&] { pull.bind(folder.address("no/such")); });
  EXPECT_NE(missing.advice().find("folder"), std::string::npos) << missing.what();
  const Error in_file = error_of([&] { pull.bind("shm:///dev/null/name"); });
  EXPECT_FALSE(in_file.cause().empty());
  if (::geteuid() == 0) {
    ASSERT_EQ(::seteuid(nobody), 0);
  } else {
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read);
  }
  const Error refused = error_of([&] { pull.bind(folder.address("name")); });
  const Down down = told_of_connecting(folder.address("name"));
  if (::getuid() == 0) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  EXPECT_NE(refused.cause().find("denied"), std::string::npos) << refused.what();
  EXPECT_NE(down.detail.find("denied"), std::string::npos) << down.detail;
}

TEST_F(ShmAddress, a_socket_file_of_another_user_is_said_to_be_one) {
  if (::geteuid() != 0) GTEST_SKIP() << "no right to become another user (needs root)";
  const Folder folder;
  { const RawShmListener gone(folder.address("left"), SOCK_SEQPACKET); }
  std::filesystem::permissions(folder.path(),
                               std::filesystem::perms::all | std::filesystem::perms::sticky_bit);
  Pull pull(there_, wary_options());
  ASSERT_EQ(::seteuid(nobody), 0);
  const Error refused = error_of([&] { pull.bind(folder.address("left")); });
  const Down down = told_of_connecting(folder.address("left"));
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_NE(refused.advice().find("another user, 0:"), std::string::npos) << refused.what();
  EXPECT_NE(down.detail.find("one user only"), std::string::npos) << down.detail;
}

TEST_F(ShmAddress, where_nobody_listens_is_refused_and_tried_again) {
  const Folder folder;
  { const RawShmListener gone(folder.address("left"), SOCK_SEQPACKET); }
  for (const std::string& address :
       {free_name(), folder.address("none"), folder.address("left"), "shm://" + folder.path()}) {
    Push push(here_, wary_options());
    Seen at_push(push);
    push.connect(address);
    ASSERT_SOON(pump_, at_push.downs.size() >= 2);
    EXPECT_EQ(at_push.downs[1].down.reason, DownReason::refused) << at_push.why();
    EXPECT_TRUE(at_push.downs[1].peer.retrying);
    EXPECT_NE(at_push.downs[1].down.detail.find(address), std::string::npos) << at_push.why();
  }
  EXPECT_EQ(told_of_connecting(folder.address("none")).detail.find("namespace"), std::string::npos);
}

// --- Others.

// A child in a place of its own, which tells what it is told there. Forked before there are
// contexts.
class Elsewhere : public testing::Test {
 protected:
  // What the child is told first of a connection from there; empty if it has no right to go there.
  static std::string told(const Child& child, const std::string& address, Context& here) {
    child.begin(address);
    Pump pump{&here};
    EXPECT_SOON(pump, child.reported());
    return child.text();
  }
  static void connect_from(const std::function<bool()>& go, const std::string& address,
                           int report_to) {
    if (!go()) return;
    Context context(wary_context());
    Push push(context, wary_options());
    Seen at_push(push);
    push.connect(address);
    Pump pump{&context};
    (void)pump.until([&] { return !at_push.downs.empty(); }, "told", 5s);
    const std::string why = at_push.downs.empty() ? "nothing" : at_push.downs[0].down.detail;
    (void)!::write(report_to, why.data(), why.size());
  }
};

TEST_F(Elsewhere, a_name_in_another_network_namespace_is_refused_with_that_reason) {
  const Child child([](const std::string& address, int report_to) {
    connect_from([] { return ::unshare(CLONE_NEWNET) == 0; }, address, report_to);
  });
  Context context(wary_context());
  Pull pull(context, wary_options());
  const std::string why = told(child, pull.bind(free_name()), context);
  if (why.empty()) GTEST_SKIP() << "no right to make a network namespace (needs root)";
  EXPECT_NE(why.find("known within one network namespace"), std::string::npos) << why;
}

TEST_F(Elsewhere, a_process_of_another_user_gets_no_memory) {
  const Child child([](const std::string& address, int report_to) {
    connect_from([] { return ::setgid(nobody) == 0 && ::setuid(nobody) == 0; }, address, report_to);
  });
  Context context(wary_context());
  Pull pull(context, wary_options());
  Seen at_pull(pull);
  const std::string why = told(child, pull.bind(free_name()), context);
  if (why.empty()) GTEST_SKIP() << "no right to become another user (needs root)";
  EXPECT_NE(why.find("refused: user 0 and another user, " + std::to_string(nobody)),
            std::string::npos)
      << why;
  ASSERT_FALSE(at_pull.downs.empty());
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::rejected) << at_pull.why();
  EXPECT_NE(at_pull.downs[0].down.detail.find(std::to_string(nobody)), std::string::npos)
      << at_pull.why();
  EXPECT_TRUE(at_pull.ups.empty());
}

TEST_F(Elsewhere, a_name_that_another_user_has_is_given_no_memory) {
  const Child child([](const std::string& address, int report_to) {
    if (::setgid(nobody) != 0 || ::setuid(nobody) != 0) return;
    RawShmListener server(address, SOCK_SEQPACKET);
    report(report_to);
    std::unique_ptr<RawShm> raw;
    while (!raw) raw = server.accept();
    ::pause();
  });
  const std::string name = free_name();
  child.begin(name);
  if (!child.wait_for_report()) GTEST_SKIP() << "no right to become another user (needs root)";
  Context context(wary_context());
  Pump pump{&context};
  Push push(context, wary_options());
  Seen at_push(push);
  push.connect(name);
  ASSERT_SOON(pump, !at_push.downs.empty());
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::rejected) << at_push.why();
  EXPECT_NE(at_push.downs[0].down.detail.find("another user"), std::string::npos) << at_push.why();
}

// --- No more to give.

class Descriptors {
 public:
  // Leaves room for `more` than are open now.
  explicit Descriptors(rlim_t more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const FileDescriptor next(::dup(STDIN_FILENO));
    const rlimit low{static_cast<rlim_t>(next.get()) + more, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &low);
  }
  ~Descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

 private:
  rlimit before_{};
};

// Both ends share them here: with each number more of them one step more is taken. What a context
// needs once it has already.
TEST_F(ShmAddress, without_descriptors_a_connection_comes_later) {
  if (sanitized) GTEST_SKIP() << "a sanitizer needs descriptors of its own";
  {
    Pull pull(there_, wary_options());
    expect_served(pull, pull.bind(free_name()));
  }
  for (rlim_t left = 0; left < 22; ++left) {
    SCOPED_TRACE(left);
    Pull pull(there_, wary_options());
    Seen at_pull(pull);
    const std::string name = pull.bind(free_name());
    Push push(here_, wary_options());
    Seen at_push(push);
    {
      const Descriptors few(left);
      push.connect(name);
      pump_.run_for(60ms);
    }
    ASSERT_SOON(pump_, push.peers_connected() == 1 && pull.peers_connected() == 1)
        << at_push.why() << at_pull.why();
    for (const Seen* each : {&at_push, &at_pull}) {
      for (const Seen::Gone& gone : each->downs) EXPECT_TRUE(is_readable(gone.down));
    }
    EXPECT_FALSE(at_push.was_down_for(DownReason::foreign_protocol)) << at_push.why();
    EXPECT_FALSE(at_pull.was_down_for(DownReason::foreign_protocol)) << at_pull.why();
    std::uint64_t received = 0;
    pull.on_message([&](const MessageView&) { ++received; });
    ASSERT_SOON(pump_, push.send("one") == Status::ok);
    EXPECT_SOON(pump_, received == 1);
  }
}

// Who receives keeps all: what the sender has is spent, until it comes home.
TEST_F(ShmAddress, memory_that_is_spent_is_waited_for) {
  Push push(here_, wary_options());
  Pull pull(there_, wary_options());
  std::vector<Message> kept;
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView& message) {
    kept.push_back(message.keep());
    ++received;
  });
  std::uint64_t writable = 0;
  push.on_writable([&] { ++writable; });
  push.connect(pull.bind("shm://*"));
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  std::uint64_t sent = 0;
  for (int refusals = 0; refusals < 20;) {
    const Status status = push.send(payload(sent, 40'000));
    refusals = status == Status::ok ? 0 : refusals + 1;
    sent += status == Status::ok ? 1 : 0;
    pump_.turn();
  }
  EXPECT_LT(sent, 200U);
  const std::uint64_t before = writable;
  pump_.run_for(10ms);
  EXPECT_EQ(writable, before);
  kept.clear();
  EXPECT_SOON(pump_, writable == before + 1);
  EXPECT_EQ(push.send(payload(sent, 40'000)), Status::ok);
  EXPECT_SOON(pump_, (kept.clear(), received == sent + 1));
  EXPECT_SOON(pump_, push.books().unsettled() == 0);
}

}  // namespace
}  // namespace netio::test
