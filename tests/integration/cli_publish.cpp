// `netio pub` and `netio sub`: who gets what, and that both ends' books agree.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

std::uint64_t number(const nlohmann::json& value) { return value.get<std::uint64_t>(); }

class CliPublish : public ::testing::Test {
 protected:
  Words pub(Words words) const { return with("pub", any_port, std::move(words)); }
  Words sub(const std::string& name, const std::string& address, Words words) const {
    return with("sub", address, std::move(words), name);
  }
  nlohmann::json report(const std::string& name) const {
    return read_json(folder_.path(name + ".json"));
  }

  Folder folder_;

 private:
  Words with(const char* command, const std::string& address, Words words,
             const std::string& name = "pub") const {
    words.insert(words.begin(), {command, address, "--json=" + folder_.path(name + ".json")});
    return words;
  }
};

void expect_balance(const nlohmann::json& books) {
  EXPECT_EQ(number(books["sent"]), number(books["acknowledged"]) + number(books["dropped"]) +
                                       number(books["in_doubt"]) + number(books["unacknowledged"]))
      << books;
}

TEST_F(CliPublish, a_file_comes_out_byte_for_byte_at_every_subscriber) {
  const std::string bytes = some_bytes(3'000'000);
  Process publisher(netio_command(pub({folder_.write("input", bytes), "--frame", "fixed:1000",
                                       "--tag", "0x1f", "--wait-for", "2"})));
  const std::string address = address_of(publisher);
  const auto options = [&](const std::string& name, const char* mode) {
    return netio_command(sub(
        name, address, {"--tag", "31", "--policy", "block", "--out", folder_.path(name), mode}));
  };
  Process first(options("first", "--keep"));
  Process second(options("second", "--unbuffered"));
  EXPECT_EQ(publisher.wait(), 0) << publisher.err();
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_TRUE(first.running());
  first.signal(SIGINT);
  EXPECT_EQ(first.wait(), 130) << first.err();
  for (const char* const name : {"first", "second"}) {
    EXPECT_TRUE(read_file(folder_.path(name)) == bytes) << name;
    EXPECT_EQ(report(name)["books"]["delivered"], 3000);
    EXPECT_EQ(report(name)["books"]["missed"], 0);
    EXPECT_EQ(report(name)["tags"]["31"], 3000);
  }
  const nlohmann::json published = report("pub");
  EXPECT_EQ(published["messages"], 3000);
  EXPECT_EQ(published["unwanted"], 0);
  EXPECT_EQ(published["books"]["sent"], 6000);
  EXPECT_EQ(published["books"]["acknowledged"], 6000);
  EXPECT_EQ(published["subscribers"]["came"], 2);
  EXPECT_THAT(publisher.err(), HasSubstr("wants tag 31"));
  EXPECT_THAT(first.err(), HasSubstr("took the subscription to tag 31, from number 0 on: policy "
                                     "block, up to 4 MiB"));
}

TEST_F(CliPublish, standard_input_is_published_line_by_line) {
  Process publisher(netio_command(pub({"--frame", "line", "--tag", "1"})));
  Process subscriber(
      netio_command(sub("sub", address_of(publisher), {"--out", "-", "--policy", "block"})));
  EXPECT_TRUE(publisher.wait_for_err("wants all tags")) << publisher.err();
  publisher.feed("one\ntwo\n");
  EXPECT_TRUE(subscriber.wait_for_out_bytes(8)) << subscriber.err();
  publisher.feed("three\n");
  publisher.end_input();
  EXPECT_EQ(publisher.wait(), 0) << publisher.err();
  EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
  EXPECT_EQ(subscriber.out(), "one\ntwo\nthree\n");
}

