// The books of a socket as reports have them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <netio/books.hpp>

namespace netio::cli {

// Messages by the reason for which they were dropped.
[[nodiscard]] nlohmann::ordered_json reasons_json(const decltype(Books::dropped_by)& by);
[[nodiscard]] nlohmann::ordered_json sent_json(const Books& books);
[[nodiscard]] nlohmann::ordered_json received_json(const Books& books);

}  // namespace netio::cli
