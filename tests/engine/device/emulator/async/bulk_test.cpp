#include <algorithm>

#include <doctest/doctest.h>

#include "engine/util/half.hpp"
#include "tests/engine/device/emulator/hopper_support.hpp"

// Bulk copies and reductions of plain bytes, and bulk groups.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

const std::string kTwoBuffers = ".param .u64 out, .param .u64 in";
const std::string kStart = kHopperRegisters + R"(
  .shared .align 8 .b64 bar;
  .shared .align 128 .b8 box[4096];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
)" + kMakeBarrier;

// The first thread expects `expected` bytes and copies `bytes` from `in` plus `offset`.
std::string load(const std::string& expected, const std::string& bytes, const std::string& from,
                 const std::string& to = "box") {
  return kernel(kTwoBuffers, kStart + R"(
  @%p1 bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], )" +
                                 expected + R"(;
  mov.u32 %r2, )" + to + R"(;
  mov.u32 %r3, bar;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [)" +
                                 from + "], " + bytes + ", [%r3];\n" + kWaitForBarrier +
                                 dump(4096));
}

std::string outcome_of_load(const std::string& ptx) {
  HopperBench bench(ptx);
  bench.launch.arguments = {bench.buffer(std::vector<std::uint32_t>(1024)),
                            bench.buffer(counting(1024))};
  return bench.run();
}

}  // namespace

TEST_CASE("a bulk copy brings bytes into shared memory before its mbarrier lets anyone go on") {
  for (const std::string& where : {std::string("%rd2"), std::string("%rd2+1024")}) {
    HopperBench bench(load("2048", "2048", where));
    const BufferHandle out = bench.buffer(std::vector<std::uint32_t>(1024));
    bench.launch.arguments = {out, bench.buffer(counting(1024))};
    for (bench.launch.schedule = 0; bench.launch.schedule < kSchedules; ++bench.launch.schedule) {
      CHECK(bench.run() == "");
      const auto words = bench.read<std::uint32_t>(out, 1024);
      const std::uint32_t first = where == "%rd2" ? 1 : 257;
      for (std::uint32_t i = 0; i < 512; ++i) CHECK(words[i] == first + i);
      CHECK(words[512] == 0xffffffff);
    }
  }
}

TEST_CASE("a bulk copy in the wrong is named") {
  CHECK(outcome_of_load(load("2048", "2040", "%rd2")).find("2040 bytes, no multiple of 16") !=
        std::string::npos);
  CHECK(outcome_of_load(load("2048", "2048", "%rd2+8")).starts_with("misaligned: "));
  CHECK(outcome_of_load(load("2048", "2048", "%rd2", "box+4")).starts_with("misaligned: "));
  CHECK(outcome_of_load(load("2048", "2048", "%rd2", "box+3072")).starts_with("out_of_bounds: "));
  CHECK(outcome_of_load(load("2048", "2048", "%rd2+3072")).starts_with("out_of_bounds: "));
  // Too few bytes come: the wait never ends.
  const std::string hangs = outcome_of_load(load("2064", "2048", "%rd2"));
  INFO(hangs);
  CHECK(hangs.starts_with("deadlock: "));
  CHECK(hangs.find("0 arrivals and 16 bytes are missing") != std::string::npos);
}

TEST_CASE("bulk copies are known on Hopper alone") {
  CHECK(fault_of(load("2048", "2048", "%rd2")).kind == FaultKind::unknown_instruction);
}

TEST_CASE("a bulk copy goes to every block that its mask names") {
  // Of four blocks the second copies for all but the third.
  const std::string ptx = kernel(kTwoBuffers, kStart + R"(
  mov.u32 %r4, %cluster_ctarank;
  setp.eq.u32 %p3, %r4, 2;
  @%p1 bra READY;
  @%p3 bra READY;
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], 4096;
READY:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  setp.ne.u32 %p4, %r4, 1;
  or.pred %p4, %p4, %p1;
  @%p4 bra LOADED;
  mov.u32 %r2, box;
  mov.u32 %r3, bar;
  mov.u16 %rs1, 11;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
    [%r2], [%rd2], 4096, [%r3], %rs1;
LOADED:
  @%p3 bra DONE;
)" + kWaitForBarrier + R"(
DONE:
  mul.wide.u32 %rd4, %r4, 4096;
  add.u64 %rd1, %rd1, %rd4;
)" + dump(4096) + R"(
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)");
  HopperBench bench(ptx);
  const BufferHandle out = bench.buffer(std::vector<std::uint32_t>(4096));
  bench.launch.arguments = {out, bench.buffer(counting(1024))};
  bench.launch.config.grid = {4, 1, 1};
  bench.launch.config.cluster = {4, 1, 1};
  for (bench.launch.schedule = 0; bench.launch.schedule < kSchedules; ++bench.launch.schedule) {
    CHECK(bench.run() == "");
    const auto words = bench.read<std::uint32_t>(out, 4096);
    bool right = true;
    for (std::uint32_t i = 0; i < 4096; ++i) {
      right &= words[i] == (i / 1024 == 2 ? 0xffffffff : i % 1024 + 1);
    }
    CHECK(right);
  }
  bench.launch.config.grid = {2, 1, 1};
  bench.launch.config.cluster = {2, 1, 1};
  CHECK(bench.run().find("of block 3 of a cluster of 2") != std::string::npos);
}

