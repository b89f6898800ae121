#pragma once

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

// "f16x2" to Type::f16x2; nothing for a word that is no type.
std::optional<Type> type_of(std::string_view word);
std::string_view name_of(Type type);
bool one_of(std::string_view word, std::initializer_list<std::string_view> words);
// Bytes; 0 for a predicate.
int size_of(Type type);
bool is_float(Type type);
bool is_signed(Type type);

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
