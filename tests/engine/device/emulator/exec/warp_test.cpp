#include <doctest/doctest.h>

#include "tests/engine/device/emulator/support.hpp"

// Lanes that part and rejoin, exchanges within a warp, barriers of a block.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

using u32 = std::uint32_t;

constexpr const char* kDeclarations =
    ".reg .b32 %r<20>; .reg .b64 %rd<8>; .reg .pred %p<8>;\n"
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"
    "add.u64 %rd3, %rd1, %rd2;\n";

// out[tid] = %r0 after `body`, for `threads` threads of one block.
std::vector<u32> each(const std::string& body, u32 threads = 32) {
  Bench bench(kernel(".param .u64 out", kDeclarations + body + "\nst.global.u32 [%rd3], %r0;"),
              threads);
  bench.launch.config.block = {threads, 1, 1};
  const auto outcome = bench.run();
  INFO(body);
  const std::string message = outcome ? "" : outcome.error().message;
  REQUIRE(message == "");
  return bench.words();
}

std::string with(const std::string& body) {
  return kernel(".param .u64 out", kDeclarations + body);
}

}  // namespace

TEST_CASE("lanes part, take their own ways and meet again") {
  const auto words = each(
      "and.b32 %r2, %r1, 3; mov.u32 %r0, 0; setp.eq.u32 %p1, %r2, 0; @%p1 bra A;\n"
      "setp.eq.u32 %p2, %r2, 1; @%p2 bra B; mov.u32 %r0, 300; bra.uni END;\n"
      "A: mov.u32 %r0, 100; bra.uni END;\nB: mov.u32 %r0, 200;\nEND: add.u32 %r0, %r0, %r1;\n"
      "activemask.b32 %r5; setp.eq.u32 %p3, %r5, 0xffffffff; @!%p3 mov.u32 %r0, 0;");
  for (u32 i = 0; i < 32; ++i) {
    CHECK(words[i] == (i % 4 == 0 ? 100U : i % 4 == 1 ? 200U : 300U) + i);
  }
}

TEST_CASE("each lane leaves a loop in its own round") {
  const auto words = each(
      "mov.u32 %r0, 0; mov.u32 %r2, 0;\nLOOP: setp.ge.u32 %p1, %r2, %r1; @%p1 bra DONE;\n"
      "add.u32 %r0, %r0, %r2; add.u32 %r2, %r2, 1; bra LOOP;\nDONE: mov.u32 %r3, 1;");
  for (u32 i = 0; i < 32; ++i) CHECK(words[i] == i * (i - 1) / 2 * (i > 0 ? 1 : 0));
}

TEST_CASE("a block out of line, behind where it rejoins, still rejoins before a barrier") {
  const auto words = each(
      "and.b32 %r2, %r1, 1; setp.ne.u32 %p1, %r2, 0; mov.u32 %r0, 1; @%p1 bra FAR;\n"
      "BACK: bar.sync 0; add.u32 %r0, %r0, 10; bra.uni END;\n"
      "FAR: mov.u32 %r0, 2; bra.uni BACK;\nEND: add.u32 %r0, %r0, 0;");
  for (u32 i = 0; i < 32; ++i) CHECK(words[i] == 11 + i % 2);
}

TEST_CASE("a lane that waits for its neighbour does not starve it") {
  // Lane 0 spins until lane 1, which is behind it in the text, has written.
  const std::string body =
      ".reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<4>; ld.param.u64 %rd1, [out];\n"
      "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @!%p1 bra WRITER;\n"
      "SPIN: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra SPIN;\n"
      "st.global.u32 [%rd1+4], %r2; bra.uni END;\n"
      "WRITER: st.volatile.global.u32 [%rd1], 5;\nEND: add.u32 %r1, %r1, 0;";
  Bench bench(kernel(".param .u64 out", body));
  bench.launch.config.block = {2, 1, 1};
  REQUIRE(bench.run());
  CHECK(bench.words()[1] == 5);
}

