#include <doctest/doctest.h>

#include "tests/engine/device/emulator/hopper_support.hpp"

// st.async: 128 threads store into the block's own shared memory and wait for the mbarrier.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

// Each thread stores `bytes` at box + bytes * thread; `expected` bytes are waited for.
std::string storing(const std::string& store, int bytes, int expected, int offset = 0) {
  return kernel(".param .u64 out",
                kHopperRegisters +
                    ".shared .align 16 .b8 box[2048]; .shared .align 8 .b64 bar;\n"
                    "ld.param.u64 %rd1, [out];\n" +
                    kMakeBarrier + "@%p1 bra READY;\nmbarrier.arrive.expect_tx.shared::cta.b64 " +
                    "%rd2, [bar], " + std::to_string(expected) +
                    ";\nREADY:\nbar.sync 0;\n"
                    "mul.lo.u32 %r2, %r1, " +
                    std::to_string(bytes) + "; mov.u32 %r3, box; add.u32 %r2, %r2, %r3;\n" +
                    "add.u32 %r2, %r2, " + std::to_string(offset) +
                    ";\nmov.u32 %r3, bar; add.u32 %r4, %r1, 7; cvt.u64.u32 %rd3, %r1;\n"
                    "shl.b64 %rd4, %rd3, 32;\n"
                    "st.async.shared::cluster.mbarrier::complete_tx::bytes" +
                    store + ";\n" + kWaitForBarrier + dump(2048));
}

std::vector<std::uint32_t> stored(const std::string& ptx, std::uint64_t schedule) {
  HopperBench bench(ptx);
  const BufferHandle out = bench.buffer(std::vector<std::uint32_t>(512));
  bench.launch.arguments = {out};
  bench.launch.schedule = schedule;
  CHECK(bench.run() == "");
  return bench.read<std::uint32_t>(out, 512);
}

std::string outcome(const std::string& ptx) {
  HopperBench bench(ptx);
  bench.launch.arguments = {bench.buffer(std::vector<std::uint32_t>(512))};
  return bench.run();
}

}  // namespace

TEST_CASE("st.async brings values of every width, which its mbarrier counts") {
  for (std::uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
    const auto single = stored(storing(".u32 [%r2], %r4, [%r3]", 4, 512), schedule);
    const auto pair = stored(storing(".v2.b32 [%r2], {%r4, %r1}, [%r3]", 8, 1024), schedule);
    const auto four =
        stored(storing(".v4.u32 [%r2], {%r1, %r4, 9, %r1}, [%r3]", 16, 2048), schedule);
    const auto wide = stored(storing(".v2.b64 [%r2], {%rd3, %rd4}, [%r3]", 16, 2048), schedule);
    for (std::uint32_t t = 0; t < 128; ++t) {
      CHECK(single[t] == t + 7);
      CHECK((pair[2 * t] == t + 7 && pair[2 * t + 1] == t));
      CHECK((four[4 * t] == t && four[4 * t + 1] == t + 7 && four[4 * t + 2] == 9));
      CHECK((wide[4 * t] == t && wide[4 * t + 1] == 0 && wide[4 * t + 2] == 0));
      CHECK(wide[4 * t + 3] == t);
    }
  }
}

TEST_CASE("an st.async in the wrong is named") {
  CHECK(outcome(storing(".u32 [%r2], %r4, [%r3]", 4, 516)).starts_with("deadlock: "));
  CHECK(outcome(storing(".u32 [%r2], %r4, [%r3]", 4, 512, 2)).starts_with("misaligned: "));
  CHECK(outcome(storing(".u32 [%r2], %r4, [%r3]", 4, 512, 1 << 16)).starts_with("out_of_bounds: "));
  CHECK(outcome(storing(".u16 [%r2], %r4, [%r3]", 4, 512)).starts_with("unknown_instruction: "));
  CHECK(outcome(storing(".v4.b64 [%r2], {%rd3, %rd3, %rd3, %rd3}, [%r3]", 32, 4096))
            .starts_with("unknown_instruction: "));
}

}  // namespace fa_tune::test
