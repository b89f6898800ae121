#include <cmath>

#include <doctest/doctest.h>

#include "engine/device/emulator/decode/loader.hpp"
#include "engine/device/emulator/exec/grid.hpp"
#include "engine/util/file.hpp"
#include "engine/util/half.hpp"
#include "engine/util/random.hpp"
#include "tests/engine/device/emulator/support.hpp"

// Whole kernels as the compiler writes them, the device around them, and what is counted.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

std::string example(const std::string& name) {
  return read_file(std::string(FA_TUNE_ROOT) + "/tests/engine/device/emulator/ptx/" + name);
}

struct Gemm {
  int m = 48;
  int n = 32;
  int k = 64;
  std::vector<std::uint16_t> a;
  std::vector<std::uint16_t> b;
  std::vector<float> c;

  Gemm() : a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n)) {
    c.resize(static_cast<std::size_t>(m * n));
    Random random(3);
    for (auto& value : a) value = to_f16(random.normal());
    for (auto& value : b) value = to_f16(random.normal());
  }

  // The largest difference from exact sums.
  double run(const std::string& ptx, int threads) {
    const auto device = open_emulator(small_profile(), threads);
    const auto loaded = device->load(image(ptx, "gemm"));
    REQUIRE(loaded);
    const BufferHandle buffers[] = {device->allocate(a.size() * 2), device->allocate(b.size() * 2),
                                    device->allocate(c.size() * 4)};
    REQUIRE(device->write(buffers[0], 0, std::as_bytes(std::span(a))));
    REQUIRE(device->write(buffers[1], 0, std::as_bytes(std::span(b))));
    Launch launch;
    launch.kernel = *loaded;
    launch.config.grid = {static_cast<std::uint32_t>(n / 8), static_cast<std::uint32_t>(m / 16), 1};
    launch.config.block = {32, 1, 1};
    launch.arguments = {buffers[0], buffers[1], buffers[2], raw(n), raw(k)};
    const auto outcome = device->launch(launch);
    const std::string message = outcome ? "" : outcome.error().message;
    REQUIRE(message == "");
    REQUIRE(device->read(buffers[2], 0, std::as_writable_bytes(std::span(c))));
    double worst = 0;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int l = 0; l < k; ++l) {
          sum += double{from_f16(a[static_cast<std::size_t>(i * k + l)])} *
                 double{from_f16(b[static_cast<std::size_t>(l * n + j)])};
        }
        const double difference = std::abs(sum - double{c[static_cast<std::size_t>(i * n + j)]});
        worst = std::isnan(difference) ? difference : std::max(worst, difference);
      }
    }
    return worst;
  }
};

std::string without(std::string text, const std::string& part) {
  REQUIRE(text.find(part) != std::string::npos);
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part)) {
    text.replace(at, part.size(), std::string(part.size(), ' '));
  }
  return text;
}

}  // namespace

TEST_CASE("a reduction by shuffles, shared memory and atomics") {
  const auto device = open_emulator(small_profile(), 2);
  const auto loaded = device->load(image(example("reduction.ptx"), "reduction"));
  const std::string why = loaded ? "" : loaded.error().message;
  REQUIRE(why == "");
  const int count = 1000;
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i);
  const BufferHandle total = device->allocate(4);
  const BufferHandle input = device->allocate(values.size() * 4);
  float sum = 0;
  REQUIRE(device->write(total, 0, std::as_bytes(std::span(&sum, 1))));
  REQUIRE(device->write(input, 0, std::as_bytes(std::span(values))));
  Launch launch;
  launch.kernel = *loaded;
  launch.config.grid = {4, 1, 1};
  launch.config.block = {256, 1, 1};
  launch.arguments = {total, input, raw(count)};
  const auto outcome = device->launch(launch);
  const std::string message = outcome ? "" : outcome.error().message;
  REQUIRE(message == "");
  REQUIRE(device->read(total, 0, std::as_writable_bytes(std::span(&sum, 1))));
  CHECK(sum == 499500.0F);
}

TEST_CASE("a matrix product on tensor cores, fed by asynchronous copies") {
  Gemm gemm;
  CHECK(gemm.run(example("gemm.ptx"), 1) < 1e-4);
  const std::vector<float> alone = gemm.c;
  CHECK(gemm.run(example("gemm.ptx"), 3) < 1e-4);
  CHECK(gemm.c == alone);
}

