// Every example is run, and the pages quote the first programs word for word.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.hpp"
#include "support/process.hpp"

namespace netio::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;

std::string program(const std::string& name) {
  const auto build = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return (build / "examples" / name).string();
}

Process::Options example(const std::string& name, const std::string& argument = {}) {
  Process::Options options;
  options.arguments = {program(name)};
  if (!argument.empty()) options.arguments.push_back(argument);
  return options;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What is between the fences behind the marker `<!-- path -->`; empty without them.
std::string quoted_in(const std::string& document, const std::string& path) {
  const std::string text = text_of(std::filesystem::path(source_folder()) / document);
  const std::string language = path.substr(path.find('.') + 1);
  const std::string opening = "<!-- " + path + " -->\n```" + language + "\n";
  const std::size_t begin = text.find(opening);
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find("```", begin + opening.size());
  return text.substr(begin + opening.size(), end - begin - opening.size());
}

class Examples : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(program("push"))) GTEST_SKIP() << "built without NETIO_EXAMPLES";
  }
  // Its output, once it has ended by itself and well.
  static std::string output_of(const std::string& name) {
    Process process(example(name));
    EXPECT_EQ(process.wait(), 0) << name << ": " << process.out() << process.err();
    return process.out();
  }
};

TEST_F(Examples, the_first_program_moves_its_messages) {
  Process pull(example("pull", "tcp://127.0.0.1:0"));
  const std::string greeting = "pulling at tcp://127.0.0.1:";
  ASSERT_TRUE(pull.wait_for_out_bytes(greeting.size() + 2));
  std::string address = pull.out().substr(greeting.size() - 16);
  address.erase(address.find('\n'));
  Process push(example("push", address));
  EXPECT_EQ(push.wait(), 0) << push.err();
  EXPECT_EQ(push.out(), "1000 of 1000 delivered\n");
  EXPECT_EQ(pull.wait(), 0) << pull.err();
  EXPECT_THAT(pull.out(), HasSubstr("first: event 0\n1000 messages, then: "));
}

TEST_F(Examples, the_first_program_says_why_nothing_happens) {
  Process push(example("push", "tcp://127.0.0.1:1"));
  EXPECT_TRUE(push.wait_for_err("nobody listens at tcp://127.0.0.1:1")) << push.err();
  for (const char* const name :
       {"push", "pull", "c_push", "c_pull", "c_request", "c_reply", "c_builder_unit"}) {
    Process wrong(example(name, "127.0.0.1:5555"));
    EXPECT_EQ(wrong.wait(), 2) << name;
    EXPECT_THAT(wrong.err(), HasSubstr("the scheme is missing")) << name;
  }
}

// In C, and each with one in C++ at the other end.
TEST_F(Examples, the_first_program_is_the_same_in_c) {
  for (const auto& [receiver, sender] :
       {std::pair("c_pull", "c_push"), std::pair("c_pull", "push"), std::pair("pull", "c_push")}) {
    Process pull(example(receiver, "tcp://127.0.0.1:0"));
    ASSERT_TRUE(pull.wait_for_out_bytes(std::string("pulling at tcp://127.0.0.1:1\n").size()));
    std::string address = pull.out().substr(pull.out().find("tcp://"));
    address.erase(address.find('\n'));
    Process push(example(sender, address));
    EXPECT_EQ(push.wait(), 0) << sender << push.err();
    EXPECT_EQ(push.out(), "1000 of 1000 delivered\n") << sender;
    EXPECT_EQ(pull.wait(), 0) << receiver << pull.err();
    EXPECT_THAT(pull.out(), HasSubstr("first: event 0\n1000 messages, then: ")) << receiver;
  }
}

