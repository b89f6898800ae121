#include "engine/kernel/compile/compiler_log.hpp"

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::kernel;

namespace {

// Recorded from NVRTC 13.0.88 for two entries, one of which calls a function.
constexpr const char* kTwoEntries =
    R"(ptxas info    : 0 bytes gmem, 8 bytes cmem[3]
ptxas info    : Compiling entry function 'first' for 'sm_89'
ptxas info    : Function properties for first
ptxas         .     64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 96 bytes cumulative stack size, 256 bytes smem, 364 bytes cmem[0]
ptxas info    : Compile time = 3.662 ms
ptxas info    : Function properties for _Z6helperPfi
ptxas         .     8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Compiling entry function 'other' for 'sm_89'
ptxas info    : Function properties for other
ptxas         .     0 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 360 bytes cmem[0]
ptxas info    : Compile time = 1.178 ms
)";

}  // namespace

TEST_CASE("log: resources are those of the kernel asked for") {
  const KernelResources first = read_compiler_log(kTwoEntries, "first").resources;
  CHECK(first.registers == 24);
  CHECK(first.stack_bytes == 96);
  CHECK(first.spill_store_bytes == 0);
  CHECK(first.spill_load_bytes == 0);
  CHECK(first.static_shared_bytes == 256);
  const KernelResources other = read_compiler_log(kTwoEntries, "other").resources;
  CHECK(other.registers == 8);
  CHECK(other.stack_bytes == 0);
  CHECK(other.spill_store_bytes == 4);
  CHECK(other.spill_load_bytes == 12);
  CHECK(other.static_shared_bytes == 0);
  const KernelResources absent = read_compiler_log(kTwoEntries, "firs").resources;
  CHECK(absent.registers == -1);
  CHECK(absent.spill_store_bytes == -1);
}

TEST_CASE("log: the first error is one line, warnings before it do not count") {
  const LogFacts facts = read_compiler_log(
      "k.cu(2): warning #177-D: variable \"unused\" was declared but never referenced\n"
      "  int unused;\n"
      "\n"
      "k.cu(3): error: identifier \"y\" is undefined\r\n"
      "  x[0] = y;\n"
      "k.cu(4): error: expected a \";\"\n"
      "2 errors detected in the compilation of \"k.cu\".\n",
      "k");
  CHECK(facts.first_error == "k.cu(3): error: identifier \"y\" is undefined");
  REQUIRE(facts.warnings.size() == 1);
  CHECK(facts.warnings[0] ==
        "k.cu(2): warning #177-D: variable \"unused\" was declared but never referenced");
}

TEST_CASE("log: errors of ptxas, of the options and of missing headers are found") {
  const auto first_error = [](const char* log) { return read_compiler_log(log, "k").first_error; };
  CHECK(first_error("ptxas application ptx input, line 25; error   : Unknown modifier '.bar'\n"
                    "ptxas fatal   : Ptx assembly aborted due to errors\n") ==
        "ptxas application ptx input, line 25; error   : Unknown modifier '.bar'");
  CHECK(first_error("ptxas fatal   : Ptx assembly aborted due to errors") ==
        "ptxas fatal   : Ptx assembly aborted due to errors");
  CHECK(first_error("nvrtc: error: unrecognized option --bogus found\n") ==
        "nvrtc: error: unrecognized option --bogus found");
  CHECK(first_error("k.cu(1): catastrophic error: could not open source file \"k.cuh\"\n") ==
        "k.cu(1): catastrophic error: could not open source file \"k.cuh\"");
  CHECK(first_error("ptxas info    : Compiling entry function 'k' for 'sm_89'\n"
                    "ptxas info    : Used 8 registers, used 1 barriers, 200000 bytes smem\n") ==
        "200000 bytes of static shared memory, more than 49152 a block");
  CHECK(first_error("").empty());
  CHECK(first_error(kTwoEntries).empty());
}

TEST_CASE("log: remarks of ptxas are named by their number") {
  // The first two recorded from NVRTC 13.0.88 for a wgmma kernel on sm_90a.
  const LogFacts facts = read_compiler_log(
      "ptxas info    : (C7519) warpgroup.arrive is injected in around line 43 by compiler to allow "
      "use of registers in GMMA in function 'k'\n"
      "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to insufficient register resources for the wgmma pipeline in the function "
      "'k'\n"
      "ptxas warning : Registers are spilled to local memory in function 'k'\n"
      "ptxas info    : Compile time = 1.178 ms\n",
      "k");
  REQUIRE(facts.warnings.size() == 3);
  CHECK(facts.warnings[0] ==
        "C7519: warpgroup.arrive is injected in around line 43 by compiler to allow use of "
        "registers in GMMA in function 'k'");
  CHECK(facts.warnings[1] ==
        "C7511: Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
        "insufficient register resources for the wgmma pipeline in the function 'k'");
  CHECK(facts.warnings[2] ==
        "ptxas warning : Registers are spilled to local memory in function 'k'");
  CHECK(facts.first_error.empty());
}

TEST_CASE("log: 100 MB is cut to 64 KiB and its warnings are bounded") {
  const std::string line = "k.cu(1): warning #1-D: " + std::string(100'000, 'x') + "\n";
  std::string log;
  while (log.size() < 100'000'000) log += line;
  const LogFacts facts = read_compiler_log(log, "k");
  CHECK(facts.warnings.size() == 64);
  CHECK(facts.warnings[0].size() <= 500);
  const std::size_t size = log.size();
  const std::string clipped = clip_log(std::move(log));
  CHECK(clipped.size() <= kLogLimit);
  CHECK(clipped.starts_with("k.cu(1): warning #1-D: xxx"));
  CHECK(clipped.ends_with("... " + std::to_string(size - (kLogLimit - 64)) +
                          " more bytes were cut\n"));
  CHECK(clip_log("short") == "short");
}

}  // namespace fa_tune::test
