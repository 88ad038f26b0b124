// A queue whose memory grows to the most that was ever in it, and is used again. Owner thread only.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/out_of_memory.hpp"

namespace netio::detail {

template <typename T>
class GrowingRing {
 public:
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  // From the front.
  [[nodiscard]] T& operator[](std::size_t index) noexcept {
    return places_[(first_ + index) & (places_.size() - 1)];
  }
  [[nodiscard]] const T& operator[](std::size_t index) const noexcept {
    return places_[(first_ + index) & (places_.size() - 1)];
  }

  // From this one on, up to the last or the end of the memory. Valid until one is added.
  [[nodiscard]] std::span<const T> piece_from(std::size_t index) const noexcept {
    const std::size_t place = (first_ + index) & (places_.size() - 1);
    return {&places_[place], std::min(count_ - index, places_.size() - place)};
  }

  // The first that `before` is not true of, if it is true of none behind that one.
  template <typename Before>
  [[nodiscard]] std::size_t first_not(Before&& before) const noexcept {
    std::size_t first = 0;
    for (std::size_t left = count_; left != 0;) {
      const std::size_t half = left / 2;
      const bool below = before((*this)[first + half]);
      first += below ? half + 1 : 0;
      left = below ? left - half - 1 : half;
    }
    return first;
  }

  // For so many more. False without memory.
  [[nodiscard]] bool make_room(std::size_t more = 1) noexcept {
    if (places_.size() - count_ >= more) return true;
    bool made = true;
    guard_memory(
        [&] {
          std::size_t places = std::max<std::size_t>(16, places_.size());
          while (places - count_ < more) places *= 2;
          std::vector<T> larger(places);
          for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move((*this)[i]);
          places_ = std::move(larger);
          first_ = 0;
        },
        [&made]() noexcept { made = false; });
    return made;
  }
  // There is room.
  T& push_back(T item) noexcept {
    assert(count_ < places_.size());
    return (*this)[count_++] = std::move(item);
  }
  // The same with several, of a type that holds nothing.
  void push_back(std::span<const T> items) noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    assert(items.size() <= places_.size() - count_);
    const std::size_t place = (first_ + count_) & (places_.size() - 1);
    const std::size_t some = std::min(items.size(), places_.size() - place);
    std::ranges::copy(items.first(some), places_.begin() + static_cast<std::ptrdiff_t>(place));
    std::ranges::copy(items.subspan(some), places_.begin());
    count_ += items.size();
  }
  void pop_front() noexcept {
    if constexpr (!std::is_trivially_destructible_v<T>) (*this)[0] = {};
    first_ = (first_ + 1) & (places_.size() - 1);
    --count_;
  }
  // So many, of a type that holds nothing.
  void pop_front(std::size_t count) noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    first_ = (first_ + count) & (places_.size() - 1);
    count_ -= count;
  }
  void pop_back() noexcept { (*this)[--count_] = {}; }

  void swap(GrowingRing& other) noexcept {
    places_.swap(other.places_);
    std::swap(first_, other.first_);
    std::swap(count_, other.count_);
  }

 private:
  std::vector<T> places_;  // a power of two of them
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace netio::detail
