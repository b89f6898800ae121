#include <cmath>

#include <fmt/format.h>

#include "tools/bench/emulator/microbench/microbench.hpp"

// Bulk copies of data that several blocks read: how fast L2 gives it, and how long copies wait where
// DRAM brings it.

namespace fa_tune::bench {
namespace {

// `readers` blocks in a row read one stretch of `tiles`, the next ones the next stretch, and behind
// the last of `stretches` the first again. An SM holds `per_sm` blocks.
struct Walk {
  int readers = 1;
  int per_sm = 1;
  int tiles = 64;
  int bytes = 4096;
  int stages = 1;
  int think = 0;   // clocks between a tile and the next
  int wobble = 0;  // percent of them by which it is more or less
  int spread = 1;  // each block begins at one of the first `spread` tiles
  int stretches = 1;
  int blocks = 1;
};

std::string walk_source(const Walk& walk) {
  return fmt::format(
      R"({}
  __shared__ __align__(8) unsigned long long phases[{stages}];
  unsigned phase;
  asm("{{.reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t;}}" : "=r"(phase) : "l"(phases));
  const unsigned long long ns = nanoseconds();
  const unsigned long long begin = now();
  if (threadIdx.x == 0) {{
    for (int i = 0; i < {stages}; ++i)
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(phase + 8 * i) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    const char* const from = reinterpret_cast<const char*>(data) +
        static_cast<long long>(blockIdx.x / {readers} % {stretches}) * {tiles} * {bytes};
    const int first = (blockIdx.x * 2654435761u >> 16) % {spread};
    const auto ask = [&](int tile) {{
      const unsigned full = phase + 8 * (tile % {stages});
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], {bytes};" :: "r"(full) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                   " [%0], [%1], {bytes}, [%2];"
                   :: "r"(base + tile % {stages} * {bytes}), "l"(from + (first + tile) % {tiles} * {bytes}), "r"(full)
                   : "memory");
    }};
    unsigned random = blockIdx.x * 2654435761u;
    for (int tile = 0; tile < {stages}; ++tile) ask(tile);
    for (int tile = 0; tile < count; ++tile) {{
      unsigned done = 0;
      while (!done)
        asm volatile("{{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}}"
                     : "=r"(done) : "r"(phase + 8 * (tile % {stages})), "r"(tile / {stages} % 2) : "memory");
      random = random * 1664525u + 1013904223u;
      const int think = {think} + (static_cast<int>(random >> 16) - 32768) * {wobble} / 32768;
      for (const unsigned long long there = now(); static_cast<long long>(now() - there) < think;) {{}}
      if (tile + {stages} < count) ask(tile + {stages});
    }}
  }}
  if (blockIdx.x == 0) note(times, begin, now(), ns);
}}
)",
      kernel_prelude(), fmt::arg("stages", walk.stages), fmt::arg("readers", walk.readers),
      fmt::arg("stretches", walk.stretches), fmt::arg("tiles", walk.tiles),
      fmt::arg("bytes", walk.bytes), fmt::arg("think", walk.think),
      fmt::arg("wobble", walk.think * walk.wobble / 100), fmt::arg("spread", walk.spread));
}

// Clocks from a block's tile to its next, on average, of `tiles` that each of them reads.
double clocks_a_tile(Lab& lab, int sms, const Walk& walk, int tiles) {
  constexpr std::uint32_t kSharedBytes = 220 * 1024;
  const Lab::Shape shape = {.blocks = static_cast<std::uint32_t>(walk.blocks),
                            .threads = 32,
                            .shared = kSharedBytes / static_cast<std::uint32_t>(walk.per_sm),
                            .count = tiles};
  const std::string source = walk_source(walk);
  lab.clocks(source, shape);
  const double clocks = lab.microseconds(source, shape, {1, 5, 1}) * lab.clock_mhz();
  return clocks * sms * walk.per_sm / walk.blocks / tiles;
}

Json rates(Lab& lab, int sms) {
  Json rows = Json::array();
  for (const int readers : {1, 2, 3, 4, 6, 11, 33, 66, 132}) {
    const Walk walk = {.readers = readers,
                       .per_sm = 1,
                       .tiles = 2,
                       .bytes = 65536,
                       .stages = 3,
                       .stretches = sms / readers,
                       .blocks = sms};
    constexpr int kTiles = 512;
    rows.push_back({{"readers", readers},
                    {"bytes_per_clock", walk.bytes / clocks_a_tile(lab, sms, walk, kTiles)}});
  }
  return rows;
}

