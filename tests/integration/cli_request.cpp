// netio request and netio reply: answers, and what is said when there is none.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netio/netio.hpp>

#include "integration/cli_support.hpp"
#include "support/raw_tcp.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

const std::vector<const char*> reply_addresses = {
    any_port,
    "shm://*",
#ifdef NETIO_WITH_FABRIC
    any_fabric_port,
#endif
};

class CliRequest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string json_option(const std::string& name = "request") const {
    return "--json=" + folder_.path(name + ".json");
  }
  [[nodiscard]] nlohmann::json report(const std::string& name = "request") const {
    return read_json(folder_.path(name + ".json"));
  }

  Folder folder_;
};

// Longer than all that the two say to each other before it.
const std::string question(1000, '?');

// Asks through the relay as soon as the requester is connected; the replier is stopped, and killed
// when the question has come to it.
void kill_who_was_asked(Process& reply, Relay& relay, Process& request) {
  ASSERT_TRUE(wait_until([&] { return relay.bytes_from_target() != 0; })) << request.err();
  std::this_thread::sleep_for(300ms);  // for what else is said in the beginning
  reply.signal(SIGSTOP);
  const std::uint64_t before = relay.bytes_to_target();
  request.feed(question);
  request.end_input();
  ASSERT_TRUE(wait_until([&] { return relay.bytes_to_target() >= before + question.size(); }))
      << request.err();
  reply.signal(SIGKILL);
}

// Each request has ended in one way, or is under way.
void expect_request_law(const nlohmann::json& report) {
  const auto& books = report.at("requests");
  std::uint64_t ended = 0;
  for (const auto& [outcome, count] : books.at("ended").items()) {
    ended += count.get<std::uint64_t>();
  }
  EXPECT_EQ(books.at("asked"), ended + books.at("under_way").get<std::uint64_t>()) << books;
  EXPECT_EQ(books.at("under_way"), 0);
  EXPECT_EQ(report.at("messages"), books.at("ended").at("answered"));
}

void expect_reply_law(const nlohmann::json& report) {
  const auto& books = report.at("requests");
  const auto of = [&books](const char* name) { return books.at(name).get<std::uint64_t>(); };
  EXPECT_EQ(of("requests"), of("answered") + of("not_answered") + of("unwanted") + of("open"))
      << books;
  EXPECT_EQ(report.at("messages"), of("answered"));
}

class CliRequestWires : public CliRequest, public ::testing::WithParamInterface<const char*> {};

TEST_P(CliRequestWires, prints_the_answer_as_it_is) {
  Process reply(netio_command({"reply", GetParam(), "--text", "running", "--count", "1"}));
  Process request(netio_command({"request", address_of(reply), "--text", "status?"}));
  EXPECT_EQ(request.wait(), 0) << request.err();
  EXPECT_EQ(request.out(), "running");
  EXPECT_EQ(request.err(), "");
  EXPECT_EQ(reply.wait(), 0) << reply.err();
  EXPECT_THAT(reply.out(), HasSubstr("requests   1 taken: 1 answered\n"));
}

TEST_P(CliRequestWires, many_at_once_are_counted_and_timed) {
  Process reply(netio_command({"reply", GetParam(), json_option("reply")}));
  Process request(netio_command({"request", address_of(reply), "--text", "ping", "--count", "5k",
                                 "--concurrent", "50", "--verify", json_option()}));
  EXPECT_EQ(request.wait(), 0) << request.err();
  EXPECT_THAT(request.out(), HasSubstr("answered   5,000 answers, 20 kB in "));
  EXPECT_THAT(request.out(), HasSubstr("requests   5,000 asked: 5,000 answered\n"));
  EXPECT_THAT(request.out(), HasSubstr("verify     passed"));
  EXPECT_THAT(request.out(), HasSubstr("times      min "));
  const auto said = report();
  expect_request_law(said);
  EXPECT_EQ(said["outcome"], "done");
  EXPECT_EQ(said["requests"]["ended"]["answered"], 5000);
  EXPECT_EQ(said["differ"], 0);
  EXPECT_EQ(said["request_bytes"], 4);
  EXPECT_LE(said["rtt_us"]["p50"], said["rtt_us"]["p99"]);
  EXPECT_LE(said["rtt_us"]["p99"], said["rtt_us"]["max"]);
  reply.signal(SIGINT);
  EXPECT_EQ(reply.wait(), 130) << reply.err();
  const auto answered = report("reply");
  expect_reply_law(answered);
  EXPECT_EQ(answered["requests"]["answered"], 5000);
  EXPECT_EQ(answered["books"]["sent"], 5000);
  EXPECT_EQ(answered["requesters"]["came"], 1);
  EXPECT_EQ(answered["requesters"]["ended"], 1);
}

