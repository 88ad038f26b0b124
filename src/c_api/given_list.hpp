// A list that C is given, such as that of the peers of a socket. The object that made it owns it
// until it gives the next one.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace netio::c_api {

template <typename From, typename To>
class GivenList {
 public:
  // Takes the place of the list before, and says where it is. Throws std::bad_alloc; the list
  // before stays then.
  void give(std::vector<From> now, To (*one_in_c)(const From&), const To** to, std::size_t* count) {
    std::vector<To> in_c;
    in_c.reserve(now.size());
    for (const From& one : now) in_c.push_back(one_in_c(one));
    from_ = std::move(now);
    in_c_ = std::move(in_c);
    *to = in_c_.data();
    *count = in_c_.size();
  }

 private:
  std::vector<From> from_;  // what the other points into
  std::vector<To> in_c_;
};

}  // namespace netio::c_api
