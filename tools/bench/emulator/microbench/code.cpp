#include <fmt/format.h>

#include "tools/bench/emulator/microbench/microbench.hpp"

// What fetching instructions costs where an SM's cache does not hold the code.

namespace fa_tune::bench {
namespace {

constexpr int kWarpsOfCode = 4;  // one a partition
constexpr std::uint32_t kThreadsOfCode = 32 * kWarpsOfCode;

// Stretches of 24 FMAs, and between them as many as `gap` that a branch jumps over.
std::string jumps_source(int stretches, int gap) {
  std::string body;
  for (int i = 0; i < stretches; ++i) {
    if (gap > 0) {
      body += "asm volatile(\"{ .reg .pred p; setp.ne.s32 p, %1, 0; @p bra G%=;\\n";
      for (int k = 0; k < gap; ++k) body += "fma.rn.f32 %0, %0, %0, %0;\\n";
      body += "G%=: }\" : \"+f\"(x[0]) : \"r\"(jump));\n";
    }
    for (int k = 0; k < 24; ++k)
      body += fmt::format("asm volatile(\"fma.rn.f32 %0, %0, %0, %0;\" : \"+f\"(x[{}]));\n", k % 8);
  }
  return kernel_prelude() + fmt::format(R"(
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = lane + i;
  const int jump = data[1] != 0;
  const unsigned long long ns = nanoseconds();
  const unsigned long long begin = now();
  #pragma unroll 1
  for (int i = 0; i < count; ++i) {{
{}  }}
  note(times, begin, now(), ns);
  float kept = 0;
  for (int i = 0; i < 8; ++i) kept += x[i];
  if (kept == 1.2345f) data[3] = 1;
}}
)",
                                        body);
}

}  // namespace

Json measure_code(Lab& lab) {
  Json straight = Json::object();
  for (const int length :
       {512, 1024, 1536, 1792, 1920, 2048, 2176, 2304, 2432, 2560, 3072, 4096, 8192}) {
    const std::string source = chain_source(instructions().front(), 8, length / 8);
    const double once = lab.clocks(source, {1, kThreadsOfCode, 0, 1});
    const double twice = lab.clocks(source, {1, kThreadsOfCode, 0, 2});
    straight[std::to_string(length)] = {
        {"in_a_launch", thousandths(once / length)},
        {"in_a_second_round", thousandths((twice - once) / length)}};
  }
  Json jumps = Json::object();
  constexpr int kStretches = 24;
  constexpr int kRounds = 8;
  for (const int gap : {0, 16, 64, 256})
    jumps[std::to_string(gap)] =
        thousandths(lab.clocks(jumps_source(kStretches, gap), {1, kThreadsOfCode, 0, kRounds}) /
                    kRounds / kStretches);
  Json result = {{"clocks_an_instruction_of_so_many", straight},
                 {"clocks_of_24_behind_a_jump_over_so_many", jumps}};
  fmt::print("fma in straight code, and behind jumps: {}\n", result.dump(1));
  return result;
}

}  // namespace fa_tune::bench