INSTANTIATE_TEST_SUITE_P(wires, CliRequestWires, ::testing::ValuesIn(reply_addresses),
                         [](const auto& wire) {
                           const std::string name = wire.param;
                           return name.substr(0, name.find_first_of("+:"));
                         });

TEST_F(CliRequest, a_file_or_standard_input_is_one_request) {
  Process reply(netio_command({"reply", any_port}));
  const std::string address = address_of(reply);
  const std::string bytes = some_bytes(3'000'000);
  const std::string path = folder_.write("request", bytes);
  Process of_file(netio_command({"request", address, path, "--out", folder_.path("answer")}));
  EXPECT_EQ(of_file.wait(), 0) << of_file.err();
  EXPECT_TRUE(read_file(folder_.path("answer")) == bytes);
  EXPECT_EQ(of_file.out(), "");
  auto from_file = netio_command({"request", address, "-"});
  from_file.stdin_path = path;
  Process redirected(from_file);
  EXPECT_EQ(redirected.wait(), 0) << redirected.err();
  EXPECT_TRUE(redirected.out() == bytes);
  Process piped(netio_command({"request", address}));
  EXPECT_TRUE(piped.feed("first half, "));
  EXPECT_TRUE(piped.feed("second half\n"));
  piped.end_input();
  EXPECT_EQ(piped.wait(), 0) << piped.err();
  EXPECT_EQ(piped.out(), "first half, second half\n");
  Process empty(netio_command({"request", address, "/dev/null", json_option()}));
  EXPECT_EQ(empty.wait(), 0) << empty.err();
  EXPECT_EQ(report()["request_bytes"], 0);
  EXPECT_EQ(report()["messages"], 1);
  Process missing(netio_command({"request", address, folder_.path("nothing")}));
  EXPECT_EQ(missing.wait(), 1);
  EXPECT_THAT(missing.err(), HasSubstr("cannot open"));
}

TEST_F(CliRequest, a_replier_may_connect_to_a_requester_that_binds) {
  Process request(netio_command(
      {"request", any_port, "--bind", "--text", "who?", "--count", "3", "--out", "-"}));
  Process reply(
      netio_command({"reply", address_of(request), "--connect", "--text", "me ", "--count", "3"}));
  EXPECT_EQ(request.wait(), 0) << request.err();
  EXPECT_EQ(request.out(), "me me me ");
  EXPECT_EQ(reply.wait(), 0) << reply.err();
}

TEST_F(CliRequest, json_on_standard_output_is_all_there_is) {
  Process reply(netio_command({"reply", any_port}));
  Process request(netio_command({"request", address_of(reply), "--text", "x", "--json"}));
  EXPECT_EQ(request.wait(), 0) << request.err();
  const auto said = nlohmann::json::parse(request.out(), nullptr, false);
  ASSERT_FALSE(said.is_discarded()) << request.out();
  expect_request_law(said);
}

TEST_F(CliRequest, ends_after_its_time) {
  Process reply(netio_command({"reply", any_port, "--seconds", "20"}));
  Process request(netio_command({"request", address_of(reply), "--text", "x", "--seconds", "200ms",
                                 "--concurrent", "4", "--unbuffered", json_option()}));
  EXPECT_EQ(request.wait(), 0) << request.err();
  EXPECT_GT(report()["messages"], 10);
  EXPECT_EQ(report()["mode"], "unbuffered");
  expect_request_law(report());
}

TEST_F(CliRequest, an_answer_that_is_not_the_request_is_found) {
  Process reply(netio_command({"reply", any_port, "--text", "no"}));
  Process request(
      netio_command({"request", address_of(reply), "--text", "yes", "--count", "2", "--verify"}));
  EXPECT_EQ(request.wait(), 1);
  EXPECT_THAT(request.err(), HasSubstr("2 answers differ from the request"));
  EXPECT_THAT(request.out(), HasSubstr("verify     FAILED: 2"));
}

