// Standard error, where notes and errors go. Nobody may be reading it: what cannot be written is
// left unsaid, and the work goes on.
#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace netio::cli {

// Each text of up to 4 KiB leaves at once, whole or not at all. Never waits for a reader: what
// finds no room is left out, and how much that was is said when there is room again.
void say_text(std::string_view text) noexcept;

// For the last words of a program: waits for room, a second at most.
void say_at_the_end(std::string_view text) noexcept;

template <typename... Values>
void say(fmt::format_string<Values...> form, Values&&... values) noexcept {
  try {
    say_text(fmt::format(form, std::forward<Values>(values)...));
  } catch (...) {
    say_text("out of memory for a message\n");
  }
}

// "netio send: error: ...", and the advice, if any, on a line of its own. Waits as last words do.
void say_error(std::string_view who, std::string_view cause, std::string_view advice) noexcept;

// Takes the place of closed standard descriptors, which files and sockets would get otherwise, and
// with them what is meant for standard output and error. To be called before anything is opened.
void occupy_standard_descriptors() noexcept;

}  // namespace netio::cli
