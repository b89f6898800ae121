#include "tests/engine/device/emulator/sanitizer/support.hpp"

// Races of CTAs in global memory.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

constexpr Shape kFour{32, 4, 1024};

}  // namespace

TEST_CASE("blocks that meet in global memory are both named") {
  found(body("add.u32 %r5, %r1, %r4; st.global.u32 [%rd3], %r5;\n"), FaultKind::race,
        {"st.global.u32, block (1,0,0), thread (0,0,0): writes 4 bytes at global address 0x",
         "it is byte 0 of the 4096 bytes at 0x",
         "block (0,0,0), thread (0,0,0) wrote it in st.global.u32 (PTX line",
         "nothing orders the two"},
        kFour);
  clean(body("mul.wide.u32 %rd4, %r4, 128; add.u64 %rd5, %rd3, %rd4;\n"
             "ld.global.u32 %r5, [%rd5]; st.global.u32 [%rd5], %r4;\n"),
        kFour);
  // The same value from all is no race.
  clean(body("st.global.u32 [%rd1], 1;\n"), kFour);
  // Read by one, written by the next.
  found(
      body("mul.wide.u32 %rd4, %r4, 128; add.u64 %rd5, %rd3, %rd4; ld.global.u32 %r5, [%rd5+128];\n"
           "st.global.u32 [%rd5], %r5;\n"),
      FaultKind::race, {"read it in ld.global.u32"}, kFour);
  clean(body("red.global.add.u32 [%rd1], 1; atom.global.add.u32 %r5, [%rd1+4], %r1;\n"), kFour);
}

TEST_CASE("the last block sums up what fences have published") {
  const auto kernel_of = [](const std::string& fence) {
    return body(
        "mul.wide.u32 %rd4, %r4, 4; add.u64 %rd5, %rd1, %rd4; setp.ne.u32 %p1, %r1, 0;\n"
        "@%p1 exit; st.global.u32 [%rd5+64], %r4;\n" +
        fence +
        "atom.global.add.u32 %r5, [%rd1], 1; setp.ne.u32 %p2, %r5, 3; @%p2 exit;\n"
        "ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd1+64];\n"
        "st.global.u32 [%rd1+32], %r6;\n");
  };
  clean(kernel_of("membar.gl;\n"), kFour);
  clean(kernel_of("fence.acq_rel.gpu;\n"), kFour);
  found(kernel_of(""), FaultKind::race, {"reads 16 bytes", "wrote it in st.global.u32"}, kFour);
  found(kernel_of("membar.cta;\n"), FaultKind::race, {"reads 16 bytes"}, kFour);
}

}  // namespace fa_tune::test