// --- Without an answer.

TEST_F(CliRequest, nobody_there_is_said_within_the_time) {
  Process request(netio_command({"request", free_address(), "--text", "x", "--within", "300ms"}));
  EXPECT_EQ(request.wait(10s), 1);
  EXPECT_THAT(request.err(), HasSubstr(" within 0.300 s"));
  EXPECT_THAT(request.err(), HasSubstr("start the other side there"));
  EXPECT_EQ(request.out(), "");
}

TEST_F(CliRequest, who_is_no_replier_is_told_apart) {
  Process recv(netio_command({"recv", any_port}));
  Process request(netio_command({"request", address_of(recv), "--text", "x"}));
  EXPECT_EQ(request.wait(10s), 1);
  EXPECT_THAT(request.err(), HasSubstr("netio request with netio reply"));
  Process reply(netio_command({"reply", any_port}));
  Process ping(netio_command({"ping", address_of(reply)}));
  EXPECT_EQ(ping.wait(10s), 1);
  EXPECT_THAT(ping.err(), HasSubstr("netio ping with netio echo"));
}

// Before the time to wait for it is over, the command knows why it waits in vain.
TEST_F(CliRequest, a_replier_that_was_stopped_before_is_said_to_be_silent) {
  Process reply(netio_command({"reply", any_port, "--echo"}));
  const std::string address = address_of(reply);
  reply.signal(SIGSTOP);
  Process request(netio_command({"request", address, "--text", "x", "--within", "800ms"}));
  EXPECT_EQ(request.wait(20s), 1);
  EXPECT_THAT(request.err(), HasSubstr("did not answer in time"));
  EXPECT_THAT(request.err(), HasSubstr("something took the connection and said nothing"));
  reply.signal(SIGCONT);
  reply.signal(SIGINT);
  EXPECT_EQ(reply.wait(20s), 130);
}

TEST_F(CliRequest, a_replier_that_is_stopped_times_out) {
  Process reply(netio_command({"reply", any_port}));
  const std::string address = address_of(reply);
  Process first(netio_command({"request", address, "--text", "x"}));
  EXPECT_EQ(first.wait(), 0) << first.err();
  reply.signal(SIGSTOP);
  // The kernel still connects; the greeting does not come.
  Process unmet(netio_command({"request", address, "--text", "x", "--within", "300ms"}));
  EXPECT_EQ(unmet.wait(10s), 1);
  EXPECT_THAT(unmet.err(), HasSubstr("no peer at "));
  reply.signal(SIGCONT);
  Process met(netio_command(
      {"request", address, "--text", "x", "--seconds", "20", "--within", "300ms", json_option()}));
  EXPECT_TRUE(met.wait_for_err("answers/s")) << "it runs";
  reply.signal(SIGSTOP);
  std::this_thread::sleep_for(1s);
  met.signal(SIGINT);
  EXPECT_EQ(met.wait(10s), 130) << met.err();
  EXPECT_THAT(met.out(), HasSubstr(" timed out"));
  EXPECT_GT(report()["requests"]["ended"]["timed_out"], 0);
  expect_request_law(report());
  reply.signal(SIGCONT);
}

// The replier holds the request when it dies.
TEST_F(CliRequest, what_a_replier_held_when_it_was_killed_is_in_doubt) {
  Process reply(netio_command({"reply", any_port}));
  Process request(netio_command({"request", address_of(reply), "--text", "x", "--count", "1000M",
                                 "--concurrent", "10", "--connect-timeout", "2s", json_option()}));
  EXPECT_TRUE(request.wait_for_err("answers/s")) << "it runs";
  reply.signal(SIGSTOP);
  std::this_thread::sleep_for(100ms);
  reply.signal(SIGKILL);
  EXPECT_EQ(request.wait(10s), 3) << request.err();
  EXPECT_THAT(request.err(), HasSubstr("lost replier "));
  EXPECT_THAT(request.out(), HasSubstr(" in doubt"));
  const auto said = report();
  EXPECT_EQ(said["outcome"], "peer_lost");
  EXPECT_EQ(said["requests"]["ended"]["in_doubt"].get<int>() +
                said["requests"]["ended"]["not_executed"].get<int>(),
            10);
  expect_request_law(said);
}

