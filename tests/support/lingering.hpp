// A descriptor whose last close waits: a connection of tcp's that lingers, with bytes that nobody
// takes.
#pragma once

#include <array>
#include <netinet/in.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "base/file_descriptor.hpp"

namespace netio::test {

class Lingering {
 public:
  Lingering() {
    const detail::FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(::bind(listener.get(), address, sizeof at), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), address, &bytes), 0);
    lingers_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(lingers_.get(), address, sizeof at), 0);
    reads_not_.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::array<char, 4096> some{};
    while (::send(lingers_.get(), some.data(), some.size(), MSG_DONTWAIT) > 0) {
    }
    const linger most{1, 30};
    EXPECT_EQ(::setsockopt(lingers_.get(), SOL_SOCKET, SO_LINGER, &most, sizeof most), 0);
  }
  [[nodiscard]] int fd() const { return lingers_.get(); }
  // Whoever else has the descriptor is to close it last. That close waits until its peer has read
  // what is written to it, which does not happen, until the 30 s are over, or for let_go().
  void forget() { lingers_.reset(); }
  void let_go() { reads_not_.reset(); }

 private:
  detail::FileDescriptor lingers_;
  detail::FileDescriptor reads_not_;
};

}  // namespace netio::test
