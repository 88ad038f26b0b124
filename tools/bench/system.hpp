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
  std::string_view program = {};   // of its ends, behind "bench-"; empty: the name
  std::string_view package = {};   // Debian's, that it is built with; empty: none
  std::string_view built_by = {};  // the command, of those measured only if asked for by name
  std::size_t message_bytes_min = 8;
  bool one_thread = false;        // an end runs on a core of its own; others keep them all
  bool adapts = false;            // knows --wait adaptive
  bool round_trips = true;        // can be asked for them
  bool asks = false;              // has requests, of which many are under way
  bool only_of_requests = false;  // is measured only beside Request and Reply
  bool many_connections = false;
  bool many_connections_on_shm = false;
  bool rings = false;          // on a fabric, writes into a ring of slots
  bool only_of_rings = false;  // is measured only beside netio's ring
  bool meshes = false;         // is a node of a mesh, on tcp addresses
  bool on_sockets = false;     // runs on tcp addresses
  bool on_fabrics = false;
  bool on_shm = false;
  bool on_inproc = false;
  std::string_view policies = {};  // of publishing, those it knows; empty: not measured there
  bool only_of_breakdown = false;  // is no peer
  bool only_of_surface = false;    // is no peer: a Python library, whose ends are a script
  std::string_view sender = {};    // the system that sends to it, one way; empty: itself
  std::string_view no_sleep_on_shm = {};  // why it can only spin there; empty: it can sleep

  [[nodiscard]] constexpr bool is_peer() const noexcept {
    return !only_of_breakdown && !only_of_surface;
  }
};

inline constexpr std::string_view our_name = "netio";
// The same netio, by a Pair instead of Request and Reply.
inline constexpr std::string_view pair_name = "pair";
// The same netio, by messages where it is measured by a ring.
inline constexpr std::string_view messages_name = "messages";
// netio in Python, and what that is held against there.
inline constexpr std::string_view python_name = "python";
inline constexpr std::string_view pyzmq_name = "pyzmq";
// The same netio, which takes the time at the points of a message's way.
inline constexpr std::string_view points_name = "netio-points";
// What netio is held against, and is its own control: the bare program. That has no requests under
// way that belong to each other, so of these it is the Pair.
[[nodiscard]] inline std::string_view floor_name(const Meeting& meeting, bool concurrent) noexcept {
  if (concurrent) return pair_name;
  return meeting.on_fabric() ? "fabric" : "raw";
}

// Null if nobody knows it.
[[nodiscard]] const System* find_system(std::string_view name);
[[nodiscard]] std::string system_names();
// The program of its ends: beside this command, or from the path. Empty if it is not there.
[[nodiscard]] std::string program_of(const System& system);
// What is to be executed for an end with these arguments: a script is run by the python3 of the
// path. The program is empty if that or the script is not there.
struct Invocation {
  std::string program;
  std::vector<std::string> arguments;
};
[[nodiscard]] Invocation command_for(const System& system,
                                     const std::vector<std::string>& arguments);
// Throws Failure that says what to install.
[[noreturn]] void refuse_absent(const System& system);

// netio, the peers asked for (or those that fit and take no command of their own), each once.
// Throws Failure for a name that is not known, a program that is not there, or a peer that cannot
// do this there. `skipped` gets a line for each peer that nobody asked for by name and is not
// there.
[[nodiscard]] std::vector<const System*> systems_for(const BenchArguments& arguments,
                                                     const Meeting& meeting,
                                                     std::vector<std::string>& skipped);

}  // namespace netio::cli
