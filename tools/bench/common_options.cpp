#include "bench/common_options.hpp"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "bench/system.hpp"
#include "parsed_option.hpp"
#include "units.hpp"

namespace netio::cli {

void add_common(CLI::App& app, BenchArguments& bench) {
  app.add_option(
         "ADDRESS", bench.address,
         "Where the ends meet (tcp://127.0.0.1:0), on a fabric verbs:// or ofi+PROVIDER://, in "
         "shared memory shm://NAME, two threads inproc://NAME; with --remote an address of that "
         "host")
      ->type_name("");
  add_wait(app, bench.wait);
  add_parsed_to(app, "--seconds", "TIME", parse_duration, bench.seconds,
                "How long each system runs in each round (2s)");
  app.add_option("--remote", bench.remote,
                 "The other end runs where `netio bench serve` listens, such as tcp://host:5600")
      ->type_name("ADDRESS");
  add_result(app, bench.report);
}

void add_mode(CLI::App& app, BenchArguments& bench) {
  add_choice_to(app, "--mode", modes(), bench.mode,
                "buffered or unbuffered (throughput: buffered; latency: unbuffered)");
}

void add_comparison(CLI::App& app, BenchArguments& bench, const std::string& peers) {
  app.add_option("--rounds", bench.rounds, "Rounds; in each, every system has its turn (5)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  add_parsed(
      app, "--against", "LIST",
      [](const std::string& text) { return CLI::detail::split(text, ','); },
      [&bench](std::vector<std::string> names) {
        if (names == std::vector<std::string>{"none"}) names.clear();
        bench.against = std::move(names);
      },
      peers);
  app.add_flag_callback(
      "--no-check", [&bench] { bench.check = false; },
      "Leave out the round in which every byte is checked");
}

void add_sizes(CLI::App& app, BenchArguments& bench, const std::string& defaults) {
  add_parsed(
      app, "--size", "LIST",
      [](const std::string& text) {
        std::vector<std::size_t> sizes;
        for (const std::string& part : CLI::detail::split(text, ',')) {
          const std::uint64_t bytes = parse_bytes(part);
          if (bytes < 8 || bytes > (std::uint64_t{1} << 30U)) {
            throw std::invalid_argument("a measured message has 8 bytes to 1GiB, not " + part);
          }
          sizes.push_back(static_cast<std::size_t>(bytes));
        }
        return sizes;
      },
      [&bench](std::vector<std::size_t> sizes) { bench.message_bytes = std::move(sizes); },
      "Bytes of a message; several, such as 64,1KiB,64KiB, are measured one after the other " +
          defaults);
}

void add_plot(CLI::App& app, BenchArguments& bench) {
  app.add_option("--plot", bench.plot, "Draw the result into FILE (.svg or .png; needs gnuplot)")
      ->type_name("FILE");
}

void add_window(CLI::App& app, BenchArguments& bench) {
  app.add_option("--window", bench.window,
                 "Messages under way on a fabric (as each system chooses; fabric: 64, of large "
                 "messages 4 MiB)")
      ->check(CLI::Range(1, 1 << 15))
      ->type_name("N");
}

void add_rate(CLI::App& app, BenchArguments& bench, const std::string& unit,
              const std::string& description) {
  add_parsed(
      app, "--rate", "RATE", parse_rate,
      [&bench, unit](const Rate& rate) {
        if (rate.in_bytes) throw CLI::ValidationError("--rate", "is in " + unit + " here");
        bench.rate = rate.per_second;
      },
      description);
}

void add_csv(CLI::App& app, BenchArguments& bench, const char* description) {
  app.add_option("--csv", bench.csv, description)->type_name("FILE");
}

void add_wire(CLI::App& app, BenchArguments& bench, const char* names) {
  CLI::Option* const address = app.get_option("ADDRESS");
  add_parsed(
      app, names, "NAME", [](const std::string& text) { return text; },
      [&bench](const std::string& wire) {
        if (wire == "verbs") {
          throw CLI::ValidationError("--wire", "of verbs needs an address: give ADDRESS");
        }
        bench.address = wire == "shm" ? "shm://*" : wire + "://127.0.0.1:0";
      },
      "The same as the ADDRESS tcp://127.0.0.1:0, shm://* or ofi+PROVIDER://127.0.0.1:0: tcp, shm "
      "or ofi+PROVIDER (tcp)");
  app.get_option("--wire")->excludes(address);
}

std::string all_peers() {
  return "Peers that run on the address, such as raw,zmq; or none. Known: " + system_names();
}

}  // namespace netio::cli
