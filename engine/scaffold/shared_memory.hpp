#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "engine/scaffold/walk_state.hpp"

namespace fa_tune::scaffold {

// The arrays of shared memory that a kernel declares, and what their sizes say of its blocks.
class SharedMemory {
 public:
  explicit SharedMemory(WalkState& walk) : walk_(walk) {}

  // A declaration, at its `__shared__`.
  void declare(std::size_t at, std::size_t end);
  bool is_tile(const std::string& name) const { return tiles_.contains(name); }
  // Of `extern __shared__`, whose size the launch says.
  bool is_dynamic(const std::string& name) const { return name == dynamic_; }
  // An array of a fixed size is indexed: threads that index it are not more than it has.
  void use_tile(std::size_t at, Part part);

 private:
  WalkState& walk_;
  std::map<std::string, std::vector<Bound>> tiles_;  // of a fixed size, in each dimension
  std::string dynamic_;
};

}  // namespace fa_tune::scaffold
