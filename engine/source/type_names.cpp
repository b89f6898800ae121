#include "engine/source/type_names.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace fa_tune::source {
namespace {

using Names = std::pair<std::string_view, std::string_view>;

constexpr std::array kNames = {Names{"float", "f32"},
                               Names{"double", "f64"},
                               Names{"half", "f16"},
                               Names{"__half", "f16"},
                               Names{"__nv_bfloat16", "bf16"},
                               Names{"nv_bfloat16", "bf16"},
                               Names{"__nv_fp8_e4m3", "e4m3"},
                               Names{"__nv_fp8_e5m2", "e5m2"},
                               Names{"char", "i8"},
                               Names{"signed char", "i8"},
                               Names{"unsigned char", "u8"},
                               Names{"uchar", "u8"},
                               Names{"short", "i16"},
                               Names{"unsigned short", "u16"},
                               Names{"ushort", "u16"},
                               Names{"int", "i32"},
                               Names{"unsigned", "u32"},
                               Names{"unsigned int", "u32"},
                               Names{"uint", "u32"},
                               Names{"long", "i64"},
                               Names{"long long", "i64"},
                               Names{"longlong", "i64"},
                               Names{"ptrdiff_t", "i64"},
                               Names{"unsigned long", "u64"},
                               Names{"unsigned long long", "u64"},
                               Names{"ulonglong", "u64"},
                               Names{"size_t", "u64"},
                               Names{"int8_t", "i8"},
                               Names{"uint8_t", "u8"},
                               Names{"int16_t", "i16"},
                               Names{"uint16_t", "u16"},
                               Names{"int32_t", "i32"},
                               Names{"uint32_t", "u32"},
                               Names{"int64_t", "i64"},
                               Names{"uint64_t", "u64"},
                               Names{"int8", "i8"},
                               Names{"uint8", "u8"},
                               Names{"int16", "i16"},
                               Names{"uint16", "u16"},
                               Names{"int32", "i32"},
                               Names{"uint32", "u32"},
                               Names{"int64", "i64"},
                               Names{"uint64", "u64"},
                               Names{"float16", "f16"},
                               Names{"bfloat16", "bf16"},
                               Names{"float32", "f32"},
                               Names{"float64", "f64"},
                               Names{"bool_", "bool"},
                               Names{"cuComplex", "complex64"},
                               Names{"cuFloatComplex", "complex64"},
                               Names{"cuDoubleComplex", "complex128"},
                               Names{"__half2", "f16x2"},
                               Names{"__nv_bfloat162", "bf16x2"},
                               Names{"nv_bfloat162", "bf16x2"}};

// Beginnings of CUDA's vector types.
constexpr std::array kLanes = {
    Names{"float", "f32"},    Names{"double", "f64"}, Names{"half", "f16"},
    Names{"char", "i8"},      Names{"uchar", "u8"},   Names{"short", "i16"},
    Names{"ushort", "u16"},   Names{"int", "i32"},    Names{"uint", "u32"},
    Names{"long", "i64"},     Names{"ulong", "u64"},  Names{"longlong", "i64"},
    Names{"ulonglong", "u64"}};

}  // namespace

std::string canonical_type(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &Names::first);
  if (found != kNames.end()) return std::string(found->second);
  if (name.empty() || name.back() < '2' || name.back() > '4') return std::string(name);
  const auto lanes = std::ranges::find(kLanes, name.substr(0, name.size() - 1), &Names::first);
  if (lanes == kLanes.end()) return std::string(name);
  return std::string(lanes->second) + "x" + name.back();
}

}  // namespace fa_tune::source
