#pragma once

#include <string>

#include "tests/engine/problem/custom/custom_space.hpp"

namespace fa_tune::test {

// A space of one kernel, `mine`, beside a plain one, of arguments that are written out; both take
// them by the same parameters and differ in what they do with element i.
struct TypedKernel {
  std::string arguments;    // lines of YAML
  std::string parameters;   // of the kernels
  std::string plain;        // what is done with i < n
  std::string before = {};  // the kernels: types, headers
  std::string more = {};    // lines of the problem

  std::string yaml() const {
    return "space: typed\ntarget: l4\nproblem:\n  kind: custom\n"
           "  sizes: [{n: 2000}, {n: 1}, {n: 333}]\n" +
           more + "  arguments:\n" + arguments +
           "    - {name: n, type: size_t, value: n}\n"
           "  reference: {source: plain.cu, kernel: plain, launch: {grid: [8], block: [256]}}\n"
           "templates:\n  mine: {source: mine.cu, kernel: mine, launch: {grid: [\"2048 / BLOCK\"], "
           "block: [BLOCK]}}\nparameters: {BLOCK: [64, 128]}\n";
  }
  std::string source(const std::string& name, const std::string& body) const {
    return before + "\nextern \"C\" __global__ void " + name + "(" + parameters +
           ", size_t n) {\n  size_t i = blockIdx.x * blockDim.x + threadIdx.x;\n"
           "  if (i < n) { " +
           body + " }\n}\n";
  }
  void write(const std::filesystem::path& folder, const std::string& mine) const {
    write_text(folder / "typed.yaml", yaml());
    write_text(folder / "plain.cu", source("plain", plain));
    write_text(folder / "mine.cu", source("mine", mine));
  }
  tuner::TuningTask task(const ScratchFolder& folder, const std::string& mine) const {
    write(folder.path(), mine);
    return opened(space::load_space_file((folder / "typed.yaml").string(), root()));
  }
  // What the gate says of a kernel that does this.
  std::string gate(const std::string& mine) const {
    const ScratchFolder folder;
    const tuner::TuningTask opened = task(folder, mine);
    Bench bench(opened, device_under_test());
    const gate::Verdict verdict = bench.gate(
        opened.templates[0],
        Config({{"template", std::string("mine")}, {"BLOCK", std::int64_t{64}}}), "quick");
    return verdict.finding + ": " + verdict.message;
  }
  std::string refused() const {
    return message_of<UserError>([&] { gate(plain); });
  }
};

inline const TypedKernel kGather{
    .arguments =
        "    - {name: x, type: f32, shape: [n]}\n"
        "    - {name: at, type: i64, shape: [n], fill: {integers: [0, n - 1]}}\n"
        "    - {name: y, type: f32, shape: [n], role: output}\n",
    .parameters = "const float* x, const long long* at, float* y",
    .plain = "y[i] = x[at[i]];"};

inline const TypedKernel kHashes{
    .arguments =
        "    - {name: x, type: u64, shape: [n], "
        "fill: {integers: [0, 18446744073709551615]}}\n"
        "    - {name: y, type: u64, shape: [n], role: output}\n"
        "    - {name: key, type: u64, value: 18446744073709551557}\n",
    .parameters = "const unsigned long long* x, unsigned long long* y, unsigned long long key",
    .plain = "y[i] = x[i] ^ key;"};

}  // namespace fa_tune::test
