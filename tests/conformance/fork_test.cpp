// A child of fork() has copies of its parent's sockets: destroying them is nobody's loss, using
// them is refused, and a child that knows nothing of them keeps nothing open.
#include <array>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/child.hpp"

namespace netio::test {
namespace {

// A child that knows nothing of netio, and does nothing until this is destroyed.
class Worker {
 public:
  Worker() {
    if (::pipe(ends_.data()) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) wait_for_end(ends_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    ::close(ends_[1]);
    ::waitpid(pid_, nullptr, 0);
    ::close(ends_[0]);
  }

  // Until nobody has the other end of the pipe any more.
  [[noreturn]] static void wait_for_end(const std::array<int, 2>& ends) {
    ::close(ends[1]);
    char byte = 0;
    (void)!::read(ends[0], &byte, 1);
    ::_exit(0);
  }

 private:
  std::array<int, 2> ends_{};
  pid_t pid_ = -1;
};

// What `work` says in a child, which ends without any destructor that it does not call itself.
std::string said_by_child(const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    std::string said;
    try {
      said = work();
    } catch (const std::exception& error) {
      said = std::string("threw ") + error.what();
    }
    (void)!::write(ends[1], said.data(), said.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 1000> part{};
  for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;) {
    said.append(part.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) said += " and ended with status " + std::to_string(status);
  return said;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "did not throw";
}

class Fork : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (!IsSkipped()) {
      sender_ = std::make_unique<Context>(small_context(GetParam()));
      receiver_ = std::make_unique<Context>(small_context(GetParam()));
      both_.add(*sender_);
      both_.add(*receiver_);
      push_ = std::make_unique<Push>(*sender_, options());
      pull_ = std::make_unique<Pull>(*receiver_, options());
      at_push_ = std::make_unique<Seen>(*push_);
      at_pull_ = std::make_unique<Seen>(*pull_);
      pull_->on_message([this](const MessageView& message) {
        ++arrived_;
        if (!kept_) kept_ = message.keep();
      });
      address_ = bind(*pull_);
      push_->connect(address_);
    }
  }
  // Up, with messages under way in both directions of time: some delivered, some not.
  void come_up() {
    ASSERT_SOON(both_, push_->peers_connected() == 1 && pull_->peers_connected() == 1);
    send_all(10);
    ASSERT_SOON(both_, arrived_ == 10);
    ASSERT_EQ(push_->send(payload(10, message_bytes)), Status::ok);
  }
  void send_all(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::vector<std::byte> message = payload(i, message_bytes);
      ASSERT_SOON(both_, push_->send(message) == Status::ok);
    }
  }
  [[nodiscard]] static bool on_fabric() {
    return GetParam().name.starts_with("ofi") || GetParam().name.starts_with("verbs");
  }
  // As if nothing had happened.
  void expect_unharmed() {
    send_all(300);
    ASSERT_SOON(both_, arrived_ == 311 && push_->books().acknowledged == 311);
    EXPECT_TRUE(at_push_->downs.empty()) << at_push_->why();
    EXPECT_TRUE(at_pull_->downs.empty()) << at_pull_->why();
    EXPECT_TRUE(is_payload(kept_.bytes(), 0));
    Timer timer(sender_->loop(), [this] { ++expiries_; });
    timer.start_once(1ms);
    ASSERT_SOON(both_, expiries_ == 1);
  }

