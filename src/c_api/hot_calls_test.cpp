// What C calls for each message takes nothing from the heap, once a connection has been in use.
#include <cstdint>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include <netio.h>

#include "support/allocation_counter.hpp"

namespace netio::c_api {
namespace {

using test::allocations_during;

void count_message(netio_socket* socket, const netio_message* message) {
  if (message->size == 64) ++*static_cast<std::uint64_t*>(socket->data);
}
void keep_and_release(netio_socket* socket, const netio_message* message) {
  netio_message kept;
  if (netio_keep(message, &kept) == NETIO_OK && netio_release(&kept) == NETIO_OK) {
    ++*static_cast<std::uint64_t*>(socket->data);
  }
}

class HotCalls : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(netio_init(&context_), NETIO_OK);
    ASSERT_EQ(netio_listen_socket_init(&context_, &in_, nullptr), NETIO_OK);
    in_.socket.cb_msg_received = count_message;
    in_.socket.data = &received_;
    ASSERT_EQ(netio_listen(&in_.socket, "tcp://127.0.0.1:0"), NETIO_OK);
  }
  void TearDown() override {
    EXPECT_EQ(netio_socket_free(&in_.socket), NETIO_OK);
    EXPECT_EQ(netio_context_free(&context_), NETIO_OK);
  }

  template <class Send>
  void exchange(std::uint64_t count, Send&& send) {
    const std::uint64_t end = received_ + count;
    for (std::uint64_t taken = 0; received_ < end;) {
      while (taken < count && send() == NETIO_OK) ++taken;
      ASSERT_EQ(netio_run_once(&context_.evloop, 0), NETIO_OK);
    }
  }

  netio_context context_{};
  netio_listen_socket in_{};
  std::uint64_t received_ = 0;
};

TEST_F(HotCalls, sending_and_receiving_take_nothing_from_the_heap) {
  netio_buffered_send_socket out{};
  ASSERT_EQ(netio_buffered_send_socket_init(&context_, &out, nullptr), NETIO_OK);
  ASSERT_EQ(netio_connect(&out.socket, netio_address(&in_.socket)), NETIO_OK);
  const char message[64] = "";
  const auto send = [&] { return netio_send_tagged(&out.socket, 5, message, sizeof message); };
  exchange(5000, send);
  EXPECT_EQ(allocations_during([&] { exchange(50'000, send); }), 0U);
  const auto write = [&] {
    void* room = nullptr;
    if (const int answer = netio_reserve(&out.socket, 64, &room); answer != NETIO_OK) return answer;
    std::memset(room, 1, 64);
    return netio_commit(&out.socket, 5, 64);
  };
  EXPECT_EQ(allocations_during([&] { exchange(50'000, write); }), 0U);
  EXPECT_EQ(netio_socket_free(&out.socket), NETIO_OK);
}

TEST_F(HotCalls, keeping_a_large_message_takes_nothing_from_the_heap) {
  netio_send_socket out{};
  ASSERT_EQ(netio_send_socket_init(&context_, &out, nullptr), NETIO_OK);
  ASSERT_EQ(netio_connect(&out.socket, netio_address(&in_.socket)), NETIO_OK);
  in_.socket.cb_msg_received = keep_and_release;
  const std::string message(60'000, 'x');
  const auto send = [&] { return netio_send(&out.socket, message.data(), message.size()); };
  exchange(500, send);
  EXPECT_EQ(allocations_during([&] { exchange(1000, send); }), 0U);
  EXPECT_EQ(netio_socket_free(&out.socket), NETIO_OK);
}

// Each request is answered in the second call-back after its own, so that some are always open.
struct Replier {
  netio_reply_socket socket;
  netio_reply_to* open[3];
  std::uint64_t count;
};
void answer_later(netio_reply_socket* socket, const netio_message* request, netio_reply_to* to) {
  auto& replier = *static_cast<Replier*>(socket->socket.data);
  netio_reply_to*& place = replier.open[replier.count++ % 3];
  if (place != nullptr && netio_reply_to_send(place, request->data, request->size) != NETIO_OK) {
    netio_reply_to_drop(place);
  }
  place = to;
}
void count_answer(netio_request_socket* socket, std::uint64_t /*id*/, const netio_message* answer) {
  if (answer->size == 64) ++*static_cast<std::uint64_t*>(socket->socket.data);
}

TEST_F(HotCalls, requests_and_answers_take_nothing_from_the_heap) {
  Replier replier{};
  netio_request_socket out{};
  std::uint64_t answered = 0;
  ASSERT_EQ(netio_reply_socket_init(&context_, &replier.socket, nullptr), NETIO_OK);
  ASSERT_EQ(netio_request_socket_init(&context_, &out, nullptr), NETIO_OK);
  replier.socket.socket.data = &replier;
  replier.socket.cb_request_received = answer_later;
  out.socket.data = &answered;
  out.cb_reply_received = count_answer;
  ASSERT_EQ(netio_listen(&replier.socket.socket, "tcp://127.0.0.1:0"), NETIO_OK);
  ASSERT_EQ(netio_connect(&out.socket, netio_address(&replier.socket.socket)), NETIO_OK);
  const char message[64] = "";
  netio_ask ask{};
  ask.within_ns = 60'000'000'000;
  const auto ask_many = [&](std::uint64_t count) {
    const std::uint64_t end = answered + count;
    std::uint64_t sent = answered;
    while (answered + 3 < end) {
      std::uint64_t id = 0;
      while (sent < end && sent < answered + 100 &&
             netio_request_send(&out, message, sizeof message, &ask, &id) == NETIO_OK) {
        ++sent;
      }
      ASSERT_EQ(netio_run_once(&context_.evloop, 0), NETIO_OK);
    }
  };
  ask_many(5000);
  EXPECT_EQ(allocations_during([&] { ask_many(50'000); }), 0U);
  for (netio_reply_to* const to : replier.open) EXPECT_EQ(netio_reply_to_drop(to), NETIO_OK);
  EXPECT_EQ(netio_socket_free(&out.socket), NETIO_OK);
  EXPECT_EQ(netio_socket_free(&replier.socket.socket), NETIO_OK);
}

TEST_F(HotCalls, a_refusal_has_words_and_takes_nothing_from_the_heap) {
  const auto refused = [&] {
    EXPECT_EQ(netio_send(&in_.socket, "x", 1), NETIO_INVALID);
    EXPECT_EQ(netio_send(nullptr, "x", 1), NETIO_INVALID);
  };
  EXPECT_EQ(allocations_during(refused), 0U);
  EXPECT_STREQ(netio_last_error(), "netio_send: a null pointer was given");
}

}  // namespace
}  // namespace netio::c_api