TEST_F(CliRequest, one_that_is_in_doubt_is_said_with_what_it_means) {
  Process reply(netio_command({"reply", any_port}));
  Relay relay(address_of(reply));
  Process request(netio_command({"request", relay.address()}));
  ASSERT_NO_FATAL_FAILURE(kill_who_was_asked(reply, relay, request));
  EXPECT_EQ(request.wait(10s), 3) << request.err();
  EXPECT_THAT(request.err(), HasSubstr("error: 1 request was not answered: 1 in doubt\n"));
  EXPECT_THAT(request.err(), HasSubstr("may have been executed"));
  EXPECT_EQ(request.out(), "");
}

TEST_F(CliRequest, an_idempotent_one_is_asked_again_of_the_next_replier) {
  const std::string address = free_address();
  Process reply(netio_command({"reply", address}));
  EXPECT_TRUE(reply.wait_for_err("listening"));
  Relay relay(address);
  Process request(netio_command({"request", relay.address(), "--idempotent", json_option()}));
  ASSERT_NO_FATAL_FAILURE(kill_who_was_asked(reply, relay, request));
  EXPECT_EQ(reply.wait(), -SIGKILL);
  Process another(netio_command({"reply", address}));
  EXPECT_EQ(request.wait(), 0) << request.err();
  EXPECT_EQ(request.out(), question);
  EXPECT_EQ(report()["requests"]["repeated"], 1);
}

TEST_F(CliRequest, more_than_the_replier_takes_is_said_with_its_limit) {
  Process reply(netio_command({"reply", any_port, "--message-max", "1KiB"}));
  const std::string path = folder_.write("request", some_bytes(2048));
  Process request(netio_command({"request", address_of(reply), path}));
  EXPECT_EQ(request.wait(), 1);
  EXPECT_THAT(request.err(), HasSubstr("takes up to 1 KiB\n  raise its --message-max"));
}

TEST_F(CliRequest, ctrl_c_ends_both_with_what_there_was) {
  Process reply(netio_command({"reply", any_port, json_option("reply")}));
  Process request(netio_command(
      {"request", address_of(reply), "--text", "x", "--count", "100M", json_option()}));
  EXPECT_TRUE(request.wait_for_err("answers/s"));
  EXPECT_TRUE(reply.wait_for_err("answers/s"));
  request.signal(SIGINT);
  EXPECT_EQ(request.wait(), 130) << request.err();
  EXPECT_THAT(request.out(), HasSubstr(", interrupted\n"));
  EXPECT_LE(report()["requests"]["ended"]["cancelled"], 1);
  expect_request_law(report());
  reply.signal(SIGTERM);
  EXPECT_EQ(reply.wait(), 130) << reply.err();
  EXPECT_THAT(reply.out(), HasSubstr("1 came, 1 ended in order, 0 lost"));
  expect_reply_law(report("reply"));
}

TEST_F(CliRequest, a_replier_that_ends_in_order_is_not_called_lost) {
  Process reply(netio_command({"reply", any_port, "--text", "yes", "--count", "5"}));
  Process request(netio_command(
      {"request", address_of(reply), "--text", "x", "--count", "9", "--connect-timeout", "2s"}));
  EXPECT_EQ(request.wait(10s), 3) << request.err();
  EXPECT_THAT(request.err(), HasSubstr(" has ended and none came back within 2.000 s"));
  EXPECT_THAT(request.err(), Not(HasSubstr("was lost")));
  EXPECT_THAT(request.out(), HasSubstr("1 ended in order, 0 lost"));
}

TEST_F(CliRequest, for_a_replier_a_requester_that_ended_in_order_is_no_error) {
  Process request(netio_command({"request", any_port, "--bind", "--text", "x"}));
  Process reply(
      netio_command({"reply", address_of(request), "--connect", "--connect-timeout", "2s"}));
  EXPECT_EQ(request.wait(), 0) << request.err();
  EXPECT_EQ(reply.wait(10s), 0) << reply.err();
  EXPECT_THAT(reply.err(), Not(HasSubstr("error")));
}

