// ?window=N, and ?engine=ring with slots=N and slot_bytes=BYTES.
#include "transport/ofi/address_options.hpp"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include <netio/status.hpp>

#include "transport/ofi/credits.hpp"

namespace netio::detail {

namespace {

constexpr std::size_t slots_unless_given = 16;
constexpr std::size_t slot_bytes_unless_given = std::size_t{64} << 10U;
constexpr std::size_t slot_bytes_min = std::size_t{1} << 10U;
constexpr std::size_t slot_bytes_max = std::size_t{512} << 20U;

// A decimal number without zeros in front, with a unit of bytes behind it or not; 0 if it is
// neither.
std::size_t number_of(std::string_view text, bool units) {
  if (text.starts_with('0')) return 0;
  std::size_t number = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return 0;
  const std::string_view unit = text.substr(static_cast<std::size_t>(stopped - text.data()));
  if (unit.empty()) return number;
  constexpr std::array<std::string_view, 3> known = {"KiB", "MiB", "GiB"};
  for (std::size_t i = 0; units && i < known.size(); ++i) {
    const unsigned shift = 10 * (static_cast<unsigned>(i) + 1);
    if (unit == known.at(i) && number <= slot_bytes_max >> shift) return number << shift;
  }
  return 0;
}

class Reader {
 public:
  Reader(const char* verb, const Url& url) : operation_(std::string(verb) + " " + to_string(url)) {}

  std::size_t number(const std::string& key, const std::string& value, std::size_t least,
                     std::size_t most, bool units = false) const {
    const std::size_t number = number_of(value, units);
    if (number >= least && number <= most) return number;
    std::string advice = "give a number from " + std::to_string(least) + " to ";
    advice += std::to_string(most);
    if (units) advice += ", or with a unit: 64KiB, 1MiB";
    refuse(key + " is '" + value + "'", advice);
  }
  [[noreturn]] void refuse(const std::string& cause, const std::string& advice) const {
    throw AddressError(operation_, cause, advice);
  }

 private:
  std::string operation_;
};

}  // namespace

OfiAddressOptions address_options_of(const char* verb, const Url& url) {
  const Reader reader(verb, url);
  OfiAddressOptions options;
  RingOptions ring{slots_unless_given, slot_bytes_unless_given};
  bool wants_ring = false;
  bool describes_ring = false;
  for (const auto& [key, value] : url.options) {
    if (key == "window") {
      options.window = reader.number(key, value, Credits::window_min, Credits::window_max);
    } else if (key == "engine") {
      wants_ring = value == "ring";
      if (!wants_ring && value != "messages") {
        reader.refuse("there is no engine '" + value + "'", "known are messages and ring");
      }
    } else if (key == "slots") {
      ring.slots = reader.number(key, value, 1, RingOptions::slots_max);
      describes_ring = true;
    } else if (key == "slot_bytes") {
      ring.slot_bytes = reader.number(key, value, slot_bytes_min, slot_bytes_max, true);
      describes_ring = true;
    } else {
      reader.refuse("addresses of fabrics have no option '" + key + "'",
                    "known are window, engine, slots and slot_bytes");
    }
  }
  if (describes_ring && !wants_ring) {
    reader.refuse("slots belong to the ring", "add engine=ring");
  }
  if (wants_ring && options.window != 0) {
    reader.refuse("window belongs to the engine messages", "give slots, or no engine");
  }
  if (wants_ring) options.ring = ring;
  return options;
}

}  // namespace netio::detail
