#include <cmath>

#include <fmt/format.h>

#include "tools/bench/emulator/microbench/microbench.hpp"

// How fast an SM stores, and what fences take that wait for it.

namespace fa_tune::bench {
namespace {

constexpr int kStoreRounds = 16;

double per_round(Lab& lab, const std::string& source, const Lab::Shape& shape) {
  return std::round(lab.clocks(source, shape) / kStoreRounds);
}

// One thread of each block stores `kilobytes` of shared memory by bulk copies of 8 KB, and waits for
// them as `wait` says.
std::string bulk_source(int kilobytes, const std::string& wait) {
  return fmt::format(R"({}
  const unsigned long long ns = nanoseconds();
  const unsigned long long begin = now();
  if (threadIdx.x == 0) {{
    char* const to = reinterpret_cast<char*>(data) + (1ll << 20) * blockIdx.x;
    for (int i = 0; i < count; ++i) {{
      for (int part = 0; part < {kilobytes}; part += 8)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 8192;"
                     :: "l"(to + (i % 4 * 64 + part) * 1024), "r"(base + part * 1024) : "memory");
      asm volatile("cp.async.bulk.commit_group; cp.async.bulk.{wait} 0;" ::: "memory");
    }}
  }}
  note(times, begin, now(), ns);
}}
)",
                     kernel_prelude(), fmt::arg("kilobytes", kilobytes), fmt::arg("wait", wait));
}

// Each thread stores `each` times 16 bytes and then does `then`.
std::string thread_source(int each, const std::string& then) {
  return fmt::format(R"({}
  uint4* const to = reinterpret_cast<uint4*>(reinterpret_cast<char*>(data) + (1ll << 20) * blockIdx.x);
{timed_rounds}    #pragma unroll
    for (int k = 0; k < {each}; ++k)
      __stcg(to + (i % 4 * {each} + k) * blockDim.x + threadIdx.x, make_uint4(i, k, 2, 3));
    {then}
  }}
  note(times, begin, now(), ns);
}}
)",
                     kernel_prelude(), fmt::arg("timed_rounds", timed_rounds()),
                     fmt::arg("each", each), fmt::arg("then", then));
}

}  // namespace

Json measure_stores(Lab& lab, int sms) {
  constexpr std::uint32_t kShared = 64 * 1024;
  const std::string fence = R"(asm volatile("fence.acq_rel.gpu;" ::: "memory");)";
  Json bulk = Json::array();
  Json plain = Json::array();
  for (const int blocks : {1, sms / 2, sms}) {
    const auto all = static_cast<std::uint32_t>(blocks);
    for (const int kilobytes : {8, 16, 32, 64})
      bulk.push_back(
          {{"sms", blocks},
           {"kilobytes", kilobytes},
           {"clocks_until_read", per_round(lab, bulk_source(kilobytes, "wait_group.read"),
                                           {all, 32, kShared, kStoreRounds})},
           {"clocks_until_stored", per_round(lab, bulk_source(kilobytes, "wait_group"),
                                             {all, 32, kShared, kStoreRounds})}});
    for (const int each : {1, 4, 16})
      plain.push_back(
          {{"sms", blocks},
           {"kilobytes", 2 * each},
           {"clocks_each", per_round(lab, thread_source(each, ""), {all, 128, 0, kStoreRounds})},
           {"clocks_until_fence",
            per_round(lab, thread_source(each, fence), {all, 128, 0, kStoreRounds})}});
  }
  Json result = {
      {"bulk", bulk},
      {"by_128_threads", plain},
      {"fence_alone", per_round(lab, thread_source(0, fence), {1, 32, 0, kStoreRounds})}};
  fmt::print("stores, and fences of the device's scope: {}\n", result.dump(1));
  return result;
}

}  // namespace fa_tune::bench
