#include "tests/engine/device/emulator/sanitizer/support.hpp"

// Races in shared memory: each fault beside its correct twin.

namespace fa_tune::test {

using namespace fa_tune::device;

TEST_CASE("a missing barrier between warps is a race, and both sides are named") {
  // Every thread reads what the thread of the other warp wrote.
  const std::string write = "st.shared.u32 [%r3], %r1;\n";
  const std::string read =
      "xor.b32 %r5, %r2, 128; mov.u32 %r6, s; add.u32 %r6, %r6, %r5;\n"
      "ld.shared.u32 %r7, [%r6];\nst.global.u32 [%rd3], %r7;\n";
  found(
      body(write + read), FaultKind::race,
      {"k, PTX line 11: st.shared.u32, block (0,0,0), thread (32,0,0): writes 4 bytes at shared "
       "address 0x480, byte 128 of the block's 2048; thread (0,0,0) read it in ld.shared.u32 (PTX "
       "line 13), and nothing orders the two"});
  clean(body(write + "bar.sync 0;\n" + read));
  // Write after read.
  found(body(write + "bar.sync 0;\n" + read + "st.shared.u32 [%r3], %r7;\n"), FaultKind::race,
        {"ld.shared.u32", "st.shared.u32", "nothing orders the two"});
  clean(body(write + "bar.sync 0;\n" + read + "bar.sync 0;\nst.shared.u32 [%r3], %r7;\n"));
}

TEST_CASE("two warps that write one place race, unless they write the same") {
  const std::string where = "and.b32 %r5, %r2, 127; mov.u32 %r6, s; add.u32 %r6, %r6, %r5;\n";
  found(body(where + "st.shared.u32 [%r6], %r1;\n"), FaultKind::race,
        {"writes 4 bytes", "wrote it in st.shared.u32"});
  clean(body(where + "and.b32 %r7, %r1, 31; st.shared.u32 [%r6], %r7;\n"));
  clean(body("st.shared.u32 [%r3], 0; bar.sync 0;\n" + where +
             "atom.shared.add.u32 %r7, [%r6], %r1; red.shared.add.u32 [%r6], %r1;\n"));
  found(body("st.shared.u32 [%r3], 0; bar.sync 0;\n" + where +
             "atom.shared.add.u32 %r7, [%r6], %r1; ld.shared.u32 %r8, [%r6];\n"),
        FaultKind::race, {"atom.shared.add.u32"});
}

TEST_CASE("lanes of a warp race where they do not meet") {
  const Shape warp{32, 1, 1024};
  const std::string write = "st.shared.u32 [%r3], %r1;\n";
  const std::string read =
      "xor.b32 %r5, %r2, 4; mov.u32 %r6, s; add.u32 %r6, %r6, %r5; ld.shared.u32 %r7, [%r6];\n";
  found(body(write + read), FaultKind::race, {"thread (0,0,0): reads", "thread (1,0,0) wrote it"},
        warp);
  clean(body(write + "bar.warp.sync 0xffffffff;\n" + read), warp);
  // All lanes write one place.
  found(body("st.shared.u32 [s], %r1;\n"), FaultKind::race,
        {"thread (1,0,0): writes", "thread (0,0,0) wrote it"}, warp);
  clean(body("st.shared.u32 [s], %r4;\n"), warp);
}

TEST_CASE("named barriers order those who come to them") {
  // Warp 0 produces, warp 1 consumes through barrier 1; barrier 2 gives the place back.
  const auto kernel_of = [](const std::string& first, const std::string& second) {
    return body(
        "mov.u32 %r10, 0; setp.ge.u32 %p1, %r1, 32; and.b32 %r11, %r2, 127; mov.u32 %r12, s;\n"
        "add.u32 %r12, %r12, %r11; @%p1 bra CONSUME;\n"
        "PRODUCE: st.shared.u32 [%r12], %r10;\n" +
        first +
        "bar.sync 2, 64; add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 3; @%p2 bra PRODUCE; ret;\n"
        "CONSUME:\n" +
        second +
        "ld.shared.u32 %r13, [%r12]; bar.sync 2, 64; add.u32 %r10, %r10, 1;\n"
        "setp.lt.u32 %p2, %r10, 3; @%p2 bra CONSUME;\n");
  };
  clean(kernel_of("bar.arrive 1, 64;\n", "bar.sync 1, 64;\n"));
  found(kernel_of("", ""), FaultKind::race, {"nothing orders the two"});
}

TEST_CASE("a copy is seen after its wait by its thread, and after a barrier by others") {
  const std::string copy =
      "mov.u32 %r5, s; shl.b32 %r6, %r1, 4; add.u32 %r5, %r5, %r6; mul.wide.u32 %rd4, %r1, 16;\n"
      "add.u64 %rd5, %rd1, %rd4; cp.async.cg.shared.global [%r5], [%rd5], 16;\n"
      "cp.async.commit_group;\n";
  const std::string own = "ld.shared.u32 %r7, [%r5];\n";
  const std::string other = "xor.b32 %r8, %r5, 16; ld.shared.u32 %r7, [%r8];\n";
  const std::string far = "xor.b32 %r8, %r5, 512; ld.shared.u32 %r7, [%r8];\n";
  const std::string wait = "cp.async.wait_group 0;\n";
  clean(body(copy + wait + own));
  found(body(copy + own + wait), FaultKind::race,
        {"is copying to it in cp.async.cg.shared.global (PTX line", "has not waited for the copy"});
  found(body(copy + wait + other), FaultKind::race, {"wrote it in cp.async"});
  clean(body(copy + wait + "bar.warp.sync 0xffffffff;\n" + other));
  found(body(copy + wait + "bar.warp.sync 0xffffffff;\n" + far), FaultKind::race, {"cp.async"});
  clean(body(copy + wait + "bar.sync 0;\n" + far));
  found(body(copy + "bar.sync 0;\n" + wait + far), FaultKind::race, {"cp.async"});
  // One group too few.
  const std::string second =
      "add.u32 %r9, %r5, 1024; cp.async.cg.shared.global [%r9], [%rd5], 16;\n"
      "cp.async.commit_group;\n";
  const std::string read_second = "bar.sync 0; ld.shared.u32 %r7, [%r9]; bar.sync 0;\n";
  found(body(copy + second + "cp.async.wait_group 1;\n" + read_second + wait), FaultKind::race,
        {"has not waited for the copy"});
  clean(body(copy + second + "cp.async.wait_group 1; bar.sync 0;\n" + far + wait + read_second));
  // Overwritten while it is under way.
  found(body(copy + "st.shared.u32 [%r5], 1;\n" + wait), FaultKind::race, {"writes 4 bytes"});
}

TEST_CASE("a thread that exits waits for its copies") {
  const std::string copy =
      "mov.u32 %r5, s; shl.b32 %r6, %r1, 4; add.u32 %r5, %r5, %r6; mul.wide.u32 %rd4, %r1, 16;\n"
      "add.u64 %rd5, %rd1, %rd4; cp.async.cg.shared.global [%r5], [%rd5], 16;\n";
  found(body(copy), FaultKind::sync, {"exits while what it has begun is under way, in cp.async"});
  clean(body(copy + "cp.async.wait_all;\n"));
}

TEST_CASE("an mbarrier orders who arrives before who waits") {
  const auto kernel_of = [](const std::string& init, const std::string& arrive,
                            const std::string& wait) {
    return body(
        "setp.ne.u32 %p1, %r1, 0; mov.u32 %r10, s; add.u32 %r10, %r10, 1024;\n"
        "@!%p1 mbarrier.init.shared.b64 [%r10], 32;\n" +
        init +
        "setp.ge.u32 %p2, %r1, 32; and.b32 %r11, %r2, 127; mov.u32 %r12, s;\n"
        "add.u32 %r12, %r12, %r11; @%p2 bra CONSUME;\n"
        "st.shared.u32 [%r12], %r1;\n" +
        arrive + "ret;\nCONSUME:\n" + wait + "ld.shared.u32 %r13, [%r12];\n");
  };
  const std::string barrier = "bar.sync 0;\n";
  const std::string arrive = "mbarrier.arrive.shared.b64 _, [%r10];\n";
  const std::string wait =
      "WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [%r10], 0; @!%p3 bra WAIT;\n";
  clean(kernel_of(barrier, arrive, wait));
  found(kernel_of(barrier, arrive, ""), FaultKind::race, {"nothing orders the two"});
  const Fault early = checked(kernel_of("", arrive, wait));
  INFO(early.message);
  CHECK((early.kind == FaultKind::race || early.kind == FaultKind::sync));
}

TEST_CASE("copies that an mbarrier ends are seen by who waits for it") {
  const auto kernel_of = [](const std::string& wait) {
    return body(
        "setp.ne.u32 %p1, %r1, 0; mov.u32 %r10, s; add.u32 %r10, %r10, 1024;\n"
        "@!%p1 mbarrier.init.shared.b64 [%r10], 32;\nbar.sync 0;\n"
        "mov.u32 %r5, s; and.b32 %r6, %r1, 31; shl.b32 %r6, %r6, 4; add.u32 %r5, %r5, %r6;\n"
        "setp.ge.u32 %p2, %r1, 32; @%p2 bra CONSUME;\n"
        "mul.wide.u32 %rd4, %r1, 16; add.u64 %rd5, %rd1, %rd4;\n"
        "cp.async.cg.shared.global [%r5], [%rd5], 16;\n"
        "cp.async.mbarrier.arrive.noinc.shared.b64 [%r10];\nret;\nCONSUME:\n" +
        wait + "ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r5];\n");
  };
  clean(kernel_of("WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [%r10], 0; @!%p3 bra WAIT;\n"));
  found(kernel_of(""), FaultKind::race, {"ld.shared.v4.u32", "cp.async.cg.shared.global"});
}

TEST_CASE("a flag behind a fence orders, a flag without one does not") {
  const auto kernel_of = [](const std::string& fence) {
    return body(
        "st.shared.u32 [s+1024], 0; bar.sync 0; setp.ge.u32 %p2, %r1, 32; @%p2 bra CONSUME;\n"
        "setp.ne.u32 %p1, %r1, 0; @%p1 exit;\n"
        "st.shared.u32 [s], 7;\n" +
        fence +
        "atom.shared.exch.b32 %r9, [s+1024], 1;\nret;\nCONSUME:\n"
        "WAIT: ld.volatile.shared.u32 %r5, [s+1024]; setp.eq.u32 %p3, %r5, 0; @%p3 bra WAIT;\n"
        "ld.shared.u32 %r6, [s];\n");
  };
  clean(kernel_of("membar.cta;\n"));
  found(kernel_of(""), FaultKind::race, {"reads 4 bytes"});
}

}  // namespace fa_tune::test
