// No option of netio is without a key, and no key without a line in the documentation.
#include "channels/keys.hpp"

#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.hpp"

namespace netio::detail {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(test::source_folder() + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The fields of a struct of options: what is set to something at the end of its declaration.
std::vector<std::string> fields_of(const std::string& header, const std::string& options) {
  const std::string text = text_of("include/netio/" + header);
  const std::size_t begin = text.find("struct " + options + " {");
  const std::string body = text.substr(begin, text.find("\n};", begin) - begin);
  static const std::regex field("\n  [a-zA-Z][\\w:<>]* (\\w+)(?: =|\\{)");
  std::vector<std::string> fields;
  for (std::sregex_iterator at(body.begin(), body.end(), field), end; at != end; ++at) {
    fields.push_back((*at)[1]);
  }
  return fields;
}

TEST(ChannelKeys, are_all_options_by_their_own_names) {
  std::size_t count = 0;
  for (const auto& [header, options] :
       {std::pair("options.hpp", "SocketOptions"),
        std::pair("subscription.hpp", "SubscribeOptions"),
        std::pair("subscription.hpp", "PublishOptions"), std::pair("request.hpp", "RequestOptions"),
        std::pair("reply.hpp", "ReplyOptions")}) {
    for (const std::string& field : fields_of(header, options)) {
      EXPECT_NE(find_key(field), nullptr) << options << "::" << field;
      ++count;
    }
  }
  EXPECT_EQ(count, 36U);  // or a declaration is written in a way that this test does not read
}

TEST(ChannelKeys, are_in_the_documentation) {
  const std::string page = text_of("docs/channels.md");
  for (const std::string_view name : key_names()) {
    EXPECT_THAT(page, testing::HasSubstr('`' + std::string(name) + '`'));
  }
}

}  // namespace
}  // namespace netio::detail
