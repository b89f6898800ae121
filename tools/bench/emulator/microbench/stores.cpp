#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/bench/emulator/microbench/microbench.hpp"

// How fast an SM stores, whole sectors of L2 and parts of them, how much may wait for L2 before stores
// are held back, and what fences take that wait for it.

namespace fa_tune::bench {
namespace {

constexpr int kStoreRounds = 16;
constexpr int kWarpLanes = 32;
constexpr int kSectorOfL2 = 32;        // bytes
constexpr int kStoresARound = 8;       // a warp
constexpr int kBytesOfARound = 8192;   // room for its sectors, a warp
constexpr int kSteadyWarps = 8;        // that store sectors
constexpr int kSteadySectors = 65536;  // that they store: a hundred times what may wait
constexpr const char* kDeviceFence = R"(asm volatile("fence.acq_rel.gpu;" ::: "memory");)";

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

// What a warp's store writes: the first bytes of each of some sectors.
struct StoreForm {
  int bytes_of_a_sector;
  int bytes_a_lane;
  int pitch = kSectorOfL2;  // bytes from a sector to the next

  int sectors() const { return kWarpLanes * bytes_a_lane / bytes_of_a_sector; }
  // Of store `k` of a warp, which writes sectors that no other one does: those between the sectors of
  // the ones before, or behind them.
  std::string place() const {
    const int between = pitch / kSectorOfL2;
    return fmt::format("k % {0} * {1} + k / {0} * {2}", between, kSectorOfL2, sectors() * pitch);
  }
  // Of a lane's address, from the warp's.
  std::string offset() const {
    const int lanes = bytes_of_a_sector / bytes_a_lane;
    return fmt::format("lane / {0} * {1} + lane % {0} * {2}", lanes, pitch, bytes_a_lane);
  }
  std::string store() const {
    const char* const type = bytes_a_lane == 4 ? "b32" : bytes_a_lane == 8 ? "v2.b32" : "v4.b32";
    const char* const value = bytes_a_lane == 4   ? "%1"
                              : bytes_a_lane == 8 ? "{%1, %1}"
                                                  : "{%1, %1, %1, %1}";
    return fmt::format(
        R"(asm volatile("st.global.{} [%0], {};" :: "l"(at), "r"(lane) : "memory");)", type, value);
  }
};

// Each block tells how long its stores took.
std::string steady_source(const StoreForm& form) {
  return fmt::format(R"({prelude}
  char* const to = reinterpret_cast<char*>(data) + (1ll << 20) * blockIdx.x +
      threadIdx.x / 32 * 2 * {room} + {offset};
  wait_until(meet());
  const unsigned long long begin = now();
  #pragma unroll 1
  for (int i = 0; i < count; ++i) {{
    #pragma unroll
    for (int k = 0; k < {stores}; ++k) {{
      char* const at = to + i % 2 * {room} + {place};
      {store}
    }}
  }}
  {fence}
  __syncthreads();
  if (threadIdx.x == 0) times[blockIdx.x] = now() - begin;
}}
)",
                     fmt::arg("prelude", meeting_prelude()), fmt::arg("room", kBytesOfARound),
                     fmt::arg("offset", form.offset()), fmt::arg("stores", kStoresARound),
                     fmt::arg("place", form.place()), fmt::arg("store", form.store()),
                     fmt::arg("fence", kDeviceFence));
}

double rounded(double value, double parts) { return std::round(value * parts) / parts; }

// Sectors that a store fills, and others. Rates are of one SM.
Json sectors(Lab& lab, int sms) {
  Json rows = Json::array();
  for (const int blocks : {1, sms})
    for (const int pitch : {kSectorOfL2, 2 * kSectorOfL2, 8 * kSectorOfL2})
      for (const auto& [bytes, lane] :
           {std::pair{4, 4}, {8, 4}, {8, 8}, {16, 4}, {16, 16}, {32, 4}, {32, 8}, {32, 16}}) {
        const StoreForm form = {bytes, lane, pitch};
        const int stores = kSteadySectors / form.sectors();
        const std::vector<std::uint64_t> clocks =
            lab.noted(steady_source(form),
                      {.blocks = static_cast<std::uint32_t>(blocks),
                       .threads = kSteadyWarps * kWarpLanes,
                       .count = stores / (kSteadyWarps * kStoresARound)},
                      static_cast<std::size_t>(blocks));
        const double mean = std::accumulate(clocks.begin(), clocks.end(), 0.0) / blocks;
        const auto slowest = static_cast<double>(std::ranges::max(clocks));
        rows.push_back({{"sms", blocks},
                        {"bytes_of_a_sector", bytes},
                        {"bytes_a_lane", lane},
                        {"sectors_a_store", form.sectors()},
                        {"bytes_from_sector_to_sector", pitch},
                        {"bytes_a_clock", rounded(kSteadySectors * bytes / mean, 100)},
                        {"sectors_a_clock", rounded(kSteadySectors / mean, 1000)},
                        {"sectors_a_clock_of_slowest_sm", rounded(kSteadySectors / slowest, 1000)},
                        {"clocks_a_store", rounded(mean / stores, 100)}});
      }
  return rows;
}

