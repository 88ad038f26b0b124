// What shells complete, and the manual: run by the programs they are made for.
#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"

namespace netio::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const std::vector<Words> commands = {
    {},
    {"send"},
    {"recv"},
    {"pub"},
    {"sub"},
    {"request"},
    {"reply"},
    {"relay"},
    {"echo"},
    {"ping"},
    {"build"},
    {"build", "readout"},
    {"build", "builder"},
    {"build", "manager"},
    {"info"},
    {"completion"},
    {"man"},
    {"bench"},
    {"bench", "throughput"},
    {"bench", "latency"},
    {"bench", "loan"},
    {"bench", "connections"},
    {"bench", "fanout"},
    {"bench", "surface"},
    {"bench", "copies"},
    {"bench", "relay"},
    {"bench", "build"},
    {"bench", "mesh"},
    {"bench", "scan"},
    {"bench", "breakdown"},
    {"bench", "idle"},
    {"bench", "serve"},
};

std::string output_of(Process::Options options) {
  Process process(std::move(options));
  EXPECT_EQ(process.wait(), 0) << process.err();
  EXPECT_EQ(process.err(), "");
  return process.out();
}

Words split_lines(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// What bash offers for the last of these words, of which "=" is one.
Words offered(const Words& line) {
  Process::Options options;
  options.arguments = {"/bin/bash", "-c",
                       "source <(\"$0\" completion bash)\n"
                       "COMP_WORDS=(netio \"$@\") COMP_CWORD=$#\n"
                       "_netio\n"
                       "[ ${#COMPREPLY[@]} = 0 ] || printf '%s\\n' \"${COMPREPLY[@]}\"",
                       netio_program()};
  options.arguments.insert(options.arguments.end(), line.begin(), line.end());
  return split_lines(output_of(std::move(options)));
}

// The long options that --help lists.
Words listed_options(Words command) {
  command.emplace_back("--help");
  Words names;
  for (const std::string& line : split_lines(output_of(netio_command(command)))) {
    if (!line.starts_with("  -")) continue;
    std::istringstream list(line.substr(2, line.find(' ', 2) - 2));
    for (std::string name; std::getline(list, name, ',');) {
      if (name.starts_with("--")) names.push_back(name);
    }
  }
  return names;
}

bool missing(const char* program) {
  const std::string folders[] = {"/usr/bin/", "/bin/"};
  return std::ranges::none_of(folders, [program](const std::string& folder) {
    return ::access((folder + program).c_str(), X_OK) == 0;
  });
}

TEST(CliCompletion, bash_completes_commands_options_and_what_they_may_be) {
  EXPECT_THAT(offered({"se"}), ElementsAre("send"));
  EXPECT_THAT(offered({""}), Contains("ping"));
  EXPECT_THAT(offered({""}), Not(Contains("--help")));
  EXPECT_THAT(offered({"bench", "la"}), ElementsAre("latency"));
  EXPECT_THAT(offered({"send", "--li"}), ElementsAre("--linger"));
  EXPECT_THAT(offered({"bench", "fanout", "--res"}), ElementsAre("--resolved"));
  EXPECT_THAT(offered({"bench", "mesh", "--both"}), ElementsAre("--both-ways"));
  EXPECT_THAT(offered({"bench", "scan", "--parameter", "sl"}),
              UnorderedElementsAre("slot_bytes", "slots"));
  EXPECT_THAT(offered({"send", "--mode", ""}), UnorderedElementsAre("buffered", "unbuffered"));
  EXPECT_THAT(offered({"sub", "tcp://a:1", "--policy", "=", "drop_"}),
              UnorderedElementsAre("drop_new", "drop_old"));
  EXPECT_THAT(offered({"recv", "--wait", "="}), UnorderedElementsAre("sleep", "spin", "adaptive"));
  EXPECT_THAT(offered({"completion", ""}), UnorderedElementsAre("bash", "zsh"));
  EXPECT_THAT(offered({"man", "re"}), UnorderedElementsAre("recv", "request", "reply", "relay"));
  EXPECT_THAT(offered({"request", "--conc"}), ElementsAre("--concurrent"));
  EXPECT_THAT(offered({"send", "--size", ""}), IsEmpty());
  EXPECT_THAT(offered({"recv", "t"}), ElementsAre("tcp://"));
  EXPECT_THAT(offered({"pub", ""}), IsSupersetOf({"tcp://", "shm://", "verbs://", "ofi+tcp://"}));
  EXPECT_THAT(offered({"ping", "in"}), IsEmpty()) << "inproc is within a process";
  EXPECT_THAT(offered({"bench", "latency", "in"}), ElementsAre("inproc://"));
}

TEST(CliCompletion, bash_completes_files_where_one_is_wanted) {
  const Folder folder;
  const std::string file = folder.write("a file", "");
  const std::string begun = folder.path("a");
  EXPECT_THAT(offered({"recv", "tcp://a:1", "-o", begun}), ElementsAre(file));
  EXPECT_THAT(offered({"recv", "--json", "=", begun}), ElementsAre(file));
  EXPECT_THAT(offered({"send", "tcp://a:1", begun}), ElementsAre(file));
  EXPECT_THAT(offered({"bench", "latency", "--percentiles", begun}), IsEmpty());
  std::string path = folder.path("");
  path.pop_back();
  EXPECT_THAT(offered({"bench", "latency", "--percentiles", path}), ElementsAre(path));
}

TEST(CliCompletion, bash_knows_every_option_that_help_lists) {
  for (const Words& command : commands) {
    Words line = command;
    line.emplace_back("--");
    const Words known = offered(line);
    const Words listed = listed_options(command);
    EXPECT_GE(listed.size(), 1U);
    for (const std::string& option : listed) {
      EXPECT_THAT(known, Contains(option)) << ::testing::PrintToString(command);
    }
  }
}

TEST(CliCompletion, zsh_takes_it) {
  if (missing("zsh")) GTEST_SKIP() << "needs zsh";
  const Folder folder;
  const std::string script =
      folder.write("_netio", output_of(netio_command({"completion", "zsh"})));
  Process::Options parse;
  parse.arguments = {"/bin/sh", "-c", "exec zsh -f -n \"$0\"", script};
  EXPECT_EQ(output_of(std::move(parse)), "");
  // Sourced it is known, and found in fpath it is loaded.
  Process::Options load;
  load.arguments = {"/bin/sh", "-c",
                    "exec zsh -f -c 'autoload -U compinit; compinit -u -D; source $1/_netio;"
                    " print $_comps[netio] ${+functions[_netio_bench_latency]};"
                    " fpath=($1 $fpath); unset \"_comps[netio]\"; compinit -u -D;"
                    " print $_comps[netio]' zsh \"$0\"",
                    folder.path("")};
  EXPECT_EQ(output_of(std::move(load)), "_netio 1\n_netio\n");
}

// A shell on a terminal of its own is asked to complete what stands before the cursor.
TEST(CliCompletion, zsh_completes_schemes) {
  if (missing("zsh")) GTEST_SKIP() << "needs zsh";
  const Folder folder;
  (void)folder.write("_netio", output_of(netio_command({"completion", "zsh"})));
  const std::string script = folder.write(
      "ask.zsh",
      "zmodload zsh/zpty\n"
      "zpty shell \"zsh -f -i\"\n"
      "zpty -w shell \"PS1=; fpath=($1 \\$fpath); autoload -U compinit; compinit -u -D\"\n"
      "zpty -w shell 'print re''ady'\n"
      "zpty -r shell heard '*ready*'\n"
      "zpty -w -n shell $'netio recv tc\\t'\n"
      "zpty -r shell heard '*tcp://*'\n"
      "print -r -- ok\n");
  Process::Options options;
  options.arguments = {"/bin/sh", "-c", "exec timeout 20 zsh -f \"$0\" \"$1\"", script,
                       folder.path("")};
  Process zsh(std::move(options));
  EXPECT_EQ(zsh.wait(), 0) << zsh.err();
  EXPECT_EQ(zsh.out(), "ok\n");
}

TEST(CliManual, every_page_is_set_without_a_warning) {
  if (missing("groff")) GTEST_SKIP() << "needs groff (groff-base)";
  const Folder folder;
  for (const Words& command : commands) {
    Words words = command;
    words.insert(words.begin(), "man");
    Process::Options groff;
    groff.arguments = {"/bin/sh", "-c", "exec groff -man -Tutf8 -ww -z \"$0\"",
                       folder.write("page.1", output_of(netio_command(words)))};
    EXPECT_EQ(output_of(std::move(groff)), "") << ::testing::PrintToString(command);
  }
}

TEST(CliManual, a_page_has_all_that_help_has) {
  for (const Words& command : commands) {
    Words words = command;
    words.insert(words.begin(), "man");
    const std::string page = output_of(netio_command(words));
    EXPECT_TRUE(page.starts_with(".TH NETIO")) << page.substr(0, 40);
    for (const char* const title : {".SH NAME\n", ".SH SYNOPSIS\n", ".SH OPTIONS\n"}) {
      EXPECT_THAT(page, HasSubstr(title));
    }
    EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS\n0 ")) << ::testing::PrintToString(command);
    for (std::string option : listed_options(command)) {
      for (std::size_t at = 0; (at = option.find('-', at)) != std::string::npos; at += 2) {
        option.insert(at, 1, '\\');
      }
      EXPECT_THAT(page, HasSubstr("\\fB" + option + "\\fR"));
    }
  }
}

TEST(CliManual, the_page_of_netio_has_all_its_commands) {
  const std::string page = output_of(netio_command({"man"}));
  EXPECT_THAT(page, HasSubstr("\n.SH NAME\nnetio \\- moves messages "));
  EXPECT_THAT(page, HasSubstr("\n.SH NETIO BENCH FANOUT\n"));
  EXPECT_THAT(page, HasSubstr("\n.SS EXIT STATUS\n0 every message was acknowledged"));
  // As one would type it.
  EXPECT_THAT(page, HasSubstr("\n  netio recv \\(aqtcp://*:5555\\(aq \\-\\-verify"));
}

}  // namespace
}  // namespace netio::test