TEST_CASE("brx.idx jumps by a table") {
  const auto words = each(
      "T: .branchtargets A, B, C;\nrem.u32 %r2, %r1, 3; brx.idx %r2, T;\n"
      "A: mov.u32 %r0, 7; bra.uni END;\nB: mov.u32 %r0, 8; bra.uni END;\nC: mov.u32 %r0, "
      "9;\nEND:\n");
  for (u32 i = 0; i < 32; ++i) CHECK(words[i] == 7 + i % 3);
}

TEST_CASE("functions are called with their arguments, also by some lanes only") {
  const std::string function =
      ".func (.param .b32 result) twice(.param .b32 x)\n{ .reg .b32 %a<4>; .reg .pred %q;\n"
      "ld.param.u32 %a1, [x]; setp.gt.u32 %q, %a1, 10; @%q bra BIG; add.u32 %a2, %a1, %a1;\n"
      "st.param.b32 [result+0], %a2; ret;\nBIG: st.param.b32 [result+0], 99; ret; }\n";
  const std::string body =
      std::string(kDeclarations) +
      "mov.u32 %r0, 5; mov.u32 %r9, 1000; setp.lt.u32 %p1, %r1, 16; @!%p1 bra END;\n"
      "{ .param .b32 p0; st.param.b32 [p0+0], %r1; .param .b32 r0;\n"
      "call.uni (r0), twice, (p0); ld.param.b32 %r0, [r0+0]; }\n"
      "END: add.u32 %r0, %r0, %r9; st.global.u32 [%rd3], %r0;";
  Bench bench(kernel(".param .u64 out", body, function));
  const auto outcome = bench.run();
  const std::string message = outcome ? "" : outcome.error().message;
  REQUIRE(message == "");
  const auto words = bench.words();
  for (u32 i = 0; i < 32; ++i) {
    CHECK(words[i] == 1000 + (i >= 16 ? 5 : i > 10 ? 99 : 2 * i));
  }
}

TEST_CASE("shuffles follow the formulas of the ISA") {
  const auto up = each("shfl.sync.up.b32 %r0|%p1, %r1, 3, 0, -1; @!%p1 mov.u32 %r0, 77;");
  const auto down = each("shfl.sync.down.b32 %r0, %r1, 4, 31, -1;");
  const auto bfly = each("shfl.sync.bfly.b32 %r0, %r1, 5, 0x1f, -1;");
  const auto idx = each("mov.u32 %r2, 2; shfl.sync.idx.b32 %r0|%p1, %r1, %r2, 0x181f, -1;");
  const auto narrow =
      each("shfl.sync.down.b32 %r0|%p1, %r1, 1, 0x1c1f, -1; @!%p1 mov.u32 %r0, 50;");
  for (u32 i = 0; i < 32; ++i) {
    CHECK(up[i] == (i < 3 ? 77 : i - 3));
    CHECK(down[i] == (i + 4 < 32 ? i + 4 : i));
    CHECK(bfly[i] == (i ^ 5));
    CHECK(idx[i] == (i & 0x18U) + 2);               // segments of 8
    CHECK(narrow[i] == (i % 4 == 3 ? 50 : i + 1));  // segments of 4
  }
}

TEST_CASE("votes, matches and reductions of a warp") {
  CHECK(each("setp.lt.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r0, %p1, -1;")[9] == 0x1f);
  CHECK(each("setp.lt.u32 %p1, %r1, 5; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r0, 1, 2, %p2;")
            [9] == 1);
  CHECK(each("setp.lt.u32 %p1, %r1, 5; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r0, 1, 2, %p2;")
            [9] == 2);
  CHECK(each("setp.lt.u32 %p1, %r1, 5; vote.sync.uni.pred %p2, !%p1, -1; selp.u32 %r0, 1, 2, %p2;")
            [9] == 2);
  CHECK(each("and.b32 %r2, %r1, 3; match.any.sync.b32 %r0, %r2, -1;")[6] == 0x44444444U);
  CHECK(each("match.all.sync.b32 %r0|%p1, %r1, -1; @!%p1 mov.u32 %r0, 3;")[6] == 3);
  CHECK(each("match.all.sync.b32 %r0|%p1, 8, -1;")[6] == 0xffffffffU);
  CHECK(each("redux.sync.add.u32 %r0, %r1, -1;")[3] == 496);
  CHECK(each("sub.s32 %r2, %r1, 7; redux.sync.min.s32 %r0, %r2, -1;")[3] == u32(-7));
  CHECK(each("sub.s32 %r2, %r1, 7; redux.sync.max.u32 %r0, %r2, -1;")[3] == u32(-1));
  CHECK(each("redux.sync.or.b32 %r0, %r1, -1;")[3] == 31);
  // Members of a half only, which the other half does not delay.
  const auto half = each(
      "mov.u32 %r0, 0; setp.ge.u32 %p1, %r1, 16; @%p1 bra END;\n"
      "redux.sync.add.u32 %r0, %r1, 0xffff;\nEND: add.u32 %r0, %r0, 0;");
  CHECK(half[2] == 120);
  CHECK(half[20] == 0);
}

