#include "engine/community/t1/t1_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <fmt/format.h>

#include "engine/expression/python_expression.hpp"
#include "engine/source/type_names.hpp"
#include "engine/util/log.hpp"
#include "engine/yaml/value.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::community {
namespace {

enum class ValueKind { as_written, integer, real, boolean, text };

[[noreturn]] void refuse_file(const Mark& mark, const std::string& message) {
  throw UserError(prefix(mark) + message);
}

// Files name the types of several languages.
ValueKind kind_named(const YamlNode& node) {
  constexpr std::pair<std::string_view, ValueKind> parts[] = {
      {"bool", ValueKind::boolean},  {"int", ValueKind::integer},  {"long", ValueKind::integer},
      {"short", ValueKind::integer}, {"size", ValueKind::integer}, {"float", ValueKind::real},
      {"double", ValueKind::real},   {"real", ValueKind::real},    {"half", ValueKind::real},
      {"str", ValueKind::text},      {"char", ValueKind::text},    {"enum", ValueKind::text}};
  std::string name = node.text("Type");
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const auto& [part, kind] : parts)
    if (name.find(part) != std::string::npos) return kind;
  node.expected("Type", "int, float, bool or string");
}

// What holds all of the values: whole numbers, real ones where one is, else as they are.
ValueKind common_kind(const std::vector<Value>& values) {
  const auto all = [&](auto is) { return std::ranges::all_of(values, is); };
  if (all([](const Value& value) { return std::holds_alternative<bool>(value); }) ||
      std::ranges::any_of(
          values, [](const Value& value) { return std::holds_alternative<std::string>(value); }))
    return ValueKind::as_written;
  return all([](const Value& value) { return !std::holds_alternative<double>(value); })
             ? ValueKind::integer
             : ValueKind::real;
}

