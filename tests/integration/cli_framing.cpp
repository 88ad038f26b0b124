// Files become messages and come out again byte for byte; what is cut off is never lost silently.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;

class CliFraming : public ::testing::TestWithParam<const char*> {
 protected:
  // Sends `bytes` as a file in the mode of this test.
  Transfer send(std::string_view bytes, Words arguments, Words recv_arguments = {}) {
    arguments.insert(arguments.end(), {folder_.write("input", bytes), "--mode", GetParam()});
    return transfer(folder_, std::move(arguments), std::move(recv_arguments));
  }
  static void expect_all(const Transfer& result, std::string_view bytes, std::uint64_t messages) {
    EXPECT_EQ(result.send_code, 0) << result.send_err;
    EXPECT_EQ(result.recv_code, 0) << result.recv_err;
    EXPECT_TRUE(result.received == bytes) << result.received.size() << " of " << bytes.size();
    EXPECT_EQ(result.recv["messages"], messages);
    EXPECT_EQ(result.send["books"]["acknowledged"], messages);
    EXPECT_EQ(result.send["mode"], GetParam());
  }
  // What came whole arrived; the sender says what is wrong with the rest and ends with 1.
  static void expect_cut(const Transfer& result, std::string_view whole, const std::string& error) {
    EXPECT_EQ(result.send_code, 1);
    EXPECT_EQ(result.recv_code, 0) << result.recv_err;
    EXPECT_TRUE(result.received == whole) << result.received.size() << " of " << whole.size();
    EXPECT_THAT(result.send_err, HasSubstr(error));
    EXPECT_THAT(result.send["error"].get<std::string>(), HasSubstr(error));
    EXPECT_EQ(result.send["books"]["unacknowledged"], 0);
  }
  // The file loses its end while records of it arrive. The sender says so, and a good-bye.
  void expect_cut_off(const std::string& path, const Words& pace) {
    Process recv(netio_command({"recv", any_port, "--out", "-"}));
    Words words = {"send", address_of(recv), path, "--frame", "fixed:100", "--mode", GetParam()};
    words.insert(words.end(), pace.begin(), pace.end());
    Process send(netio_command(words));
    EXPECT_TRUE(recv.wait_for_out_bytes(10'000)) << recv.err();
    std::filesystem::resize_file(path, 5'000);
    EXPECT_EQ(send.wait(), 1) << send.err();
    EXPECT_THAT(send.err(), HasSubstr("was cut off while it was read, after "));
    EXPECT_EQ(recv.wait(), 0) << recv.err();
    EXPECT_EQ(recv.out().size() % 100, 0U);
  }

  Folder folder_;
};

// What stands between two segments is not written.
TEST_P(CliFraming, a_head_of_each_record_changes_no_byte) {
  const std::string bytes = some_bytes(100'003);
  const Transfer result = send(bytes, {"--frame", "fixed:1000", "--head", "13"});
  EXPECT_EQ(result.send_code, 1) << "the last record is cut off";
  EXPECT_TRUE(result.received == bytes.substr(0, 100'000));
  EXPECT_EQ(result.recv["segmented"], 100);
  const std::string lines = "one\n\ntwo words\n";
  expect_all(send(lines, {"--frame", "line", "--head", "3"}), lines, 3);
}

TEST_P(CliFraming, a_whole_file_is_one_message) {
  const std::string bytes = some_bytes(3'000'001);
  expect_all(send(bytes, {}), bytes, 1);
}

TEST_P(CliFraming, an_empty_file_is_one_empty_message) { expect_all(send("", {}), "", 1); }

TEST_P(CliFraming, a_line_keeps_its_newline_and_the_last_one_may_lack_it) {
  std::string bytes = "one\n\nthree\n" + std::string(200'000, 'x') + "\nthe end";
  expect_all(send(bytes, {"--frame", "line"}), bytes, 5);
}

TEST_P(CliFraming, an_empty_file_has_no_lines) { expect_all(send("", {"--frame", "line"}), "", 0); }

TEST_P(CliFraming, fixed_records_arrive_whole) {
  const std::string bytes = some_bytes(1000 * 1024);
  expect_all(send(bytes, {"--frame", "fixed:1KiB"}), bytes, 1000);
}

TEST_P(CliFraming, what_is_left_over_behind_fixed_records_is_an_error) {
  const std::string bytes = some_bytes(1003);
  expect_cut(send(bytes, {"--frame", "fixed:100"}), bytes.substr(0, 1000),
             "record 11 at offset 1,000: 3 bytes are left over");
}

TEST_P(CliFraming, records_with_their_size_in_them_arrive_whole) {
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 400; ++i) {
    sizes.insert(sizes.end(), {228, 2292, 228, 4356});
  }
  sizes.insert(sizes.end(), {2132, 24, 1'093'960, 96, 1'734'050, 24});
  const std::string bytes = datagrams(sizes);
  expect_all(send(bytes, {"--frame", datagram_frame}), bytes, sizes.size());
}

TEST_P(CliFraming, a_file_that_ends_inside_a_record_is_an_error) {
  const std::string bytes = datagrams({228, 2292, 4356});
  expect_cut(send(bytes.substr(0, bytes.size() - 1), {"--frame", datagram_frame}),
             bytes.substr(0, 228 + 2292),
             "the input ends inside record 3 at offset 2,520: 4,355 bytes left, of the 4,356");
}

TEST_P(CliFraming, a_file_that_ends_before_the_size_of_a_record_is_an_error) {
  const std::string bytes = datagrams({228, 2292});
  expect_cut(send(bytes + "12345", {"--frame", datagram_frame}), bytes,
             "record 3 at offset 2,520: 5 bytes left, and its size field ends at byte 24");
}

TEST_P(CliFraming, absurd_sizes_are_an_error) {
  std::string bytes = datagrams({228, 228});
  bytes[228 + 20] = 3;  // 3 + 12 < 24
  bytes[228 + 21] = 0;
  expect_cut(send(bytes, {"--frame", datagram_frame}), bytes.substr(0, 228),
             "record 2 at offset 228 has 15 bytes (size field 3, adjusted by +12)");
  expect_cut(send(bytes, {"--frame", "length:20,4,-250"}), "",
             "record 1 at offset 0 has a negative size (size field 216, adjusted by -250)");
  bytes[228 + 23] = 0x7f;
  expect_cut(send(bytes, {"--frame", datagram_frame}), bytes.substr(0, 228),
             "more than a message may have (--message-max is 1 GiB)");
}

TEST_P(CliFraming, a_field_of_eight_bytes_cannot_wrap_around) {
  std::string bytes(64, '\xff');
  expect_cut(send(bytes, {"--frame", "length:0,8,16"}), "", "an impossible size");
}

TEST_P(CliFraming, a_file_larger_than_a_message_is_an_error_that_says_so) {
  expect_cut(send(some_bytes(5000), {"--message-max", "4KiB"}), "", "--message-max is 4 KiB");
}

// The recording is not part of the project; see CONTRIBUTING.md.
TEST_P(CliFraming, a_detector_recording_arrives_as_its_datagrams) {
  const char* const folder = std::getenv("NETIO_TEST_DATA");
  const std::filesystem::path name = "lcls2-timetool.xtc2";
  if (folder == nullptr || !std::filesystem::exists(folder / name)) {
    GTEST_SKIP() << "no recording: NETIO_TEST_DATA does not name a folder that holds " << name;
  }
  const std::string path = (folder / name).string();
  const std::string bytes = read_file(path);
  expect_all(transfer(folder_, {path, "--frame", datagram_frame, "--mode", GetParam()}), bytes,
             1341);
}

INSTANTIATE_TEST_SUITE_P(modes, CliFraming, ::testing::Values("buffered", "unbuffered"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST_P(CliFraming, a_file_that_shrinks_while_it_is_read_is_an_error) {
  expect_cut_off(folder_.write("shrinking", some_bytes(1'000'000)), {"--rate", "2k"});
}

// In the middle of a burst, as good as always.
TEST_P(CliFraming, a_file_that_shrinks_while_it_is_read_at_full_speed_is_an_error) {
  for (int round = 0; round < 4; ++round) {
    const std::string path = folder_.write("shrinking", "");
    std::filesystem::resize_file(path, std::uintmax_t{4} << 30U);  // all of it a hole
    expect_cut_off(path, {});
  }
}

// --- Standard input.

class CliStream : public ::testing::Test {
 protected:
  // Feeds `bytes` in pieces of `piece` bytes to a sender and returns what arrived.
  std::string stream(std::string_view bytes, std::size_t piece, const Words& arguments,
                     int expected_code = 0) {
    const std::string out = folder_.path("received");
    Process recv(netio_command({"recv", any_port, "--out", out}));
    Words words = {"send", address_of(recv)};
    words.insert(words.end(), arguments.begin(), arguments.end());
    Process send(netio_command(words));
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      EXPECT_TRUE(send.feed(bytes.substr(at, piece))) << send.err();
    }
    send.end_input();
    EXPECT_EQ(send.wait(), expected_code) << send.err();
    EXPECT_EQ(recv.wait(), 0) << recv.err();
    send_err_ = send.err();
    return read_file(out);
  }

  Folder folder_;
  std::string send_err_;
};

TEST_F(CliStream, records_may_be_split_over_reads) {
  const std::string bytes = datagrams({228, 24, 300'000, 2292, 96});
  EXPECT_TRUE(stream(bytes, 1013, {"--frame", datagram_frame}) == bytes);
  EXPECT_TRUE(stream(bytes, 70'001, {"-", "--frame", "fixed:4"}) == bytes);
}

TEST_F(CliStream, lines_leave_as_they_come) {
  Process recv(netio_command({"recv", any_port, "--out", "-"}));
  Process send(netio_command({"send", address_of(recv), "--frame", "line"}));
  ASSERT_TRUE(send.feed("first\nsec"));
  EXPECT_TRUE(recv.wait_for_out_bytes(6));
  EXPECT_EQ(recv.out(), "first\n");
  ASSERT_TRUE(send.feed("ond\n"));
  EXPECT_TRUE(recv.wait_for_out_bytes(13));
  send.end_input();
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_EQ(recv.out(), "first\nsecond\n");
  EXPECT_THAT(recv.err(), HasSubstr("2 messages"));  // The summary: standard output carries data.
}

TEST_F(CliStream, a_stream_that_ends_inside_a_record_is_an_error) {
  const std::string bytes = datagrams({228, 2292});
  EXPECT_TRUE(stream(bytes.substr(0, 1000), 100, {"--frame", datagram_frame}, 1) ==
              bytes.substr(0, 228));
  EXPECT_THAT(send_err_, HasSubstr("the input ends inside record 2 at offset 228: 772 bytes left"));
}

TEST_F(CliStream, a_redirected_file_is_read_from_where_it_stands) {
  const std::string bytes = some_bytes(100'000);
  const std::string out = folder_.path("received");
  Process recv(netio_command({"recv", any_port, "--out", out}));
  Process::Options options = netio_command({"send", address_of(recv)});
  options.stdin_path = folder_.write("input", bytes);
  Process send(std::move(options));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_TRUE(read_file(out) == bytes);
}

TEST_F(CliStream, a_file_that_is_not_there_is_an_error) {
  Process send(netio_command({"send", "tcp://127.0.0.1:1", folder_.path("nothing")}));
  EXPECT_EQ(send.wait(), 1);
  EXPECT_THAT(send.err(), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace netio::test
