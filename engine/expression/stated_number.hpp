#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "engine/expression/expression.hpp"
#include "engine/model/dtype.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::expression {

// An integer that a file states: a number, or an expression.
struct StatedInteger {
  Wide number = 0;
  std::optional<Expression> formula = {};
};

// A plain integer of any length up to 64 bits, true and false as 1 and 0; nothing for other text.
std::optional<Wide> integer_literal(const YamlNode& node);
StatedInteger read_stated_integer(const YamlNode& node, const char* what);

// A number of some type that a file states.
struct StatedNumber {
  StatedInteger whole;         // or
  std::optional<double> real;  // as it is written
  std::string text() const;
};
StatedNumber read_stated_number(const YamlNode& node, DType type, const char* what);

// Its bytes. A condition is as good for a bool. Throws UserError for an integer that the type
// cannot hold: `mark` and `name` are whose it is.
void put_stated_number(const StatedNumber& number, DType type, const Expression::Scope& scope,
                       const Mark& mark, const std::string& name, std::byte* to);

}  // namespace fa_tune::expression
