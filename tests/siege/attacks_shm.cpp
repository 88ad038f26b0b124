// Attacks by what is shared and passed: names, descriptors, memory and rings.
#include <algorithm>
#include <array>
#include <memory>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "siege/crowd.hpp"
#include "support/raw_shm.hpp"
#include "transport/shm/unix_socket.hpp"

namespace netio::test {

namespace {

using detail::FileDescriptor;
using detail::ShmBoard;
using detail::WirePattern;
using Clock = Attack::Clock;
using Peer = std::unique_ptr<RawShm>;

void say_nothing(const std::string& address, Clock::time_point until) {
  crowd<FileDescriptor>(
      500, until,
      [&] {
        const auto to =
            detail::UnixAddress::of("connect", detail::parse_url(address, detail::UrlForm::name));
        FileDescriptor fd = detail::make_unix_socket();
        (void)::connect(fd.get(), to.get(), to.bytes);  // or not yet
        return fd;
      },
      [](FileDescriptor& fd) {
        std::byte none{};
        const ssize_t got = ::recv(fd.get(), &none, 1, MSG_DONTWAIT);
        return got < 0 && errno == EAGAIN;
      });
}

// Lets itself be let in; false once it was ended.
bool go_in(RawShm& raw) { return raw.answered() || !raw.ended(); }

// Sleeps again and again, and reads no ring.
void be_deaf(const std::string& address, Clock::time_point until) {
  struct Deaf {
    Peer raw;
    std::uint32_t sleep = ShmBoard::asleep | ShmBoard::wants_room;
  };
  crowd<Deaf>(
      8, until,
      [&] {
        auto raw = std::make_unique<RawShm>(address);
        raw->greet(hello_of(strangers_hello(WirePattern::push)));
        return Deaf{std::move(raw)};
      },
      [](Deaf& deaf) {
        if (!deaf.raw->answered()) return !deaf.raw->ended();
        for (int i = 0; i < 16; ++i) {
          deaf.raw->ours().sleep.store(deaf.sleep += ShmBoard::next_sleep);
          deaf.raw->ring();
        }
        return true;
      });
}

// A connection whose last close waits until its peer has read what is written to it.
FileDescriptor lingering(std::vector<FileDescriptor>& readers) {
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  FileDescriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(listener.get(), address, sizeof at) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), address, &bytes) != 0 ||
      ::connect(made.get(), address, sizeof at) != 0) {
    return made;
  }
  readers.emplace_back(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const std::array<char, 65536> some{};
  while (::send(made.get(), some.data(), some.size(), MSG_DONTWAIT) > 0) {
  }
  const linger most{1, 5};
  (void)::setsockopt(made.get(), SOL_SOCKET, SO_LINGER, &most, sizeof most);
  return made;
}

void pass_what_lingers(const std::string& address, Clock::time_point until) {
  std::vector<FileDescriptor> readers;
  crowd<Peer>(
      4, until,
      [&] {
        if (readers.size() > 400) readers.clear();
        const FileDescriptor passed = lingering(readers);
        auto raw = std::make_unique<RawShm>(address);
        raw->send("anything", std::array{passed.get()});
        return raw;
      },
      [](Peer& raw) { return !raw->ended(); });
}

// An arena of 1 TiB each, of which nothing is used.
void pass_terabytes(const std::string& address, Clock::time_point until) {
  const FileDescriptor arena = memory_of(detail::shm_memory_bytes_max, sound_seals, false);
  crowd<Peer>(
      126, until,
      [&] {
        auto raw = std::make_unique<RawShm>(address);
        std::array<int, 3> passed = raw->descriptors();
        passed[1] = arena.get();
        raw->send(hello_of(strangers_hello(WirePattern::push)), passed);
        return raw;
      },
      [](Peer& raw) { return go_in(*raw) && !raw->ended(); });
}

// Takes messages, goes, and keeps the end of the lifeline that says that it reads them still.
void take_and_hold(const std::string& address, Clock::time_point until) {
  std::vector<Peer> holders;
  crowd<Peer>(
      4, until,
      [&] {
        auto raw = std::make_unique<RawShm>(address);
        raw->greet(hello_of(strangers_hello(WirePattern::pull)));
        return raw;
      },
      [&](Peer& raw) {
        if (!raw->answered()) return !raw->ended();
        if (raw->waiting() < 100) return true;
        raw->close();
        if (holders.size() > 100) holders.erase(holders.begin());
        holders.push_back(std::move(raw));
        return false;
      });
}

constexpr const char* shm = "shm://*";
constexpr std::array attacks{
    Attack{"silent-shm", "500 connections that say nothing, renewed", shm, Victim::recv, "256", 64,
           say_nothing},
    Attack{"deaf", "8 senders that sleep again and again and read no ring", shm, Victim::recv,
           "256", 64, be_deaf},
    Attack{"lingering", "4 senders that pass descriptors whose close waits, renewed", shm,
           Victim::recv, "256", 64, pass_what_lingers},
    Attack{"terabytes", "126 senders that pass arenas of 1 TiB", shm, Victim::recv, "256", 128,
           pass_terabytes},
    Attack{"graves", "receivers that take messages, go, and hold on to them", shm, Victim::send,
           "256", 128, take_and_hold},
};

}  // namespace

std::span<const Attack> attacks_in_shared_memory() { return attacks; }

}  // namespace netio::test
