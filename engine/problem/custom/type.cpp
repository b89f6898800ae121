#include "engine/problem/custom/type.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/problem/custom/spec_form.hpp"
#include "engine/source/type_names.hpp"

namespace fa_tune::problem {
namespace {

constexpr std::array kLanes = {"x", "y", "z", "w"};
constexpr std::array kComplexParts = {"real", "imag"};
constexpr std::size_t kMostFields = 64;

std::optional<CustomType> type_called(std::string_view name) {
  if (name == "complex64") return CustomType{DType::f32, 2, true, {}};
  if (name == "complex128") return CustomType{DType::f64, 2, true, {}};
  int lanes = 1;
  if (name.size() > 2 && name[name.size() - 2] == 'x' && name.back() >= '2' && name.back() <= '4') {
    lanes = name.back() - '0';
    name.remove_suffix(2);
  }
  const auto number = number_called(name);
  if (!number || (lanes > 1 && number == DType::boolean)) return std::nullopt;
  return CustomType{*number, lanes, false, {}};
}

std::string known_names() {
  return fmt::format(
      "one of {}, complex64, complex128, one of these with x2, x3 or x4 (f32x4 is float4) or "
      "{{struct: [{{x: f32}}, ...]}}",
      type_names());
}

std::size_t rounded_up(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

CustomType read_struct(const YamlNode& node) {
  CustomType type;
  const YamlNode& fields = node.at("struct");
  for (const YamlNode& item : fields.items("struct")) {
    const auto& entries = item.entries("struct");
    if (entries.size() != 1 || !is_identifier(entries[0].key))
      item.expected("struct", "fields, each a name and its type: {x: f32}");
    const auto same = [&](const auto& other) { return other.name == entries[0].key; };
    if (std::ranges::any_of(type.fields, same))
      item.fail("struct: '" + entries[0].key + "' is there twice");
    if (!entries[0].value.is_scalar())
      entries[0].value.expected(entries[0].key, "a number, a vector or a complex number");
    type.fields.push_back({entries[0].key, read_type(entries[0].value)});
  }
  if (type.fields.empty() || type.fields.size() > kMostFields)
    fields.expected("struct", "1 to 64 fields");
  return type;
}

}  // namespace

CustomType read_type(const YamlNode& node) {
  if (node.is_map()) {
    node.check_keys("type", form::kStruct);
    return read_struct(node);
  }
  if (const auto type = type_called(source::canonical_type(node.text("type")))) return *type;
  node.expected("type", known_names());
}

std::string type_name(const CustomType& type) {
  if (type.complex) return type.number == DType::f32 ? "complex64" : "complex128";
  if (!type.is_struct())
    return type_name(type.number) + (type.lanes == 1 ? "" : fmt::format("x{}", type.lanes));
  std::vector<std::string> fields;
  for (const auto& [name, of] : type.fields) fields.push_back(name + ": " + type_name(of));
  return fmt::format("struct {{{}}}", fmt::join(fields, ", "));
}

TypeLayout layout_of(const CustomType& type) {
  TypeLayout layout;
  if (!type.is_struct()) {
    const std::size_t size = size_of(type.number);
    const auto lanes = static_cast<std::size_t>(type.lanes);
    layout.size = lanes * size;
    layout.alignment = lanes == 3 ? size : std::min<std::size_t>(layout.size, 16);
    const auto& names = type.complex ? std::span<const char* const>(kComplexParts)
                                     : std::span<const char* const>(kLanes);
    for (std::size_t i = 0; i < lanes; ++i)
      layout.parts.push_back({lanes == 1 ? "" : names[i], type.number, i * size});
    return layout;
  }
  for (const auto& [name, of] : type.fields) {
    const TypeLayout field = layout_of(of);
    layout.alignment = std::max(layout.alignment, field.alignment);
    const std::size_t at = rounded_up(layout.size, field.alignment);
    for (const ScalarPart& part : field.parts)
      layout.parts.push_back(
          {part.name.empty() ? name : name + "." + part.name, part.type, at + part.offset});
    layout.size = at + field.size;
  }
  layout.size = rounded_up(layout.size, layout.alignment);
  return layout;
}

CustomType widened(const CustomType& type) {
  CustomType wide = type;
  if (!is_integer(wide.number)) wide.number = DType::f64;
  for (auto& [name, field] : wide.fields) field = widened(field);
  return wide;
}

}  // namespace fa_tune::problem
