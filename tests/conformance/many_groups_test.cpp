// More sets of tags that differ than there are pages to gather in: nobody is kept from anything.
#include <vector>

#include "conformance/evil_subscriber.hpp"

namespace netio::test {
namespace {

class ManyGroups : public EvilSubscriber {};

TEST_F(ManyGroups, of_one_tag_do_not_take_all_pages) {
  constexpr std::uint8_t groups = 70;
  ASSERT_LT(wary_context().send_pool_bytes / wary_context().page_bytes, groups);
  std::vector<RawTcp> raws;
  for (std::uint8_t i = 0; i < groups; ++i) {
    raws.push_back(greeted(alike_hello(static_cast<std::uint8_t>(100 + i))));
    raws.back().send(page_of({.ranges = {{good_tag, good_tag}, {1'000'000U + i, 1'000'000U + i}}}));
    (void)answered(raws.back());
  }
  good_messages(100);
  for (RawTcp& raw : raws) raw.reset();
}

}  // namespace
}  // namespace netio::test
