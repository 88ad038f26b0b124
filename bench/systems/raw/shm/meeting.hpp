// Where two ends meet: a Unix socket of an abstract name, over which they pass memory and bells.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "systems/raw/shm/bell.hpp"
#include "systems/raw/shm/memory.hpp"

namespace netio::bench::raw::shm {

struct Peer {
  Memory memory;
  Bell bell;  // the other end's
};

class Listener {
 public:
  // These throw std::system_error.
  explicit Listener(const std::string& name);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // So many, in the order in which they come. Fewer if `stop` was told first.
  [[nodiscard]] std::vector<Peer> accept(std::size_t count, const Bell& ours,
                                         const StopEvent& stop) const;

 private:
  int fd_;
};

// With memory of our own. Throws std::system_error.
[[nodiscard]] Peer connect_to(const std::string& name, std::size_t ring_bytes, const Bell& ours);

}  // namespace netio::bench::raw::shm
