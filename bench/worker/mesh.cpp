#include "worker/mesh.hpp"

#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace netio::bench {

MeshTally::MeshTally(Worker& worker) : worker_(worker), counts_(worker.options.connections) {
  worker.on_snap([this](nlohmann::ordered_json& said) { said["from"] = by_node(); });
}

std::vector<std::uint64_t> MeshTally::by_node() const {
  const MeshOptions& mesh = worker_.options.mesh;
  std::vector<std::uint64_t> messages(mesh.nodes);
  for (std::size_t connection = 0; connection < counts_.size(); ++connection) {
    const std::size_t node = connection / mesh.streams;
    if (node < mesh.nodes) messages[node] += counts_[connection].load(std::memory_order_relaxed);
  }
  return messages;
}

Options options_of_node(const Options& options, std::uint32_t number,
                        const std::vector<std::uint16_t>& ports) {
  Options node = options;
  if (!node.name.empty()) node.name.append("-").append(std::to_string(number));
  if (!node.mesh.hosts.empty()) node.host = node.mesh.hosts.at(number);
  if (!ports.empty()) node.port = ports.at(number);
  return node;
}

std::vector<std::uint16_t> exchange_ports(const Options& options, std::uint16_t port) {
  std::cout << "{\"port\": " << port << "}" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  std::istringstream words(line);
  std::vector<std::uint16_t> ports;
  for (std::uint16_t other = 0; words >> other;) ports.push_back(other);
  if (ports.size() != options.mesh.nodes) {
    throw std::runtime_error("was not told the ports of all nodes");
  }
  return ports;
}

}  // namespace netio::bench
