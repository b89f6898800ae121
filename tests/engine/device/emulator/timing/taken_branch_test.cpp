#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/engine/device/emulator/timing/coded_run.hpp"

// Code with products of warpgroups: what a branch that is taken costs, and a test of an mbarrier whose
// answer is waited for later.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

constexpr double kTaken = 13;
constexpr double kAnswer = 40;
constexpr std::uint64_t kSyncs = 0x5a7;
constexpr unsigned kStall = 10;

const std::string kProduct =
    "wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f5, %f6, %f7, %f8}, {%r1, %r1, %r1, %r1}, "
    "%rd1, 1, 1, 1, 0;\n"
    "wgmma.commit_group.sync.aligned;\n"
    "wgmma.wait_group.sync.aligned 0;\n";

// Three blocks of PTX behind what comes first, of one instruction each and a branch. The last but one
// is jumped over.
struct BranchRun : Coded {
  explicit BranchRun(const std::string& first)
      : Coded(
            ".shared .align 16 .b8 b[4096];\nmov.u32 %r7, b;\ncvt.u64.u32 %rd1, %r7;\n"
            "shr.u64 %rd1, %rd1, 4;\n" +
                first +
                "setp.eq.u32 %p1, %r8, %r8;\nbra.uni NEXT;\nNEXT:\n"
                "ex2.approx.ftz.f32 %f1, %f2;\n@%p1 bra FAR;\n"
                "sqrt.approx.ftz.f32 %f1, %f2;\nFAR:\nlg2.approx.ftz.f32 %f3, %f4;\nret;\n",
            TensorRule::hopper, 128) {
    profile.arch = "sm_90";
  }
  // Machine code of the three blocks. The middle one has `between` instructions.
  std::vector<EncodedInstruction> code_with(int between) const {
    std::vector<EncodedInstruction> code(4, machine(kFfma, line("ex2.approx.ftz.f32"), {kStall}));
    EncodedInstruction branch = machine(kBra, line("ex2.approx.ftz.f32"), {5});
    branch.low |= static_cast<std::uint64_t>(between) * 16 / 4 << 16U;
    code.push_back(branch);
    for (int i = 0; i < between; ++i)
      code.push_back(machine(kFfma, line("sqrt.approx.ftz.f32"), {1}));
    code.push_back(machine(kFfma, line("lg2.approx.ftz.f32"), {kStall}));
    code.push_back(machine(kExit, line("ret")));
    return code;
  }
};

}  // namespace

TEST_CASE("sass: beside products of warpgroups a branch that is taken takes its time") {
  // Over what is not run: 40 instructions, or none, so that it leads to what stands behind it.
  const auto cost = [](const std::string& first) {
    BranchRun run(first);
    const double far = run.clocks(run.code_with(40));
    return far - run.clocks(run.code_with(0));
  };
  CHECK(std::abs(cost(kProduct) - kTaken) <= 1);
  CHECK(std::abs(cost("")) <= 1);
}

TEST_CASE("sass: a test of an mbarrier is answered while what stands behind it runs") {
  // Of the second block's instructions a test stands among the first one's, whose stall counts hide a
  // part of what its answer takes, and no more than all of it.
  const auto clocks = [](const std::string& first, int behind) {
    BranchRun run(first);
    const auto of_first = machine(kFfma, run.line("ex2.approx.ftz.f32"), {kStall});
    std::vector<EncodedInstruction> code(static_cast<std::size_t>(8 - behind), of_first);
    code.push_back(machine(kSyncs, run.line("lg2.approx.ftz.f32"), {1, 2}));
    for (int i = 0; i < behind; ++i) code.push_back(of_first);
    code.push_back(machine(kFfma, run.line("lg2.approx.ftz.f32"), {1, 7, 1U << 2U}));
    code.push_back(machine(kExit, run.line("ret")));
    return run.clocks(std::move(code));
  };
  const double all = clocks(kProduct, 0);
  CHECK(std::abs(all - clocks(kProduct, 2) - 2 * kStall) <= 1);
  CHECK(std::abs(all - clocks(kProduct, 8) - kAnswer) <= 1);
  CHECK(std::abs(clocks("", 0) - clocks("", 8)) <= 1);
}

}  // namespace fa_tune::test
