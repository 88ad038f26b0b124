// The parser of the JSON library calls a builder for each value; the line is that of the last
// character that it has read then.
#include "channels/json_tree.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include <netio/status.hpp>

#include "channels/draft.hpp"

namespace netio::detail {

namespace {

// No configuration needs more; and a tree is destroyed one call inside the other.
constexpr std::size_t depth_most = 32;

// How far the parser has read.
struct ReadSoFar {
  std::size_t line = 1;
  char last = 0;
};

// Counts the lines of what is read.
class CountedCharacters {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountedCharacters(const char* at, ReadSoFar* so_far) : at_(at), so_far_(so_far) {}
  reference operator*() const { return *at_; }
  CountedCharacters& operator++() {
    so_far_->last = *at_++;
    if (so_far_->last == '\n') ++so_far_->line;
    return *this;
  }
  CountedCharacters operator++(int) {
    CountedCharacters before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountedCharacters& other) const { return at_ == other.at_; }
  bool operator!=(const CountedCharacters& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  ReadSoFar* so_far_;
};

class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(JsonNode& root, const ReadSoFar& so_far, std::string_view text, std::string_view origin)
      : root_(root), so_far_(so_far), text_(text), origin_(origin) {}

  bool null() override { return add(JsonNode::Kind::null, {}); }
  bool boolean(bool value) override {
    return add(JsonNode::Kind::boolean, value ? "true" : "false");
  }
  bool number_integer(number_integer_t value) override {
    return add(JsonNode::Kind::number, std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add(JsonNode::Kind::number, std::to_string(value));
  }
  bool number_float(number_float_t /*value*/, const string_t& written) override {
    return add(JsonNode::Kind::number, written);
  }
  bool string(string_t& value) override { return add(JsonNode::Kind::string, value); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*elements*/) override { return begin(JsonNode::Kind::object); }
  bool end_object() override { return end(); }
  bool start_array(std::size_t /*elements*/) override { return begin(JsonNode::Kind::array); }
  bool end_array() override { return end(); }
  bool key(string_t& value) override {
    key_ = value;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override;

 private:
  bool add(JsonNode::Kind kind, std::string text);
  bool begin(JsonNode::Kind kind);
  bool end() {
    open_.pop_back();
    return true;
  }
  JsonNode& place(JsonNode node);

  JsonNode& root_;
  const ReadSoFar& so_far_;
  std::string_view text_;
  std::string_view origin_;
  std::vector<JsonNode*> open_;  // arrays and objects that have not ended, the outermost first
  std::string key_;
};

// The nodes of `open_` stay where they are: nothing is added to a node while one of its members is
// open.
JsonNode& Builder::place(JsonNode node) {
  if (open_.empty()) return root_ = std::move(node);
  JsonNode& parent = *open_.back();
  if (parent.is(JsonNode::Kind::object)) node.key = key_;
  return parent.members.emplace_back(std::move(node));
}

bool Builder::add(JsonNode::Kind kind, std::string text) {
  JsonNode node;
  node.kind = kind;
  // A number ends at the first character that is none of it, which may be the end of its line.
  const bool behind = kind == JsonNode::Kind::number && so_far_.last == '\n';
  node.line = so_far_.line - (behind ? 1 : 0);
  node.text = std::move(text);
  (void)place(std::move(node));
  return true;
}

bool Builder::begin(JsonNode::Kind kind) {
  if (open_.size() == depth_most) {
    throw Error(std::string(origin_) + ", line " + std::to_string(so_far_.line),
                "more than " + std::to_string(depth_most) + " brackets are open",
                "a configuration has at most 10 inside each other");
  }
  JsonNode node;
  node.kind = kind;
  node.line = so_far_.line;
  open_.push_back(&place(std::move(node)));
  return true;
}

bool Builder::parse_error(std::size_t position, const std::string& /*token*/,
                          const nlohmann::detail::exception& error) {
  const std::string_view before = text_.substr(0, std::max<std::size_t>(position, 1) - 1);
  const auto line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
  const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  // "[json.exception.parse_error.101] parse error at line 3, column 1: syntax error ..."
  std::string cause = error.what();
  if (const std::size_t at = cause.find("syntax error"); at != std::string::npos)
    cause.erase(0, at);
  std::ranges::replace_if(
      cause, [](char c) { return c < ' ' || c > '~'; }, '?');
  throw Error(std::string(origin_) + ", line " + std::to_string(line) + ", column " +
                  std::to_string(column),
              "this is no JSON: " + cause,
              "look at the line and the one before it: a comma too many or too few, a bracket or a "
              "quotation mark without its other one");
}

}  // namespace

const JsonNode* JsonNode::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(members, name, &JsonNode::key);
  return found == members.end() ? nullptr : &*found;
}

std::string_view JsonNode::kind_name() const noexcept {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "a boolean";
    case Kind::number:
      return "a number";
    case Kind::string:
      return "a string";
    case Kind::array:
      return "an array";
    case Kind::object:
      return "an object";
  }
  return {};
}

JsonNode parse_json(std::string_view text, std::string_view origin) {
  JsonNode root;
  ReadSoFar so_far;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw Error("read " + std::string(origin), "it is empty",
                "docs/channels.md shows what belongs into it");
  }
  Builder builder(root, so_far, text, origin);
  (void)nlohmann::json::sax_parse(CountedCharacters(text.data(), &so_far),
                                  CountedCharacters(text.data() + text.size(), &so_far), &builder,
                                  nlohmann::json::input_format_t::json, true);
  return root;
}

}  // namespace netio::detail
