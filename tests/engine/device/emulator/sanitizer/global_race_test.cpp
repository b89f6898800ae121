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
  const auto kernel_of = [](const std::string& fence, const std::string& after = "membar.gl;\n",
                            const std::string& atomic = "atom.global.add.u32") {
    return body(
        "mul.wide.u32 %rd4, %r4, 4; add.u64 %rd5, %rd1, %rd4; setp.ne.u32 %p1, %r1, 0;\n"
        "@%p1 exit; st.global.u32 [%rd5+64], %r4;\n" +
        fence + atomic + " %r5, [%rd1], 1; setp.ne.u32 %p2, %r5, 3; @%p2 exit;\n" + after +
        "ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd1+64];\n"
        "st.global.u32 [%rd1+32], %r6;\n");
  };
  const std::vector<std::string> early = {"reads 16 bytes", "wrote it in st.global.u32"};
  clean(kernel_of("membar.gl;\n"), kFour);
  clean(kernel_of("fence.acq_rel.gpu;\n"), kFour);
  found(kernel_of(""), FaultKind::race, early, kFour);
  found(kernel_of("membar.cta;\n"), FaultKind::race, early, kFour);
  // Who reads that others have published wants a fence as well, or an acquire.
  found(kernel_of("membar.gl;\n", ""), FaultKind::race, early, kFour);
  found(kernel_of("membar.gl;\n", "membar.cta;\n"), FaultKind::race, early, kFour);
  clean(kernel_of("", "", "atom.acq_rel.gpu.global.add.u32"), kFour);
  found(kernel_of("", "", "atom.acq_rel.cta.global.add.u32"), FaultKind::race, {}, kFour);
  found(kernel_of("", "", "atom.release.gpu.global.add.u32"), FaultKind::race, early, kFour);
  found(kernel_of("", "", "atom.acquire.gpu.global.add.u32"), FaultKind::race, early, kFour);
}

TEST_CASE("what all threads have fenced can be announced by one behind a barrier") {
  // Two warps: each thread writes its word and the first announces them.
  const auto kernel_of = [](const std::string& own, const std::string& first) {
    return body(
        "mul.wide.u32 %rd4, %r4, 256; add.u64 %rd5, %rd3, %rd4; setp.ne.u32 %p1, %r1, 0;\n"
        "st.global.u32 [%rd5+256], %r1;\n" +
        own + "@%p1 exit;\n" + first +
        "atom.global.add.u32 %r5, [%rd1], 1; setp.ne.u32 %p2, %r5, 3; @%p2 exit;\nmembar.gl;\n"
        "ld.global.u32 %r6, [%rd1+260]; ld.global.u32 %r7, [%rd1+400];\n");
  };
  clean(kernel_of("bar.sync 0;\n", "membar.gl;\n"), {64, 4, 1024});
  clean(kernel_of("membar.gl; bar.sync 0;\n", ""), {64, 4, 1024});
  // No barrier: of another warp, and of another lane of its own.
  found(kernel_of("", "membar.gl;\n"), FaultKind::race, {"wrote it in st.global.u32"},
        {64, 4, 1024});
  found(kernel_of("bar.sync 0;\n", ""), FaultKind::race, {"wrote it in st.global.u32"},
        {64, 4, 1024});
}

TEST_CASE("atomics of blocks go together at the scope of the device") {
  const auto count = [](const std::string& scope) {
    return body("red.relaxed." + scope + ".global.add.u32 [%rd1], 1;\n");
  };
  clean(count("gpu"), kFour);
  clean(count("sys"), kFour);
  clean(body("red.global.add.u32 [%rd1], 1;\n"), kFour);
  found(count("cta"), FaultKind::race, {"red.relaxed.cta.global.add.u32", "nothing orders the two"},
        kFour);
}

}  // namespace fa_tune::test