namespace {

// Block 1 of a cluster sends its box, 7 + i, to block 0, whose box is 100 + i, by `opcode`.
std::string to_peer(const std::string& opcode) {
  return kernel(kTwoBuffers, kStart + R"(
  mov.u32 %r4, %cluster_ctarank;
  mul.lo.u32 %r5, %r4, 93;
  sub.u32 %r5, 100, %r5;
  mov.u32 %r6, %r1;
  add.u32 %r1, %r1, %r5;
)" + fill(4096, 0) + R"(
  mov.u32 %r1, %r6;
  setp.eq.u32 %p3, %r4, 0;
  @%p1 bra READY;
  @!%p3 bra READY;
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], 4096;
READY:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%p3 bra WAIT;
  @%p1 bra DONE;
  mov.u32 %r2, box;
  mov.u32 %r3, bar;
  mapa.shared::cluster.u32 %r7, %r2, 0;
  mapa.shared::cluster.u32 %r8, %r3, 0;
  )" + opcode + R"( [%r7], [%r2], 4096, [%r8];
  bra DONE;
)" + kWaitForBarrier + dump(4096) +
                                 R"(
DONE:
  barrier.cluster.arrive;
  barrier.cluster.wait;
)");
}

std::vector<std::uint32_t> sent_to_peer(const std::string& opcode, std::uint64_t schedule) {
  std::string ptx = to_peer(opcode);
  // The filled words follow the shifted thread number, their places the true one.
  const std::string shift = "shl.b32 %r30, %r1, 2;";
  ptx.replace(ptx.find(shift), shift.size(), "shl.b32 %r30, %r6, 2;");
  HopperBench bench(ptx);
  const BufferHandle out = bench.buffer(std::vector<std::uint32_t>(1024));
  bench.launch.arguments = {out, out};
  bench.launch.config.grid = {2, 1, 1};
  bench.launch.config.cluster = {2, 1, 1};
  bench.launch.schedule = schedule;
  CHECK(bench.run() == "");
  return bench.read<std::uint32_t>(out, 1024);
}

}  // namespace

TEST_CASE("a bulk copy or reduction reaches the shared memory of a peer") {
  const std::string route = ".async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes";
  struct Case {
    std::string opcode;
    std::uint32_t (*expected)(std::uint32_t own, std::uint32_t sent);
  };
  const Case cases[] = {
      {"cp" + route, [](std::uint32_t, std::uint32_t b) { return b; }},
      {"cp.reduce" + route + ".add.u32", [](std::uint32_t a, std::uint32_t b) { return a + b; }},
      {"cp.reduce" + route + ".min.s32",
       [](std::uint32_t a, std::uint32_t b) { return std::min(a, b); }},
      {"cp.reduce" + route + ".max.u32",
       [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); }},
      {"cp.reduce" + route + ".xor.b32", [](std::uint32_t a, std::uint32_t b) { return a ^ b; }},
      {"cp.reduce" + route + ".or.b32", [](std::uint32_t a, std::uint32_t b) { return a | b; }},
      {"cp.reduce" + route + ".and.b32", [](std::uint32_t a, std::uint32_t b) { return a & b; }},
      {"cp.reduce" + route + ".inc.u32",
       [](std::uint32_t a, std::uint32_t b) { return a >= b ? 0 : a + 1; }},
      {"cp.reduce" + route + ".dec.u32",
       [](std::uint32_t a, std::uint32_t b) { return a == 0 || a > b ? b : a - 1; }},
  };
  for (const Case& each : cases) {
    INFO(each.opcode);
    for (std::uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
      const auto words = sent_to_peer(each.opcode, schedule);
      bool right = true;
      for (std::uint32_t i = 0; i < 1024; ++i) right &= words[i] == each.expected(100 + i, 7 + i);
      CHECK(right);
    }
  }
}

namespace {

// The first thread sends box, 7 + i, to `out` by `opcode`, and does `after`.
std::string store(const std::string& opcode, const std::string& after) {
  return kernel(kTwoBuffers, kStart + fill(4096, 7) + R"(
  @%p1 bra DONE;
  mov.u32 %r2, box;
  )" + opcode + R"( [%rd1], [%r2], 4096;
  cp.async.bulk.commit_group;
  )" + after + R"(
DONE:
)");
}

}  // namespace