std::optional<double> number(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

Value convert(const Value& value, ValueKind kind, const Mark& mark) {
  const auto as_number = number(value);
  switch (kind) {
    case ValueKind::as_written:
      return value;
    case ValueKind::text:
      return to_text(value);
    case ValueKind::boolean:
      if (as_number == 0 || as_number == 1) return *as_number == 1;
      refuse_file(mark, quote_text(to_text(value)) + ": expected True or False, as the Type says");
    case ValueKind::integer:
      if (std::holds_alternative<std::int64_t>(value)) return value;
      if (as_number && *as_number == std::trunc(*as_number) && std::abs(*as_number) < 0x1p53)
        return static_cast<std::int64_t>(*as_number);
      refuse_file(mark, quote_text(to_text(value)) + ": expected an integer, as the Type says");
    case ValueKind::real:
      if (as_number) return *as_number;
      refuse_file(mark, quote_text(to_text(value)) + ": expected a number, as the Type says");
  }
  return value;
}

class T1Reader {
 public:
  T1Reader(const std::string& text, const std::filesystem::path& path)
      : root_(YamlNode::parse(text, path)) {
    file_.path = path;
    file_.parts.name = path.stem().string();
  }

  T1File read() {
    const YamlNode& space = root_.at("ConfigurationSpace");
    for (const YamlNode& node : space.at("TuningParameters").items("TuningParameters"))
      read_parameter(node);
    if (file_.parts.parameters.empty())
      space.at("TuningParameters").expected("TuningParameters", "at least one parameter");
    if (const YamlNode* conditions = space.find("Conditions"); given(conditions))
      for (const YamlNode& node : conditions->items("Conditions")) read_condition(node);
    add_constants();
    add_default();
    if (const YamlNode* general = root_.find("General"))
      file_.benchmark = text_of(*general, "BenchmarkName");
    if (const YamlNode* kernel = root_.find("KernelSpecification")) {
      file_.kernel_name = text_of(*kernel, "KernelName");
      file_.kernel_file = text_of(*kernel, "KernelFile");
    }
    return std::move(file_);
  }

 private:
  static bool given(const YamlNode* node) { return node != nullptr && !node->is_null(); }

  static std::string text_of(const YamlNode& map, std::string_view key) {
    const YamlNode* node = map.find(key);
    return node != nullptr && node->is_scalar() ? node->text(key) : std::string();
  }

  void read_parameter(const YamlNode& node) {
    if (!node.is_map()) node.expected("TuningParameters", "a parameter with Name and Values");
    space::Parameter parameter;
    parameter.name = node.at("Name").text("Name");
    parameter.mark = node.at("Name").text_mark();
    const YamlNode& listed = node.at("Values");
    const YamlNode* type = node.find("Type");
    ValueKind kind = given(type) ? kind_named(*type) : ValueKind::as_written;
    const std::vector<Value> values = read_values(listed, kind);
    if (!given(type)) kind = common_kind(values);
    for (const Value& value : values) {
      Value converted = convert(value, kind, listed.mark());
      // A value twice is one value: the configs are the same.
      if (std::ranges::find(parameter.values, converted) == parameter.values.end())
        parameter.values.push_back(std::move(converted));
    }
    read_default(node, kind);
    file_.parts.parameters.push_back(std::move(parameter));
  }

  // A scalar of JSON, or text: an expression, but where text is wanted and none is meant.
  static std::vector<Value> read_values(const YamlNode& node, ValueKind kind) {
    if (node.is_list()) {
      std::vector<Value> values;
      for (const YamlNode& item : node.items("Values"))
        for (Value& value : read_scalar(item, kind)) values.push_back(std::move(value));
      return values;
    }
    const std::string& text = node.text("Values");
    if (node.style() == YamlNode::Style::plain) return read_scalar(node, kind);
    return expression::parse_python_values(text, node.text_mark());
  }

  static std::vector<Value> read_scalar(const YamlNode& node, ValueKind kind) {
    const std::string& text = node.text("Values");
    const bool is_json_text = node.style() != YamlNode::Style::plain;
    if (is_json_text && (kind == ValueKind::text || kind == ValueKind::as_written)) return {text};
    if (!is_json_text && (text == "true" || text == "false")) return {text == "true"};
    return expression::parse_python_values(text, node.text_mark());
  }

  void read_default(const YamlNode& node, ValueKind kind) {
    const YamlNode* given_default = node.find("Default");
    if (!given(given_default) || !given_default->is_scalar()) {
      has_defaults_ = false;
      return;
    }
    try {
      const auto values = read_scalar(*given_default, kind);
      defaults_.push_back(convert(values.at(0), kind, given_default->mark()));
    } catch (const UserError&) {
      // A default is advice: one that cannot be used is none.
      has_defaults_ = false;
    }
  }

  void read_condition(const YamlNode& node) {
    const YamlNode& expression = node.is_map() ? node.at("Expression") : node;
    const std::string& text = expression.text("Expression");
    file_.parts.constraints.push_back(
        {expression::parse_python_condition(text, expression.text_mark()), "", ""});
  }

  bool is_parameter(const std::string& name) const {
    return std::ranges::find(file_.parts.parameters, name, &space::Parameter::name) !=
           file_.parts.parameters.end();
  }

  void add_constants() {
    const YamlNode* config = root_.find("BenchmarkConfig");
    if (config == nullptr || !config->is_map()) return;
    for (const YamlEntry& entry : config->entries("BenchmarkConfig")) {
      const std::string& number =
          entry.value.is_scalar() ? entry.value.text("BenchmarkConfig") : "";
      std::int64_t whole = 0;
      const auto end = number.data() + number.size();
      if (const auto [at, error] = std::from_chars(number.data(), end, whole);
          error == std::errc() && at == end)
        file_.config_numbers[entry.key] = whole;
    }
    for (const space::Constraint& constraint : file_.parts.constraints)
      for (const std::string& name : constraint.expression.names()) {
        const YamlNode* node = is_parameter(name) ? nullptr : config->find(name);
        if (node == nullptr || !node->is_scalar()) continue;
        const auto values = read_scalar(*node, ValueKind::integer);
        if (values.size() == 1) file_.parts.constants[name] = values[0];
      }
  }

  void add_default() {
    if (!has_defaults_) return;
    Config config;
    for (std::size_t i = 0; i < defaults_.size(); ++i) {
      const space::Parameter& parameter = file_.parts.parameters[i];
      if (std::ranges::find(parameter.values, defaults_[i]) == parameter.values.end()) return;
      config.set(parameter.name, defaults_[i]);
    }
    if (allows(config)) file_.parts.presets.push_back({"default", config, root_.mark()});
  }

  bool allows(const Config& config) const {
    const auto scope = [&](const std::string& name) {
      const auto constant = file_.parts.constants.find(name);
      return constant != file_.parts.constants.end() ? &constant->second : config.find(name);
    };
    try {
      return std::ranges::all_of(file_.parts.constraints, [&](const space::Constraint& constraint) {
        return constraint.expression.evaluate_bool(scope);
      });
    } catch (const UserError&) {
      return false;  // told when the space is built
    }
  }

  YamlNode root_;
  T1File file_;
  std::vector<Value> defaults_;
  bool has_defaults_ = true;
};

}  // namespace

