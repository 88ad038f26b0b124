// What the programs have in common that play random schedules: their options, the seed that is
// named when a schedule hangs or ends the process, progress, and the end. One thread, one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace netio::test {

class Program {
 public:
  // `schedules` are played if no option says how many.
  Program(const char* name, std::uint64_t schedules);
  virtual ~Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The exit status: 0 nothing is wrong, 1 something is. Wrong usage exits with 2.
  int run(int argc, char** argv);

 protected:
  using Names = std::span<const std::string_view>;

  virtual void usage(std::FILE* to) const = 0;
  // An option that only this program has; `value` is what stands behind it. False: there is none
  // of this name.
  virtual bool take(const std::string& option, const std::function<std::string()>& value) = 0;
  // Plays the schedule of this seed: what is wrong, in a sentence; empty if nothing is.
  virtual std::string play(std::uint64_t seed) = 0;
  // Of the last schedule: the same each time it is played.
  [[nodiscard]] virtual std::uint64_t digest() const = 0;
  // Of all schedules, in lines.
  [[nodiscard]] virtual std::string tally() const = 0;
  // This schedule failed: prints what helps beyond that.
  virtual void failed(std::uint64_t seed, const std::string& what) = 0;

  [[noreturn]] void wrong_usage(const std::string& what) const;
  [[nodiscard]] std::uint64_t number(const std::string& option, const std::string& text) const;
  // The place of a name among these; the bits of several with commas between them. There is no
  // other `kind`.
  [[nodiscard]] std::size_t named(Names names, const char* kind, std::string_view name) const;
  [[nodiscard]] std::uint32_t bits(Names names, const char* kind, std::string_view text) const;
  static void print(std::FILE* to, const char* what, Names names);
  // The command that shows this schedule: with the parts that are left out, and more options.
  [[nodiscard]] std::string command(std::uint64_t seed, Names parts, std::uint32_t without,
                                    const std::string& options) const;

  bool trace_ = false;

 private:
  void parse(int argc, char** argv);
  int play_all();

  const char* const name_;
  std::uint64_t schedules_;
  double seconds_ = 0;
  std::uint64_t seed_ = 0;  // of the first
  bool seed_given_ = false;
  bool digests_ = false;
};

}  // namespace netio::test
