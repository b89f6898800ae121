#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engine/expression/expression.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::expression {

// Of the native dialect; C++17 on `Number` (engine/export/cxx/number.hpp), which a fault leaves
// without a value; or Python, on functions of engine/export/python/sizes.py and on integers of any
// length.
enum class Language { native, cxx, python };

// What is left of an expression where some of its names have values by now: a value, or a formula
// of integers that are known later. Parts that rest on no such integer are computed already.
class Residue {
 public:
  static Residue of(Value value);
  static Residue later(const std::string& name);  // an integer
  // What each name stands for; nothing for one that has no value.
  using Names = std::function<std::optional<Residue>(const std::string& name)>;
  // Throws UserError with its place: a name without a value, operands of the wrong types, what
  // fails whatever comes, and what is of Python's dialect.
  static Residue of(const Expression& expression, const Names& names);
  // The same of a text whose names are all integers that are known later.
  static Residue of_text(const std::string& text);

  // Nothing where it rests on something known later.
  const Value* value() const;
  bool is_integer() const { return type_ == Type::integer; }
  std::set<std::string> names() const;

  // Its text. `name` says how a name is written there.
  std::string text(Language language,
                   const std::function<std::string(const std::string&)>& name = {}) const;

  // The product of two integers, a part of one, and whether they are equal.
  friend Residue operator*(const Residue& a, const Residue& b);
  friend Residue operator/(const Residue& a, std::int64_t divisor);
  static Residue equal(const Residue& a, const Residue& b);

 private:
  enum class Type : std::uint8_t { integer, boolean, text };
  struct Node;
  friend class ResidueMaker;
  friend class ResidueText;

  Residue(Type type, std::shared_ptr<const Node> node) : type_(type), node_(std::move(node)) {}

  Type type_;
  std::shared_ptr<const Node> node_;
};

}  // namespace fa_tune::expression