TEST_F(Examples, questions_are_answered_in_c) {
  Process reply(example("c_reply", "tcp://127.0.0.1:0"));
  ASSERT_TRUE(reply.wait_for_out_bytes(std::string("listening at tcp://127.0.0.1:1\n").size()));
  std::string address = reply.out().substr(reply.out().find("tcp://"));
  address.erase(address.find('\n'));
  Process request(example("c_request", address));
  EXPECT_EQ(request.wait(), 0) << request.err();
  EXPECT_EQ(request.out(), "question 0: yes\nquestion 1: yes\nquestion 2: yes\n");
  EXPECT_EQ(reply.wait(), 0) << reply.err();
  EXPECT_THAT(reply.out(), HasSubstr("\n3 answered, then: "));
}

TEST_F(Examples, a_chain_ends_in_order_from_its_first_stage_on) {
  Process pull(example("pull", "tcp://127.0.0.1:0"));
  const std::string greeting = "pulling at ";
  ASSERT_TRUE(pull.wait_for_out_bytes(greeting.size() + std::string("tcp://127.0.0.1:1\n").size()));
  std::string last = pull.out().substr(greeting.size());
  last.erase(last.find('\n'));
  Process::Options options = example("relay", "tcp://127.0.0.1:0");
  options.arguments.push_back(last);
  Process relay(std::move(options));
  const auto middle = relay.line_after("at ");
  ASSERT_TRUE(middle) << relay.err();
  Process push(example("push", *middle));
  EXPECT_EQ(push.wait(), 0) << push.err();
  EXPECT_EQ(push.out(), "1000 of 1000 delivered\n");
  EXPECT_EQ(relay.wait(), 0) << relay.err();
  EXPECT_EQ(relay.out(), "1000 passed on, 1000 delivered\n");
  EXPECT_EQ(pull.wait(), 0) << pull.err();
  EXPECT_THAT(pull.out(), HasSubstr("first: event 0\n1000 messages, then: "));
}

TEST_F(Examples, every_receiver_is_told_of_the_start_and_the_end_of_a_run) {
  Process first(example("pull", "tcp://127.0.0.1:0"));
  Process second(example("pull", "tcp://127.0.0.1:0"));
  Process::Options options = example("run");
  for (Process* const pull : {&first, &second}) {
    const std::string greeting = "pulling at ";
    ASSERT_TRUE(
        pull->wait_for_out_bytes(greeting.size() + std::string("tcp://127.0.0.1:1\n").size()));
    std::string address = pull->out().substr(greeting.size());
    address.erase(address.find('\n'));
    options.arguments.push_back(address);
  }
  Process run(std::move(options));
  EXPECT_EQ(run.wait(), 0) << run.err();
  EXPECT_EQ(run.out(),
            "run 42 starts: 2 told, 0 away\nrun 42 ends: 2 told, 0 away\n1004 of 1004 delivered\n");
  for (Process* const pull : {&first, &second}) {
    EXPECT_EQ(pull->wait(), 0) << pull->err();
    EXPECT_THAT(pull->out(), HasSubstr("first: run 42 starts\n"));
  }
}

TEST_F(Examples, a_command_line_describes_the_channels) {
  if (!std::filesystem::exists(program("channels"))) GTEST_SKIP() << "built without channels";
  const auto with = [](const std::string& text) {
    Process::Options options = example("channels", "--channel-config");
    options.arguments.push_back(text);
    return options;
  };
  Process pull(with("name=data,type=pull,method=bind,address=tcp://127.0.0.1:0,rcvBufSize=10"));
  const std::string greeting = "pulling at ";
  ASSERT_TRUE(pull.wait_for_out_bytes(greeting.size() + std::string("tcp://127.0.0.1:1\n").size()));
  std::string address = pull.out().substr(greeting.size());
  address.erase(address.find('\n'));
  Process push(with("data:type=push,method=connect,address=" + address));
  EXPECT_EQ(push.wait(), 0) << push.err();
  EXPECT_EQ(pull.wait(), 0) << pull.err();
  EXPECT_THAT(pull.out(), HasSubstr("\nevent 0\n"));
  EXPECT_THAT(pull.out(), HasSubstr("\nevent 9\n"));
  EXPECT_THAT(pull.err(), HasSubstr("rcvBufSize has no effect: it counts messages"));
  Process wrong(with("name=data,tpye=pull"));
  EXPECT_EQ(wrong.wait(), 2);
  EXPECT_THAT(wrong.err(), HasSubstr("there is no key \"tpye\"; did you mean \"type\"?"));
}