TEST_CASE("the same product without a wait is wrong") {
  Gemm gemm;
  CHECK_FALSE(gemm.run(without(example("gemm.ptx"), "cp.async.wait_group 1;"), 1) < 1e-2);
  CHECK_FALSE(gemm.run(without(example("gemm.ptx"), "cp.async.wait_group 0;"), 1) < 1e-2);
}

TEST_CASE("the fault of the first block in order is the one reported") {
  // Blocks from 3 on write past the buffer; block `slow` takes its time before it does.
  const std::string ptx = kernel(
      ".param .u64 out, .param .u32 slow",
      ".reg .b32 %r<8>; .reg .b64 %rd<6>; .reg .pred %p<3>; ld.param.u64 %rd1, [out];\n"
      "mov.u32 %r1, %ctaid.x; ld.param.u32 %r2, [slow]; mov.u32 %r3, 0; setp.ne.u32 %p1, %r1, "
      "%r2;\n"
      "selp.u32 %r4, 20000, 200000, %p1;\n"
      "LOOP: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r4; @%p2 bra LOOP;\n"
      "shl.b32 %r1, %r1, 7; cvt.u64.u32 %rd2, %r1; add.u64 %rd3, %rd1, %rd2;\n"
      "st.global.u32 [%rd3], %r1;");
  std::string first;
  for (const int threads : {1, 2, 5}) {
    for (const std::uint32_t slow : {3U, 4U}) {
      Bench bench(ptx, 32 * 3, threads);
      bench.launch.config.grid = {64, 1, 1};
      bench.launch.arguments = {bench.buffer, raw(slow)};
      const auto outcome = bench.run();
      REQUIRE_FALSE(outcome);
      CHECK(outcome.error().message.find("block (3,0,0), thread (0,0,0)") != std::string::npos);
      if (first.empty()) first = outcome.error().message;
      CHECK(outcome.error().message == first);
    }
  }
}

TEST_CASE("block and grid coordinates in three dimensions") {
  const std::string ptx = kernel(
      ".param .u64 out",
      ".reg .b32 %r<20>; .reg .b64 %rd<6>; ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n"
      "mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y;\n"
      "mov.u32 %r6, %ctaid.z; mad.lo.u32 %r7, %r3, 2, %r2; mad.lo.u32 %r7, %r7, 4, %r1;\n"
      "mad.lo.u32 %r8, %r6, 3, %r5; mad.lo.u32 %r8, %r8, 2, %r4; mad.lo.u32 %r9, %r8, 24, %r7;\n"
      "mul.wide.u32 %rd2, %r9, 4; add.u64 %rd3, %rd1, %rd2; add.u32 %r9, %r9, 1;\n"
      "st.global.u32 [%rd3], %r9;");
  Bench bench(ptx, 24 * 12, 2);
  bench.launch.config.grid = {2, 3, 2};
  bench.launch.config.block = {4, 2, 3};
  REQUIRE(bench.run());
  const auto words = bench.words();
  for (std::uint32_t i = 0; i < words.size(); ++i) CHECK(words[i] == i + 1);
}

TEST_CASE("what a launch may not ask for") {
  const std::string ptx = kernel(".param .u64 out",
                                 ".shared .align 16 .b8 s[1024]; .reg .b32 %r;\n"
                                 "mov.u32 %r, s;");
  const auto kind = [&](auto change) {
    Bench bench(ptx);
    change(bench.launch);
    const auto outcome = bench.run();
    return outcome ? FaultKind::device_lost : outcome.error().kind;
  };
  CHECK(kind([](Launch&) {}) == FaultKind::device_lost);
  CHECK(kind([](Launch& l) { l.config.block = {1025, 1, 1}; }) == FaultKind::resources);
  CHECK(kind([](Launch& l) { l.config.block = {0, 1, 1}; }) == FaultKind::resources);
  CHECK(kind([](Launch& l) { l.config.dynamic_shared_bytes = 101376; }) == FaultKind::resources);
  CHECK(kind([](Launch& l) { l.config.dynamic_shared_bytes = 100352; }) == FaultKind::device_lost);
  CHECK(kind([](Launch& l) { l.config.cluster = {2, 1, 1}; }) == FaultKind::resources);
  CHECK(kind([](Launch& l) { l.arguments.clear(); }) == FaultKind::resources);
  CHECK(kind([](Launch& l) { l.arguments = {raw(1)}; }) == FaultKind::resources);
}

