#include <cmath>

#include <fmt/format.h>

#include "tools/bench/emulator/microbench/microbench.hpp"

// What two blocks of a cluster take to tell each other something.

namespace fa_tune::bench {
namespace {

constexpr int kClusterRounds = 256;

// `rounds` is what a thread of either block does `count` times; `rank` is the block's.
std::string cluster_source(const std::string& rounds) {
  return fmt::format(
      R"({}
  __shared__ __align__(8) unsigned long long phase;
  unsigned rank, own, peer;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("{{.reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t;}}" : "=r"(own) : "l"(&phase));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(own), "r"(1 - rank));
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(own) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  const auto barrier = [] {{
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  }};
  const auto relaxed = [] {{
    asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  }};
  const auto tell = [&] {{
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(peer) : "memory");
  }};
  const auto wait = [&](int parity) {{
    unsigned done = 0;
    while (!done)
      asm volatile("{{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}}"
                   : "=r"(done) : "r"(own), "r"(parity) : "memory");
  }};
  barrier();
  const unsigned long long ns = nanoseconds();
  const unsigned long long begin = now();
  for (int i = 0; i < count; ++i) {{ {} }}
  note(times, begin, now(), ns);
  __syncwarp();
  barrier();
}}
)",
      kernel_prelude(), rounds);
}

}  // namespace

Json measure_cluster(Lab& lab) {
  Lab::Shape pair = {.blocks = 2, .threads = 32, .shared = 0, .count = kClusterRounds};
  pair.cluster = 2;
  const auto clocks = [&](const std::string& rounds) {
    return std::round(lab.clocks(cluster_source(rounds), pair) / kClusterRounds);
  };
  Json result = {{"arrivals_there_and_back",
                  clocks("__syncwarp(); if (lane == 0) { if (rank == 1) wait(i & 1); tell(); "
                         "if (rank == 0) wait(i & 1); }")},
                 {"barrier", clocks("barrier();")},
                 {"barrier_relaxed", clocks("relaxed();")}};
  pair.threads = 384;
  result["barrier_of_12_warps"] = clocks("barrier();");
  result["barrier_of_12_warps_relaxed"] = clocks("relaxed();");
  fmt::print("two blocks of a cluster, clocks: {}\n", result.dump());
  return result;
}

}  // namespace fa_tune::bench
