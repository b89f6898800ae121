#include "engine/community/t1/t1_argument.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "engine/util/log.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune {

const YamlNode* t1_given(const YamlNode& map, std::string_view key) {
  const YamlNode* node = map.find(key);
  return node == nullptr || node->is_null() ? nullptr : node;
}

std::string t1_type(const YamlNode& node) {
  const std::string& type = node.text("Type");
  const auto is = [&](const char* name, const char* numpy) {
    return type == name || type == numpy || type == name + std::string("*");
  };
  if (is("float", "float32")) return "f32";
  if (is("double", "float64")) return "f64";
  if (is("half", "float16")) return "f16";
  if (is("int", "int32") || type == "unsigned int" || type == "uint32") return "i32";
  node.expected("Type", "float, double, half or int");
}

namespace {

std::int64_t whole(const YamlNode& node) {
  const double value = node.number("FillValue");
  using Limits = std::numeric_limits<std::int32_t>;
  if (std::isnan(value) || value < Limits::min() || value > Limits::max())
    node.expected("FillValue", "a number that an int can hold");
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::string t1_number(const YamlNode& node, const std::string& type) {
  return type == "i32" ? std::to_string(whole(node)) : to_text(Value(node.number("FillValue")));
}

std::string t1_fill(const YamlNode& argument, const std::string& type) {
  const YamlNode* value = t1_given(argument, "FillValue");
  const YamlNode* kind = t1_given(argument, "FillType");
  const std::string how = kind == nullptr ? "Random" : kind->text("FillType");
  const double most = value == nullptr ? 1 : value->number("FillValue");
  if (how == "Constant") return fmt::format("{{value: {}}}", to_text(Value(most)));
  if (how == "Generator")  // of data that some program made; the gate has its own kinds anyway
    log_warning("a T1 FillType Generator is not run: random data are used instead");
  else if (how != "Random")
    kind->expected("FillType", "Random, Constant or Generator");
  if (type == "i32")
    return fmt::format("{{integers: [0, {}]}}",
                       std::max<std::int64_t>(value == nullptr ? 0 : whole(*value) - 1, 1));
  return fmt::format("{{uniform: [0, {}]}}", to_text(Value(most > 0 ? most : 1.0)));
}

}  // namespace fa_tune