TEST_CASE("barriers hand data from warp to warp") {
  const auto words = each(
      ".shared .align 4 .b8 s[512]; mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3;\n"
      "st.shared.u32 [%r4], %r1; bar.sync 0; xor.b32 %r5, %r3, 508; add.u32 %r5, %r5, %r2;\n"
      "ld.shared.u32 %r0, [%r5];",
      128);
  for (u32 i = 0; i < 128; ++i) CHECK(words[i] == 127 - i);
}

TEST_CASE("bar.red counts and joins predicates over the block") {
  const auto words = each(
      "setp.lt.u32 %p1, %r1, 40; bar.red.popc.u32 %r0, 0, %p1; bar.red.and.pred %p2, 0, %p1;\n"
      "bar.red.or.pred %p3, 0, !%p1; @%p2 add.u32 %r0, %r0, 1000; @%p3 add.u32 %r0, %r0, 100;",
      64);
  CHECK(words[0] == 140);
  CHECK(words[63] == 140);
}

TEST_CASE("named barriers join a part of the block, producers need not wait") {
  const auto words = each(
      ".shared .align 4 .b8 s[256]; mov.u32 %r2, s; shr.u32 %r3, %r1, 5; and.b32 %r4, %r1, 31;\n"
      "shl.b32 %r5, %r4, 2; add.u32 %r6, %r2, %r5; setp.eq.u32 %p1, %r3, 0; mov.u32 %r0, 1;\n"
      "@%p1 bra PRODUCER; setp.eq.u32 %p2, %r3, 2; @%p2 bra END; bar.sync 3, 64;\n"
      "ld.shared.u32 %r0, [%r6]; bra.uni END;\n"
      "PRODUCER: add.u32 %r7, %r4, 70; st.shared.u32 [%r6], %r7; bar.arrive 3, 64;\n"
      "END: add.u32 %r0, %r0, 0;",
      96);
  CHECK(words[5] == 1);
  CHECK(words[32 + 5] == 75);
  CHECK(words[64 + 5] == 1);
}

TEST_CASE("a barrier that is not aligned takes the parts of a warp one by one") {
  const auto words = each(
      ".shared .align 4 .b8 s[256]; mov.u32 %r2, s; shl.b32 %r5, %r1, 2; add.u32 %r6, %r2, %r5;\n"
      "setp.lt.u32 %p1, %r1, 16; @%p1 bra LATE; barrier.sync 0; xor.b32 %r7, %r5, 64;\n"
      "add.u32 %r7, %r7, %r2; ld.shared.u32 %r0, [%r7]; bra.uni END;\n"
      "LATE: st.shared.u32 [%r6], %r1; barrier.sync 0; mov.u32 %r0, 3;\nEND: add.u32 %r0, %r0, 0;");
  CHECK(words[3] == 3);
  CHECK(words[16 + 9] == 9);
}

