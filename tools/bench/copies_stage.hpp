// A source, a stage and a sink, each in a context of its own and all on the calling thread: the
// stage passes messages from one wire to another, and its sockets count the copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <netio/context.hpp>
#include <netio/forward.hpp>
#include <netio/options.hpp>
#include <netio/pull.hpp>
#include <netio/push.hpp>

namespace netio::cli {

// A wire of this machine, or why it is not there.
struct CopiesWire {
  std::string scheme;   // as the tables name it
  std::string address;  // where to bind: any free place
  std::string why_absent;
};

// What is sent at once, and settled before the next is sent.
struct CopiesLoad {
  std::size_t bytes = 0;       // of each message
  std::size_t head_bytes = 0;  // of these, in a segment of their own; 0: one segment
  std::uint32_t messages = 1;  // as many small ones as share a page

  [[nodiscard]] std::string name() const;
};

// What one socket counted while a load went through the stage.
struct CopiesCount {
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;
};

struct CopiesResult {
  std::string from;
  std::string to;
  Mode mode = Mode::buffered;
  CopiesLoad load;
  std::uint64_t messages = 0;
  CopiesCount receiving;  // the input of the stage put the parts of messages together
  CopiesCount sending;    // its output copied what the second wire does not read in place
};

// The three contexts, which every pair of wires uses in turn.
class CopiesContexts {
 public:
  // Turns their loops once.
  void turn();

  Context source;
  Context stage;
  Context sink;
};

class CopiesStage {
 public:
  // Connects everything. Throws Failure if that takes too long.
  CopiesStage(CopiesContexts& contexts, const CopiesWire& from, const CopiesWire& to, Mode mode);
  CopiesStage(const CopiesStage&) = delete;
  CopiesStage& operator=(const CopiesStage&) = delete;

  // Sends the load some times and checks every byte at the sink. Throws Failure if anything is not
  // as it was sent, and Interrupted after Ctrl-C.
  [[nodiscard]] CopiesResult measure(const CopiesLoad& load);

 private:
  // Turns the loops until it holds.
  template <typename Condition>
  void until(const char* what, Condition&& condition);
  void send(const CopiesLoad& load);
  void pass(const CopiesLoad& load);
  void check(const MessageView& message);
  [[nodiscard]] std::string where() const;

  CopiesContexts& contexts_;
  std::string from_;
  std::string to_;
  Mode mode_;
  SocketOptions options_;
  Push source_;
  Pull input_;
  Push output_;
  Pull sink_;
  Forward forward_;  // destroyed before the sockets
  const CopiesLoad* load_ = nullptr;
  std::vector<std::byte> bytes_;  // of the messages that are under way
  std::uint64_t number_ = 0;      // tells messages apart, as their tag
  std::uint64_t expected_ = 0;
  bool changed_ = false;  // a message did not arrive as it was sent
};

}  // namespace netio::cli