TEST_F(Examples, a_ball_goes_to_and_fro) {
  EXPECT_THAT(output_of("pair"), MatchesRegex("10000 round trips, [0-9.]+ us each\n"));
}

TEST_F(Examples, a_builder_says_its_state_to_a_monitor) {
  Process reply(example("reply", "tcp://127.0.0.1:0"));
  const std::string greeting = "answering at ";
  ASSERT_TRUE(
      reply.wait_for_out_bytes(greeting.size() + std::string("tcp://127.0.0.1:1\n").size()));
  std::string address = reply.out().substr(greeting.size());
  address.erase(address.find('\n'));
  Process request(example("request", address));
  EXPECT_EQ(request.wait(), 0) << request.err();
  EXPECT_THAT(request.out(), MatchesRegex("(running, [0-9]+ events built\n){3}"));
  reply.signal(SIGINT);
  EXPECT_EQ(reply.wait(), 0) << reply.err();
  EXPECT_THAT(reply.out(), HasSubstr("\n3 requests, 3 answered\n"));
}

// In C++, in C, and with one in C++ at the other end.
TEST_F(Examples, fragments_become_events) {
  const auto with = [](const std::string& name, const std::vector<std::string>& words) {
    Process::Options options = example(name);
    options.arguments.insert(options.arguments.end(), words.begin(), words.end());
    return options;
  };
  struct {
    const char* builder;
    const char* units[2];
  } constexpr systems[] = {{"builder_unit", {"readout_unit", "readout_unit"}},
                           {"c_builder_unit", {"c_readout_unit", "c_readout_unit"}},
                           {"c_builder_unit", {"readout_unit", "c_readout_unit"}},
                           {"builder_unit", {"c_readout_unit", "readout_unit"}}};
  for (const auto& system : systems) {
    SCOPED_TRACE(std::string(system.builder) + ", " + system.units[0] + ", " + system.units[1]);
    Process builder(with(system.builder, {"tcp://127.0.0.1:0", "0", "1"}));
    const std::string greeting = "building at ";
    ASSERT_TRUE(
        builder.wait_for_out_bytes(greeting.size() + std::string("tcp://127.0.0.1:1\n").size()));
    std::string address = builder.out().substr(greeting.size());
    address.erase(address.find('\n'));
    Process first(with(system.units[0], {"0", address}));
    Process second(with(system.units[1], {"1", address}));
    for (Process* const unit : {&first, &second}) {
      EXPECT_EQ(unit->wait(), 0) << unit->err();
      EXPECT_EQ(unit->out(), "1000 sent, 1000 settled\n");
    }
    EXPECT_EQ(builder.wait(), 0) << builder.err();
    EXPECT_THAT(builder.out(), HasSubstr("event 0: 30 bytes\n"
                                         "1000 complete, 0 incomplete\n"));
  }
}

TEST_F(Examples, messages_are_kept_beyond_their_call_back) {
  EXPECT_EQ(output_of("keep"), "an event of 4 fragments, 160000 bytes\n");
}

TEST_F(Examples, a_sender_goes_on_where_it_was_refused) {
  EXPECT_THAT(output_of("back_pressure"), MatchesRegex("(nearly full: time to raise busy\n)+"
                                                       "20000 delivered, refused [0-9]+ times\n"));
}

TEST_F(Examples, a_page_of_messages_comes_with_one_call) {
  EXPECT_THAT(output_of("batch"),
              MatchesRegex("100000 messages in [0-9]+ batches, sum 4999950000\n"));
}