TEST_CASE("a bulk store writes global memory, and reductions add to it") {
  const std::string route = ".async.bulk.global.shared::cta.bulk_group";
  struct Case {
    std::string opcode;
    std::uint32_t (*expected)(std::uint32_t own, std::uint32_t sent);
  };
  const Case cases[] = {
      {"cp" + route, [](std::uint32_t, std::uint32_t b) { return b; }},
      {"cp.reduce" + route + ".add.u32", [](std::uint32_t a, std::uint32_t b) { return a + b; }},
      {"cp.reduce" + route + ".min.u32",
       [](std::uint32_t a, std::uint32_t b) { return std::min(a, b); }},
      {"cp.reduce" + route + ".xor.b64", [](std::uint32_t a, std::uint32_t b) { return a ^ b; }},
  };
  for (const Case& each : cases) {
    INFO(each.opcode);
    HopperBench bench(store(each.opcode, "cp.async.bulk.wait_group 0;"));
    for (bench.launch.schedule = 0; bench.launch.schedule < kSchedules; ++bench.launch.schedule) {
      const BufferHandle out = bench.buffer(counting(1024));
      bench.launch.arguments = {out, out};
      CHECK(bench.run() == "");
      const auto words = bench.read<std::uint32_t>(out, 1024);
      bool right = true;
      for (std::uint32_t i = 0; i < 1024; ++i) right &= words[i] == each.expected(1 + i, 7 + i);
      CHECK(right);
    }
  }
}

TEST_CASE("a bulk reduction of floats rounds as its type does") {
  const std::string route = "cp.reduce.async.bulk.global.shared::cta.bulk_group";
  {
    HopperBench bench(store(route + ".add.f32", "cp.async.bulk.wait_group 0;"));
    std::vector<float> values(1024);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1) * 0.37F;
    const BufferHandle out = bench.buffer(values);
    bench.launch.arguments = {out, out};
    CHECK(bench.run() == "");
    const auto sums = bench.read<float>(out, 1024);
    for (std::uint32_t i = 0; i < 1024; ++i) {
      CHECK(sums[i] == values[i] + std::bit_cast<float>(7 + i));
    }
  }
  {
    HopperBench bench(store(route + ".max.f16", "cp.async.bulk.wait_group 0;"));
    std::vector<std::uint16_t> values(2048, to_f16(-3.0F));
    const BufferHandle out = bench.buffer(values);
    bench.launch.arguments = {out, out};
    CHECK(bench.run() == "");
    const auto highest = bench.read<std::uint16_t>(out, 2048);
    for (std::uint32_t i = 0; i < 1024; ++i) CHECK(highest[2 * i] == 7 + i);
  }
  CHECK(HopperBench(store(route + ".add.noftz.bf16", "")).load_fault == "");
  CHECK(HopperBench(store(route + ".inc.s32", "")).load_fault.find("does not know") !=
        std::string::npos);
}

TEST_CASE("a wait for the reading of a source is enough to write it again, and no more") {
  // Overwrites the box after a wait and reads `out` back after it.
  const auto after = [](const std::string& wait) {
    return wait + R"(
  mov.u32 %r10, 5;
  st.shared.u32 [%r2], %r10;
  ld.global.u32 %r11, [%rd1];
  st.global.u32 [%rd2], %r11;
)";
  };
  const auto run = [](const std::string& ptx, std::uint64_t schedule) {
    HopperBench bench(ptx);
    const BufferHandle out = bench.buffer(counting(1024));
    const BufferHandle seen = bench.buffer(counting(4));
    bench.launch.arguments = {out, seen};
    bench.launch.schedule = schedule;
    CHECK(bench.run() == "");
    return std::pair{bench.read<std::uint32_t>(out, 1)[0], bench.read<std::uint32_t>(seen, 1)[0]};
  };
  const std::string copy = "cp.async.bulk.global.shared::cta.bulk_group";
  int late = 0;
  for (std::uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
    CHECK(run(store(copy, after("cp.async.bulk.wait_group 0;")), schedule) == std::pair{7U, 7U});
    const auto read = run(store(copy, after("cp.async.bulk.wait_group.read 0;")), schedule);
    CHECK(read.first == 7);
    late += read.second != 7 ? 1 : 0;
  }
  CHECK(late > 0);
  // Without a wait, as late as may be, the second value goes out.
  CHECK(run(store(copy, after("")), 2).first == 5);
  CHECK(run(store(copy, after("cp.async.bulk.wait_group 1;")), 2).first == 5);
}

}  // namespace fa_tune::test
