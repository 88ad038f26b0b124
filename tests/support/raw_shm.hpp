// A Unix socket, a board and memory without netio behind them: what evil peers at shm addresses are
// played with. Everything is written as it is told. One thread. Throws std::system_error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.hpp"
#include "memory/shared_memory.hpp"
#include "support/raw_tcp.hpp"
#include "transport/shm/board.hpp"

namespace netio::test {

// A memfd of that many bytes, zeros, with these seals (fcntl F_ADD_SEALS).
inline constexpr int sound_seals = -1;  // all that a sound peer sets
[[nodiscard]] detail::FileDescriptor memory_of(std::size_t bytes, int seals = sound_seals,
                                               bool allocated = true);

class RawShm {
 public:
  static constexpr std::size_t memory_bytes = std::size_t{1} << 20U;

  // Connects to "shm://name" or "shm:///path", with a board and memory that are sound.
  explicit RawShm(std::string_view address);
  // Takes a connection.
  explicit RawShm(detail::FileDescriptor socket);

  // One message with these descriptors, which stay the caller's. False if it is not taken.
  bool send(std::span<const std::byte> bytes, std::span<const int> passed = {});
  bool send(std::string_view text, std::span<const int> passed = {}) {
    return send(std::as_bytes(std::span(text)), passed);
  }
  // A hello, with everything that goes with it. Who connected says it once more when it is
  // answered, and then where it stands.
  bool greet(std::span<const std::byte> hello) {
    if (connected_) greeting_.assign(hello.begin(), hello.end());
    return send(hello, descriptors());
  }
  // Says where it stands, to a peer that has answered.
  void confirm() { post(confirm_page(nonce_)); }
  // Board, memory, lifeline.
  [[nodiscard]] std::array<int, 3> descriptors() const;

  // The peer has answered with a hello, and its board can be read.
  [[nodiscard]] bool answered();
  [[nodiscard]] bool ended();
  void close() { socket_.reset(); }
  [[nodiscard]] int fd() const { return socket_.get(); }

  [[nodiscard]] detail::ShmBoard& ours() { return *ours_; }
  [[nodiscard]] const detail::ShmBoard& theirs() const { return *theirs_; }
  [[nodiscard]] std::span<std::byte> memory() const { return memory_.bytes(); }

  // A page, header and all, into the next slot: in it, if it is short enough, else in our memory.
  void post(std::span<const std::byte> page);
  // The same at any place, and with any number.
  void post_at(std::span<const std::byte> page, std::uint64_t place, std::uint64_t number);
  [[nodiscard]] detail::ShmSlot& next_slot() { return ours_->slots[sent_ % detail::shm_slots]; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  // Wakes the peer, whether it sleeps or not.
  void ring() const;

  // How many of the peer's slots are there to be read, and the number of the page in each.
  [[nodiscard]] std::uint64_t waiting() const;
  [[nodiscard]] std::uint64_t page_in(std::uint64_t slot) const;

 private:
  detail::FileDescriptor socket_;
  bool connected_ = false;
  std::uint64_t nonce_ = 0;
  std::vector<std::byte> greeting_;
  detail::SharedMemory board_;
  detail::SharedMemory memory_;
  std::array<detail::FileDescriptor, 2> lifeline_;
  detail::FileDescriptor their_lifeline_;
  std::optional<detail::SharedMemory> their_board_;
  detail::ShmBoard* ours_ = nullptr;
  const detail::ShmBoard* theirs_ = nullptr;
  std::uint64_t sent_ = 0;
  std::size_t used_bytes_ = 0;
  bool ended_ = false;
};

// A Unix socket of any type at a "shm://" address, "*" excluded.
class RawShmListener {
 public:
  explicit RawShmListener(std::string address, int type);
  [[nodiscard]] const std::string& address() const { return address_; }
  // A connection that waits, if there is one.
  std::unique_ptr<RawShm> accept();

 private:
  std::string address_;
  detail::FileDescriptor socket_;
};

}  // namespace netio::test
