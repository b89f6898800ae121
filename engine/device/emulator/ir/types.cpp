#include "engine/device/emulator/ir/types.hpp"

#include <algorithm>
#include <array>

namespace fa_tune::emulator {
namespace {

struct Facts {
  std::string_view name;
  int size;
  bool is_float;
  bool is_signed;
};

// In the order of the enumeration.
constexpr std::array<Facts, 26> facts = {{
    {"none", 0, false, false},  {"pred", 0, false, false},  {"b8", 1, false, false},
    {"b16", 2, false, false},   {"b32", 4, false, false},   {"b64", 8, false, false},
    {"u8", 1, false, false},    {"u16", 2, false, false},   {"u32", 4, false, false},
    {"u64", 8, false, false},   {"s8", 1, false, true},     {"s16", 2, false, true},
    {"s32", 4, false, true},    {"s64", 8, false, true},    {"f16", 2, true, true},
    {"bf16", 2, true, true},    {"f32", 4, true, true},     {"f64", 8, true, true},
    {"f16x2", 4, true, true},   {"bf16x2", 4, true, true},  {"tf32", 4, true, true},
    {"u16x2", 4, false, false}, {"s16x2", 4, false, true},  {"e4m3x2", 2, true, true},
    {"e5m2x2", 2, true, true},  {"b128", 16, false, false},
}};

}  // namespace

std::optional<Type> type_of(std::string_view word) {
  for (std::size_t i = 1; i < facts.size(); ++i) {
    if (facts[i].name == word) return static_cast<Type>(i);
  }
  return std::nullopt;
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view name_of(Type type) { return facts[static_cast<std::size_t>(type)].name; }
int size_of(Type type) { return facts[static_cast<std::size_t>(type)].size; }
bool is_float(Type type) { return facts[static_cast<std::size_t>(type)].is_float; }
bool is_signed(Type type) { return facts[static_cast<std::size_t>(type)].is_signed; }

}  // namespace fa_tune::emulator