// All blocks begin to store at the same time, each warp `stores` times, and note when each store was
// issued. Of several rounds the last one counts: then the instruction cache has the code.
std::string burst_source(const StoreForm& form, int stores) {
  return fmt::format(R"({prelude}
  char* const to = reinterpret_cast<char*>(data) + (1ll << 20) * blockIdx.x +
      threadIdx.x / 32 * {room} + {offset};
  unsigned issued[{stores} + 1];
  #pragma unroll 1
  for (int i = 0; i < count; ++i) {{
    {fence}
    wait_until(meet());
    asm volatile("mov.u32 %0, %%clock;" : "=r"(issued[0]) :: "memory");
    #pragma unroll
    for (int k = 0; k < {stores}; ++k) {{
      char* const at = to + {place};
      {store}
      asm volatile("mov.u32 %0, %%clock;" : "=r"(issued[k + 1]) :: "memory");
    }}
  }}
  if (blockIdx.x == 0 && lane == 0)
    for (int k = 0; k <= {stores}; ++k) times[threadIdx.x / 32 * ({stores} + 1) + k] = issued[k];
}}
)",
                     fmt::arg("prelude", meeting_prelude()),
                     fmt::arg("room", stores * form.sectors() * kSectorOfL2),
                     fmt::arg("offset", form.offset()), fmt::arg("stores", stores),
                     fmt::arg("place", form.place()), fmt::arg("store", form.store()),
                     fmt::arg("fence", kDeviceFence));
}

// When each store of block 0 was issued, in clocks from when its first warp began; in order.
std::vector<double> burst(Lab& lab, const StoreForm& form, int blocks, int warps, int stores) {
  const std::vector<std::uint64_t> noted =
      lab.noted(burst_source(form, stores),
                {.blocks = static_cast<std::uint32_t>(blocks),
                 .threads = static_cast<std::uint32_t>(warps) * kWarpLanes,
                 .count = 3},
                static_cast<std::size_t>(warps) * (static_cast<std::size_t>(stores) + 1));
  // 32 bits of a clock, which may begin again at zero. The first of each warp's is its start.
  std::vector<double> issued;
  double first = 0;
  for (std::size_t i = 0; i < noted.size(); ++i) {
    const double clock = static_cast<std::int32_t>(static_cast<std::uint32_t>(noted[i] - noted[0]));
    if (i % (static_cast<std::size_t>(stores) + 1) == 0) {
      first = std::min(first, clock);
    } else {
      issued.push_back(clock);
    }
  }
  for (double& clock : issued) clock -= first;
  std::ranges::sort(issued);
  return issued;
}

// How much waits when stores are no longer issued faster than L2 takes them: that pace is the second
// half's. Bytes are those of whole sectors.
Json bursts(Lab& lab, int sms) {
  struct Case {
    StoreForm form;
    int warps, stores;
  };
  Json rows = Json::array();
  for (const int blocks : {1, sms})
    for (const auto& [form, warps, stores] : {Case{{32, 16}, 2, 128},
                                              {{32, 16}, 4, 64},
                                              {{32, 16}, 16, 48},
                                              {{32, 4}, 4, 128},
                                              {{32, 4}, 16, 64},
                                              {{16, 4, 256}, 4, 128},
                                              {{16, 4, 256}, 16, 64}}) {
      const std::vector<double> issued = burst(lab, form, blocks, warps, stores);
      const int bytes = form.sectors() * kSectorOfL2;
      const std::size_t half = issued.size() / 2;
      const double later =
          static_cast<double>(half * bytes) / (issued.back() - issued[issued.size() - 1 - half]);
      double waiting = 0;
      for (std::size_t i = 0; i < issued.size(); ++i)
        waiting = std::max(waiting, static_cast<double>((i + 1) * bytes) - later * issued[i]);
      Json when = Json::object();
      for (const int kilobytes : {2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 128})
        if (const std::size_t index = kilobytes * 1024 / bytes; index <= issued.size())
          when[std::to_string(kilobytes)] = issued[index - 1];
      rows.push_back({{"sms", blocks},
                      {"warps", warps},
                      {"bytes_of_a_sector", form.bytes_of_a_sector},
                      {"sectors_a_store", form.sectors()},
                      {"sector_bytes_a_clock_at_last", rounded(later, 100)},
                      {"most_sector_bytes_waiting", std::round(waiting)},
                      {"clocks_until_so_many_kilobytes_of_sectors_were_issued", when}});
    }
  return rows;
}

}  // namespace

Json measure_stores(Lab& lab, int sms) {
  constexpr std::uint32_t kShared = 64 * 1024;
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
            per_round(lab, thread_source(each, kDeviceFence), {all, 128, 0, kStoreRounds})}});
  }
  Json result = {
      {"bulk", bulk},
      {"by_128_threads", plain},
      {"fence_alone", per_round(lab, thread_source(0, kDeviceFence), {1, 32, 0, kStoreRounds})},
      {"sectors", sectors(lab, sms)},
      {"bursts", bursts(lab, sms)}};
  fmt::print("stores, and fences of the device's scope: {}\n", result.dump(1));
  return result;
}

}  // namespace fa_tune::bench
