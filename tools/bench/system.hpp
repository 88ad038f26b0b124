// The systems that can be measured: which programs are their ends, and what they can do.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/meeting.hpp"

namespace netio::cli {

struct System {
  std::string_view name;
  std::string_view package;  // Debian's, that it is built with; empty: none
  bool one_thread = false;   // an end runs on a core of its own; others keep them all
  bool round_trips = true;   // can be asked for them
  bool many_connections = false;
  bool on_sockets = true;  // runs on tcp addresses
  bool on_fabrics = false;
  bool in_memory = false;  // runs on shm and inproc addresses
  std::size_t message_bytes_min = 8;
};

inline constexpr std::string_view our_name = "netio";
// The bare program that netio is held against.
[[nodiscard]] inline std::string_view floor_name(const Meeting& meeting) noexcept {
  return meeting.on_fabric() ? "fabric" : "raw";
}

// Null if nobody knows it.
[[nodiscard]] const System* find_system(std::string_view name);
[[nodiscard]] std::string system_names();
// The program of its ends: beside this command, or from the path. Empty if it is not there.
[[nodiscard]] std::string program_of(const System& system);
// Throws Failure that says what to install.
[[noreturn]] void refuse_absent(const System& system);

// netio, the peers asked for (or those that fit), each once. Throws Failure for a name that is
// not known, a program that is not there, or a peer that cannot do this there. `skipped` gets a
// line for each peer that nobody asked for by name and is not there.
[[nodiscard]] std::vector<const System*> systems_for(const BenchArguments& arguments,
                                                     const Meeting& meeting,
                                                     std::vector<std::string>& skipped);

}  // namespace netio::cli
