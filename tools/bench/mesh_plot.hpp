// Heat maps of a mesh, drawn by gnuplot: for each system the rate of each pair, and how it varied
// over the time of the last round.
#pragma once

#include <string>

#include "bench/mesh_results.hpp"

namespace netio::cli {

// Of at least one round. Throws Failure.
void plot_mesh(const std::string& file, const MeshResults& results);

}  // namespace netio::cli
