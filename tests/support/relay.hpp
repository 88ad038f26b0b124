// A TCP relay that can be cut, held, slowed and made to damage what it carries: the network
// between two peers. Runs on a thread of its own; every call takes effect before it returns.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace netio::test {

class Relay {
 public:
  // Relays to "tcp://127.0.0.1:port", or another number of this host.
  explicit Relay(std::string_view target);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay();

  // Where to connect to.
  [[nodiscard]] std::string address() const;

  // How a connection ends.
  enum class End : std::uint8_t { fin, reset };

  // Ends every connection now; what is inside the relay is lost. New ones are welcome.
  void cut(End end = End::reset);
  // Ends every connection towards who dialed only: the target still believes in them.
  void strand();
  // Carries that many bytes more towards the target, and then cuts.
  void cut_after(std::uint64_t bytes, End end = End::reset);
  // Takes back what was asked for, if it is still to come.
  void cut_no_more();
  // Carries nothing, and reads nothing, until released.
  void hold(bool held);
  // Cuts whatever comes at once, while it lasts.
  void forbid(bool forbidden);
  // Everything arrives that much later.
  void set_delay(std::chrono::milliseconds delay);
  // Carries that many bytes more towards the target, then leaves one out, or turns its bits over.
  void lose_byte_after(std::uint64_t bytes);
  void damage_byte_after(std::uint64_t bytes);

  // A fault that was asked for is still to come.
  [[nodiscard]] bool fault_pending();
  // No connection is left: both ends of each have ended it, and got what was inside.
  [[nodiscard]] bool empty();

  // Nothing has been passed on that is not counted.
  [[nodiscard]] std::uint64_t bytes_to_target();
  [[nodiscard]] std::uint64_t bytes_from_target();
  [[nodiscard]] std::uint64_t connections() const noexcept { return connections_; }
  [[nodiscard]] std::uint64_t cuts() const noexcept { return cuts_; }
  // Of those after a number of bytes: how many were inside a page of netio over tcp.
  [[nodiscard]] std::uint64_t cuts_inside_a_page() const noexcept { return cuts_inside_a_page_; }

 private:
  struct Direction;
  struct Connection;
  enum class Fault : std::uint8_t { none, cut, lose, damage };

  void run();
  void wake() const;
  void accept();
  void carry(Connection& connection);
  bool fill(Direction& direction);
  bool drain(Direction& direction, bool to_target);
  // Applies the fault armed for this place of the stream. True if the connections were cut.
  bool apply_fault(Direction& direction, std::size_t& bytes);
  void arm(Fault fault, std::uint64_t after);
  void cut_all(End end);

  sockaddr_in target_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  int wake_ = -1;

  std::mutex mutex_;  // guards what follows; held by the thread except while it waits
  std::list<Connection> connections_open_;
  std::vector<int> stranded_;  // connections to the target that nobody is behind
  bool stop_ = false;
  bool held_ = false;
  bool forbidden_ = false;
  std::chrono::milliseconds delay_{0};
  Fault fault_ = Fault::none;
  std::uint64_t fault_after_ = 0;
  End cut_by_ = End::reset;
  std::uint64_t bytes_to_target_ = 0;
  std::uint64_t bytes_from_target_ = 0;

  std::atomic<std::uint64_t> connections_{0};
  std::atomic<std::uint64_t> cuts_{0};
  std::atomic<std::uint64_t> cuts_inside_a_page_{0};
  std::thread thread_;
};

}  // namespace netio::test
