#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace fa_tune::emulator {

// The fundamental types of PTX (ISA 9.0, section 5.2) that instructions here work on. The b* types
// are the same bits without a meaning.
enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  bf16,
  f32,
  f64,
  f16x2,
  bf16x2,
  tf32,
  u16x2,
  s16x2,
  e4m3x2,
  e5m2x2,
  b128,
};

struct TypeFacts {
  std::string_view name;
  int size;  // bytes; 0 for a predicate
  bool is_float;
  bool is_signed;
};

// In the order of the enumeration.
inline constexpr std::array<TypeFacts, 26> kTypeFacts = {{
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
// Here, so that loads and stores need no call for it; and never a function of its own, which the
// linker might take from a source that is compiled for AVX2 (see lanes_map.hpp).
[[gnu::always_inline]] constexpr const TypeFacts& facts_of(Type type) {
  return kTypeFacts[static_cast<std::size_t>(type)];
}
[[gnu::always_inline]] constexpr std::string_view name_of(Type type) { return facts_of(type).name; }
[[gnu::always_inline]] constexpr int size_of(Type type) { return facts_of(type).size; }
[[gnu::always_inline]] constexpr bool is_float(Type type) { return facts_of(type).is_float; }
[[gnu::always_inline]] constexpr bool is_signed(Type type) { return facts_of(type).is_signed; }

// "f16x2" to Type::f16x2; nothing for a word that is no type.
std::optional<Type> type_of(std::string_view word);
bool one_of(std::string_view word, std::initializer_list<std::string_view> words);

// `cluster`: shared::cluster, which holds the shared memory of every CTA of the cluster.
enum class Space : std::uint8_t { generic, global, shared, local, param, constant, cluster };

// The first multiple of `alignment` that is not below `address`.
constexpr std::uint64_t aligned_up(std::uint64_t address, std::uint64_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

// What went wrong, in the emulator's own words: it knows nothing of devices. Mirrors FaultKind.
enum class DiagnosticKind : std::uint8_t {
  load_failed,
  unknown_instruction,
  resources,
  out_of_bounds,
  misaligned,
  freed,
  uninitialized,
  race,
  barrier,
  sync,
  deadlock,
  timeout,
  trap,
  read_only,   // a store to what the launch may only read
  unfinished,  // what the launch may execute was used up: says nothing of the kernel
};

struct Diagnostic {
  DiagnosticKind kind = DiagnosticKind::load_failed;
  std::string message;  // one line
};

}  // namespace fa_tune::emulator
