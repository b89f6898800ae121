#include "engine/problem/attention/shape.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "engine/problem/setting_reader.hpp"

namespace fa_tune::problem {
namespace {

// The y and z sizes of a CUDA grid, where templates put heads and batches.
constexpr std::int64_t kMaxGridSize = 65'535;
constexpr std::int64_t kMaxLength = std::int64_t{1} << 20;
constexpr std::int64_t kMaxHeadDim = 512;

// A setting that a plain problem, or a shape stored before there was this one, does not have.
template <typename T>
T given(const Constants& constants, const std::string& name, const T& otherwise) {
  const auto found = constants.find(name);
  return found == constants.end() ? otherwise : std::get<T>(found->second);
}

const std::vector<std::string> kDtypeNames = {"fp16", "bf16", "e4m3"};
const std::vector<std::string> kVScales = {"any", "powers_of_two"};

DType dtype_of(const std::string& name) {
  if (name == "e4m3") return DType::e4m3;
  return name == "bf16" ? DType::bf16 : DType::f16;
}

std::int64_t read_scale_rows(SettingReader& reader, DType dtype) {
  constexpr std::int64_t usual = 128;
  const auto rows = reader.integer("scale_rows", 1, kMaxLength);
  if (dtype == DType::e4m3) return rows.value_or(usual);
  if (rows) reader.fail("'scale_rows' goes with dtype e4m3, whose elements have scales");
  return 0;
}

bool read_v_scales(SettingReader& reader, DType dtype) {
  const bool given = reader.has("v_scales");
  const bool powers = reader.choice("v_scales", kVScales) == kVScales[1];
  if (given && dtype != DType::e4m3)
    reader.fail("'v_scales' goes with dtype e4m3, whose elements have scales");
  return powers;
}

std::pair<std::int64_t, std::int64_t> read_window(SettingReader& reader) {
  const auto left = reader.integer("window.0", -1, kMaxLength);
  const auto right = reader.integer("window.1", -1, kMaxLength);
  if (reader.has("window") || reader.has("window.2") || left.has_value() != right.has_value())
    reader.fail("'window' must be a list of two: [left, right], -1 for no limit");
  return {left.value_or(-1), right.value_or(-1)};
}

}  // namespace

std::string to_text(DType dtype) {
  if (dtype == DType::e4m3) return "e4m3";
  return dtype == DType::bf16 ? "bf16" : "fp16";
}

AttentionShape AttentionShape::from(const Constants& constants) {
  AttentionShape shape;
  shape.B = integer(constants, "B");
  shape.H = integer(constants, "H");
  shape.Lq = integer(constants, "Lq");
  shape.Lk = integer(constants, "Lk");
  shape.D = integer(constants, "D");
  shape.causal = given(constants, "causal", false);
  if (fa_tune::to_text(constants.at("causal_alignment")) == "bottom_right")
    shape.alignment = CausalAlignment::bottom_right;
  shape.dtype = dtype_of(fa_tune::to_text(constants.at("dtype")));
  shape.Hkv = given(constants, "Hkv", shape.Hkv);
  if (given(constants, "layout", std::string("BHSD")) == "BSHD") shape.layout = Layout::BSHD;
  shape.lse = given(constants, "lse", shape.lse);
  shape.window_left = given(constants, "window_left", shape.window_left);
  shape.window_right = given(constants, "window_right", shape.window_right);
  shape.softcap = given(constants, "softcap", shape.softcap);
  shape.alibi = given(constants, "alibi", shape.alibi);
  shape.scale_rows = given(constants, "scale_rows", shape.scale_rows);
  shape.v_powers_of_two = given(constants, "v_scales", kVScales[0]) == kVScales[1];
  return shape;
}

Constants AttentionShape::constants() const {
  Constants all = complete();
  const Constants defaults = AttentionShape{.H = H}.complete();
  for (const char* name :
       {"Hkv", "layout", "lse", "window_left", "window_right", "alibi", "scale_rows", "v_scales"})
    if (all.at(name) == defaults.at(name)) all.erase(name);
  for (const char* name : {"group", "capped"}) all.erase(name);
  if (softcap > 0) all["softcap"] = softcap;
  return all;
}

Constants AttentionShape::complete() const {
  const bool bottom_right = alignment == CausalAlignment::bottom_right;
  return {{"B", B},
          {"H", H},
          {"Hkv", kv_heads()},
          {"group", group()},
          {"Lq", Lq},
          {"Lk", Lk},
          {"D", D},
          {"causal", causal},
          {"causal_alignment", std::string(bottom_right ? "bottom_right" : "top_left")},
          {"dtype", to_text(dtype)},
          {"layout", std::string(layout == Layout::BSHD ? "BSHD" : "BHSD")},
          {"lse", lse},
          {"window_left", window_left},
          {"window_right", window_right},
          {"capped", softcap > 0},
          {"alibi", alibi},
          {"scale_rows", scale_rows},
          {"v_scales", kVScales[v_powers_of_two ? 1 : 0]}};
}

KeyRange AttentionShape::visible(std::int64_t q) const {
  const std::int64_t stands_at = alignment == CausalAlignment::bottom_right ? q + Lk - Lq : q;
  std::int64_t end = Lk;
  if (causal)
    end = stands_at + 1;
  else if (limited_right())
    end = stands_at + window_right + 1;
  const std::int64_t first = window_left < 0 ? 0 : stands_at - window_left;
  KeyRange range{.first = std::clamp<std::int64_t>(first, 0, Lk),
                 .end = std::clamp<std::int64_t>(end, 0, Lk)};
  range.first = std::min(range.first, range.end);
  return range;
}

std::int64_t AttentionShape::visible_pairs() const {
  std::int64_t pairs = 0;
  for (std::int64_t q = 0; q < Lq; ++q) pairs += visible(q).count();
  return pairs;
}

AttentionShape parse_attention(const std::vector<std::pair<std::string, Value>>& settings,
                               const std::string& where) {
  SettingReader reader(settings, where, "attention");
  AttentionShape shape;
  shape.B = reader.required_integer("shape.B", 1, kMaxGridSize);
  shape.H = reader.required_integer("shape.H", 1, kMaxGridSize);
  shape.Hkv = reader.integer("shape.Hkv", 1, kMaxGridSize).value_or(shape.H);
  if (shape.H % shape.Hkv != 0)
    reader.fail("'shape.Hkv' is " + std::to_string(shape.Hkv) +
                ": expected a divisor of shape.H, " + std::to_string(shape.H));
  shape.D = reader.required_integer("shape.D", 1, kMaxHeadDim);
  if (const auto both = reader.integer("shape.L", 1, kMaxLength)) {
    if (reader.has("shape.Lq") || reader.has("shape.Lk"))
      reader.fail("'shape.L' stands for both lengths: give it alone, or shape.Lq and shape.Lk");
    shape.Lq = shape.Lk = *both;
  } else {
    shape.Lq = reader.required_integer("shape.Lq", 1, kMaxLength);
    shape.Lk = reader.required_integer("shape.Lk", 1, kMaxLength);
  }
  // Kernels index elements with 32-bit integers.
  const double elements = static_cast<double>(shape.B * shape.H) *
                          static_cast<double>(std::max(shape.Lq, shape.Lk) * shape.D);
  if (elements > std::numeric_limits<std::int32_t>::max())
    reader.fail("a tensor of this shape has over 2^31 elements: make B, H, L or D smaller");

  shape.causal = reader.flag("causal", false);
  if (reader.choice("causal_alignment", {"top_left", "bottom_right"}) == "bottom_right")
    shape.alignment = CausalAlignment::bottom_right;
  shape.dtype = dtype_of(reader.choice("dtype", kDtypeNames));
  reader.choice("scale", {"default"});
  if (reader.choice("layout", {"BHSD", "BSHD"}) == "BSHD") shape.layout = Layout::BSHD;
  shape.lse = reader.flag("lse", false);
  std::tie(shape.window_left, shape.window_right) = read_window(reader);
  shape.softcap = reader.number("softcap", 0, 0);
  shape.alibi = reader.flag("alibi", false);
  shape.scale_rows = read_scale_rows(reader, shape.dtype);
  shape.v_powers_of_two = read_v_scales(reader, shape.dtype);
  reader.expect_all_taken();
  return shape;
}

}  // namespace fa_tune::problem
