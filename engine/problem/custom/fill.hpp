#pragma once

#include <string>

#include "engine/expression/stated_number.hpp"
#include "engine/problem/custom/type.hpp"
#include "engine/problem/problem.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::problem {

// What a buffer holds that is given.
struct Distribution {
  enum class Kind {
    normal,
    uniform,
    integers,
    value,
    file,
    permutation,  // each row holds the integers from 0 on, each once
    offsets       // each row ascends from 0 to `most`
  };
  Kind kind = Kind::normal;
  double first = 0;   // mean, low, least or the value
  double second = 1;  // deviation, high or most
  std::string file = {};
  expression::StatedInteger least = {}, most = {};  // of integers; a value of integer type is both
  bool sorted = false;                              // each row ascends
  Mark mark = {};

  // Whether elements make sense only beside the others of their row.
  bool orders_rows() const { return sorted || kind == Kind::permutation || kind == Kind::offsets; }
};

// Throws UserError for what is no distribution, or not of this type.
Distribution read_fill(const YamlNode& node, const CustomType& type);

// With the integers that it has at these sizes. Throws UserError where the type cannot hold them,
// or there are none. `tensor`: with its sizes.
Distribution at_sizes(Distribution fill, const Tensor& tensor, const Constants& sizes);

}  // namespace fa_tune::problem
