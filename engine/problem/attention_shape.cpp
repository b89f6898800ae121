#include "engine/problem/attention_shape.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "engine/base/error.hpp"

namespace fa_tune {
namespace {

// The y and z sizes of a CUDA grid, where templates put heads and batches.
constexpr std::int64_t max_grid_size = 65'535;
constexpr std::int64_t max_length = std::int64_t{1} << 20;
constexpr std::int64_t max_head_dim = 512;

// Reads settings by name and complains about those nobody asked for.
class SettingReader {
 public:
  SettingReader(const std::vector<std::pair<std::string, Value>>& settings, std::string where)
      : where_(std::move(where)) {
    for (const auto& [name, value] : settings)
      if (!settings_.emplace(name, value).second) fail("'" + name + "' is given twice");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(where_ + "attention: " + what);
  }

  bool has(const std::string& name) const { return settings_.contains(name); }

  std::optional<std::int64_t> size(const std::string& name, std::int64_t largest) {
    const Value* value = take(name);
    if (value == nullptr) return std::nullopt;
    const auto* number = std::get_if<std::int64_t>(value);
    if (number == nullptr || *number < 1 || *number > largest)
      fail("'" + name + "' is " + to_text(*value) + ": expected an integer from 1 to " +
           std::to_string(largest));
    return *number;
  }

  std::int64_t required_size(const std::string& name, std::int64_t largest) {
    const auto value = size(name, largest);
    if (!value)
      fail("'" + name + "' is missing: give an integer from 1 to " + std::to_string(largest));
    return *value;
  }

  bool flag(const std::string& name, bool otherwise) {
    const Value* value = take(name);
    if (value == nullptr) return otherwise;
    const auto* held = std::get_if<bool>(value);
    if (held == nullptr) fail("'" + name + "' is " + to_text(*value) + ": expected true or false");
    return *held;
  }

  // One of `choices`; the first where it is not given.
  std::string choice(const std::string& name, const std::vector<std::string>& choices) {
    const Value* value = take(name);
    if (value == nullptr) return choices.front();
    const std::string text = to_text(*value);
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
    std::string known = choices.front();
    for (std::size_t i = 1; i < choices.size(); ++i) known += " or " + choices[i];
    fail("'" + name + "' is " + text + ": expected " + known);
  }

  void expect_all_taken() const {
    for (const auto& [name, value] : settings_) {
      if (asked_.contains(name)) continue;
      std::string known;
      for (const std::string& each : asked_) known += (known.empty() ? "" : ", ") + each;
      fail("unknown setting '" + name + "': the known ones are " + known);
    }
  }

 private:
  const Value* take(const std::string& name) {
    asked_.insert(name);
    const auto found = settings_.find(name);
    return found == settings_.end() ? nullptr : &found->second;
  }

  std::string where_;
  std::map<std::string, Value> settings_;
  std::set<std::string> asked_;
};

}  // namespace

AttentionShape AttentionShape::from(const Constants& constants) {
  AttentionShape shape;
  shape.B = integer(constants, "B");
  shape.H = integer(constants, "H");
  shape.Lq = integer(constants, "Lq");
  shape.Lk = integer(constants, "Lk");
  shape.D = integer(constants, "D");
  shape.causal = integer(constants, "causal") != 0;
  if (to_text(constants.at("causal_alignment")) == "bottom_right")
    shape.alignment = CausalAlignment::bottom_right;
  if (to_text(constants.at("dtype")) == "bf16") shape.dtype = DType::bf16;
  return shape;
}

Constants AttentionShape::constants() const {
  const bool bottom_right = alignment == CausalAlignment::bottom_right;
  return {{"B", B},
          {"H", H},
          {"Lq", Lq},
          {"Lk", Lk},
          {"D", D},
          {"causal", causal},
          {"causal_alignment", std::string(bottom_right ? "bottom_right" : "top_left")},
          {"dtype", std::string(dtype == DType::bf16 ? "bf16" : "fp16")}};
}

std::int64_t AttentionShape::visible_keys(std::int64_t q) const {
  if (!causal) return Lk;
  const std::int64_t shift = alignment == CausalAlignment::bottom_right ? Lk - Lq : 0;
  return std::clamp<std::int64_t>(q + 1 + shift, 0, Lk);
}

std::int64_t AttentionShape::visible_pairs() const {
  std::int64_t pairs = 0;
  for (std::int64_t q = 0; q < Lq; ++q) pairs += visible_keys(q);
  return pairs;
}

AttentionShape parse_attention(const std::vector<std::pair<std::string, Value>>& settings,
                               const std::string& where) {
  SettingReader reader(settings, where);
  AttentionShape shape;
  shape.B = reader.required_size("shape.B", max_grid_size);
  shape.H = reader.required_size("shape.H", max_grid_size);
  shape.D = reader.required_size("shape.D", max_head_dim);
  if (const auto both = reader.size("shape.L", max_length)) {
    if (reader.has("shape.Lq") || reader.has("shape.Lk"))
      reader.fail("'shape.L' stands for both lengths: give it alone, or shape.Lq and shape.Lk");
    shape.Lq = shape.Lk = *both;
  } else {
    shape.Lq = reader.required_size("shape.Lq", max_length);
    shape.Lk = reader.required_size("shape.Lk", max_length);
  }
  // Kernels index elements with 32-bit integers.
  const double elements = static_cast<double>(shape.B * shape.H) *
                          static_cast<double>(std::max(shape.Lq, shape.Lk) * shape.D);
  if (elements > std::numeric_limits<std::int32_t>::max())
    reader.fail("a tensor of this shape has over 2^31 elements: make B, H, L or D smaller");

  shape.causal = reader.flag("causal", false);
  if (reader.choice("causal_alignment", {"top_left", "bottom_right"}) == "bottom_right")
    shape.alignment = CausalAlignment::bottom_right;
  if (reader.choice("dtype", {"fp16", "bf16"}) == "bf16") shape.dtype = DType::bf16;
  reader.choice("scale", {"default"});
  reader.choice("layout", {"BHSD"});
  reader.expect_all_taken();
  return shape;
}

}  // namespace fa_tune