// On a terminal of its own, as a person has it: `script` makes one.
TEST_F(CliPublish, nothing_is_drawn_over_what_is_typed) {
  Process::Options options;
  const std::string command =
      netio_program() + " pub shm://* --frame line > " + folder_.path("report");
  options.arguments = {"/usr/bin/script", "-q", "-e", "-c", command, "/dev/null"};
  Process publisher(std::move(options));
  ASSERT_TRUE(publisher.wait_for_out_bytes(1));
  std::string address;
  for (int i = 0; i < 3000 && address.empty(); ++i) {
    const std::string said = publisher.out();
    const std::size_t begin = said.find("listening on ");
    const std::size_t end = said.find('\r', begin);
    if (begin != std::string::npos && end != std::string::npos) {
      address = said.substr(begin + 13, end - begin - 13);
    }
    std::this_thread::sleep_for(10ms);
  }
  ASSERT_NE(address, "") << publisher.out();
  Process subscriber(netio_command({"sub", address, "--out", "-", "--policy", "block"}));
  EXPECT_TRUE(subscriber.wait_for_err("took the subscription")) << subscriber.err();
  EXPECT_TRUE(publisher.feed("one\n"));
  EXPECT_TRUE(subscriber.wait_for_out_bytes(4)) << subscriber.err();
  std::this_thread::sleep_for(300ms);  // three times as long as a bar stays as it is
  EXPECT_TRUE(publisher.feed("two\n\x04"));
  EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
  EXPECT_EQ(subscriber.out(), "one\ntwo\n");
  EXPECT_EQ(publisher.wait(), 0) << publisher.out();
  EXPECT_THAT(publisher.out(), ::testing::Not(HasSubstr("\x1b[K"))) << "a bar was drawn";
}

