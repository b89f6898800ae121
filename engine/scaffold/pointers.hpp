#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/scaffold/walk_state.hpp"

namespace fa_tune::scaffold {

// Where in a buffer a pointer points to.
struct Pointer {
  std::string buffer;  // the kernel's parameter, or a variable of the file
  IndexRange offset;
  std::int64_t scale = 1;  // elements of the buffer in one of the pointer's
};

// The pointers of a kernel: its parameters, and those that it makes of them.
class Pointers {
 public:
  explicit Pointers(WalkState& walk);

  // Nothing for another name.
  const Pointer* find(const std::string& name) const;
  // What an expression points to: x + i, &x[i], (float4*)(x + i). Nothing if it is no pointer.
  std::optional<Pointer> value(Part part, int depth = 0);
  void assign(const std::string& name, const Pointer& pointer);
  // name += value and the like, at the sign.
  void advance(const std::string& name, std::size_t at, Part value);

  // a[i][j] of an array of rows; `past` is behind it.
  IndexRange index(const std::string& buffer, std::size_t at, std::size_t end, std::size_t* past);
  // An index in elements of a pointer, from where it points to.
  IndexRange added(const IndexRange& offset, IndexRange index, std::int64_t scale);

 private:
  void add_buffer(const std::string& name, const std::vector<Part>& inner, int lanes);
  int loop_depth(std::size_t at) const;

  WalkState& walk_;
  std::map<std::string, Pointer> pointers_;
  std::map<std::string, std::vector<Part>> inner_;  // sizes behind the first: float a[][N]
  std::map<std::string, int> lanes_;                // numbers in an element: 4 of a float4
};

}  // namespace fa_tune::scaffold