TEST_CASE("an endless loop ends as a timeout") {
  const std::string ptx = kernel(".param .u64 out", "LOOP: bra LOOP;");
  emulator::GlobalMemory memory;
  const auto program = emulator::load_program(ptx, "k", emulator::TensorRule::ampere, memory);
  REQUIRE(program);
  const std::vector<std::byte> parameters(8);
  emulator::LaunchContext context{&*program, {}, parameters, &memory, 100000};
  const auto diagnostic = emulator::run_grid(context, 1, nullptr);
  REQUIRE(diagnostic);
  CHECK(diagnostic->kind == emulator::DiagnosticKind::timeout);
}

TEST_CASE("counters are of pipes, wavefronts and sectors") {
  const auto count = [](const std::string& body) {
    emulator::GlobalMemory memory;
    const auto& allocation = memory.allocate(8192);
    const std::string ptx =
        kernel(".param .u64 out",
               ".reg .b32 %r<12>; .reg .b64 %rd<6>; .shared .align 16 .b8 s[8192]; .reg .pred %p;\n"
               "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;\n" +
                   body);
    const auto program = emulator::load_program(ptx, "k", emulator::TensorRule::ampere, memory);
    REQUIRE(program);
    std::vector<std::byte> parameters(8);
    std::memcpy(parameters.data(), &allocation.address, 8);
    emulator::LaunchContext context{&*program, {}, parameters, &memory, 100000};
    context.config.block = {32, 1, 1};
    emulator::Record record;
    const auto diagnostic = emulator::run_grid(context, 1, &record);
    REQUIRE_FALSE(diagnostic);
    return record.totals;
  };
  const auto plain = count("add.f32 %r3, %r1, %r1; ex2.approx.f32 %r4, %r3; bar.sync 0;");
  CHECK(plain.blocks == 1);
  CHECK(plain.warps == 1);
  CHECK(plain.fma_f32 == 1);
  CHECK(plain.special == 1);
  CHECK(plain.barriers == 1);
  CHECK(plain.load_store == 1);
  CHECK(plain.warp_instructions == 7);  // three before, three, exit
  const auto strided = [&](int shift) {
    return count("shl.b32 %r3, %r1, " + std::to_string(shift) +
                 "; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1;");
  };
  CHECK(strided(2).shared_wavefronts == 1);
  CHECK(strided(3).shared_wavefronts == 2);
  CHECK(strided(7).shared_wavefronts == 32);
  CHECK(strided(7).shared_wavefronts_ideal == 1);
  CHECK(count("ld.shared.u32 %r3, [%r2];").shared_wavefronts == 1);  // one word serves all
  const auto vector = [&](int shift) {
    return count("shl.b32 %r3, %r1, " + std::to_string(shift) +
                 "; add.u32 %r3, %r3, %r2; ld.shared.v4.u32 {%r4,%r5,%r6,%r7}, [%r3];");
  };
  CHECK(vector(4).shared_wavefronts == 4);
  CHECK(vector(7).shared_wavefronts == 32);
  // As wide: of all lanes' one address, of pairs, of lanes two apart, and of quarters of a warp.
  const auto wide = [&](const std::string& offset, const std::string& form = "v4") {
    const std::string into = form == "v4" ? "{%r4,%r5,%r6,%r7}" : "{%r4,%r5}";
    return count(offset + "add.u32 %r3, %r3, %r2; ld.shared." + form + ".u32 " + into + ", [%r3];");
  };
  const auto one = wide("mov.u32 %r3, 0; ");
  CHECK(one.shared_wavefronts == 2);
  CHECK(one.shared_wavefronts_ideal == 2);
  CHECK(wide("mov.u32 %r3, 0; ", "v2").shared_wavefronts == 1);
  CHECK(wide("shr.u32 %r3, %r1, 1; shl.b32 %r3, %r3, 4; ").shared_wavefronts == 2);
  CHECK(wide("and.b32 %r3, %r1, 1; shl.b32 %r3, %r3, 4; ").shared_wavefronts == 2);
  CHECK(wide("shr.u32 %r3, %r1, 2; shl.b32 %r3, %r3, 4; ").shared_wavefronts == 2);
  CHECK(wide("and.b32 %r3, %r1, 7; shl.b32 %r3, %r3, 4; ").shared_wavefronts == 4);
  CHECK(wide("shr.u32 %r3, %r1, 1; shl.b32 %r3, %r3, 7; ").shared_wavefronts == 16);
  const auto matrix = [&](int shift) {
    return count("shl.b32 %r3, %r1, " + std::to_string(shift) +
                 "; add.u32 %r3, %r3, %r2; ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                 "{%r4,%r5,%r6,%r7}, [%r3];");
  };
  CHECK(matrix(4).shared_wavefronts == 4);
  CHECK(matrix(7).shared_wavefronts == 32);
  CHECK(matrix(7).shared_wavefronts_ideal == 4);
  const auto global = [&](int shift) {
    return count("shl.b32 %r3, %r1, " + std::to_string(shift) +
                 "; cvt.u64.u32 %rd2, %r3; add.u64 %rd2, %rd1, %rd2; ld.global.u32 %r4, [%rd2]; "
                 "st.global.u32 [%rd1], %r4;");
  };
  CHECK(global(2).global_sectors_read == 4);
  CHECK(global(5).global_sectors_read == 32);
  CHECK(global(2).global_sectors_written == 1);
  const auto stores = [&](int shift, const std::string& lanes) {
    return count(lanes + "shl.b32 %r3, %r1, " + std::to_string(shift) +
                 "; cvt.u64.u32 %rd2, %r3; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r1;");
  };
  CHECK(stores(2, "").global_sectors_in_part == 0);
  CHECK(stores(3, "").global_sectors_in_part == 8);
  CHECK(stores(2, "setp.gt.u32 %p, %r1, 11; @%p exit;").global_sectors_in_part == 1);
  CHECK(count("setp.eq.u32 %p, %r1, 3; @%p bra X; add.u32 %r3, %r1, 1;\nX:\n").divergent == 1);
}

TEST_CASE("a sample of blocks has the first and the last, and scales") {
  CHECK(emulator::sample_evenly(5, 8) == std::vector<std::uint64_t>{0, 1, 2, 3, 4});
  CHECK(emulator::sample_evenly(100, 4) == std::vector<std::uint64_t>{0, 33, 66, 99});
  emulator::Counters counters;
  counters.blocks = 4;
  counters.tensor = 10;
  emulator::Counters twice = counters;
  twice += counters;
  CHECK(twice.blocks == 8);
  CHECK(counters.scaled(2.5).tensor == 25);
}

TEST_CASE("a time is one prediction, named after its model") {
  const auto device = open_emulator(small_profile(), 2);
  CHECK(device->info().id == "emulator:test");
  CHECK(device->info().accepts == BinaryKind::ptx);
  const auto loaded = device->load(image(example("gemm.ptx"), "gemm"));
  REQUIRE(loaded);
  const BufferHandle buffer = device->allocate(1 << 16);
  Launch launch;
  launch.kernel = *loaded;
  launch.config.grid = {4, 3, 1};
  launch.config.block = {32, 1, 1};
  launch.arguments = {buffer, buffer, device->allocate(1 << 16), raw(32), raw(64)};
  const auto timing = device->time(launch, {});
  REQUIRE(timing);
  CHECK(timing->kind == TimeKind::predicted);
  CHECK(timing->samples_us.size() == 1);
  CHECK(timing->samples_us[0] > 0);
  CHECK(timing->model == "test");
  // 8 of 12 blocks are run; 12 blocks of 4 steps of an mma are reported.
  CHECK(timing->detail_json.find("\"tensor\":48") != std::string::npos);
  KernelImage cubin = image("", "gemm");
  cubin.kind = BinaryKind::cubin;
  CHECK(device->load(cubin).error().kind == FaultKind::load_failed);
}

}  // namespace fa_tune::test
