#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fa_tune {

// What can keep a kernel from being faster. The first are parts of a GPU that may be busy, those
// after them what is left where none is.
enum class Bottleneck : std::uint8_t {
  issue,          // the schedulers' slots: an instruction a clock each
  tensor,         // the tensor cores
  fma,            // f32 multiply-add units
  half,           // f16 and bf16 arithmetic
  fp64,           // f64 arithmetic
  alu,            // integers, logic, comparisons
  special,        // ex2, rcp, rsqrt, ..., and conversions where that unit makes them
  shared_memory,  // shared memory and L1: their data banks
  l2,
  dram,
  latency,      // nothing is busy enough: warps wait for one another or for results
  parallelism,  // SMs stand idle: too few blocks, or too unequal ones
  launch,       // the launch takes longer than the work
};
inline constexpr Bottleneck kLastLimit = Bottleneck::launch;

// "shared_memory": as manifests and JSON have it.
std::string to_text(Bottleneck limit);
std::optional<Bottleneck> limit_of(std::string_view text);
// "shared memory and L1": for a person.
std::string words(Bottleneck limit);

}  // namespace fa_tune