TEST_F(CliRequest, nobody_who_connects_is_said_and_waited_for_as_long_as_seconds_say) {
  Process patient(netio_command({"request", any_port, "--bind", "--text", "x", "--within", "1s"}));
  Process request(
      netio_command({"request", any_port, "--bind", "--text", "x", "--seconds", "500ms"}));
  EXPECT_EQ(request.wait(10s), 1);
  EXPECT_THAT(request.err(), HasSubstr("no peer at "));
  EXPECT_THAT(request.err(), HasSubstr(" within 0.500 s"));
  EXPECT_TRUE(patient.wait_for_err("no replier has connected yet"));
  EXPECT_TRUE(patient.running());
  patient.signal(SIGINT);
  EXPECT_EQ(patient.wait(10s), 130);
}

TEST_F(CliRequest, as_many_are_asked_as_may_be_under_way) {
  Process reply(netio_command({"reply", any_port}));
  Process request(netio_command({"request", address_of(reply), "--text", "x", "--concurrent", "5",
                                 "--out", folder_.path("answers")}));
  EXPECT_EQ(request.wait(), 0) << request.err();
  EXPECT_THAT(request.out(), HasSubstr("5 asked: 5 answered"));
  EXPECT_THAT(request.out(), HasSubstr("written    5 answers, 5 bytes to "));
  EXPECT_EQ(read_file(folder_.path("answers")), "xxxxx");
}

// What netio reply does not do: a replier of the library.
TEST_F(CliRequest, segments_of_an_answer_are_written_without_the_padding) {
  Context context;
  Reply reply(context);
  reply.on_request([](const MessageView&, ReplyTo to) {
    EXPECT_EQ(to.send_segments({std::string_view("head"), std::string_view("body")}), Status::ok);
  });
  const std::string address = reply.bind(any_port);
  Process request(netio_command({"request", address, "--text", "x"}));
  while (request.running()) context.loop().run_once(10ms);
  EXPECT_EQ(request.wait(), 0) << request.err();
  EXPECT_EQ(request.out(), "headbody");
}

TEST_F(CliRequest, segments_of_a_request_come_back_as_segments) {
  Process reply(netio_command({"reply", any_port, "--count", "1", json_option("reply")}));
  Context context;
  Request request(context);
  std::size_t segments = 0;
  request.on_reply([&](std::uint64_t, const MessageView& answer) {
    segments = answer.segments().size();
    context.close();
  });
  request.on_up([&](const PeerInfo&) {
    std::uint64_t id = 0;
    EXPECT_EQ(request.send_segments({std::string_view("head"), std::string_view("body")}, id),
              Status::ok);
  });
  request.connect(address_of(reply));
  context.run();
  EXPECT_EQ(segments, 2U);
  EXPECT_EQ(reply.wait(), 0) << reply.err();
  EXPECT_EQ(report("reply")["bytes"], 8);
}

TEST_F(CliRequest, a_request_that_was_given_up_is_said_once_with_what_to_do) {
  Context context;
  Reply reply(context);
  reply.on_request([](const MessageView&, ReplyTo) {});
  const std::string address = reply.bind(any_port);
  Process request(netio_command({"request", address, "--text", "x"}));
  while (request.running()) context.loop().run_once(10ms);
  EXPECT_EQ(request.wait(), 1);
  EXPECT_THAT(request.err(), HasSubstr("error: 1 request was not answered\n  the replier received "
                                       "it and gave it up: look there\n"));
}

TEST_F(CliRequest, time_that_was_over_since_the_replier_was_killed_is_not_blamed_on_a_busy_one) {
  Process reply(netio_command({"reply", any_port}));
  Relay relay(address_of(reply));
  Process request(netio_command(
      {"request", relay.address(), "--within", "1500ms", "--connect-timeout", "10s"}));
  ASSERT_NO_FATAL_FAILURE(kill_who_was_asked(reply, relay, request));
  EXPECT_EQ(request.wait(10s), 1) << request.err();
  EXPECT_THAT(request.err(), HasSubstr("1 timed out\n  the replier was lost"));
  EXPECT_THAT(request.err(), Not(HasSubstr("is it busy")));
}

TEST_F(CliRequest, a_full_disk_ends_it_with_an_error) {
  Process reply(netio_command({"reply", any_port}));
  auto options = netio_command({"request", address_of(reply), "--text", "x"});
  options.stdout_path = "/dev/full";
  Process request(std::move(options));
  EXPECT_EQ(request.wait(), 1);
  EXPECT_THAT(request.err(), HasSubstr("standard output: No space left on device"));
}

}  // namespace
}  // namespace netio::test
