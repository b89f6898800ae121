#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/engine/device/emulator/timing/coded_run.hpp"

// What it takes where the lanes of a warp meet again.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

constexpr std::uint64_t kNop = 0x918;
constexpr std::uint64_t kElect = 0x82f;
constexpr std::uint64_t kBsync = 0x941;
constexpr std::uint64_t kYield = 0x946;
constexpr std::uint64_t kWarpsync = 0x948;

// Machine instructions of 5 clocks each, unless they say otherwise.
struct RejoinRun : Coded {
  RejoinRun() : Coded(kExp + "ret;", TensorRule::hopper) { profile.arch = "sm_90"; }

  EncodedInstruction instruction(std::uint64_t opcode, unsigned stall = 5) const {
    return machine(opcode, line("ex2.approx.ftz.f32"), {stall});
  }
  double clocks(std::vector<EncodedInstruction> instructions) {
    instructions.push_back(machine(kExit, line("ret")));
    return Coded::clocks(std::move(instructions));
  }
  // What `join` takes beyond its stall count where lanes come to it from a branch over one
  // instruction, `after` instructions behind an election.
  double rejoin(std::uint64_t join, int after) {
    std::vector<EncodedInstruction> code{instruction(kElect)};
    for (int i = 1; i < after; ++i) code.push_back(instruction(kFfma));
    EncodedInstruction branch = instruction(kBra);
    constexpr std::uint64_t kOneInstruction = 16 / 4;  // in words
    branch.low |= kOneInstruction << 16U;
    code.push_back(branch);
    code.push_back(instruction(kFfma));
    const double until = clocks(code);
    code.push_back(instruction(join));
    return clocks(std::move(code)) - until - 5;
  }
};

// Or but for one: the exit's own may be among those of what stands before it.
bool is_about(double clocks, double wanted) { return std::abs(clocks - wanted) <= 1.01; }

}  // namespace

TEST_CASE("sass: a warp takes longer where its lanes meet, and at what only waits") {
  RejoinRun run;
  const double plain = run.clocks({run.instruction(kFfma)});
  const auto more = [&](std::uint64_t opcode, unsigned stall) {
    return run.clocks({run.instruction(kFfma), run.instruction(opcode, stall)}) - plain - stall;
  };
  CHECK(is_about(more(kNop, 15), 0));
  CHECK(is_about(more(kBsync, 5), 12));
  CHECK(is_about(more(kYield, 1), 55));
  CHECK(is_about(more(kWarpsync, 5), 0));
}

TEST_CASE("sass: a warp takes longest where the others meet a lane that was elected") {
  RejoinRun run;
  CHECK(is_about(run.rejoin(kWarpsync, 1), 68));
  CHECK(is_about(run.rejoin(kWarpsync, 4), 68));
  CHECK(is_about(run.rejoin(kWarpsync, 5), 0));  // of another branch
  CHECK(is_about(run.rejoin(kBsync, 1), 21));
  CHECK(is_about(run.rejoin(kBsync, 5), 12));
}

}  // namespace fa_tune::test
