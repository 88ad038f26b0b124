// How requests ended, in words and as JSON: the books of a Request and of a Reply.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <netio/reply.hpp>
#include <netio/request.hpp>

namespace netio::cli {

// "9 answered, 1 timed out": how requests ended, and how many have not, without what is 0. Only if
// `answers` with those that were answered.
[[nodiscard]] std::string ends_text(const RequestBooks& books, bool answers);

[[nodiscard]] std::string to_text(const RequestBooks& books);
[[nodiscard]] std::string to_text(const ReplyBooks& books);
[[nodiscard]] nlohmann::ordered_json to_json(const RequestBooks& books);
[[nodiscard]] nlohmann::ordered_json to_json(const ReplyBooks& books);

}  // namespace netio::cli
