// Tags as people write and read them: 7, 0x1f, 3-9.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <netio/subscription.hpp>

namespace netio::cli {

// "7", "0x1f", "3-9" or "3..9". Throws std::invalid_argument with a message that names the text.
[[nodiscard]] TagRange parse_tag_range(std::string_view text);
// Several of them, separated by commas.
[[nodiscard]] std::vector<TagRange> parse_tags(std::string_view text);

// "tag 7", "tags 3-9, 12 and 40 more", "all tags", "no tags"
[[nodiscard]] std::string tags_text(std::span<const TagRange> ranges);

}  // namespace netio::cli
