#include "engine/problem/custom/widen.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "engine/source/identifier_substitution.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune::problem {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array kWideNames = {Pair{"float", "double"},
                                   Pair{"float1", "double1"},
                                   Pair{"float2", "double2"},
                                   Pair{"float3", "double3"},
                                   Pair{"float4", "double4"},
                                   Pair{"make_float2", "make_double2"},
                                   Pair{"make_float3", "make_double3"},
                                   Pair{"make_float4", "make_double4"},
                                   Pair{"half", "double"},
                                   Pair{"__half", "double"},
                                   Pair{"__nv_bfloat16", "double"},
                                   Pair{"nv_bfloat16", "double"},
                                   Pair{"__nv_fp8_e4m3", "double"},
                                   Pair{"__nv_fp8_e5m2", "double"},
                                   Pair{"cuComplex", "cuDoubleComplex"},
                                   Pair{"cuFloatComplex", "cuDoubleComplex"},
                                   Pair{"make_cuComplex", "make_cuDoubleComplex"},
                                   Pair{"make_cuFloatComplex", "make_cuDoubleComplex"}};

// Several numbers in one of 32 bits, and 8-bit floats as the integers of their bits.
constexpr std::array<std::string_view, 5> kPacked = {"half2", "__half2", "nv_bfloat162",
                                                     "__nv_bfloat162", "__nv_fp8_storage_t"};
constexpr std::array<std::string_view, 2> kPackedBeginnings = {"__nv_fp8x", "__nv_cvt_"};

// Names of functions with one more letter for floats.
constexpr std::array kWithF = {
    "exp",    "exp2",   "exp10",  "expm1",  "log",      "log2",    "log10",   "log1p",
    "pow",    "sqrt",   "rsqrt",  "cbrt",   "sin",      "cos",     "tan",     "asin",
    "acos",   "atan",   "atan2",  "sinh",   "cosh",     "tanh",    "fma",     "fmax",
    "fmin",   "fmod",   "fabs",   "floor",  "ceil",     "round",   "trunc",   "rint",
    "erf",    "erfc",   "hypot",  "ldexp",  "copysign", "cuCreal", "cuCimag", "cuConj",
    "cuCadd", "cuCsub", "cuCmul", "cuCdiv", "cuCabs",   "cuCfma"};

// The fast ones, and conversions that leave nothing to convert.
constexpr std::array kFast = {Pair{"__expf(x)", "exp(x)"},
                              Pair{"__exp10f(x)", "exp10(x)"},
                              Pair{"__logf(x)", "log(x)"},
                              Pair{"__log2f(x)", "log2(x)"},
                              Pair{"__log10f(x)", "log10(x)"},
                              Pair{"__sinf(x)", "sin(x)"},
                              Pair{"__cosf(x)", "cos(x)"},
                              Pair{"__tanf(x)", "tan(x)"},
                              Pair{"__powf(x, y)", "pow(x, y)"},
                              Pair{"__fdividef(x, y)", "((x) / (y))"},
                              Pair{"__frcp_rn(x)", "(1.0 / (x))"},
                              Pair{"__fsqrt_rn(x)", "sqrt(x)"},
                              Pair{"__fadd_rn(x, y)", "((x) + (y))"},
                              Pair{"__fmul_rn(x, y)", "((x) * (y))"},
                              Pair{"__fmaf_rn(x, y, z)", "fma(x, y, z)"},
                              Pair{"__half2float(x)", "(x)"},
                              Pair{"__float2half(x)", "(x)"},
                              Pair{"__float2half_rn(x)", "(x)"},
                              Pair{"__hadd(x, y)", "((x) + (y))"},
                              Pair{"__hsub(x, y)", "((x) - (y))"},
                              Pair{"__hmul(x, y)", "((x) * (y))"},
                              Pair{"__hdiv(x, y)", "((x) / (y))"},
                              Pair{"__hneg(x)", "(-(x))"},
                              Pair{"__hfma(x, y, z)", "fma(x, y, z)"},
                              Pair{"__bfloat162float(x)", "(x)"},
                              Pair{"__float2bfloat16(x)", "(x)"}};

std::string defines() {
  std::string text = "// ---- in double ----\n";
  const auto define = [&text](std::string_view name, std::string_view as) {
    text.append("#define ").append(name).append(" ").append(as).append("\n");
  };
  for (const auto& [name, wide] : kWideNames) define(name, wide);
  for (const std::string name : kWithF) define(name + "f", name);
  for (const auto& [name, wide] : kFast) define(name, wide);
  return text;
}

// Behind the last line that includes a header which is not the source's own.
std::size_t behind_includes(const std::string& text) {
  std::size_t behind = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::size_t mark = text.find_first_not_of(" \t", at);
    if (mark != std::string::npos && text[mark] == '#') {
      const std::size_t word = text.find_first_not_of(" \t", mark + 1);
      if (word != std::string::npos && text.compare(word, 7, "include") == 0) behind = end;
    }
    at = end;
  }
  return behind;
}

// Without what stands in comments, which is left blank.
std::string without_comments(std::string text) {
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (text[at] != '/') continue;
    const char kind = text[at + 1];
    if (kind != '/' && kind != '*') continue;
    const std::size_t found = text.find(kind == '/' ? "\n" : "*/", at + 2);
    const std::size_t end = found == std::string::npos ? text.size() : found;
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(at),
              text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    at = end;
  }
  return text;
}

}  // namespace

std::optional<std::string> not_widened(const std::string& text) {
  const std::string code = without_comments(text);
  for (auto word = source::next_word(code, 0); word; word = source::next_word(code, word->end())) {
    const auto begins = [&](std::string_view with) { return word->text.starts_with(with); };
    if (std::ranges::find(kPacked, word->text) != kPacked.end() ||
        std::ranges::any_of(kPackedBeginnings, begins))
      return std::string(word->text);
  }
  return std::nullopt;
}

std::uint32_t times_wider(const std::string& text) {
  const std::string code = without_comments(text);
  std::uint32_t times = 2;
  for (auto word = source::next_word(code, 0); word; word = source::next_word(code, word->end())) {
    if (word->text.starts_with("__nv_fp8")) return 8;
    if (word->text == "half" || word->text == "__half" || word->text.ends_with("nv_bfloat16"))
      times = 4;
  }
  return times;
}

kernel::Source widened(const kernel::Source& plain) {
  kernel::Source wide = plain;
  const std::size_t behind = behind_includes(wide.text);
  const std::string lines = defines();
  if (plain.origin != nullptr) {
    const auto count = [](std::string_view text) {
      return static_cast<int>(std::ranges::count(text, '\n'));
    };
    kernel::Origin origin = *plain.origin;
    origin.lines =
        origin.lines.with_inserted(count(std::string_view(wide.text).substr(0, behind)) + 1,
                                   count(lines), "the #define lines for double");
    wide.origin = std::make_shared<const kernel::Origin>(std::move(origin));
  }
  wide.text.insert(behind, lines);
  for (const auto& [name, as] : kWideNames) {
    const auto in_word = [&](std::size_t at) {
      const auto c = at < wide.kernel.size() ? static_cast<unsigned char>(wide.kernel[at]) : ' ';
      return std::isalnum(c) != 0 || c == '_';
    };
    for (std::size_t at = wide.kernel.find('<');
         (at = wide.kernel.find(name, at)) < wide.kernel.size(); ++at)
      if (!in_word(at - 1) && !in_word(at + name.size())) wide.kernel.replace(at, name.size(), as);
  }
  wide.hash = sha256(wide.text);
  return wide;
}

}  // namespace fa_tune::problem
