#pragma once

#include <fstream>
#include <string>

#include "engine/community/t1/t1_space.hpp"
#include "engine/util/error.hpp"
#include "tests/engine/tuner/fixture.hpp"

namespace fa_tune::test {

// A T1 file, its kernel, and a plain one that computes the same.
inline constexpr const char* kT1 = R"json({"General": {"BenchmarkName": "window sum"},
 "ConfigurationSpace": {
  "TuningParameters": [
   {"Name": "block_size_x", "Type": "int", "Values": "[32 * i for i in range(1, 9)]", "Default": 64},
   {"Name": "tile_size_x", "Type": "int", "Values": "[1, 2, 4]", "Default": 2},
   {"Name": "radius", "Type": "int", "Values": "[3]", "Default": 3}],
  "Conditions": [{"Expression": "32 <= block_size_x * tile_size_x <= limit"}]},
 "BenchmarkConfig": {"limit": 512},
 "KernelSpecification": {
  "Language": "CUDA", "CompilerOptions": ["-std=c++11", "--use_fast_math"],
  "KernelName": "window", "KernelFile": "window.cu",
  "LocalSize": {"X": "block_size_x", "Y": "1", "Z": "1"},
  "GridDivX": ["block_size_x", "tile_size_x"],
  "ProblemSize": [1000], "SharedMemory": 0,
  "Arguments": [
   {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly",
    "FillType": "Constant", "Size": "ProblemSize[0]", "FillValue": 0.0, "Output": 1},
   {"Name": "in", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly",
    "FillType": "Random", "Size": "ProblemSize[0] + 2 * max(radius)", "FillValue": 2.0},
   {"Name": "sum", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadWrite",
    "FillType": "Constant", "Size": 1000, "FillValue": 1.5},
   {"Name": "n", "Type": "int", "MemoryType": "Scalar", "FillValue": 1000}]}}
)json";

inline constexpr const char* kWindow = R"(
extern "C" __global__ void window(float* out, const float* in, float* sum, int n) {
  for (int t = 0; t < tile_size_x; ++t) {
    int i = (blockIdx.x * tile_size_x + t) * block_size_x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k <= 2 * radius; ++k) s += in[i + k];
    out[i] = s / 7;
    sum[i] += s;
  }
}
)";

inline constexpr const char* kPlainWindow = R"(
__global__ void plain(float* out, const float* in, float* sum, int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int k = 2 * radius; k >= 0; --k) s += in[i + k];
  out[i] = s / 7;
  sum[i] = sum[i] + s;
}
)";

// A folder with these kernels, in which files like that one are tried.
class T1Place {
 public:
  explicit T1Place(const test::Replacements& kernel = {}) {
    write("window.cu", test::replace(kWindow, kernel));
    write("plain.cu", kPlainWindow);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  tuner::TuningTask task(const test::Replacements& changes = {}) const {
    return test::opened(
        space::parse_space_file(space_of(test::replace(kT1, changes)), folder_ / "window.json"));
  }
  std::string space_of(const std::string& t1) const {
    return community::t1_as_space(t1, folder_ / "window.json",
                                  {.reference = folder_ / "plain.cu", .target = "l4"});
  }
  std::string gate(const tuner::TuningTask& opened) const {
    test::Bench bench(opened, test::device_under_test());
    return bench.gate(opened.templates[0], opened.space.presets().at(0).config, "quick").finding;
  }
  const test::ScratchFolder& folder() const { return folder_; }
  std::string refused(const test::Replacements& changes) const {
    return test::message_of<UserError>([&] { task(changes); });
  }

 private:
  test::ScratchFolder folder_;
};

}  // namespace fa_tune::test
