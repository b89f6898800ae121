#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "engine/export/package.hpp"
#include "tests/engine/export/programs.hpp"

// Packages to export, made without a search.
namespace fa_tune::test {

using namespace fa_tune::exports;
using namespace fa_tune::problem;

inline Scalar real(const std::string& name, float value) {
  Scalar scalar{.name = name, .bytes = std::vector<std::byte>(sizeof value), .type = DType::f32};
  std::memcpy(scalar.bytes.data(), &value, sizeof value);
  return scalar;
}

inline Scalar whole(const std::string& name, std::int32_t value) {
  Scalar scalar{.name = name, .bytes = std::vector<std::byte>(sizeof value)};
  std::memcpy(scalar.bytes.data(), &value, sizeof value);
  return scalar;
}

// y = a * x, with a table in constant memory and x seen through a map.
inline Package some_package() {
  PackagedCall call{.kernel = 0,
                    .shape = {{"n", std::int64_t{64}}, {"rows", std::int64_t{32}}},
                    .given = {{"n", std::int64_t{64}}, {"rows", std::int64_t{32}}},
                    .launch = {{4, 2, 1}, {128, 1, 1}, {2, 1, 1}, 512},
                    .arguments = {"X_map", "y", "a", "n"},
                    .maps = {{"X_map", "x", {64, 8}, 128, {}}},
                    .tensors = {{"x", DType::f16, Role::input, {32, 64}, {}, "RN"},
                                {"y", DType::f32, Role::output, {32, 64}, {}, "RN"},
                                {"unused", DType::f32, Role::input, {1}, {}, "N"},
                                {"table", DType::f32, Role::input, {16}, {}, "N", true}},
                    .scalars = {whole("n", 64), real("a", 2.5F), whole("unseen", 3)},
                    .described = "n=64 rows=32",
                    .device = "NVIDIA H100",
                    .origin = "trial 7"};
  return package_of("scale_add", std::move(call));
}

// counts = 0, then y = first(x, parts), parts = counts, and last(parts, y, a).
inline Package package_of_steps() {
  Package package = some_package();
  package.name = "steps";
  package.kernels[0].image.more = {{"last", {}}};
  PackagedCall& call = package.calls[0];
  call.tensors.push_back({"counts", DType::i32, Role::output, {32}, {}, "N"});
  call.tensors.push_back({"parts", DType::i32, Role::workspace, {4, 8}, {}, "NN"});
  call.steps = {PlannedFill{"counts", 3},
                PlannedKernel{0, call.launch, {"X_map", "y", "parts"}, call.maps},
                PlannedCopy{"counts", "parts"},
                PlannedKernel{1, {{7, 1, 1}, {32, 1, 1}, {}, 64}, {"parts", "y", "a"}, {}}};
  call.launch = {};
  call.arguments = {};
  call.maps = {};
  return package;
}

inline const char* const kHostile =
    "a\" ' \"\"\" ''' \\ */ ``` ?\?/ \n\r\t import os; os.abort() // # \xff \xc3\xbc "
    "\xf0\x9f\x98\x80 ${x} {0} %s "
    "\xe2\x80\xa8 end";

inline Package hostile_package() {
  Package package = some_package();
  package.version = package.calls[0].described = package.calls[0].device = kHostile;
  package.calls[0].origin = std::string("ends in a backslash \\") + kHostile + "\\";
  package.kernels[0].source_hash = kHostile;
  package.problem = kHostile;
  return package;
}

// y of complex numbers and a mask of bools, by a struct of 24 bytes, a size and a flag.
inline Package typed_package() {
  Package package = some_package();
  PackagedCall& call = package.calls[0];
  call.launch.cluster = {1, 1, 1};
  call.arguments = {"z", "mask", "how", "count", "flag"};
  call.maps = {};
  call.tensors = {{"z", DType::f32, Role::output, {7, 2}, {}, "", false, true},
                  {"mask", DType::boolean, Role::input, {7}, {}}};
  Scalar how{.name = "how",
             .bytes = std::vector<std::byte>(24),
             .parts = {{"scale", DType::f32, 0}, {"id", DType::i64, 8}, {"bits", DType::u16, 16}}};
  put_number(DType::f32, 2.5, how.bytes.data());
  put_integer(DType::i64, -3, how.bytes.data() + 8);
  put_integer(DType::u16, 65535, how.bytes.data() + 16);
  Scalar count{.name = "count", .bytes = std::vector<std::byte>(8), .type = DType::u64};
  put_integer(DType::u64, ~std::uint64_t{0}, count.bytes.data());
  call.scalars = {how, count, {.name = "flag", .bytes = {std::byte{1}}, .type = DType::boolean}};
  package.name = "typed";
  return package;
}

}  // namespace fa_tune::test
