// The words of statuses and errors.
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include <netio/status.hpp>

#include "base/system_error.hpp"

namespace netio {
namespace {

TEST(Error, says_operation_cause_and_advice) {
  const Error error("bind tcp://*:80", "Permission denied", "use a port above 1023");
  EXPECT_STREQ(error.what(), "bind tcp://*:80: Permission denied; use a port above 1023");
  EXPECT_EQ(error.operation(), "bind tcp://*:80");
  EXPECT_EQ(error.cause(), "Permission denied");
  EXPECT_EQ(error.advice(), "use a port above 1023");
}

TEST(Error, without_advice_ends_with_the_cause) {
  EXPECT_STREQ(Error("connect", "Connection refused").what(), "connect: Connection refused");
}

TEST(SystemError, tells_what_to_do_when_descriptors_run_out) {
  const Error error = detail::system_error("create socket", EMFILE);
  EXPECT_EQ(error.cause(), "Too many open files");
  EXPECT_NE(error.advice().find("ulimit -n"), std::string::npos);
}

TEST(SystemError, keeps_the_advice_of_its_caller) {
  EXPECT_EQ(detail::system_error("x", EMFILE, "do this").advice(), "do this");
}

TEST(SystemError, is_thrown_for_a_failed_call_and_the_result_passed_on_otherwise) {
  EXPECT_EQ(detail::checked(7, "open"), 7);
  errno = ENOENT;
  EXPECT_THROW(detail::checked(-1, "open"), Error);
}

TEST(Status, every_value_has_a_word_of_its_own) {
  for (int a = 0; a <= static_cast<int>(Status::invalid); ++a) {
    EXPECT_NE(to_string(static_cast<Status>(a)), "unknown status");
    for (int b = 0; b < a; ++b) {
      EXPECT_NE(to_string(static_cast<Status>(a)), to_string(static_cast<Status>(b)));
    }
  }
}

TEST(DownReason, every_value_has_words_of_its_own) {
  for (int a = 0; a <= static_cast<int>(DownReason::resources); ++a) {
    EXPECT_NE(to_string(static_cast<DownReason>(a)), "unknown reason");
    for (int b = 0; b < a; ++b) {
      EXPECT_NE(to_string(static_cast<DownReason>(a)), to_string(static_cast<DownReason>(b)));
    }
  }
}

}  // namespace
}  // namespace netio
