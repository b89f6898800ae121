#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/scaffold/walk_state.hpp"

namespace fa_tune::scaffold {

// A condition and what holds where it does.
struct Guard {
  Part condition;
  bool leaves = false;     // if (i >= n) return; what follows has the opposite
  bool loops = false;      // of `for` or `while`
  std::size_t within = 0;  // the end of the statement of an `if`; 0: nothing ends it
};

// What guards and the heads of loops say of variables: where they end, and so where blocks end.
class Guards {
 public:
  explicit Guards(WalkState& walk) : walk_(walk) {}

  // Takes a guard's comparisons as bounds of variables.
  void take(const Guard& guard);
  // The walk has come to `at`: what an `if` narrowed before has its bounds again.
  void come_to(std::size_t at);
  // A variable has a new value, which no guard has compared yet.
  void forget(const std::string& name) { bounded_.erase(name); }
  // A variable grows: only a guard says how far.
  void change(const std::string& name);
  // i += blockDim.x, i += TILE of a loop.
  void loop_step(Part step);

 private:
  std::optional<std::pair<std::string, Part>> variable_of(Part part) const;
  void compare(Part small, Part large, bool or_equal, const Guard& guard);
  void bound(const std::string& name, Part beside, const IndexRange& end, bool or_equal,
             const Guard& guard);
  void note_edge(Part part, bool or_equal);
  void note_extent(const IndexRange& variable, const Polynomial& most);

  struct Narrowed {
    std::size_t end;
    std::string name;
    IndexRange before;
  };

  WalkState& walk_;
  std::set<std::string> bounded_;
  std::vector<Narrowed> narrowed_;  // by an `if`, until its end
  // Where a loop's variable began: bits of the axes of threadIdx, or kOfBuffer.
  std::map<std::string, unsigned> started_;
};

}  // namespace fa_tune::scaffold
