// A network namespace of the worker's own, in which it has one address.
#pragma once

#include <string>
#include <vector>

namespace netio::bench {

// Enters a new one, and says {"namespace": its process id} in a line. The command then gives it the
// interface `eth0`, and says so in a line. The interface gets this IPv4 address in a network of 24
// bits. Throws std::system_error. For a process with one thread.
// `neighbors`: others that did the same, whose hardware addresses need not be asked for then. The
// kernel keeps at most 1,024 that were asked for (net.ipv4.neigh.default.gc_thresh3), of all
// network namespaces together: as many as 32 hosts have that talk to each other.
void enter_own_network(const std::string& address, const std::vector<std::string>& neighbors = {});

}  // namespace netio::bench
