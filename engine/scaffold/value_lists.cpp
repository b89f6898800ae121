#include "engine/scaffold/value_lists.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <string_view>

#include "engine/scaffold/kernel_text.hpp"

namespace fa_tune::scaffold {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool has_part(const std::string& name, std::initializer_list<std::string_view> parts) {
  const std::string text = lower(name);
  return std::ranges::any_of(parts,
                             [&](std::string_view part) { return text.find(part) != text.npos; });
}

bool is_count_of_work(const std::string& name) {
  return has_part(name, {"unroll", "vec", "per", "items", "coarse", "ilp", "stage"});
}

// What a kernel computes, not how.
bool changes_result(const std::string& name) {
  return has_part(name, {"radius", "filter", "channel", "bins", "class", "order", "halo", "mask",
                         "kernel_", "max", "min", "num_", "dim_", "head"});
}

}  // namespace

std::int64_t usual_value(const std::string& name) {
  if (has_part(name, {"use", "pad", "flag", "enable", "method"})) return 0;
  if (has_part(name, {"tile_size", "work"})) return 1;
  if (has_part(name, {"block_size"})) return name.ends_with("z") ? 1 : 16;
  if (is_count_of_work(name)) return 4;
  if (has_part(name, {"tile", "row", "col"})) return 16;
  if (has_part(name, {"block", "thread", "bs", "wg", "dim", "size"})) return 128;
  return 16;
}

std::vector<std::int64_t> values_around(const std::string& name, std::int64_t otherwise) {
  if (changes_result(name) || otherwise < 1 || otherwise > 1024 ||
      !std::has_single_bit(static_cast<std::uint64_t>(otherwise))) {
    if (otherwise == 0 && !changes_result(name)) return {0, 1};
    return {otherwise};
  }
  if (is_count_of_work(name) || otherwise <= 8) {
    std::vector<std::int64_t> values = {1, 2, 4, 8};
    if (otherwise > 8) values.push_back(otherwise);
    return values;
  }
  std::vector<std::int64_t> values;
  for (std::int64_t value = std::max<std::int64_t>(otherwise / 4, 8);
       value <= std::min<std::int64_t>(2 * otherwise, 1024); value *= 2)
    values.push_back(value);
  return values;
}

std::string usual_scalar(const std::string& name, const std::string& type) {
  const bool is_float = is_floating(type);
  std::string one = is_float ? "0.5" : "1";
  if (type == "bool") one = "true";
  if (is_float && has_part(name, {"eps"})) one = "1e-5";
  if (is_float && has_part(name, {"alpha", "scale", "factor"})) one = "1.5";
  const int lanes = lanes_of(type);
  if (lanes == 1) return one;
  std::string all = "[" + one;
  for (int i = 1; i < lanes; ++i) all += ", " + one;
  return all + "]";
}

}  // namespace fa_tune::scaffold
