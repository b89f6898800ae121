#include "engine/problem/custom/fill.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "engine/problem/custom/spec.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::problem {
namespace {

using Kind = Distribution::Kind;

constexpr const char* kFills =
    "normal, {normal: [mean, deviation]}, {uniform: [low, high]}, {integers: [least, most]}, "
    "{value: x}, {permutation: n}, {offsets: n} or {file: x.npy}";

std::pair<Wide, Wide> integers_in(DType type) {
  if (is_integer(type)) return range_of(type);
  return range_of(DType::i32);
}

void read_value(const YamlNode& node, DType type, Distribution& fill) {
  fill.kind = Kind::value;
  if (!is_integer(type)) {
    fill.first = node.number("value");
    fill.second = 0;
    return;
  }
  fill.least = fill.most = expression::read_stated_integer(node, "value");
}

void read_range(const YamlNode& node, const std::string& key, Distribution& fill) {
  const auto& numbers = node.items(key);
  if (numbers.size() != 2) node.expected(key, "two numbers");
  if (key == "integers") {
    fill.kind = Kind::integers;
    fill.least = expression::read_stated_integer(numbers[0], "integers");
    fill.most = expression::read_stated_integer(numbers[1], "integers");
    return;
  }
  fill.first = numbers[0].number(key);
  fill.second = numbers[1].number(key);
  fill.kind = key == "normal" ? Kind::normal : Kind::uniform;
  if (fill.kind == Kind::normal && fill.second <= 0)
    numbers[1].expected(key, "a deviation above 0");
  if (fill.kind == Kind::uniform && fill.second <= fill.first)
    numbers[1].expected(key, "a bound above the lower one");
}

Wide number_at(const expression::StatedInteger& stated, const Constants& sizes) {
  return stated.formula ? Wide{evaluate(*stated.formula, sizes)} : stated.number;
}

}  // namespace

Distribution read_fill(const YamlNode& node, const CustomType& type) {
  Distribution fill{.mark = node.mark()};
  if (node.is_scalar() && node.text("fill") == "normal") {
    if (type.number == DType::boolean) node.fail("fill: a bool is drawn from {integers: [0, 1]}");
    return fill;
  }
  const YamlNode* sorted = node.find("sorted");
  if (!node.is_map() || node.entries("fill").size() != (sorted == nullptr ? 1 : 2))
    node.expected("fill", kFills);
  fill.sorted = sorted != nullptr && sorted->boolean("sorted");
  const auto& [key, mark, how] = node.entries("fill")[&node.entries("fill")[0].value == sorted];
  if (key == "file") {
    fill.kind = Kind::file;
    fill.file = how.text(key);
  } else if (key == "value") {
    read_value(how, type.number, fill);
  } else if (key == "permutation" || key == "offsets") {
    if (!is_integer(type.number)) how.fail(key + ": is of integers");
    fill.kind = key == "offsets" ? Kind::offsets : Kind::permutation;
    fill.most = expression::read_stated_integer(how, "an integer");
  } else if (key == "normal" || key == "uniform" || key == "integers") {
    read_range(how, key, fill);
  } else {
    node.expected("fill", kFills);
  }
  const bool of_floats = fill.kind == Kind::normal || fill.kind == Kind::uniform;
  if (type.number == DType::boolean && of_floats)
    how.fail("fill: a bool is drawn from {integers: [0, 1]}");
  if (fill.sorted && fill.kind == Kind::file)
    sorted->fail("sorted: the elements of a file are what they are");
  return fill;
}

Distribution at_sizes(Distribution fill, const Tensor& tensor, const Constants& sizes) {
  if (fill.kind == Kind::normal || fill.kind == Kind::uniform || fill.kind == Kind::file)
    return fill;
  if (fill.kind == Kind::value && !is_integer(tensor.type)) return fill;
  fill.least = {number_at(fill.least, sizes), std::nullopt};
  fill.most = {number_at(fill.most, sizes), std::nullopt};
  const auto fail = [&](const std::string& what) {
    throw UserError(prefix(fill.mark) + "fill: '" + tensor.name + "' " + what + " for " +
                    to_json(sizes));
  };
  if (fill.kind == Kind::permutation) {
    if (fill.most.number != tensor.dims.back())
      fail(fmt::format("has rows of {} elements, and a permutation of {} is stated",
                       tensor.dims.back(), integer_text(fill.most.number)));
    fill.most.number -= 1;
  }
  const Wide least = fill.least.number, most = fill.most.number;
  const auto [lowest, highest] = integers_in(tensor.type);
  if (most < least)
    fail(fmt::format("has integers from {} to {}: there are none", integer_text(least),
                     integer_text(most)));
  if (least < lowest || most > highest)
    fail(fmt::format("has integers from {} to {}, and {} holds {} to {}", integer_text(least),
                     integer_text(most), type_name(tensor.type), integer_text(lowest),
                     integer_text(highest)));
  fill.first = static_cast<double>(least);
  fill.second = static_cast<double>(most);
  return fill;
}

}  // namespace fa_tune::problem
