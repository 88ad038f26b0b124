#include "progress.hpp"

#include <algorithm>
#include <cmath>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "standard_error.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

constexpr std::chrono::milliseconds terminal_period{100};

std::size_t terminal_columns() noexcept {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string bar(double fraction) {
  static constexpr std::size_t cells = 24;
  const auto full = static_cast<std::size_t>(std::lround(fraction * cells));
  return fmt::format("[{}{}] {:3.0f}%", std::string(full, '#'), std::string(cells - full, '.'),
                     std::floor(fraction * 100));
}

}  // namespace

Progress::Progress(Loop& loop, std::string prefix, bool quiet,
                   std::function<ProgressSample()> sample)
    : loop_(loop),
      prefix_(std::move(prefix)),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      mute_(quiet),
      sample_(std::move(sample)),
      notes_(loop,
             [this](std::string_view text) {
               clear_line();
               say("{}: {}\n", prefix_, text);
             }),
      timer_(loop, [this] { show(); }) {}

void Progress::start() {
  if (mute_) return;
  started_ = shown_ = loop_.now();
  if (terminal_) {
    timer_.start_periodic(terminal_period);
  } else {
    timer_.start_periodic(period_);
  }
}

void Progress::finish() noexcept {
  timer_.stop();
  notes_.finish();
  clear_line();
}

void Progress::note(std::string_view text) {
  if (!quiet_) notes_.note(text);
}

void Progress::error(std::string_view text, std::string_view advice) {
  clear_line();
  say_error(prefix_, text, advice);
}

void Progress::show() {
  const std::chrono::nanoseconds now = loop_.now();
  const ProgressSample sample = sample_();
  const std::string text = line(sample, seconds_of(now - started_), seconds_of(now - shown_));
  last_ = sample;
  shown_ = now;
  if (!terminal_) {
    say("{}\n", text);
  } else {
    // The last column stays empty: some terminals wrap as soon as it is written.
    const std::size_t columns = std::max<std::size_t>(terminal_columns(), 2) - 1;
    say("\r{}\x1b[K", text.substr(0, columns));
    line_shown_ = true;
  }
}

void Progress::clear_line() noexcept {
  if (!std::exchange(line_shown_, false)) return;
  say_text("\r\x1b[K");
}

std::string Progress::line(const ProgressSample& sample, double elapsed_seconds,
                           double interval_seconds) const {
  const double interval = std::max(interval_seconds, 1e-3);
  const double messages = static_cast<double>(sample.messages - last_.messages) / interval;
  const double bytes = static_cast<double>(sample.bytes - last_.bytes) / interval;
  std::string text = fmt::format("{:>8}  ", duration_text(elapsed_seconds));
  if (sample.fraction) {
    const double fraction = std::clamp(*sample.fraction, 0.0, 1.0);
    text += bar(fraction) + "  ";
    // Too early to tell, it tells nonsense.
    if (fraction > 0.01 && fraction < 1 && sample.waits_for.empty()) {
      text += fmt::format("{} left  ", duration_text(elapsed_seconds * (1 - fraction) / fraction));
    }
  }
  text += scaled(static_cast<double>(sample.messages),
                 fmt::format("{}{}", sample.noun, sample.messages == 1 ? "" : "s"));
  if (sample.has_bytes) text += ", " + scaled(static_cast<double>(sample.bytes), "B");
  text += "  ";
  if (!sample.waits_for.empty()) return text.append(sample.waits_for);
  text += scaled(messages, fmt::format("{}s/s", sample.noun));
  if (sample.has_bytes) {
    text += fmt::format(", {} ({})", scaled(bytes, "B/s"), scaled(bytes * 8, "b/s"));
  }
  return text + (sample.more.empty() ? "" : "  ") + sample.more;
}

}  // namespace netio::cli
