// An end of the play: what kind of socket it is, where, with which options, whom it dials, and how
// its user behaves. Each socket that is made for it is a Run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <netio/options.hpp>
#include <netio/reply.hpp>
#include <netio/request.hpp>
#include <netio/subscription.hpp>

namespace netio::test {

class Machine;
class Run;

enum class Kind : std::uint8_t { push, pull, pair, publish, subscribe, request, reply };

// Its messages go over the wire: the user's own, or answers.
constexpr bool sends(Kind kind) noexcept { return kind != Kind::pull && kind != Kind::subscribe; }
// Its user sends without being asked.
constexpr bool begins(Kind kind) noexcept { return sends(kind) && kind != Kind::reply; }
// It is given messages, and can stop that. (A Request always reads answers.)
constexpr bool receives(Kind kind) noexcept {
  return kind != Kind::push && kind != Kind::publish && kind != Kind::request;
}
constexpr bool asks_or_answers(Kind kind) noexcept {
  return kind == Kind::request || kind == Kind::reply;
}

// Call-backs in which a user acts.
enum class CallBack : std::uint8_t {
  up,
  down,
  closed,
  message,
  writable,
  released,
  high,
  low,
  subscribe,
  unsubscribe,
  subscribed,
  gap,
  behind,
  caught_up,
  policy_changed,
  request,
  reply,
  failed,
  count_
};

// What a user does in one of them.
enum class Act : std::uint8_t {
  destroy,
  remake,
  close,
  destroy_other,
  send,
  pause,
  resume,
  release,
  change_set,
  take_away,
  cancel,
  answer,
  give_up,
  count_
};

struct Mischief {
  CallBack in = CallBack::up;
  unsigned nth = 0;  // the how manyth of its kind, counted down
  Act act = Act::send;
};

// How a user behaves, in thousandths where it is a share.
struct Temper {
  unsigned sends_when_writable = 0;  // messages
  unsigned replies = 0;              // of messages received, to which one is sent
  unsigned keeps = 0;
  unsigned pauses = 0;  // in the call-back
  bool takes_batches = false;
  // Of requests that are sent:
  unsigned limits = 0;
  unsigned repeats = 0;
  unsigned names_peer = 0;
  // Of requests that come: not answered at once; of these, never answered.
  unsigned holds = 0;
  unsigned gives_up = 0;
  std::vector<Mischief> mischief;
};

struct Actor {
  std::uint32_t index = 0;
  std::string host;
  Kind kind = Kind::push;
  Machine* machine = nullptr;
  SocketOptions options;
  PublishOptions publishing;
  SubscribeOptions subscription;
  RequestOptions asking;
  ReplyOptions replying;
  std::uint64_t first_set = 0;  // atoms that a subscriber begins with
  Temper temper;
  bool binds = false;
  std::vector<Actor*> dials;              // twice, if there are to be two connections
  std::size_t first_receiver = SIZE_MAX;  // of the machines that it sends to, the lowest place

  Run* run = nullptr;  // null while there is none
  std::uint32_t runs = 0;
};

}  // namespace netio::test
