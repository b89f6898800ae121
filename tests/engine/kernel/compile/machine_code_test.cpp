#include "engine/kernel/compile/machine_code.hpp"

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <poll.h>

#include "engine/device/emulator/timing/sass.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/process.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;

namespace {

// Loads, stores, exponentials, a division with its slow path, a loop, a barrier; and a second kernel.
const std::string kTwo = R"(
extern "C" __global__ void first(const float* in, float* out, int n) {
  __shared__ float tile[256];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += __expf(in[i]) / in[n - i];
  tile[threadIdx.x] = sum;
  __syncthreads();
  sum += __shfl_xor_sync(~0u, tile[threadIdx.x ^ 32], 1);
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void second(int* out, double d, long long n) {
  out[threadIdx.x] = (int)(d * n) % 7 + __popc(threadIdx.x) + __clz(n);
  atomicAdd(out + 64, threadIdx.x);
}
)";

Compiled compile_two(const std::string& arch, BinaryKind kind = BinaryKind::ptx,
                     std::vector<std::string> options = {}) {
  static const std::unique_ptr<Compiler> compiler = open_nvrtc();
  CompileRequest request{{kTwo, "first", sha256(kTwo)}, arch, kind, std::move(options)};
  request.source.more = {"second"};
  CompileOutcome outcome = compiler->compile(request);
  if (!outcome) FAIL(outcome.error().message);
  return std::move(*outcome);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = {""};
  for (const char c : text) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  return lines;
}

// Of each instruction of a cubin in its order, kernel after kernel; empty: there is no nvdisasm.
std::vector<std::string> nvdisasm_names(const std::string& cubin) {
  const char* const named = std::getenv("FA_TUNE_NVDISASM");
  const std::string program = named != nullptr ? named : "nvdisasm";
  const ScratchFolder folder;
  const std::string file = (folder.path() / "two.cubin").string();
  write_file(file, cubin);
  std::string text;
  try {
    Process process({program, "-c", file});
    while (process.out().open()) {
      pollfd ready{process.out().file(), POLLIN, 0};
      poll(&ready, 1, -1);
      process.out().read(text);
    }
    process.end(Process::Clock::now() + std::chrono::seconds(10));
  } catch (const UserError&) {
    return {};
  }
  std::vector<std::string> names;
  for (const std::string& line : lines_of(text)) {
    const std::size_t begin = line.find("/*");
    const std::size_t end = line.find("*/");
    if (begin == std::string::npos || line.find_first_not_of(" \t") != begin) continue;
    std::string rest = line.substr(end + 2);
    rest.erase(0, rest.find_first_not_of(" \t"));
    if (rest.starts_with("@")) rest.erase(0, rest.find(' ') + 1);
    names.push_back(rest.substr(0, rest.find_first_of(" .;")));
  }
  return names;
}

}  // namespace

TEST_CASE("machine code: every instruction has its line of the PTX") {
  const Compiled two = compile_two("sm_89");
  REQUIRE(two.image.machine_code.size() == 2);
  const std::vector<std::string> ptx = lines_of(two.image.bytes);
  std::size_t known = 0;
  for (const auto& code : two.image.machine_code) {
    CHECK(code.size() > 20);
    for (const MachineInstruction& each : code) {
      if (each.ptx_line == 0) continue;
      REQUIRE(each.ptx_line < ptx.size());
      const std::string& line = ptx[each.ptx_line - 1];
      const auto sass = emulator::decode_sass({each.low, each.high, each.ptx_line}, 89);
      CAPTURE(line);
      const std::string name = sass.name;
      if (name == "LDG") CHECK(line.find("ld.global") != std::string::npos);
      if (name == "STS") CHECK(line.find("st.shared") != std::string::npos);
      if (name == "SHFL") CHECK(line.find("shfl.sync") != std::string::npos);
      if (name == "RED" || name == "ATOMG") CHECK(line.find("atom.global") != std::string::npos);
      known += name == "LDG" || name == "STS" || name == "SHFL" ? 1 : 0;
    }
  }
  CHECK(known >= 4);
  // A GPU's image has no use for it.
  CHECK(compile_two("sm_89", BinaryKind::cubin).image.machine_code.empty());
}

TEST_CASE("machine code: PTX is what it was without lines") {
  const Compiled plain = compile_two("sm_90a");
  CHECK(plain.image.bytes.find(".loc") == std::string::npos);
  CHECK(plain.image.bytes.find(".section") == std::string::npos);
  // Asked for, the lines stay, and the code has those of that text.
  const Compiled lined = compile_two("sm_90a", BinaryKind::ptx, {"--generate-line-info"});
  CHECK(lined.image.bytes.find("\t.loc\t") != std::string::npos);
  const PlainPtx stripped = without_line_info(lined.image.bytes);
  CHECK(stripped.text == plain.image.bytes);
  const auto& with = lined.image.machine_code.at(0);
  const auto& without = plain.image.machine_code.at(0);
  REQUIRE(with.size() == without.size());
  for (std::size_t i = 0; i < with.size(); ++i) {
    CHECK(with[i].low == without[i].low);
    CHECK(stripped.line.at(with[i].ptx_line) == without[i].ptx_line);
  }
}

TEST_CASE("machine code: a cut or changed cubin is refused or read, never more") {
  const std::string cubin =
      compile_two("sm_80", BinaryKind::cubin, {"--generate-line-info"}).image.bytes;
  REQUIRE(read_machine_code(cubin, "first").has_value());
  const auto none = read_machine_code(cubin, "third");
  REQUIRE(!none.has_value());
  CHECK(none.error() == "no section .text.third");
  const auto without = compile_two("sm_80", BinaryKind::cubin).image.bytes;
  CHECK(read_machine_code(without, "first").error() == "no PTX lines for .text.first");
  std::uint64_t random = 1;
  for (std::size_t i = 0; i < 3000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    std::string changed = cubin.substr(0, i % 3 == 0 ? random % cubin.size() : cubin.size());
    if (i % 3 != 0)
      for (int k = 0; k < 4; ++k)
        changed[(random >> (8 * k)) % changed.size()] = static_cast<char>(random >> 56);
    const auto read = read_machine_code(changed, "first");
    CHECK((read.has_value() || read.error().find('\n') == std::string::npos));
  }
}

TEST_CASE("machine code: opcodes have nvdisasm's names, where it is installed" *
          doctest::test_suite("conditional")) {
  for (const int sm : {80, 89, 90}) {
    const Compiled two =
        compile_two(fmt::format("sm_{}", sm), BinaryKind::cubin, {"--generate-line-info"});
    const std::vector<std::string> names = nvdisasm_names(two.image.bytes);
    if (names.empty()) {
      skip("no nvdisasm; FA_TUNE_NVDISASM may name one");
      return;
    }
    std::map<std::string, int> ours;
    for (const char* const kernel : {"first", "second"}) {
      const auto code = read_machine_code(two.image.bytes, kernel);
      REQUIRE(code.has_value());
      for (const MachineInstruction& each : *code)
        ++ours[emulator::decode_sass({each.low, each.high, 0}, sm).name];
    }
    std::map<std::string, int> theirs;
    for (const std::string& name : names) ++theirs[name == "REDG" ? "RED" : name];  // sm_90's
    std::string differ;
    for (const auto& each : {ours, theirs})
      for (const auto& [name, count] : each)
        if (ours[name] != theirs[name])
          differ += fmt::format("sm_{} {}: {}, nvdisasm {}; ", sm, name, ours[name], theirs[name]);
    CHECK(differ == "");
  }
}

}  // namespace fa_tune::test
