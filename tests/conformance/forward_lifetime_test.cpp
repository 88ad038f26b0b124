// Messages that were passed on where they lay outlive what they came from: the peer that sent them,
// the connection, the socket that received them, and the context that owns their memory. The first
// wire is that of the row, the second each of the others in turn.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/forwarding.hpp"
#include "socket/context_core.hpp"
#include "support/child.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

// What stays in place on most pairs of wires: messages of half a page, and now and then a larger
// one in parts.
std::size_t passed_size(std::uint64_t number) { return number % 8 == 7 ? 200'000 : 40'000; }

// Sends until it is killed, more than all queues on the way hold.
void send_for_ever(const std::string& address, int report_to, const ContextOptions& context_options,
                   std::uint64_t report_after) {
  Context context(context_options);
  Push push(context);
  Pump pump{&context};
  push.connect(address);
  for (std::uint64_t i = 0;; ++i) {
    const std::vector<std::byte> message = payload(i, passed_size(i));
    while (push.send(message, i) != Status::ok) pump.turn();
    if (i == report_after) report(report_to);
  }
}

class ForwardLifetime : public Forwarding {
 protected:
  ForwardLifetime() : owner_(std::make_unique<Context>(small_context(GetParam()))) {
    pump_.add(*owner_);
  }

  ~ForwardLifetime() override { source_.reset(); }  // its context goes before it otherwise

  // The sink takes nothing yet: messages wait on their way to it.
  void make_stage(const std::string& second, SocketOptions output) {
    forward_ = Forward();
    input_ = std::make_unique<Pull>(middle_, options());
    output_ = std::make_unique<Push>(middle_, std::move(output));
    sink_ = std::make_unique<Pull>(there_, options());
    forward_ = forward(*input_, *output_);
    came_ = 0;
    sink_->on_message([this](const MessageView& message) { check(message); });
    sink_->pause();
    sink_address_ = sink_->bind(second);
  }
  void connect_output(const std::string& address) {
    output_->connect(address);
    ASSERT_SOON(pump_, output_->peers_connected() == 1 && sink_->peers_connected() == 1);
  }
  void make_stage(const Row& second) {
    make_stage(second.address, options());
    connect_output(sink_address_);
  }
  // Another context of the source, if the one before is gone.
  void make_source() {
    if (!owner_) pump_.add(*(owner_ = std::make_unique<Context>(small_context(GetParam()))));
    source_ = std::make_unique<Push>(*owner_, options());
    join(*input_, *source_);
  }
  // Until neither wire takes any more.
  void fill_both_wires() {
    std::uint64_t sent = 0;
    ASSERT_NO_FATAL_FAILURE(hold_up(passed_size, sent));
    ASSERT_GT(output_->books().unacknowledged, 0U);
  }
  void check(const MessageView& message) {
    if (message.tag() != came_ || message.size() != passed_size(came_) ||
        !is_payload(message.bytes(), came_)) {
      ADD_FAILURE() << "number " << message.tag() << " in place of " << came_;
      sink_->pause();
    }
    ++came_;
  }
  // All that the output took arrives, whole and in order.
  void expect_all_that_was_taken() {
    sink_->resume();
    ASSERT_SOON(pump_, forward_.books().held == 0 && output_->books().unsettled() == 0 &&
                           came_ == output_->books().sent);
    EXPECT_EQ(output_->books().dropped(), 0U);
    EXPECT_GT(came_, 0U);
  }
  // The memory of the stage is home once its sockets are gone.
  void expect_memory_home() {
    forward_ = Forward();
    output_.reset();
    input_.reset();
    sink_.reset();
    source_.reset();
    detail::ContextCore& core = middle_.core();
    ASSERT_SOON(pump_, (core.collect(),
                        core.receive_pool().blocks_free() == core.receive_pool().blocks()) &&
                           core.large_pool().bytes_out() == 0);
  }

  // What the output has taken arrives, though `part` is gone.
  template <typename Part>
  void expect_to_outlive(Part&& part) {
    for (const Row& second : other_wires()) {
      SCOPED_TRACE(second.name);
      ASSERT_NO_FATAL_FAILURE(make_stage(second));
      ASSERT_NO_FATAL_FAILURE(make_source());
      ASSERT_NO_FATAL_FAILURE(fill_both_wires());
      part();
      pump_.run_for(10ms);
      ASSERT_NO_FATAL_FAILURE(expect_all_that_was_taken());
      ASSERT_NO_FATAL_FAILURE(expect_memory_home());
    }
  }

