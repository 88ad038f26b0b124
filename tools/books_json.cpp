#include "books_json.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

namespace netio::cli {

nlohmann::ordered_json reasons_json(const decltype(Books::dropped_by)& by) {
  nlohmann::ordered_json reasons = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < by.size(); ++i) {
    std::string key(to_string(static_cast<DropReason>(i)));
    std::replace(key.begin(), key.end(), ' ', '_');
    reasons[key] = by[i];
  }
  return reasons;
}

nlohmann::ordered_json sent_json(const Books& books) {
  return {{"sent", books.sent},         {"acknowledged", books.acknowledged},
          {"dropped", books.dropped()}, {"dropped_by", reasons_json(books.dropped_by)},
          {"in_doubt", books.in_doubt}, {"unacknowledged", books.unacknowledged}};
}

nlohmann::ordered_json received_json(const Books& books) {
  return {{"delivered", books.delivered}, {"missed", books.missed}};
}

}  // namespace netio::cli
