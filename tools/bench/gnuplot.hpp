// Pictures by gnuplot, which is not part of netio.
#pragma once

#include <string>

namespace netio::cli {

// Before hours are spent measuring. Throws Failure: no gnuplot, or a kind of file it cannot draw.
void check_plot(const std::string& file);
// In single quotes, in which gnuplot takes everything as it is but the quote itself and the end of
// a line.
[[nodiscard]] std::string quoted(const std::string& text);
// Says where the picture goes, by the name of the file, and how large it is.
[[nodiscard]] std::string gnuplot_output(const std::string& file, unsigned width, unsigned height);
// Runs the script, which has gnuplot_output(file). Throws Failure.
void draw(const std::string& file, const std::string& script);

}  // namespace netio::cli