TEST_F(Examples, the_same_key_goes_to_the_same_worker) {
  const std::string out = output_of("by_tag");
  int keys = 0;
  std::istringstream lines(out);
  int workers = 0;
  for (int count = 0; lines >> count; ++workers) {
    EXPECT_GT(count, 0);
    keys += count;
    lines.ignore(100, '\n');
  }
  EXPECT_EQ(workers, 3) << out;
  EXPECT_EQ(keys, 1000) << out;
}

TEST_F(Examples, everything_is_an_event_of_one_loop) {
  const std::string out = output_of("events");
  EXPECT_THAT(out, HasSubstr("a thread has done its work\n"));
  EXPECT_THAT(out, HasSubstr("the pipe says hello\n"));
  // The thread and the pipe come in between wherever they come.
  EXPECT_THAT(out, ContainsRegex("(^|\n)3\n(.*\n)?2\n(.*\n)?1\n(.*\n)?signal 2, ending\n$"));
}

TEST_F(Examples, netio_runs_inside_a_foreign_loop) {
  EXPECT_EQ(output_of("poll_loop"), "got 5 bytes\n");
}

TEST_F(Examples, netio_runs_inside_asio) {
  if (!std::filesystem::exists(program("asio_loop"))) GTEST_SKIP() << "built without Asio";
  EXPECT_EQ(output_of("asio_loop"), "got 5 bytes\n1 delivered\n");
}

TEST_F(Examples, coroutines_send_and_receive) {
  const std::string out = output_of("coroutine");
  EXPECT_THAT(out, HasSubstr("event 0\nevent 1\nevent 2\n"));
  EXPECT_THAT(out, HasSubstr("the sender has gone\n"));
  EXPECT_THAT(out, HasSubstr("3 delivered\n"));
}

TEST_F(Examples, coroutines_build_events) {
  EXPECT_EQ(output_of("coroutine_building"),
            "run 1: 1000 events, 33780 bytes\n1000 of 1000 settled\n1000 of 1000 settled\n");
}

TEST_F(Examples, state_is_saved_in_one_line) {
  EXPECT_THAT(output_of("save_state"), MatchesRegex("(nearly full: time to raise busy\n)+"
                                                    "20000 delivered, refused [0-9]+ times\n"));
}

TEST_F(Examples, calls_that_block_send_and_receive) {
  // The sender's thread may print as soon as the last message is acknowledged, which is before the
  // receiver's thread has printed it.
  std::string out = output_of("blocking");
  const std::string delivered = "3 delivered\n";
  const std::size_t at = out.find(delivered);
  ASSERT_NE(at, std::string::npos) << out;
  out.erase(at, delivered.size());
  EXPECT_EQ(out, "event 0\nevent 1\nevent 2\n");
}

TEST_F(Examples, a_receive_that_waits_is_ended_by_a_signal) {
  Process receiver(example("blocking_stop", "tcp://127.0.0.1:0"));
  const std::string greeting = "pulling at tcp://127.0.0.1:";
  ASSERT_TRUE(receiver.wait_for_out_bytes(greeting.size() + 2));
  std::string address = receiver.out().substr(greeting.size() - 16);
  address.erase(address.find('\n'));
  Process push(example("push", address));
  EXPECT_EQ(push.wait(), 0) << push.err();
  receiver.signal(SIGINT);
  EXPECT_EQ(receiver.wait(), 0) << receiver.err();
  EXPECT_THAT(receiver.out(), HasSubstr("event 999\ntcp://127.0.0.1:"));
  EXPECT_THAT(receiver.out(), HasSubstr(" ended in order\n1000 messages\n"));
}

TEST_F(Examples, a_lent_buffer_comes_back) {
  const std::string out = output_of("lend");
  EXPECT_THAT(out, HasSubstr("a frame of 32 MiB\n"));
  EXPECT_THAT(out, HasSubstr("buffer 7 is free\n"));
  EXPECT_THAT(out, HasSubstr("1 delivered\n"));
}