  std::unique_ptr<Context> owner_;  // of the source
  std::string sink_address_;
};

TEST_P(ForwardLifetime, messages_outlive_the_socket_that_sent_them) {
  expect_to_outlive([this] { source_.reset(); });
}

TEST_P(ForwardLifetime, messages_outlive_the_context_that_owns_their_memory) {
  expect_to_outlive([this] {
    source_.reset();
    pump_.remove(*owner_);
    owner_.reset();
  });
}

TEST_P(ForwardLifetime, messages_outlive_the_socket_that_received_them) {
  expect_to_outlive([this] {
    forward_ = Forward();  // what waited in it is lost
    input_.reset();
  });
}

TEST_P(ForwardLifetime, messages_outlive_a_process_that_was_killed) {
  if (GetParam().address.starts_with("inproc")) GTEST_SKIP() << "inproc has one process";
  const ContextOptions context = small_context(GetParam());
  const std::vector<Row> rows = other_wires();
  // All of them first: a child of a process that uses a fabric may not use it.
  std::vector<std::unique_ptr<Child>> children;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    children.push_back(
        std::make_unique<Child>([&context](const std::string& address, int report_to) {
          send_for_ever(address, report_to, context, 20);
        }));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i].name);
    Child& child = *children[i];
    ASSERT_NO_FATAL_FAILURE(make_stage(rows[i]));
    child.begin(bind(*input_));
    ASSERT_SOON(pump_, child.reported() && forward_.books().held != 0);
    pump_.run_for(20ms);
    child.kill();
    ASSERT_SOON(pump_, input_->peers_connected() == 0 || input_->paused());
    ASSERT_NO_FATAL_FAILURE(expect_all_that_was_taken());
    ASSERT_NO_FATAL_FAILURE(expect_memory_home());
  }
}

TEST_P(ForwardLifetime, messages_that_a_cut_link_loses_give_their_memory_back) {
  for (const bool resumes : {false, true}) {
    SCOPED_TRACE(resumes ? "kept until they are acknowledged" : "lost with the connection");
    SocketOptions output = eager();
    if (resumes) output.resume_bytes_max = 8 * mebi;
    ASSERT_NO_FATAL_FAILURE(make_stage("tcp://127.0.0.1:0", output));
    Relay relay(sink_address_);
    ASSERT_NO_FATAL_FAILURE(connect_output(relay.address()));
    ASSERT_NO_FATAL_FAILURE(make_source());
    ASSERT_NO_FATAL_FAILURE(fill_both_wires());
    std::uint64_t next = 0;  // in order and whole; with gaps where they are lost
    std::uint64_t came = 0;
    sink_->on_message([&](const MessageView& message) {
      EXPECT_GE(message.tag(), next);
      EXPECT_EQ(message.size(), passed_size(message.tag()));
      EXPECT_TRUE(is_payload(message.bytes(), message.tag()));
      next = message.tag() + 1;
      ++came;
    });
    relay.cut();
    sink_->resume();
    ASSERT_SOON(pump_, relay.connections() == 2 && forward_.books().held == 0 &&
                           output_->books().unsettled() == 0);
    const Books books = output_->books();
    EXPECT_EQ(came, books.acknowledged);
    EXPECT_EQ(books.dropped() == 0, resumes);
    EXPECT_EQ(came + books.dropped(), books.sent);
    ASSERT_NO_FATAL_FAILURE(expect_memory_home());
  }
}

TEST_P(ForwardLifetime, messages_for_a_sink_that_is_gone_give_their_memory_back) {
  for (const Row& second : other_wires()) {
    SCOPED_TRACE(second.name);
    ASSERT_NO_FATAL_FAILURE(make_stage(second));
    ASSERT_NO_FATAL_FAILURE(make_source());
    ASSERT_NO_FATAL_FAILURE(fill_both_wires());
    sink_.reset();
    ASSERT_SOON(pump_, output_->peers_connected() == 0);
    ASSERT_NO_FATAL_FAILURE(expect_memory_home());
  }
}

ON_EVERY_TRANSPORT(ForwardLifetime);

}  // namespace
}  // namespace netio::test