// Each stretch is 4 MB, and its blocks read it in step, or somewhere in the same part of it.
Json rates_apart(Lab& lab, int sms) {
  Json rows = Json::array();
  constexpr int kPerSm = 4;
  constexpr int kStretches = 4;
  for (const int spread : {1, 4, 16, 64, 256}) {
    const Walk walk = {.readers = sms * kPerSm / kStretches,
                       .per_sm = kPerSm,
                       .tiles = 256,
                       .bytes = 16384,
                       .stages = 2,
                       .spread = spread,
                       .stretches = kStretches,
                       .blocks = sms * kPerSm};
    rows.push_back(
        {{"readers", walk.readers},
         {"spread_bytes", spread * walk.bytes},
         {"bytes_per_clock", kPerSm * walk.bytes / clocks_a_tile(lab, sms, walk, walk.tiles)}});
  }
  return rows;
}

// From when a block asks until it has its tile, by how much all of them ask for. 128 blocks in a row
// read the same megabyte, from its begin and then again, and drift apart if they think unlike long.
Json under_load(Lab& lab, int sms) {
  Json rows = Json::array();
  const auto add = [&](int bytes, int per_sm, int wobble, int readers) {
    for (const int think : {100, 200, 400, 700, 1000, 1500, 2500}) {
      constexpr int kStretch = 1 << 20;
      const int blocks = sms * per_sm;
      const Walk walk = {.readers = readers,
                         .per_sm = per_sm,
                         .tiles = kStretch / bytes / (readers == 1 ? 32 : 1),
                         .bytes = bytes,
                         .think = think,
                         .wobble = wobble,
                         .stretches = (blocks + readers - 1) / readers,
                         .blocks = blocks};
      const double clocks = clocks_a_tile(lab, sms, walk, 256);
      rows.push_back({{"bytes", bytes},
                      {"blocks_an_sm", per_sm},
                      {"readers", readers},
                      {"think", think},
                      {"wobble_percent", wobble},
                      {"clocks", std::round(clocks - think)},
                      {"bytes_per_clock", std::round(10 * per_sm * bytes / clocks) / 10}});
    }
  };
  constexpr int kReaders = 128;
  for (const int bytes : {8192, 16384, 32768, 65536, 98304}) add(bytes, 1, 0, kReaders);
  constexpr int kPerSm = 4;
  add(16384, kPerSm, 0, kReaders);
  add(16384, kPerSm, 50, kReaders);
  add(16384, kPerSm, 50, 1);
  return rows;
}

// Twice each: of data that stays in L2, and of twice as much as it holds.
Json waits(Lab& lab, int sms) {
  struct Case {
    int readers, per_sm;
  };
  Json rows = Json::array();
  double alone = 0;
  for (const auto [readers, per_sm] : {Case{1, 1}, Case{16, 1}, Case{64, 1}, Case{64, 5},
                                       Case{256, 1}, Case{256, 5}, Case{512, 1}, Case{512, 5}}) {
    Walk walk = {.readers = readers, .per_sm = per_sm, .tiles = 256, .think = 300};
    constexpr int kInL2 = 16;  // MB, as a stretch is one
    constexpr int kBeyondL2 = 128;
    walk.blocks = readers * kBeyondL2;
    walk.stretches = kInL2;
    const double held = clocks_a_tile(lab, sms, walk, walk.tiles);
    walk.stretches = kBeyondL2;
    const double more = clocks_a_tile(lab, sms, walk, walk.tiles) - held;
    if (readers == 1) alone = more;
    rows.push_back({{"readers", readers},
                    {"blocks_an_sm", per_sm},
                    {"clocks_in_l2", std::round(held)},
                    {"more_from_dram", std::round(more)},
                    {"share", thousandths(more / alone)}});
  }
  return rows;
}

}  // namespace

Json measure_copies(Lab& lab, int sms) {
  Json result = {{"64 KB, three under way", rates(lab, sms)},
                 {"16 KB, two under way, four blocks an SM", rates_apart(lab, sms)},
                 {"4 KB, one under way", waits(lab, sms)},
                 {"one under way, by load", under_load(lab, sms)}};
  fmt::print("bulk copies of what several blocks read: {}\n", result.dump(1));
  return result;
}

}  // namespace fa_tune::bench