TEST_F(Examples, an_event_is_read_where_it_was_written) {
  std::string events;
  for (int i = 0; i < 10; ++i) events += "event " + std::to_string(i) + ": 16 MiB\n";
  EXPECT_EQ(output_of("loan"), events + "10 delivered\n");
}

TEST_F(Examples, segments_are_a_header_and_a_body) {
  EXPECT_EQ(output_of("segments"), "run 42, event 1: 8388608 bytes\n");
}

TEST_F(Examples, subscribers_get_the_readings_they_asked_for) {
  Process publish(example("publish", "tcp://127.0.0.1:0"));
  const std::string greeting = "publishing at tcp://127.0.0.1:";
  ASSERT_TRUE(publish.wait_for_out_bytes(greeting.size() + 2));
  std::string address = publish.out().substr(greeting.size() - 16);
  address.erase(address.find('\n'));
  Process subscribe(example("subscribe", address));
  EXPECT_EQ(publish.wait(), 0) << publish.err();
  EXPECT_EQ(subscribe.wait(), 0) << subscribe.err();
  EXPECT_THAT(publish.out(), HasSubstr(" has subscribed\n400 sent, 400 acknowledged\n"));
  EXPECT_THAT(subscribe.out(), HasSubstr("policy sample\nsensor 2: 20 degrees\nsensor 4: 20 deg"));
  EXPECT_THAT(subscribe.out(), HasSubstr("\n400 delivered, 0 missed\n"));
}

TEST(Pages, quote_the_first_programs_as_they_are_built) {
  const std::pair<const char*, const char*> quotes[] = {
      {"README.md", "examples/pull.cpp"},
      {"README.md", "examples/push.cpp"},
      {"docs/guide.md", "examples/pull.cpp"},
      {"docs/guide.md", "examples/push.cpp"},
      {"docs/guide.md", "examples/request.cpp"},
      {"docs/guide.md", "examples/reply.cpp"},
      {"docs/c-api.md", "examples/c_pull.c"},
      {"docs/c-api.md", "examples/c_push.c"},
      {"docs/c-api.md", "examples/c_reply.c"},
      {"docs/c-api.md", "examples/c_request.c"},
      {"docs/c-api.md", "examples/c_readout_unit.c"},
      {"docs/c-api.md", "examples/c_builder_unit.c"},
      {"docs/coroutines.md", "examples/coroutine.cpp"},
      {"docs/coroutines.md", "examples/coroutine_building.cpp"},
      {"docs/foreign-loops.md", "examples/asio_loop.cpp"},
      {"docs/foreign-loops.md", "examples/poll_loop.cpp"},
      {"docs/blocking.md", "examples/blocking.cpp"},
      {"docs/runs.md", "examples/relay.cpp"},
      {"docs/runs.md", "examples/run.cpp"},
      {"docs/blocking.md", "examples/blocking_stop.cpp"},
      {"docs/channels.md", "examples/channels.cpp"},
      {"docs/event-building.md", "examples/readout_unit.cpp"},
      {"docs/event-building.md", "examples/builder_unit.cpp"},
  };
  for (const auto& [page, path] : quotes) {
    const std::string source = text_of(std::filesystem::path(source_folder()) / path);
    ASSERT_FALSE(source.empty()) << path;
    EXPECT_EQ(quoted_in(page, path), source) << page;
  }
}

TEST(Pages, begin_with_programs_of_25_lines) {
  for (const char* path : {"examples/pull.cpp", "examples/push.cpp"}) {
    const std::string source = text_of(std::filesystem::path(source_folder()) / path);
    EXPECT_LE(std::count(source.begin(), source.end(), '\n'), 25) << path;
  }
}

}  // namespace
}  // namespace netio::test