TEST_F(CliPublish, tags_go_in_turn_and_each_comes_to_who_asked) {
  Process publisher(
      netio_command(pub({"--tags", "0-9", "--count", "100000", "--verify", "--wait-for", "3"})));
  const std::string address = address_of(publisher);
  const auto options = [&](const std::string& name, const char* tags) {
    return netio_command(sub(name, address, {"--tag", tags, "--policy", "block", "--verify"}));
  };
  Process low(options("low", "0-4"));
  Process high(options("high", "5..9"));
  Process two(options("two", "3,0x7"));
  EXPECT_EQ(publisher.wait(), 0) << publisher.err();
  for (Process* const one : {&low, &high, &two}) EXPECT_EQ(one->wait(), 0) << one->err();
  EXPECT_EQ(report("low")["messages"], 50'000);
  EXPECT_EQ(report("high")["messages"], 50'000);
  EXPECT_EQ(report("two")["tags"], (nlohmann::json{{"3", 10'000}, {"7", 10'000}}));
  for (const char* const name : {"low", "high", "two"}) {
    EXPECT_EQ(report(name)["verification"]["passed"], true) << name;
    EXPECT_EQ(report(name)["verification"]["missing"], 0) << name;
  }
  EXPECT_EQ(report("pub")["books"]["sent"], 120'000);
  EXPECT_EQ(report("pub")["books"]["acknowledged"], 120'000);
}

TEST_F(CliPublish, what_nobody_wants_is_counted) {
  Process publisher(netio_command(pub({"--tag", "1", "--count", "1000"})));
  Process subscriber(netio_command(sub("sub", address_of(publisher), {"--tag", "2"})));
  EXPECT_EQ(publisher.wait(), 0) << publisher.err();
  EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
  EXPECT_EQ(report("pub")["messages"], 1000);
  EXPECT_EQ(report("pub")["unwanted"], 1000);
  EXPECT_EQ(report("pub")["books"]["sent"], 0);
  EXPECT_EQ(report("sub")["messages"], 0);
  EXPECT_THAT(subscriber.err(), HasSubstr("netio sub: no message came with tag 2\n"));
}

TEST_F(CliPublish, who_waits_for_nobody_publishes_to_nobody) {
  Process publisher(netio_command(pub({"--wait-for", "0", "--count", "1000"})));
  EXPECT_EQ(publisher.wait(), 0) << publisher.err();
  EXPECT_THAT(publisher.out(), HasSubstr("unwanted    1,000 messages"));
  EXPECT_EQ(report("pub")["subscribers"]["came"], 0);
}

TEST_F(CliPublish, publishers_may_connect_and_subscribers_bind) {
  Process subscriber(netio_command(sub("sub", any_port, {"--bind", "--publishers", "2"})));
  const std::string address = address_of(subscriber);
  for (int i = 0; i < 2; ++i) {
    Process publisher(netio_command({"pub", address, "--connect", "--count", "1000"}));
    EXPECT_EQ(publisher.wait(), 0) << publisher.err();
  }
  EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
  EXPECT_EQ(report("sub")["messages"], 2000);
  EXPECT_EQ(report("sub")["publishers"]["ended"], 2);
}

TEST_F(CliPublish, a_publisher_may_refuse_to_be_held_up) {
  Process publisher(netio_command(pub({"--no-block", "--count", "10"})));
  Process subscriber(netio_command(sub("sub", address_of(publisher), {"--policy", "block"})));
  EXPECT_EQ(publisher.wait(), 0) << publisher.err();
  EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
  EXPECT_THAT(subscriber.err(), HasSubstr("policy drop_new (not block)"));
}

// --- Slow subscribers.

// One stopped subscriber with this policy beside one that loses nothing: what the publisher dropped
// is what the subscriber missed, and everything else came.
TEST_F(CliPublish, who_is_turned_away_is_named_and_disturbs_nobody) {
  Process publisher(netio_command(pub({"--size", "100", "--count", "50", "--verify"})));
  const std::string address = address_of(publisher);
  Process stranger(
      netio_command({"send", address, "--count", "1", "--connect-timeout", "5s", "-q"}));
  EXPECT_EQ(stranger.wait(), 1);
  Process subscriber(netio_command(sub("sub", address, {"--verify"})));
  EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
  EXPECT_EQ(publisher.wait(), 0) << publisher.err();
  EXPECT_THAT(publisher.err(), HasSubstr("turned away tcp://"));
  EXPECT_THAT(publisher.err(), HasSubstr(": a publish socket is at one end and a push socket"));
  EXPECT_EQ(report("sub")["messages"], 50);
}

TEST_F(CliPublish, messages_too_large_for_a_subscriber_are_told_of_with_its_limit) {
  Process publisher(
      netio_command(pub({"--size", "4KiB", "--count", "20", "--verify", "--wait-for", "2"})));
  const std::string address = address_of(publisher);
  Process small(netio_command(sub("small", address, {"--message-max", "1KiB"})));
  Process whole(netio_command(sub("whole", address, {"--verify"})));
  EXPECT_EQ(small.wait(), 3);
  EXPECT_EQ(whole.wait(), 0) << whole.err();
  EXPECT_EQ(publisher.wait(), 3);
  EXPECT_THAT(small.err(), HasSubstr("20 messages not sent here: "));
  EXPECT_THAT(small.err(), HasSubstr("larger than its --message-max (1 KiB)"));
  EXPECT_EQ(report("small")["books"]["missed"], 20);
}

class CliSlowSubscriber : public CliPublish, public ::testing::WithParamInterface<const char*> {};

TEST_P(CliSlowSubscriber, loses_what_it_agreed_to_and_holds_up_nobody) {
  const std::string policy = GetParam();
  Process publisher(netio_command(pub({"--size", "4KiB", "--rate", "20k", "--seconds", "3",
                                       "--tags", "0-3", "--verify", "--wait-for", "2"})));
  const std::string address = address_of(publisher);
  Process slow(
      netio_command(sub("slow", address, {"--policy", policy, "--behind", "64KiB", "--verify"})));
  Process whole(netio_command(sub("whole", address, {"--policy", "block", "--verify"})));
  EXPECT_TRUE(slow.wait_for_err("from number 0 on: policy " + policy)) << slow.err();
  std::this_thread::sleep_for(200ms);
  slow.signal(SIGSTOP);
  std::this_thread::sleep_for(1500ms);
  slow.signal(SIGCONT);
  EXPECT_EQ(publisher.wait(), 0) << publisher.err();
  EXPECT_EQ(slow.wait(), 0) << slow.err();
  EXPECT_EQ(whole.wait(), 0) << whole.err();

  const nlohmann::json published = report("pub");
  const nlohmann::json books = published["books"];
  expect_balance(books);
  EXPECT_EQ(number(books["in_doubt"]) + number(books["unacknowledged"]), 0U);
  EXPECT_EQ(number(books["sent"]), 2 * number(published["messages"]));
  EXPECT_EQ(report("whole")["messages"], published["messages"]);
  EXPECT_EQ(report("whole")["verification"]["passed"], true);
  const nlohmann::json slowed = report("slow");
  EXPECT_EQ(slowed["verification"]["passed"], true) << slowed;
  EXPECT_GT(number(slowed["books"]["missed"]), 0U);
  EXPECT_EQ(slowed["books"]["missed"], books["dropped"]);
  EXPECT_EQ(slowed["books"]["missed_by"], books["dropped_by"]);
  EXPECT_EQ(number(slowed["messages"]) + number(books["dropped"]), number(published["messages"]));
  EXPECT_THAT(slow.err(), HasSubstr("netio sub: missed ")) << "gaps are told as they come";
}

INSTANTIATE_TEST_SUITE_P(Policies, CliSlowSubscriber,
                         ::testing::Values("drop_new", "drop_old", "sample"),
                         [](const auto& one) { return std::string(one.param); });

TEST_F(CliPublish, a_subscriber_that_asked_for_it_is_disconnected_for_being_slow) {
  Process publisher(netio_command(
      pub({"--size", "4KiB", "--rate", "20k", "--seconds", "3", "--verify", "--wait-for", "2"})));
  const std::string address = address_of(publisher);
  Process slow(netio_command(
      sub("slow", address, {"--policy", "disconnect", "--behind", "64KiB", "--verify"})));
  Process whole(netio_command(sub("whole", address, {"--policy", "block", "--verify"})));
  EXPECT_TRUE(slow.wait_for_err("policy disconnect")) << slow.err();
  std::this_thread::sleep_for(200ms);
  slow.signal(SIGSTOP);
  EXPECT_TRUE(publisher.wait_for_err("lost subscriber ")) << publisher.err();
  slow.signal(SIGCONT);
  EXPECT_EQ(slow.wait(), 3) << slow.err();
  EXPECT_EQ(publisher.wait(), 0) << publisher.err();
  EXPECT_EQ(whole.wait(), 0) << whole.err();
  EXPECT_EQ(report("pub")["subscribers"]["slow"], 1);
  expect_balance(report("pub")["books"]);
  EXPECT_EQ(report("whole")["messages"], report("pub")["messages"]);
}

// As often as it takes to be too slow, and to be back in time to hear of it.
TEST_F(CliPublish, a_subscriber_that_is_disconnected_for_being_slow_says_so) {
  Process publisher(netio_command(pub({"--size", "4KiB", "--rate", "20k", "--verify"})));
  Process slow(netio_command(sub("slow", address_of(publisher),
                                 {"--policy", "disconnect", "--behind", "64KiB", "--keep"})));
  EXPECT_TRUE(slow.wait_for_err("policy disconnect")) << slow.err();
  const auto end = std::chrono::steady_clock::now() + 60s;
  const auto told = [&slow] {
    return slow.err().find("the publisher disconnected this subscriber") != std::string::npos;
  };
  while (!told() && std::chrono::steady_clock::now() < end) {
    slow.signal(SIGSTOP);
    std::this_thread::sleep_for(500ms);
    slow.signal(SIGCONT);
    std::this_thread::sleep_for(500ms);
  }
  EXPECT_TRUE(told()) << slow.err();
  EXPECT_THAT(slow.err(), HasSubstr("lost publisher "));
  EXPECT_THAT(slow.err(), HasSubstr("was behind for longer, or by more, than it asked for"));
  slow.signal(SIGINT);
  (void)slow.wait();
  publisher.signal(SIGINT);
  (void)publisher.wait();
  expect_balance(report("pub")["books"]);
}

TEST_F(CliPublish, nothing_is_published_while_a_builder_is_missing) {
  Process publisher(netio_command(
      pub({"--size", "1KiB", "--count", "40000", "--rate", "20k", "--subscribers-min", "2"})));
  const std::string address = address_of(publisher);
  const auto builder = [&](const std::string& name) {
    return netio_command(sub(name, address, {"--policy", "block"}));
  };
  Process whole(builder("whole"));
  EXPECT_TRUE(whole.wait_for_err("from number 0 on")) << whole.err();
  EXPECT_TRUE(publisher.wait_for_err("held up until 2 subscribers")) << publisher.err();
  {
    Process doomed(netio_command({"sub", address, "--policy", "block", "--out", "-"}));
    EXPECT_TRUE(doomed.wait_for_out_bytes(1 << 20U)) << doomed.err();
    doomed.signal(SIGKILL);
    EXPECT_EQ(doomed.wait(), -SIGKILL);
  }
  EXPECT_TRUE(publisher.wait_for_err("lost subscriber ")) << publisher.err();
  Process next(builder("next"));
  EXPECT_EQ(whole.wait(), 0) << whole.err();
  EXPECT_EQ(next.wait(), 0) << next.err();
  EXPECT_EQ(publisher.wait(), 3) << publisher.err();
  EXPECT_EQ(report("pub")["unwanted"], 0);
  EXPECT_EQ(report("whole")["messages"], 40'000);
  EXPECT_GT(number(report("next")["messages"]), 0U);
}

TEST_F(CliPublish, a_stopped_subscriber_with_the_policy_block_holds_the_publisher_up) {
  Process publisher(netio_command(pub({"--size", "4KiB", "--count", "100000", "--verify"})));
  Process subscriber(
      netio_command(sub("sub", address_of(publisher), {"--policy", "block", "--verify"})));
  EXPECT_TRUE(subscriber.wait_for_err("from number 0 on")) << subscriber.err();
  subscriber.signal(SIGSTOP);
  EXPECT_TRUE(publisher.wait_for_err("held up by a subscriber")) << publisher.err();
  subscriber.signal(SIGCONT);
  EXPECT_EQ(publisher.wait(), 0) << publisher.err();
  EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
  EXPECT_EQ(report("sub")["messages"], 100'000);
  EXPECT_EQ(report("sub")["verification"]["passed"], true);
}

TEST_F(CliPublish, a_stopped_subscriber_holds_the_publisher_up_for_a_bounded_time) {
  Process publisher(netio_command(pub({"--size", "4KiB", "--block-for-max", "200ms"})));
  Process subscriber(netio_command(sub("sub", address_of(publisher), {"--policy", "block"})));
  EXPECT_TRUE(subscriber.wait_for_err("from number 0 on")) << subscriber.err();
  subscriber.signal(SIGSTOP);
  EXPECT_TRUE(publisher.wait_for_err("held the publisher up for too long")) << publisher.err();
  subscriber.signal(SIGCONT);
  EXPECT_TRUE(subscriber.wait_for_err("policy drop_new (not block)")) << subscriber.err();
  EXPECT_TRUE(publisher.wait_for_err("has the policy block again")) << publisher.err();
  publisher.signal(SIGINT);
  EXPECT_EQ(publisher.wait(), 130) << publisher.err();
  EXPECT_EQ(subscriber.wait(), 3) << "it had asked for block: " << subscriber.err();
  EXPECT_THAT(subscriber.err(), HasSubstr("--block-for-max there"));
  EXPECT_GE(report("pub")["counters"]["demoted"], 1);
  EXPECT_GT(report("sub")["books"]["missed"], 0);
}

// --- Coming and going.

TEST_F(CliPublish, a_killed_subscriber_is_reported_and_disturbs_no_other) {
  Process publisher(netio_command(
      pub({"--size", "1KiB", "--rate", "20k", "--verify", "--tags", "0-3", "--wait-for", "2"})));
  const std::string address = address_of(publisher);
  Process whole(netio_command(sub("whole", address, {"--policy", "block", "--verify"})));
  {
    Process doomed(netio_command({"sub", address, "--policy", "block", "--out", "-"}));
    EXPECT_TRUE(doomed.wait_for_out_bytes(1 << 20U)) << doomed.err();
    doomed.signal(SIGKILL);
    EXPECT_EQ(doomed.wait(), -SIGKILL);
  }
  EXPECT_TRUE(publisher.wait_for_err("lost subscriber ")) << publisher.err();
  Process next(netio_command(sub("next", address, {"--policy", "block", "--verify"})));
  EXPECT_TRUE(next.wait_for_err("netio sub: publisher ")) << next.err();
  std::this_thread::sleep_for(500ms);
  publisher.signal(SIGINT);
  EXPECT_EQ(publisher.wait(), 130) << publisher.err();
  EXPECT_EQ(whole.wait(), 0) << whole.err();
  EXPECT_EQ(next.wait(), 0) << next.err();
  const nlohmann::json published = report("pub");
  expect_balance(published["books"]);
  EXPECT_EQ(published["subscribers"]["came"], 3);
  EXPECT_EQ(published["subscribers"]["lost"], 1);
  EXPECT_EQ(report("whole")["messages"], published["messages"]);
  for (const char* const name : {"whole", "next"}) {
    EXPECT_EQ(report(name)["verification"]["passed"], true) << name;
    EXPECT_EQ(report(name)["books"]["missed"], 0) << name;
    EXPECT_GT(number(report(name)["messages"]), 0U) << name;
  }
}

TEST_F(CliPublish, a_lost_subscriber_is_in_the_exit_code) {
  Process publisher(netio_command(pub({"--rate", "1k", "--seconds", "1s"})));
  Process doomed(netio_command({"sub", address_of(publisher), "--out", "-"}));
  EXPECT_TRUE(doomed.wait_for_out_bytes(640)) << doomed.err();
  doomed.signal(SIGKILL);
  EXPECT_EQ(publisher.wait(), 3) << publisher.err();
  EXPECT_THAT(publisher.err(), HasSubstr("1 of 1 subscriber lost, the last was "));
  EXPECT_EQ(report("pub")["outcome"], "peer_lost");
  EXPECT_GT(number(report("pub")["unwanted"]), 0U);
  expect_balance(report("pub")["books"]);
}

TEST_F(CliPublish, a_subscriber_may_leave_and_the_publisher_goes_on) {
  Process publisher(netio_command(pub({"--rate", "10k", "--seconds", "60s"})));
  const std::string address = address_of(publisher);
  Process counting(netio_command(sub("counting", address, {"--count", "100"})));
  EXPECT_EQ(counting.wait(), 0) << counting.err();
  EXPECT_EQ(report("counting")["messages"], 100);
  Process timed(netio_command(sub("timed", address, {"--seconds", "300ms"})));
  EXPECT_EQ(timed.wait(), 0) << timed.err();
  Process interrupted(netio_command(sub("interrupted", address, {})));
  EXPECT_TRUE(interrupted.wait_for_err("policy drop_new")) << interrupted.err();
  interrupted.signal(SIGINT);
  EXPECT_EQ(interrupted.wait(), 130) << interrupted.err();
  publisher.signal(SIGINT);
  EXPECT_EQ(publisher.wait(), 130) << publisher.err();
  EXPECT_EQ(report("pub")["subscribers"]["ended"], 3);
  expect_balance(report("pub")["books"]);
}

TEST_F(CliPublish, ctrl_c_ends_a_publisher_that_nobody_subscribes_to) {
  Process publisher(netio_command(pub({"--size", "64"})));
  (void)address_of(publisher);
  publisher.signal(SIGINT);
  EXPECT_EQ(publisher.wait(), 130) << publisher.err();
  EXPECT_THAT(publisher.out(), HasSubstr("published   0 messages, 0 B in 0.000 s, interrupted"));
}

TEST_F(CliPublish, a_restarted_publisher_is_found_again) {
  const std::string address = free_address();
  // Started first: the publisher need not be there.
  Process subscriber(
      netio_command(sub("sub", address, {"--tag", "5", "--keep", "--verify", "--out", "-"})));
  EXPECT_TRUE(subscriber.wait_for_err("netio sub: waiting for ")) << subscriber.err();
  const Words words = {"pub", address, "--tag", "5", "--rate", "5k", "--verify"};
  {
    Process first(netio_command(words));
    EXPECT_TRUE(subscriber.wait_for_out_bytes(64 * 500)) << subscriber.err();
    first.signal(SIGKILL);
    EXPECT_EQ(first.wait(), -SIGKILL);
  }
  EXPECT_TRUE(subscriber.wait_for_err("lost publisher ")) << subscriber.err();
  const std::size_t before = subscriber.out().size();
  Process second(netio_command(words));
  EXPECT_TRUE(subscriber.wait_for_out_bytes(before + 64 * 500)) << subscriber.err();
  EXPECT_THAT(subscriber.err(), HasSubstr("came back after "));
  EXPECT_THAT(subscriber.err(), HasSubstr(" s as another run (it was restarted, or is another "));
  second.signal(SIGINT);
  EXPECT_EQ(second.wait(), 130) << second.err();
  EXPECT_TRUE(subscriber.running());
  subscriber.signal(SIGINT);
  EXPECT_EQ(subscriber.wait(), 130) << subscriber.err();
  const nlohmann::json taken = report("sub");
  EXPECT_EQ(taken["publishers"]["came"], 2) << taken;
  EXPECT_EQ(taken["publishers"]["lost"], 1) << taken;
  EXPECT_EQ(taken["publishers"]["ended"], 1) << taken;
  EXPECT_EQ(taken["publishers"]["restarted"], 1) << taken;
  EXPECT_EQ(taken["verification"]["passed"], true) << taken;
}

TEST_F(CliPublish, what_a_killed_publisher_held_is_not_said_to_be_nothing) {
  const std::string address = free_address();
  Process subscriber(netio_command(sub("sub", address, {"--keep", "--count", "20000"})));
  const Words words = {"pub", address, "--size", "64", "--rate", "5k"};
  {
    Process first(netio_command(words));
    EXPECT_TRUE(subscriber.wait_for_err("netio sub: publisher ")) << subscriber.err();
    first.signal(SIGKILL);
    EXPECT_EQ(first.wait(), -SIGKILL);
  }
  EXPECT_TRUE(subscriber.wait_for_err("lost publisher ")) << subscriber.err();
  Process second(netio_command(words));
  EXPECT_EQ(subscriber.wait(), 3) << subscriber.err();
  EXPECT_THAT(subscriber.err(), HasSubstr("1 of 2 publishers lost in mid-stream"));
  EXPECT_THAT(subscriber.out(), HasSubstr("publishers 2 came, 0 ended in order, 1 lost\n"));
  EXPECT_THAT(subscriber.out(), HasSubstr("away       1 time, "));
  EXPECT_THAT(subscriber.out(), HasSubstr("; 1 time another run came back\n"));
  EXPECT_THAT(subscriber.out(),
              HasSubstr("0 missed; not known: what 1 lost publisher still held\n"));
  const nlohmann::json publishers = report("sub")["publishers"];
  EXPECT_EQ(publishers["away"], 1) << publishers;
  EXPECT_GT(publishers["away_seconds"].get<double>(), 0) << publishers;
  EXPECT_EQ(publishers["restarted"], 1) << publishers;
  EXPECT_EQ(report("sub")["outcome"], "peer_lost");
}

TEST_F(CliPublish, a_killed_publisher_is_reported) {
  Process publisher(netio_command(pub({"--size", "64", "--rate", "5k"})));
  Process subscriber(netio_command(sub("sub", address_of(publisher), {"--out", "-"})));
  EXPECT_TRUE(subscriber.wait_for_out_bytes(640)) << subscriber.err();
  publisher.signal(SIGKILL);
  EXPECT_EQ(subscriber.wait(), 3) << subscriber.err();
  EXPECT_THAT(subscriber.err(), HasSubstr("1 of 1 publisher lost in mid-stream"));
}

TEST_F(CliPublish, a_reader_that_has_enough_ends_its_subscriber) {
  Process publisher(netio_command(pub({"--rate", "5k", "--seconds", "2"})));
  Process subscriber(netio_command(sub("sub", address_of(publisher), {"--out", "-"})));
  EXPECT_TRUE(subscriber.wait_for_out_bytes(640)) << subscriber.err();
  subscriber.close_output();
  EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
  EXPECT_EQ(publisher.wait(), 0) << publisher.err();
}

TEST_F(CliPublish, the_wrong_command_at_the_other_end_is_an_error_at_once) {
  Process send(netio_command({"send", any_port, "--bind", "--count", "1"}));
  Process subscriber(netio_command({"sub", address_of(send)}));
  EXPECT_EQ(subscriber.wait(8s), 1) << subscriber.err();
  EXPECT_THAT(subscriber.err(), HasSubstr("netio pub (publish) with netio sub"));
  Process recv(netio_command({"recv", any_port}));
  Process publisher(netio_command({"pub", address_of(recv), "--connect", "--count", "1"}));
  EXPECT_EQ(publisher.wait(8s), 1) << publisher.err();
  EXPECT_THAT(publisher.err(), HasSubstr("netio pub (publish) with netio sub"));
}

TEST_F(CliPublish, nobody_at_the_address_is_an_error_after_the_timeout) {
  Process publisher(netio_command(pub({"--count", "1", "--connect-timeout", "200ms"})));
  EXPECT_EQ(publisher.wait(), 1);
  EXPECT_THAT(publisher.err(), HasSubstr("within 0.200 s"));
  EXPECT_EQ(publisher.out(), "") << "zeros say nothing";
  Process subscriber(netio_command({"sub", "tcp://127.0.0.1:1", "--connect-timeout", "200ms"}));
  EXPECT_EQ(subscriber.wait(), 1);
  EXPECT_EQ(subscriber.out(), "");
  EXPECT_THAT(subscriber.err(), HasSubstr("start the other side"));
}

}  // namespace
}  // namespace netio::test
