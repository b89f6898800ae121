#pragma once

#include <cstdint>
#include <span>

#include "engine/expression/node.hpp"

// Private to engine/space.
namespace fa_tune::expression {

// What is known of a value while only some of the parameters are set: integers between two bounds,
// true or false or both, text, or anything. Never less than what is possible.
struct Range {
  enum class Kind : std::uint8_t { integers, truths, texts, anything };

  Kind kind = Kind::anything;
  bool may_fail = true;   // evaluating it may be an error
  std::int64_t low = 0;   // of integers; of truths 0 or 1, of texts without meaning
  std::int64_t high = 0;  // at least `low`

  static Range anything() { return {}; }
  static Range integers(std::int64_t low, std::int64_t high) {
    return {Kind::integers, false, low, high};
  }
  static Range truths(bool may_be_false, bool may_be_true) {
    return {Kind::truths, false, may_be_false ? 0 : 1, may_be_true ? 1 : 0};
  }
  // One value; of an absent cell: it fails.
  static Range of(const Cell& cell);

  // One integer or truth, whatever comes, and no error.
  bool decided() const {
    return !may_fail && low == high && (kind == Kind::integers || kind == Kind::truths);
  }
  bool decided_as(bool flag) const {
    return kind == Kind::truths && decided() && (low != 0) == flag;
  }
  Cell cell() const { return kind == Kind::truths ? Cell::boolean(low != 0) : Cell::integer(low); }

  // Either of two.
  Range operator|(const Range& other) const;
};

// The range of a node whose children have these ranges; a node that has none is `anything`.
Range range_of(const Expression::Node& node, std::span<const Range> children);

// `and` of several, in order, the rest untouched after a false one.
Range range_of_all(std::span<const Range> children);

}  // namespace fa_tune::expression
