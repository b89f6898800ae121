#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace fa_tune::search {

// Numbers of which the largest is asked for after every change of one: a tree whose nodes know the
// place of the largest below them. Of equal ones the first counts.
class Tournament {
 public:
  std::size_t size() const { return size_; }
  double operator[](std::size_t place) const { return numbers_[place]; }

  void push_back(double number) {
    if (size_ == numbers_.size()) {
      numbers_.resize(std::max<std::size_t>(2, 2 * size_), kNone);
      winners_.resize(numbers_.size());
      for (std::size_t node = numbers_.size() - 1; node > 0; --node) play(node);
    }
    set(size_++, number);
  }
  void pop_back() { set(--size_, kNone); }
  void set(std::size_t place, double number) {
    numbers_[place] = number;
    for (std::size_t node = (numbers_.size() + place) / 2; node > 0; node /= 2) play(node);
  }

  // Not of none.
  std::size_t largest() const { return winners_[1]; }
  // The places that the largest has met on its way: the second largest is one of them, and others
  // stand high.
  template <typename Visit>
  void for_each_met(const Visit& visit) const {
    for (std::size_t node = numbers_.size() + largest(); node > 1; node /= 2)
      if (const std::size_t met = winner(node ^ 1); met < size_) visit(met);
  }

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  // The place of the largest below a node, or of a leaf.
  std::size_t winner(std::size_t node) const {
    return node >= numbers_.size() ? node - numbers_.size() : winners_[node];
  }
  void play(std::size_t node) {
    const std::size_t first = winner(2 * node), second = winner(2 * node + 1);
    winners_[node] = numbers_[second] > numbers_[first] ? second : first;
  }

  std::size_t size_ = 0;
  std::vector<double> numbers_;       // as many as leaves, -inf where there is none
  std::vector<std::size_t> winners_;  // node 1 is the root; those of the leaves are not kept
};

}  // namespace fa_tune::search
