#include "manual.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "parsed_option.hpp"

namespace netio::cli {

namespace {

// Text as it is, also at the beginning of a line and to be copied from the page.
std::string roff(std::string_view text) {
  std::string result;
  if (text.starts_with('.') || text.starts_with('\'')) result += "\\&";
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '^':
        result += "\\(ha";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }
// "a|b|c" may be broken behind each choice: many do not fit a line.
std::string italic_choices(std::string_view text) {
  std::string broken;
  for (const char c : italic(text)) {
    broken += c;
    if (c == between_choices) broken += "\\:";
  }
  return broken;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

// "netio send" is the page netio-send.
std::string page_name(std::string name) {
  std::ranges::replace(name, ' ', '-');
  return name;
}

// The pages of the commands, or on one of these that of all. (`netio bench` has one page.)
std::string see_also(const CommandTree& command) {
  if (command.name.find(' ') != std::string::npos) return bold("netio") + "(1)\n";
  std::string text;
  for (const CommandTree& one : command.commands) {
    if (!text.empty()) text += ",\n";
    text += bold(page_name(one.name)) + "(1)";
  }
  return text + "\n";
}

// ".SH" in a page of its own, ".SS" within a page of several.
class Chapter {
 public:
  Chapter(const CommandTree& command, std::string_view heading)
      : command_(command), heading_(heading) {}

  [[nodiscard]] std::string text() {
    synopsis();
    commands();
    options("ARGUMENTS", command_.positionals, {});
    options("OPTIONS", command_.options, {});
    std::vector<std::string> groups;
    for (const OptionEntry& option : command_.options) {
      if (option.group.empty() || std::ranges::count(groups, option.group) != 0) continue;
      groups.push_back(option.group);
      options(upper(option.group), command_.options, option.group);
    }
    footer();
    return std::move(text_);
  }

 private:
  void head(std::string_view title) { text_ += fmt::format("{} {}\n", heading_, roff(title)); }

  void synopsis() {
    head("SYNOPSIS");
    text_ += bold(command_.name) + " [" + italic("OPTIONS") + "]";
    for (const OptionEntry& one : command_.positionals) {
      const std::string name = italic(one.names.front()) + (one.repeats ? " ..." : "");
      text_ += one.required ? " " + name : fmt::format(" [{}]", name);
    }
    if (!command_.commands.empty()) text_ += " " + italic("COMMAND") + " ...";
    text_ += "\n";
  }

  void entry(const std::string& term, std::string_view description) {
    text_ += fmt::format(".TP\n{}\n{}\n", term, roff(description));
  }

  void commands() {
    if (command_.commands.empty()) return;
    head("COMMANDS");
    for (const CommandTree& one : command_.commands) entry(bold(one.word), one.description);
  }

  void options(std::string_view title, const std::vector<OptionEntry>& list,
               const std::string& group) {
    const auto belongs = [&group](const OptionEntry& one) { return one.group == group; };
    if (std::ranges::none_of(list, belongs)) return;
    head(title);
    for (const OptionEntry& one : list) {
      if (!belongs(one)) continue;
      std::string term;
      for (const std::string& name : one.names) term += (term.empty() ? "" : ", ") + bold(name);
      if (!one.type.empty()) term += " " + italic_choices(one.type);
      entry(term, one.description);
    }
  }

  // Lines that begin with a space stand as they are, the others are paragraphs.
  void footer() {
    std::istringstream lines(command_.footer);
    bool verbatim = false;
    bool fresh = true;  // at the beginning of a paragraph
    bool notes = false;
    for (std::string line; std::getline(lines, line);) {
      const bool indented = line.starts_with(' ');
      if (verbatim && !indented) text_ += ".fi\n";
      if (!verbatim && indented) text_ += ".nf\n";
      verbatim = indented;
      if (line.empty()) {
        fresh = true;
        continue;
      }
      if (line == "Examples:") {
        head("EXAMPLES");
        continue;
      }
      if (fresh && !indented) begin_paragraph(line, notes);
      fresh = false;
      text_ += roff(line) + "\n";
    }
    if (verbatim) text_ += ".fi\n";
  }

  void begin_paragraph(std::string& line, bool& notes) {
    constexpr std::string_view exit_codes = "Exit codes: ";
    if (line.starts_with(exit_codes)) {
      head("EXIT STATUS");
      line.erase(0, exit_codes.size());
    } else if (!std::exchange(notes, true)) {
      head("NOTES");
    } else {
      text_ += ".PP\n";
    }
  }

  const CommandTree& command_;
  std::string_view heading_;
  std::string text_;
};

}  // namespace

std::string manual_page(const CommandTree& command) {
  const std::string title = page_name(command.name);
  std::string_view description = command.description;
  if (description.starts_with(title + " ")) description.remove_prefix(title.size() + 1);
  // Neither hyphens nor filled lines: names are to be found and copied.
  std::string text =
      fmt::format(".TH {} 1 \"\" \"netio {}\" \"netio\"\n.nh\n.ad l\n.SH NAME\n{} \\- {}\n",
                  roff(upper(title)), NETIO_VERSION, roff(title), roff(description));
  const auto all = all_commands(command);
  text += Chapter(command, ".SH").text();
  for (std::size_t i = 1; i < all.size(); ++i) {
    text += fmt::format(".SH {}\n{}\n", roff(upper(all[i]->name)), roff(all[i]->description));
    text += Chapter(*all[i], ".SS").text();
  }
  return text + ".SH SEE ALSO\n" + see_also(command);
}

}  // namespace netio::cli
