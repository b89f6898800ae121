#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/lone/kernel_file.hpp"

namespace fa_tune::lone {

// Two devices' contents of the same buffer.
struct Difference {
  std::uint64_t elements = 0;
  std::uint64_t identical = 0;  // NaN of any payload are alike
  std::uint64_t worst_ulp = 0;
  double worst_absolute = 0;
  std::uint64_t first = 0;  // index of the first that differs, if one does
  bool agrees = true;       // all within the bound

  Difference& operator+=(const Difference& other);
};

Difference compare(const ArgumentSpec& spec, const Agreement& agreement,
                   std::span<const std::byte> a, std::span<const std::byte> b);

// Element `index` of a buffer.
std::uint64_t element_bits(Element element, std::span<const std::byte> bytes, std::uint64_t index);

// "argument 2  out:f32[64x64]  min -3.1  max 2.9  mean 0.01  sha256 1f2e...": one line for a person
// and, in its hash, for a script that compares. NaN and infinities are counted, not averaged.
std::string summary_of(const ArgumentSpec& spec, const LoneOutput& output);

// What of a device's outputs is kept in a file: of each buffer the SHA-256 of its bytes (every NaN
// written as the same one) and some of its elements, so that where bits may differ there is still
// something to hold another device against.
nlohmann::ordered_json record(const KernelFile& kernel, const std::vector<LoneOutput>& outputs);

// What is wrong with outputs held against a record; empty if nothing.
std::string refute(const KernelFile& kernel, const std::vector<LoneOutput>& outputs,
                   const nlohmann::ordered_json& recorded);

// "exact", "2 ulp", "absolute 1e-06".
std::string describe(const Agreement& agreement);

}  // namespace fa_tune::lone
