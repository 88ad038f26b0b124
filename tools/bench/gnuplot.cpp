#include "bench/gnuplot.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>

#include <fmt/format.h>

#include "descriptor.hpp"
#include "exit_code.hpp"

namespace netio::cli {

namespace {

bool draws_png(const std::string& file) { return file.ends_with(".png"); }

}  // namespace

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\n') {
      out += R"('."\n".')";
    } else {
      out += c == '\'' ? std::string("''") : std::string(1, c);
    }
  }
  return out + "'";
}

std::string gnuplot_output(const std::string& file, unsigned width, unsigned height) {
  return fmt::format("set terminal {} size {},{} {}\nset output {}\n",
                     draws_png(file) ? "pngcairo" : "svg", width, height,
                     draws_png(file) ? "font 'sans,11'" : "font 'sans,14' background '#ffffff'",
                     quoted(file));
}

void check_plot(const std::string& file) {
  if (!draws_png(file) && !file.ends_with(".svg")) {
    throw Failure(fmt::format("cannot draw into {}", file), "Its name must end in .svg or .png.",
                  ExitCode::usage);
  }
  if (std::system("gnuplot --version >/dev/null 2>&1") != 0) {
    throw Failure("--plot needs gnuplot, which is not there", "Install gnuplot-nox.");
  }
  if (Descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)).get() < 0) {
    throw Failure(fmt::format("cannot open {} for writing: {}", file, std::strerror(errno)));
  }
}

void draw(const std::string& file, const std::string& script) {
  std::FILE* const gnuplot = ::popen("gnuplot", "w");
  if (gnuplot == nullptr) {
    throw Failure(fmt::format("cannot start gnuplot: {}", std::strerror(errno)));
  }
  const bool written = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
  if (::pclose(gnuplot) != 0 || !written) {
    throw Failure(fmt::format("gnuplot could not draw {}", file));
  }
}

}  // namespace netio::cli
