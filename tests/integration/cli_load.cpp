// Generated load: numbered, verified, paced; what is reported of it, and where.
#include <csignal>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Value;

class CliLoad : public ::testing::Test {
 protected:
  Folder folder_;
};

TEST_F(CliLoad, every_size_passes_verification_in_both_modes) {
  for (const char* const mode : {"buffered", "unbuffered"}) {
    for (const char* const size : {"16", "17", "1000", "64KiB", "1MiB"}) {
      const bool large = std::string_view(size).ends_with("iB");
      const std::string count = large ? "40" : "20000";
      const Transfer result = transfer(
          folder_, {"--size", size, "--count", count, "--verify", "--mode", mode}, {"--verify"});
      EXPECT_EQ(result.send_code, 0) << mode << ' ' << size << ": " << result.send_err;
      EXPECT_EQ(result.recv_code, 0) << mode << ' ' << size << ": " << result.recv_err;
      EXPECT_EQ(result.recv["messages"], std::stoul(count));
      EXPECT_EQ(result.recv["verification"]["intact"], std::stoul(count));
      EXPECT_EQ(result.recv["verification"]["passed"], true);
    }
  }
}

// Heads of any size, also larger than the messages.
TEST_F(CliLoad, messages_of_a_head_and_a_body_pass_verification) {
  for (const char* const mode : {"buffered", "unbuffered"}) {
    for (const char* const head : {"1", "24", "1000", "64KiB"}) {
      const Transfer result = transfer(
          folder_,
          {"--size", "30000", "--count", "200", "--verify", "--head", head, "--mode", mode},
          {"--verify"});
      EXPECT_EQ(result.send_code, 0) << result.send_err;
      EXPECT_EQ(result.recv_code, 0) << result.recv_err;
      EXPECT_EQ(result.recv["segmented"], 200);
      EXPECT_EQ(result.recv["bytes"], 200 * 30'000);
      EXPECT_EQ(result.recv["verification"]["intact"], 200);
    }
  }
  const Transfer whole = transfer(folder_, {"--size", "100", "--count", "3"}, {});
  EXPECT_EQ(whole.recv["segmented"], 0);
  for (const bool cut : {false, true}) {
    Process recv(netio_command({"recv", any_port}));
    Words words = {"send", address_of(recv), "--count", "2000"};
    if (cut) words.insert(words.end(), {"--head", "8"});
    Process send(netio_command(words));
    EXPECT_EQ(send.wait(), 0) << send.err();
    EXPECT_EQ(recv.wait(), 0) << recv.err();
    const auto line = HasSubstr("\nsegments   2,000 messages of several\n");
    EXPECT_EQ(Value(recv.out() + recv.err(), line), cut) << recv.out() << recv.err();
  }
}

TEST_F(CliLoad, messages_without_a_checksum_fail_verification) {
  const Transfer result = transfer(folder_, {"--size", "64", "--count", "100"}, {"--verify"});
  EXPECT_EQ(result.send_code, 0) << result.send_err;
  EXPECT_EQ(result.recv_code, 1);
  EXPECT_THAT(result.recv_err, HasSubstr("verification failed: 100 corrupt"));
  EXPECT_THAT(result.recv_err, HasSubstr("started without --verify"));
}

TEST_F(CliLoad, zeros_fail_verification) {
  for (const std::size_t size : {1U, 16U, 64U, 1000U}) {
    const std::string input = folder_.write("input", std::string(size, '\0'));
    const Transfer result = transfer(folder_, {input}, {"--verify"});
    EXPECT_EQ(result.recv_code, 1) << size;
    EXPECT_EQ(result.recv["verification"]["corrupt"], 1) << size;
  }
}

TEST_F(CliLoad, no_rate_is_told_of_less_than_a_hundredth_of_a_second) {
  Process recv(netio_command({"recv", any_port}));
  Process send(netio_command({"send", address_of(recv), "--count", "2"}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  // Unless the machine was so busy that it took longer.
  for (Process* const process : {&send, &recv}) {
    EXPECT_NE(process->out().find(" in 0.00") != std::string::npos,
              process->out().find("messages/s") != std::string::npos)
        << process->out();
  }
}

TEST_F(CliLoad, a_changed_byte_fails_verification) {
  const Transfer made =
      transfer(folder_, {"--size", "64", "--count", "100", "--verify"}, {"--verify"});
  ASSERT_EQ(made.recv_code, 0) << made.recv_err;
  std::string bytes = made.received;
  bytes[64 * 50 + 63] ^= 1;
  const Transfer changed =
      transfer(folder_, {folder_.write("input", bytes), "--frame", "fixed:64"}, {"--verify"});
  EXPECT_EQ(changed.recv_code, 1);
  EXPECT_EQ(changed.recv["verification"]["corrupt"], 1);
  EXPECT_EQ(changed.recv["verification"]["missing"], 1);
  // The same message twice, and one left out.
  bytes = made.received.substr(0, 640) + made.received.substr(576, 64) + made.received.substr(704);
  const Transfer repeated =
      transfer(folder_, {folder_.write("input", bytes), "--frame", "fixed:64"}, {"--verify"});
  EXPECT_EQ(repeated.recv_code, 1);
  EXPECT_EQ(repeated.recv["verification"]["repeated"], 1);
  EXPECT_EQ(repeated.recv["verification"]["gaps"], 1);
  EXPECT_EQ(repeated.recv["error"], "verification failed: 0 corrupt, 1 missing, 1 repeated");
}

TEST_F(CliLoad, gaps_are_no_fault_where_receivers_share) {
  Process send(netio_command({"send", any_port, "--bind", "--rate", "20k", "--verify"}));
  const std::string address = address_of(send);
  const std::string json = folder_.path("recv.json");
  Process strict(netio_command({"recv", address, "--connect", "--verify", "--out", "-"}));
  Process shared(netio_command(
      {"recv", address, "--connect", "--verify", "--shared", "--out", "-", "--json=" + json}));
  // One was the first to come; the note is about the other.
  EXPECT_TRUE(send.wait_for_err("connected to ")) << send.err();
  EXPECT_TRUE(strict.wait_for_out_bytes(strict.out().size() + 64 * 100)) << strict.err();
  EXPECT_TRUE(shared.wait_for_out_bytes(shared.out().size() + 64 * 100)) << shared.err();
  send.signal(SIGINT);
  EXPECT_EQ(send.wait(), 130) << send.err();
  EXPECT_EQ(shared.wait(), 0) << shared.err();
  EXPECT_GT(read_json(json)["verification"]["gaps"], 0);
  EXPECT_EQ(strict.wait(), 1);
  EXPECT_THAT(strict.err(), HasSubstr("say --shared"));
  EXPECT_THAT(strict.err(), HasSubstr("mid-stream"));
}

TEST_F(CliLoad, a_rate_in_messages_is_kept) {
  const Transfer result = transfer(folder_, {"--rate", "2k", "--count", "1000"});
  ASSERT_EQ(result.send_code, 0) << result.send_err;
  // Never faster; slower only if the machine is busy.
  EXPECT_LE(result.send["messages_per_second"], 2100);
  EXPECT_GE(result.send["messages_per_second"], 500);
}

TEST_F(CliLoad, a_rate_in_bytes_is_kept) {
  const Transfer result =
      transfer(folder_, {"--rate", "40Mb/s", "--size", "10k", "--seconds", "400ms"});
  ASSERT_EQ(result.send_code, 0) << result.send_err;
  EXPECT_LE(result.send["bytes_per_second"], 5.5e6);
  EXPECT_GE(result.send["bytes_per_second"], 1e6);
}

TEST_F(CliLoad, a_file_may_be_paced_too) {
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += "line\n";
  const Transfer result =
      transfer(folder_, {folder_.write("input", lines), "--frame", "line", "--rate", "100"});
  ASSERT_EQ(result.send_code, 0) << result.send_err;
  EXPECT_EQ(result.recv["messages"], 40);
  EXPECT_GE(result.send["seconds"], 0.38);
}

TEST_F(CliLoad, seconds_end_it) {
  const Transfer result = transfer(folder_, {"--seconds", "200ms", "--size", "4KiB"});
  EXPECT_EQ(result.send_code, 0) << result.send_err;
  EXPECT_GE(result.send["seconds"], 0.2);
  EXPECT_EQ(result.send["messages"], result.recv["messages"]);
  EXPECT_EQ(result.recv["books"]["delivered"], result.recv["messages"]);
  EXPECT_EQ(result.recv["kept_bytes"], 0);
}

TEST_F(CliLoad, every_way_to_wait_works) {
  for (const char* const wait : {"sleep", "spin", "adaptive"}) {
    const Transfer result =
        transfer(folder_, {"--count", "10000", "--wait", wait}, {"--wait", wait});
    EXPECT_EQ(result.send_code, 0) << result.send_err;
    EXPECT_EQ(result.recv["messages"], 10'000);
  }
}

TEST_F(CliLoad, a_receiver_may_end_after_a_count) {
  Process recv(netio_command({"recv", any_port, "--count", "10", "--out", "-"}));
  Process send(netio_command(
      {"send", address_of(recv), "--size", "100", "--rate", "1k", "--connect-timeout", "2s"}));
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_EQ(recv.out().size(), 1000U);
  EXPECT_EQ(send.wait(), 3) << send.err();
}

TEST_F(CliLoad, ctrl_c_ends_the_preparing_of_a_large_load) {
  Process send(netio_command({"send", "tcp://127.0.0.1:1", "--size", "4GiB", "--message-max",
                              "4GiB", "--mode", "unbuffered"}));
  // From here on it has its handler: it fills some gigabytes.
  const std::string status = "/proc/" + std::to_string(send.pid()) + "/status";
  const auto catches_sigint = [&status] {
    const std::string text = read_file(status);
    const std::size_t at = text.find("SigCgt:");
    return at != std::string::npos &&
           (std::stoull(text.substr(at + 7), nullptr, 16) & (1U << (SIGINT - 1))) != 0;
  };
  while (send.running() && !catches_sigint()) std::this_thread::yield();
  send.signal(SIGINT);
  EXPECT_EQ(send.wait(), 130);
  EXPECT_THAT(send.err(), HasSubstr("interrupted while the load was prepared"));
}

TEST_F(CliLoad, a_message_that_is_too_big_is_refused_with_whose_limit_it_is) {
  const Transfer result =
      transfer(folder_, {"--size", "2MiB", "--count", "3"}, {"--message-max", "1MiB"});
  EXPECT_EQ(result.send_code, 1);
  EXPECT_THAT(result.send_err, HasSubstr("message number 1, 2 MiB, was refused: too big"));
  EXPECT_THAT(result.send_err, HasSubstr("the receiver takes up to 1 MiB"));
}

TEST_F(CliLoad, a_rate_without_a_load_is_of_standard_input) {
  Process recv(netio_command({"recv", any_port}));
  Process send(netio_command({"send", address_of(recv), "--rate", "100"}));
  EXPECT_TRUE(send.wait_for_err("sending standard input (generated load: --size)"));
  EXPECT_TRUE(send.feed("a message"));
  send.end_input();
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
}

// --- Reports and progress.

TEST_F(CliLoad, a_large_message_counts_from_its_first_bytes) {
  const std::string json = folder_.path("recv.json");
  Process recv(netio_command({"recv", any_port, "--json=" + json}));
  RawTcp raw = RawTcp::connect(address_of(recv));
  ASSERT_TRUE(raw.greet(sound_hello(detail::WirePattern::push)));
  const Bytes page = message_page(0, Bytes(200'000));
  raw.send(std::span(page).first(page.size() / 2));
  EXPECT_TRUE(recv.wait_for_err("0 messages, 100 kB")) << recv.err();
  raw.send(std::span(page).subspan(page.size() / 2));
  EXPECT_TRUE(recv.wait_for_err("1 message, 200 kB")) << recv.err();
  raw.close();
  EXPECT_EQ(recv.wait(), 3);
  EXPECT_GE(read_json(json)["seconds"], 0.5);
}

TEST_F(CliLoad, what_nobody_has_acknowledged_is_not_done) {
  RawListener listener;
  Process send(netio_command({"send", listener.address(), "--count", "10", "--json"}));
  std::optional<RawTcp> raw;
  while (!raw && send.running()) raw = listener.accept();
  ASSERT_TRUE(raw);
  ASSERT_TRUE(raw->answer(detail::WirePattern::pull));
  EXPECT_TRUE(send.wait_for_err("  0%  10 messages, 640 B  waiting for acknowl")) << send.err();
  send.signal(SIGINT);
  EXPECT_EQ(send.wait(), 130);
  const auto report = nlohmann::json::parse(send.out(), nullptr, false);
  EXPECT_EQ(report["messages_per_second"], 0);
  EXPECT_THAT(send.err(), Not(HasSubstr("\nrate ")));
}

TEST_F(CliLoad, json_is_alone_on_standard_output) {
  Process recv(netio_command({"recv", any_port, "--json"}));
  Process send(netio_command({"send", address_of(recv), "--count", "10", "--json", "--quiet"}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  const auto sent = nlohmann::json::parse(send.out(), nullptr, false);
  const auto received = nlohmann::json::parse(recv.out(), nullptr, false);
  ASSERT_FALSE(sent.is_discarded()) << send.out();
  ASSERT_FALSE(received.is_discarded()) << recv.out();
  EXPECT_EQ(sent["command"], "send");
  EXPECT_EQ(sent["outcome"], "done");
  EXPECT_EQ(sent["books"]["acknowledged"], 10);
  EXPECT_EQ(sent["books"]["dropped_by"].size(), 7U);
  EXPECT_TRUE(sent["books"]["dropped_by"].contains("peer_closed"));
  EXPECT_EQ(received["books"]["delivered"], 10);
  EXPECT_EQ(received["bytes"], 640);
  EXPECT_EQ(send.err(), "");                                            // quiet
  EXPECT_THAT(recv.err(), HasSubstr("received   10 messages, 640 B"));  // not
}

TEST_F(CliLoad, a_report_that_cannot_be_written_is_found_before_the_work) {
  Process recv(netio_command({"recv", any_port, "--json=/no/such/folder/report"}));
  EXPECT_EQ(recv.wait(), 1);
  EXPECT_THAT(recv.err(), AllOf(HasSubstr("/no/such/folder/report"), Not(HasSubstr("listening"))));
}

TEST_F(CliLoad, a_pipe_gets_a_line_a_second) {
  Process recv(netio_command({"recv", any_port}));
  Process send(netio_command({"send", address_of(recv), "--rate", "1k", "--count", "1300"}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_THAT(send.err(), HasSubstr("messages/s"));
  EXPECT_THAT(send.err(), HasSubstr("%"));  // A count is known ...
  EXPECT_THAT(recv.err(), HasSubstr("messages/s"));
  EXPECT_THAT(recv.err(), Not(HasSubstr("%")));  // ... by the sender.
  EXPECT_THAT(send.err(), Not(HasSubstr("\r")));
}

TEST_F(CliLoad, a_short_transfer_prints_no_progress) {
  const Transfer result = transfer(folder_, {"--count", "10"});
  EXPECT_EQ(result.send_err, "");
}

TEST_F(CliLoad, a_terminal_gets_a_bar_that_is_gone_at_the_end) {
  Process recv(netio_command({"recv", any_port}));
  auto options = netio_command({"send", address_of(recv), "--rate", "1k", "--count", "500"});
  options.standard_error = Process::Options::Stderr::terminal;
  Process send(std::move(options));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_THAT(send.err(), HasSubstr("\r"));
  EXPECT_THAT(send.err(), HasSubstr("#"));
  EXPECT_TRUE(send.err().ends_with("\r\x1b[K")) << send.err();
}

}  // namespace
}  // namespace netio::test