TEST_CASE("a value that only some lanes replace lives on around a loop") {
  const auto words = each(
      "mov.u32 %r0, 0; mov.u32 %r3, 5; mov.u32 %r2, 0; setp.gt.u32 %p1, %r1, 7;\n"
      "LOOP: @%p1 mov.u32 %r3, 6; add.u32 %r0, %r0, %r3; mul.lo.u32 %r6, %r2, 77;\n"
      "mul.lo.u32 %r7, %r6, 3; add.u32 %r0, %r0, %r7; add.u32 %r2, %r2, 1;\n"
      "setp.lt.u32 %p2, %r2, 3; @%p2 bra LOOP;");
  CHECK(words[0] == 3 * 5 + 3 * 77 * 3);
  CHECK(words[31] == 3 * 6 + 3 * 77 * 3);
}

TEST_CASE("a block that has lost threads still passes its barriers") {
  const auto words = each("mov.u32 %r0, 4; setp.gt.u32 %p1, %r1, 50; @%p1 exit; bar.sync 0;", 64);
  CHECK(words[0] == 4);
  CHECK(words[60] == 0);
}

TEST_CASE("a barrier that only a part of a warp reaches is a fault") {
  const Fault fault = fault_of(with(
      "setp.lt.u32 %p1, %r1, 7; @%p1 bra A; bar.sync 1;\nbra.uni END;\nA: bar.sync 0;\nEND:\n"));
  CHECK(fault.kind == FaultKind::barrier);
  CHECK(fault.message.find("k, PTX line 9: bar.sync, block (0,0,0), thread") != std::string::npos);
  const Fault guarded = fault_of(with("setp.lt.u32 %p1, %r1, 7; @%p1 bar.sync 0; bar.sync 1;"));
  CHECK(guarded.kind == FaultKind::barrier);
  const Fault tensor = fault_of(with(
      ".reg .b32 %x<4>; .shared .align 16 .b8 s[512]; mov.u32 %r2, s; setp.lt.u32 %p1, %r1, 7; "
      "@%p1 exit;\nsetp.lt.u32 %p1, %r1, 9; @%p1 bra END;\n"
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x0}, [%r2];\nEND:\n"));
  CHECK(tensor.kind == FaultKind::barrier);
  const Fault outsider = fault_of(with("shfl.sync.bfly.b32 %r0, %r1, 1, 31, 0xff;"));
  CHECK(outsider.kind == FaultKind::barrier);
  CHECK(outsider.message.find("member mask") != std::string::npos);
  const Fault missing = fault_of(
      with("setp.lt.u32 %p1, %r1, 7; @%p1 bra END; shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;\n"
           "WAIT: bra.uni END2;\nEND: bar.sync 0;\nEND2:\n"));
  CHECK(missing.kind == FaultKind::barrier);
}

TEST_CASE("a block that cannot go on is told which warps wait where") {
  const Fault fault = fault_of(with("shr.u32 %r2, %r1, 5; setp.eq.u32 %p1, %r2, 0; @%p1 bra A;\n"
                                    "bar.sync 1;\nbra.uni END;\nA: bar.sync 0;\nEND:\n"),
                               128);
  CHECK(fault.kind == FaultKind::deadlock);
  CHECK(fault.message.find("warp 0 at barrier 0 (line 12); warps 1-3 at barrier 1 (line 10)") !=
        std::string::npos);
  const Fault counted = fault_of(with("shr.u32 %r2, %r1, 5; setp.eq.u32 %p1, %r2, 0;\n"
                                      "@%p1 bra END;\nbar.sync 2, 96;\nEND:\n"),
                                 96);
  CHECK(counted.kind == FaultKind::deadlock);
  const Fault mixed = fault_of(with("shr.u32 %r2, %r1, 5; setp.eq.u32 %p1, %r2, 0;\n"
                                    "@%p1 bar.sync 2, 96;\n@!%p1 bar.sync 2, 64;"),
                               64);
  CHECK(mixed.kind == FaultKind::barrier);
}

TEST_CASE("trap is a fault with a place") {
  const Fault fault = fault_of(with("setp.eq.u32 %p1, %r1, 9; @%p1 trap;"));
  CHECK(fault.kind == FaultKind::trap);
  CHECK(fault.message.find("thread (9,0,0)") != std::string::npos);
}

}  // namespace fa_tune::test
