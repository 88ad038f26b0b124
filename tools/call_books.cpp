#include "call_books.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "units.hpp"

namespace netio::cli {

namespace {

constexpr auto outcomes = static_cast<std::size_t>(Outcome::count_);

class CountList {
 public:
  void add(std::uint64_t count, std::string_view what, bool always = false) {
    if (count == 0 && !always) return;
    if (!text_.empty()) text_ += ", ";
    text_ += grouped(count) + " " + std::string(what);
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string ends_text(const RequestBooks& books, bool answers) {
  CountList list;
  for (std::size_t i = 0; i < outcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    if (outcome != Outcome::answered || answers) {
      list.add(books.ended[i], to_string(outcome), outcome == Outcome::answered);
    }
  }
  list.add(books.under_way, "under way");
  return list.text();
}

std::string to_text(const RequestBooks& books) {
  std::string text = fmt::format("{} asked: {}", grouped(books.asked), ends_text(books, true));
  if (books.repeated != 0) text += fmt::format("; {} sent again", grouped(books.repeated));
  if (books.late != 0) {
    text += fmt::format("; {} came too late", counted(books.late, "answer"));
  }
  return text;
}

std::string to_text(const ReplyBooks& books) {
  CountList list;
  list.add(books.answered, "answered", true);
  list.add(books.not_answered, "not answered");
  list.add(books.unwanted, "unwanted");
  list.add(books.open, "open");
  std::string text = fmt::format("{} taken: {}", grouped(books.requests), list.text());
  if (books.expired != 0) text += fmt::format("; {} came expired", grouped(books.expired));
  if (books.withdrawn != 0) text += fmt::format("; {} were withdrawn", grouped(books.withdrawn));
  return text;
}

nlohmann::ordered_json to_json(const RequestBooks& books) {
  nlohmann::ordered_json ended;
  for (std::size_t i = 0; i < outcomes; ++i) {
    std::string name(to_string(static_cast<Outcome>(i)));
    std::ranges::replace(name, ' ', '_');
    ended[name] = books.ended[i];
  }
  return {{"asked", books.asked},
          {"ended", ended},
          {"under_way", books.under_way},
          {"late", books.late},
          {"repeated", books.repeated}};
}

nlohmann::ordered_json to_json(const ReplyBooks& books) {
  return {{"requests", books.requests},
          {"answered", books.answered},
          {"not_answered", books.not_answered},
          {"unwanted", books.unwanted},
          {"open", books.open},
          {"expired", books.expired},
          {"withdrawn", books.withdrawn}};
}

}  // namespace netio::cli
