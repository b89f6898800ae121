#include "engine/expression/stated_number.hpp"

#include <charconv>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "engine/util/error.hpp"

namespace fa_tune::expression {

std::optional<Wide> integer_literal(const YamlNode& node) {
  if (!node.is_scalar() || node.style() != YamlNode::Style::plain) return std::nullopt;
  std::string_view text = node.text("an integer");
  if (text == "true" || text == "false") return Wide{text == "true"};
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return negative ? -static_cast<Wide>(magnitude) : static_cast<Wide>(magnitude);
}

StatedInteger read_stated_integer(const YamlNode& node, const char* what) {
  if (const auto literal = integer_literal(node)) return {*literal, std::nullopt};
  if (node.is_real()) node.expected(what, "an integer");
  return {0, Expression::parse(node.text(what), node.text_mark())};
}

StatedNumber read_stated_number(const YamlNode& node, DType type, const char* what) {
  if (node.is_real() && !is_integer(type)) return {{}, node.number(what)};
  return {read_stated_integer(node, what), std::nullopt};
}

std::string StatedNumber::text() const {
  if (real) return fmt::format("{}", *real);
  return whole.formula ? whole.formula->text() : integer_text(whole.number);
}

void put_stated_number(const StatedNumber& number, DType type, const Expression::Scope& scope,
                       const Mark& mark, const std::string& name, std::byte* to) {
  if (number.real) return put_number(type, *number.real, to);
  Wide whole = number.whole.number;
  if (const auto& formula = number.whole.formula) {
    const Value value = formula->evaluate(scope);
    const bool* flag = type == DType::boolean ? std::get_if<bool>(&value) : nullptr;
    whole = flag != nullptr ? Wide{*flag} : Wide{formula->evaluate_integer(scope)};
  }
  if (!is_integer(type)) return put_number(type, static_cast<double>(whole), to);
  const auto [least, most] = range_of(type);
  if (whole < least || whole > most)
    throw UserError(fmt::format("{}'{}' is {}, which {} {} cannot hold", prefix(mark), name,
                                integer_text(whole), type_name(type)[0] == 'i' ? "an" : "a",
                                type_name(type)));
  put_integer(type, whole, to);
}

}  // namespace fa_tune::expression
