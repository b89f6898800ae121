#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "tests/engine/tuner/fixture.hpp"

namespace fa_tune::test {

inline const char* const kCustomSpace = R"yaml(space: scale_add
target: l4
problem:
  kind: custom
  sizes: [{n: 5000}, {n: 1}, {n: 777}]
  arguments:
    - {name: x, type: f32, shape: [n]}
    - {name: y, type: f32, shape: [n], role: inout}
    - {name: a, type: f32, value: 2.5}
    - {name: n, type: i32, value: n}
  reference:
    source: plain.cu
    kernel: plain
    launch: {grid: ["ceil_div(problem.n, 256)"], block: [256]}
templates:
  mine:
    source: mine.cu
    kernel: scale_add<PER, float>
    launch: {grid: ["ceil_div(problem.n, BLOCK * PER)"], block: [BLOCK]}
parameters:
  BLOCK: [64, 128]
  PER: [1, 2]
)yaml";

inline const char* const kCustomPlain = R"(
__global__ void plain(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
)";

inline const char* const kCustomMine = R"(
#include "step.cuh"
template <int per, typename T>
__global__ void scale_add(const T* x, T* y, T a, int n) {
  for (int k = 0; k < per; ++k) {
    int i = (blockIdx.x * per + k) * BLOCK + threadIdx.x;
    if (i < n) y[i] = step(x[i], y[i], a);
  }
}
)";

inline const char* const kCustomStep =
    "template <typename T> __device__ T step(T x, T y, T a) { return a * x + y; }\n";

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

// What FA_TUNE_SEEDS says, for those who have time, else `usual`.
inline int seeds_to_try(int usual) {
  const std::string given = environment("FA_TUNE_SEEDS");
  return given.empty() ? usual : std::stoi(given);
}

// The space in a folder of its own, with what is to be changed in its texts.
class CustomSpace {
 public:
  CustomSpace() {
    write_text(folder_ / "plain.cu", kCustomPlain);
    write_text(folder_ / "mine.cu", kCustomMine);
    write_text(folder_ / "step.cuh", kCustomStep);
  }

  const ScratchFolder& folder() const { return folder_; }
  space::SpaceFile file(const Replacements& changes = {}) const {
    write_text(folder_ / "mine.yaml", replace(kCustomSpace, changes));
    return space::load_space_file((folder_ / "mine.yaml").string(), root());
  }
  tuner::TuningTask task(const Replacements& changes = {}) const { return opened(file(changes)); }
  // What a gate says of the first config.
  gate::Verdict gate(const Replacements& space = {}, const std::string& suite = "quick") const {
    const tuner::TuningTask opened = task(space);
    Bench bench(opened, device_under_test());
    const Config config(
        {{"template", std::string("mine")}, {"BLOCK", std::int64_t{64}}, {"PER", std::int64_t{2}}});
    return bench.gate(opened.templates[0], config, suite);
  }
  // The same with a changed text of the kernel, or of the reference.
  gate::Verdict gate_kernel(const std::string& from, const std::string& to) const {
    write_text(folder_ / "mine.cu", replace(kCustomMine, {{from, to}}));
    return gate();
  }
  std::string refused_reference(const std::string& text, const Replacements& space = {}) const {
    write_text(folder_ / "plain.cu", text);
    return message_of<UserError>([&] { gate(space); });
  }
  std::string refused(const Replacements& changes) const {
    return message_of<UserError>([&] { task(changes); });
  }

 private:
  ScratchFolder folder_;
};

}  // namespace fa_tune::test
