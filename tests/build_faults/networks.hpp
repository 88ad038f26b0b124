// A host for each member: a network namespace with an address of its own, and a cable to a switch
// that joins all. A cable can be pulled, and two members can be kept from each other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <sys/types.h>

namespace netio::test {

class Networks {
 public:
  // To be called while this process has one thread. False if this machine lets no process have
  // networks of its own, or has no commands for them.
  bool begin();
  [[nodiscard]] static std::string address_of(std::uint32_t host);
  // As start_child(), on a host of this number, from 1 on.
  [[nodiscard]] pid_t start_child_on(std::uint32_t host, const std::function<int()>& life);
  // Nothing gets to the host or from it.
  void pull_cable(std::uint32_t host) const;
  void plug_in(std::uint32_t host) const;
  // Nothing gets from one host to the other, so that no connection between them lives.
  void part(std::uint32_t host, std::uint32_t other) const;
  void join(std::uint32_t host, std::uint32_t other) const;

 private:
  std::map<std::uint32_t, pid_t> hosts_;
};

}  // namespace netio::test