bool looks_like_t1(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{' &&
         text.find("\"ConfigurationSpace\"") != std::string::npos;
}

// JSON is YAML, and the reader of YAML knows where everything stands.
T1File parse_t1(const std::string& text, const std::filesystem::path& path) {
  return T1Reader(text, path).read();
}

const YamlNode* t1_given(const YamlNode& map, std::string_view key) {
  const YamlNode* node = map.find(key);
  return node == nullptr || node->is_null() ? nullptr : node;
}

std::string t1_type(const YamlNode& node) {
  std::string name = node.text("Type");
  while (name.ends_with('*') || name.ends_with(' ')) name.pop_back();
  const std::string type = source::canonical_type(name);
  constexpr std::array kKnown = {"f16", "bf16", "f32",  "f64",       "i8",
                                 "u8",  "i16",  "u16",  "i32",       "u32",
                                 "i64", "u64",  "bool", "complex64", "complex128"};
  const std::size_t lanes = type.find('x', 1);
  const bool vector = lanes + 2 == type.size();
  if (std::ranges::find(kKnown, vector ? type.substr(0, lanes) : type) != kKnown.end()) return type;
  node.expected("Type",
                "a type of C or NumPy, as float, int, uint8, int64, bool, complex64, float4");
}

bool t1_is_whole(const std::string& type) {
  return type[0] == 'i' || type[0] == 'u' || type == "bool";
}

namespace {

// The largest number of an integer type that JSON can state here, and the least.
std::pair<std::int64_t, std::int64_t> range_of(const std::string& type) {
  using Limits = std::numeric_limits<std::int64_t>;
  if (type == "bool") return {0, 1};
  const int bits = std::stoi(type.substr(1));
  if (type[0] == 'u') return {0, bits == 64 ? Limits::max() : (std::int64_t{1} << bits) - 1};
  if (bits == 64) return {Limits::min(), Limits::max()};
  return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
}

// Above this a JSON number with a point need not be whole.
constexpr double kMostOfDouble = 0x1p53;

// A number in quotes is one of BAT's, whose files are read by Python's eval.
std::optional<Value> in_quotes(const YamlNode& node) {
  if (node.style() == YamlNode::Style::plain) return std::nullopt;
  const auto values = expression::parse_python_values(node.text("FillValue"), node.text_mark());
  if (values.size() != 1 || !number(values[0])) node.expected("FillValue", "a number");
  return values[0];
}

double real(const YamlNode& node) {
  const auto quoted = in_quotes(node);
  return quoted ? *number(*quoted) : node.number("FillValue");
}

std::int64_t whole(const YamlNode& node, const std::string& type) {
  const auto [least, most] = range_of(type);
  const auto quoted = in_quotes(node);
  const bool is_real = quoted ? std::holds_alternative<double>(*quoted) : node.is_real();
  const double value = is_real ? real(node) : 0;
  const bool fits = std::abs(value) <= kMostOfDouble;
  const std::int64_t number = is_real  ? (fits ? static_cast<std::int64_t>(value) : 0)
                              : quoted ? static_cast<std::int64_t>(*community::number(*quoted))
                                       : node.integer("FillValue");
  if (!fits || number < least || number > most)
    node.expected("FillValue", fmt::format("a number that {} can hold", type));
  return number;
}

}  // namespace

std::string t1_number(const YamlNode& node, const std::string& type) {
  return t1_is_whole(type) ? std::to_string(whole(node, type)) : to_text(Value(real(node)));
}

std::string t1_fill(const YamlNode& argument, const std::string& type) {
  const YamlNode* value = t1_given(argument, "FillValue");
  const YamlNode* kind = t1_given(argument, "FillType");
  const std::string how = kind == nullptr ? "Random" : kind->text("FillType");
  const double most = value == nullptr ? 1 : real(*value);
  if (how == "Constant")
    return value == nullptr ? "{value: 1}" : fmt::format("{{value: {}}}", t1_number(*value, type));
  if (how == "Generator")  // of data that some program made; the gate has its own kinds anyway
    log_warning("a T1 FillType Generator is not run: random data are used instead");
  else if (how != "Random")
    kind->expected("FillType", "Random, Constant or Generator");
  if (type == "bool") return "{integers: [0, 1]}";
  if (t1_is_whole(type))
    return fmt::format("{{integers: [0, {}]}}",
                       std::max<std::int64_t>(value == nullptr ? 0 : whole(*value, type) - 1, 1));
  return fmt::format("{{uniform: [0, {}]}}", to_text(Value(most > 0 ? most : 1.0)));
}

}  // namespace fa_tune::community