  // In shared memory a page of its own, which goes back to the sender.
  static constexpr std::size_t message_bytes = 9000;
  std::unique_ptr<Context> sender_;
  std::unique_ptr<Context> receiver_;
  Pump both_;
  std::string address_;
  std::unique_ptr<Push> push_;
  std::unique_ptr<Pull> pull_;
  std::unique_ptr<Seen> at_push_;
  std::unique_ptr<Seen> at_pull_;
  std::uint64_t arrived_ = 0;
  int expiries_ = 0;
  Message kept_;
};

TEST_P(Fork, a_child_that_destroys_its_copies_harms_nobody) {
  ASSERT_NO_FATAL_FAILURE(come_up());
  const std::string said = said_by_child([this] {
    kept_ = Message();
    push_.reset();
    pull_.reset();
    sender_.reset();
    receiver_.reset();
    return std::string("done");
  });
  EXPECT_EQ(said, "done");
  expect_unharmed();
}

// As exit() does with a static context whose sockets belong to a thread that is not there.
TEST_P(Fork, a_child_may_destroy_a_context_below_its_sockets) {
  ASSERT_NO_FATAL_FAILURE(come_up());
  const std::string said = said_by_child([this] {
    sender_.reset();
    receiver_.reset();
    return std::string("done");
  });
  EXPECT_EQ(said, "done");
  expect_unharmed();
}

TEST_P(Fork, a_child_that_uses_its_copies_is_told_and_harms_nobody) {
  ASSERT_NO_FATAL_FAILURE(come_up());
  const auto words = [this] {
    std::string said;
    const std::vector<std::byte> message = payload(1, message_bytes);
    said += to_string(push_->send(message));
    said += ", " + std::string(to_string(push_->send(Message::copy_of(message))));
    said += ", " + std::string(to_string(push_->lend(message, 1)));
    Status status = Status::ok;
    said += push_->allocate(100, status) ? ", memory" : ", " + std::string(to_string(status));
    push_->flush();
    const std::vector<std::function<void()>> refused = {
        [this] { (void)pull_->bind("inproc://" + std::to_string(::getpid())); },
        [this] { push_->connect("tcp://127.0.0.1:1"); },
        [this] { push_->close(); },
        [this] { sender_->close(); },
        [this] { const Push another(*sender_); },
        [this] { sender_->run(); },
        [this] { sender_->loop().run_once(0ms); },
        [this] { sender_->loop().post([] {}); },
        [this] { const Timer timer(sender_->loop(), [] {}); },
        [this] { const Watch watch(sender_->loop(), STDIN_FILENO, 1, [](std::uint32_t) {}); },
    };
    const std::string process = "made before fork, in process " + std::to_string(::getppid());
    for (const auto& call : refused) {
      const std::string error = error_of(call);
      said += error.find(process) != std::string::npos ? ", refused" : "\n" + error;
    }
    return said;
  };
  std::string expected = "closed, closed, closed, closed";
  for (int i = 0; i < 10; ++i) expected += ", refused";
  EXPECT_EQ(said_by_child(words), expected);
  expect_unharmed();
}

// A unit writes small fragments into memory that the builder reads, which is the parent's.
// Its units end one after the other, and the child destroys the first one only.
TEST_P(Fork, a_child_may_destroy_the_copy_of_a_context_that_is_being_closed) {
  const BuildPlan plan{1, 1, 16, false};
  auto context = std::make_unique<Context>();
  auto builder = std::make_unique<BuilderUnit>(*context, BuilderOptions{.plan = plan});
  auto unit = std::make_unique<ReadoutUnit>(*context, ReadoutOptions{.plan = plan});
  ASSERT_EQ(unit->send({1, 0}, payload(0, 100)), Status::ok);
  bool closed = false;
  context->close(1h, [&closed] { closed = true; });
  Pump pump{context.get()};
  pump.turns(5);
  EXPECT_EQ(said_by_child([&] {
              unit.reset();
              context.reset();
              return std::string("still here");
            }),
            "still here");
  unit.reset();
  ASSERT_SOON(pump, closed);
}

TEST_P(Fork, a_child_that_uses_its_copy_of_a_unit_is_told_and_harms_nobody) {
  at_push_.reset();
  at_pull_.reset();
  push_.reset();
  pull_.reset();
  const BuildPlan plan{1, 1, 16, false};
  BuilderUnit builder(*receiver_, {.plan = plan, .window_bytes = std::size_t{32} << 10U});
  ReadoutUnit unit(*sender_, {.plan = plan});
  std::uint64_t built = 0;
  builder.on_event([&built](const Event& event) {
    EXPECT_EQ(event.id(), (EventId{1, built}));
    EXPECT_TRUE(is_payload(event[0].bytes(), built));
    ++built;
  });
  std::uint64_t sent = 0;
  const auto send = [&](std::uint64_t until) {
    for (; sent < until; ++sent) ASSERT_EQ(unit.send({1, sent}, payload(sent, 100)), Status::ok);
  };
  unit.advance({1, 0});
  unit.connect(0, builder.bind(GetParam().address));
  send(20);
  ASSERT_SOON(both_, built == 20);
  send(25);  // they wait for the end of the turn, and the next one would join them
  const auto words = [&] {
    const std::vector<std::byte> fragment = payload(0, 100);
    std::string said(to_string(unit.send({1, 25}, fragment)));
    said += ", " + std::string(to_string(unit.send({1, 26}, fragment, FragmentStatus::truncated)));
    said += ", " + std::string(to_string(unit.send({1, 27}, Message::copy_of(fragment))));
    said += ", " + std::string(to_string(unit.lend({1, 28}, fragment, 1)));
    said += ", " + std::string(to_string(unit.send_segments({1, 29}, {fragment, fragment})));
    Status status = Status::ok;
    said +=
        unit.allocate({1, 30}, 100, status) ? ", memory" : ", " + std::string(to_string(status));
    unit.advance({1, 40});
    unit.flush();
    return said;
  };
  EXPECT_EQ(said_by_child(words), "closed, closed, closed, closed, closed, closed");
  send(60);
  ASSERT_SOON(both_, built == 60);
  EXPECT_EQ(unit.books().sent, 60U);
}

// A loop that does not run belongs to nobody, and so to whichever thread forks.
TEST_P(Fork, a_child_of_another_thread_than_ran_the_loop_is_told_too) {
  ASSERT_NO_FATAL_FAILURE(come_up());
  std::thread([this] { sender_->loop().run_once(0ms); }).join();
  const std::vector<std::byte> message = payload(1, message_bytes);
  EXPECT_EQ(said_by_child([&] { return std::string(to_string(push_->send(message))); }), "closed");
  expect_unharmed();
}

TEST_P(Fork, a_publisher_and_a_subscriber_are_no_different) {
  Context context(small_context(GetParam()));
  Pump pump{&context};
  auto publish = std::make_unique<Publish>(context);
  std::vector<std::unique_ptr<Subscribe>> subscribers;
  std::uint64_t arrived = 0;
  const std::string address = bind(*publish);
  for (int i = 0; i < 2; ++i) {
    subscribers.push_back(std::make_unique<Subscribe>(context, SubscribeOptions{}, options()));
    subscribers.back()->on_message([&](const MessageView&) { ++arrived; });
    subscribers.back()->subscribe(7);
    subscribers.back()->connect(address);
  }
  std::size_t subscribed = 0;
  publish->on_subscribe([&](const PeerInfo&, std::span<const TagRange>) { ++subscribed; });
  ASSERT_SOON(pump, subscribed == 2);
  ASSERT_EQ(publish->send(payload(1, 100), 7), Status::ok);  // in the group's open page
  const auto destroy = [&] {
    publish.reset();
    subscribers.clear();
    return std::string("done");
  };
  EXPECT_EQ(said_by_child([&] {
              const std::string answer(to_string(publish->send(payload(1, 100), 7)));
              publish->flush();
              return answer + ", " + destroy();
            }),
            "closed, done");
  // What this thread does not know of: the fork of another one.
  std::string said;
  std::thread([&] { said = said_by_child(destroy); }).join();
  EXPECT_EQ(said, "done");
  for (std::uint64_t i = 0; i < 50; ++i) {
    ASSERT_SOON(pump, publish->send(payload(i, 100), 7) == Status::ok);
  }
  ASSERT_SOON(pump, arrived == 102);
  EXPECT_EQ(publish->peers_connected(), 2U);
}

// In shared memory the pages that the child thinks free are those the parent writes next.
TEST_P(Fork, a_child_that_destroys_a_publisher_writes_to_no_page_of_the_parents) {
  Context context(small_context(GetParam()));
  Context reading(small_context(GetParam()));
  Pump pump{&context, &reading};
  SocketOptions late;
  late.flush_when_idle = false;
  late.flush_after = 10s;
  auto publish = std::make_unique<Publish>(context, PublishOptions{}, late);
  const std::string address = bind(*publish);
  std::vector<std::unique_ptr<Subscribe>> subscribers;
  std::vector<std::vector<Message>> arrived(2);
  for (std::size_t i = 0; i < 2; ++i) {
    subscribers.push_back(std::make_unique<Subscribe>(reading, SubscribeOptions{}, options()));
    subscribers.back()->on_message(
        [&arrived, i](const MessageView& message) { arrived[i].push_back(message.keep()); });
    subscribers.back()->subscribe(7);
    subscribers.back()->connect(address);
  }
  std::size_t subscribed = 0;
  publish->on_subscribe([&](const PeerInfo&, std::span<const TagRange>) { ++subscribed; });
  ASSERT_SOON(pump, subscribed == 2);
  ASSERT_EQ(publish->send(payload(0, 100), 7), Status::ok);  // in the group's open page
  std::uint64_t sent = 1;
  for (const bool by_owner : {true, false}) {
    std::array<int, 2> go{};
    ASSERT_EQ(::pipe(go.data()), 0);
    pid_t child = 0;
    const auto fork_one = [&] {
      child = ::fork();
      if (child != 0) return;
      char byte = 0;
      (void)!::read(go[0], &byte, 1);
      publish.reset();
      ::_exit(0);
    };
    if (by_owner) {
      fork_one();
    } else {
      std::thread(fork_one).join();
    }
    for (const std::uint64_t end = sent + 20; sent < end; ++sent) {
      ASSERT_EQ(publish->send(payload(sent, 900), 7), Status::ok);
      publish->flush();
    }
    ASSERT_EQ(::write(go[1], "!", 1), 1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ::close(go[0]);
    ::close(go[1]);
    ASSERT_SOON(pump, arrived[0].size() == sent && arrived[1].size() == sent);
    for (const std::vector<Message>& messages : arrived) {
      for (std::size_t i = 0; i < messages.size(); ++i) {
        EXPECT_TRUE(is_payload(messages[i].bytes(), i)) << i;
      }
    }
    // And the open page of the next round.
    ASSERT_EQ(publish->send(payload(sent++, 100), 7), Status::ok);
  }
}

TEST_P(Fork, a_child_may_make_contexts_of_its_own) {
  if (on_fabric()) GTEST_SKIP() << "a child of a process that has used a fabric is promised none";
  ASSERT_NO_FATAL_FAILURE(come_up());
  const std::string said = said_by_child([] {
    Context own(small_context(GetParam()));
    Pump pump{&own};
    Pull pull(own);
    Push push(own);
    bool delivered = false;
    pull.on_message([&](const MessageView&) { delivered = true; });
    push.connect(pull.bind(GetParam().address));
    push.on_up([&](const PeerInfo&) { (void)push.send("to myself"); });
    const bool in_time = static_cast<bool>(pump.until([&] { return delivered; }, "delivered"));
    return std::string(in_time ? "delivered" : "lost");
  });
  EXPECT_EQ(said, "delivered");
  expect_unharmed();
}

TEST_P(Fork, a_child_that_lives_on_keeps_no_connection_and_no_address) {
  if (on_fabric()) GTEST_SKIP() << "libfabric's descriptors stay open in a child";
  ASSERT_NO_FATAL_FAILURE(come_up());
  const Worker worker;
  push_.reset();
  ASSERT_SOON(both_, at_pull_->downs.size() == 1);
  push_ = std::make_unique<Push>(*sender_, options());
  push_->connect(address_);
  ASSERT_SOON(both_, push_->peers_connected() == 1);
  const Worker another;
  at_pull_.reset();
  pull_.reset();
  ASSERT_SOON(both_, push_->peers_connected() == 0);
  Pull successor(*receiver_, options());
  EXPECT_EQ(error_of([&] { (void)successor.bind(address_); }), "did not throw");
  ASSERT_SOON(both_, push_->peers_connected() == 1);
}

TEST_P(Fork, a_child_that_outlives_its_parent_keeps_no_connection_and_no_address) {
  if (on_fabric()) GTEST_SKIP() << "libfabric's descriptors stay open in a child";
  if (GetParam().address.starts_with("inproc")) GTEST_SKIP() << "inproc has one process";
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const ContextOptions small = small_context(GetParam());
  Child parent([&](const std::string& address, int report_to) {
    Context context(small);
    Push push(context);
    push.on_up([&](const PeerInfo&) {
      if (::fork() == 0) Worker::wait_for_end(ends);
      report(report_to);
    });
    const std::string bound = push.bind(address);
    (void)!::write(report_to, bound.data(), bound.size());
    context.run();
  });
  parent.begin(GetParam().address);
  const std::string address = parent.text();
  std::optional<Pull> pull(std::in_place, *receiver_, options());
  Seen at_pull(*pull);
  pull->connect(address);
  ASSERT_SOON(both_, parent.reported());
  parent.kill();
  ASSERT_SOON(both_, !at_pull.downs.empty());
  pull.reset();
  Push successor(*sender_, options());
  EXPECT_EQ(error_of([&] { (void)successor.bind(address); }), "did not throw");
  ::close(ends[1]);
  ::close(ends[0]);
}

ON_EVERY_TRANSPORT_AND_MODE(Fork);

}  // namespace
}  // namespace netio::test
