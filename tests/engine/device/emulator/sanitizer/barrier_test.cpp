#include "tests/engine/device/emulator/sanitizer/support.hpp"

// Barriers and waits in the wrong, each beside its correct twin.

namespace fa_tune::test {

using namespace fa_tune::device;

TEST_CASE("a barrier for threads that cannot come") {
  found(body("bar.sync 1, 96;\n"), FaultKind::barrier,
        {"PTX line 11: bar.sync", "waits for 96 threads at barrier 1; the block has 64"});
  clean(body("bar.sync 1, 64;\n"));
  clean(body("bar.sync 1, 64;\n"), {50, 1, 1024});
  found(body("setp.ge.u32 %p1, %r1, 32; @%p1 bra B; bar.sync 1, 64; ret; B: bar.sync 1, 32;\n"),
        FaultKind::barrier, {"barrier 1 waits for 64 threads and this one expects 32"});
  // Some threads of each of three warps: more than the barrier waits for.
  found(body("and.b32 %r5, %r1, 31; setp.ge.u32 %p1, %r5, 12; @%p1 bra B;\n"
             "barrier.sync 1, 32; ret; B:\n"),
        FaultKind::barrier, {"36 threads have come to barrier 1, which waits for 32"},
        {96, 1, 1024});
}

TEST_CASE("a barrier without a number is one for all threads of the block") {
  // PTX ISA, bar: without a number all threads of the block take part.
  const auto halves = [](const std::string& first, const std::string& second) {
    return body("setp.ge.u32 %p1, %r1, 32; @%p1 bra B; st.shared.u32 [s], 7;\n" + first +
                "ret;\nB:\n" + second + "ld.shared.u32 %r5, [s];\n");
  };
  clean(halves("bar.arrive 0, 64;\n", "bar.sync 0;\n"));
  clean(halves("bar.sync 0;\n", "bar.sync 0, 64;\n"));
  found(halves("bar.arrive 0, 32;\n", "bar.sync 0;\n"), FaultKind::race, {"nothing orders"});
}

TEST_CASE("aligned instructions want the warp as one") {
  const std::string make =
      "setp.ne.u32 %p1, %r1, 0; mov.u32 %r10, s; add.u32 %r10, %r10, 1024;\n"
      "@!%p1 mbarrier.init.shared.b64 [%r10], 32;\nst.shared.u32 [%r3], %r1;\nbar.sync 0;\n"
      "setp.ge.u32 %p2, %r1, 32; @!%p2 bra FIRST;\n"
      "mbarrier.arrive.shared.b64 _, [%r10]; bra MET;\nFIRST: @%p1 bra MET;\n"
      "WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [%r10], 0; @!%p3 bra WAIT;\nMET:\n";
  const std::string load =
      "mov.u32 %r11, s; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r12}, [%r11];\n";
  found(body(make + load), FaultKind::barrier,
        {"thread (1,0,0): a part of its warp comes to an aligned instruction while lane 0 still "
         "waits in mbarrier.try_wait.parity.shared.b64"});
  clean(body(make + "bar.warp.sync 0xffffffff;\n" + load));
  // __syncthreads() is bar.sync, and may follow such a wait.
  clean(body(make + "bar.sync 0;\n" + load));
  // A lane that works for long is on its way.
  const std::string work =
      "setp.ne.u32 %p1, %r1, 0; st.shared.u32 [%r3], %r1; bar.sync 0; @%p1 bra MET;\n"
      "mov.u32 %r5, 0;\nWORK: add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 9000; @%p3 bra WORK;\n"
      "MET:\n";
  clean(body(work + load));
}

TEST_CASE("a block's warps share the registers it began with") {
  const auto kernel_of = [](const std::string& directives, const std::string& first,
                            const std::string& second) {
    std::string text = body("setp.ge.u32 %p1, %r1, 128; @%p1 bra B;\n" + first +
                            "bar.sync 0; ret;\nB:\n" + second + "bar.sync 0;\n");
    const std::size_t begin = text.find("\n{");
    text.insert(begin, directives);
    const std::size_t target = text.find("sm_89");
    return text.replace(target, 5, "sm_90a");
  };
  const Shape shape{256, 1, 1024};
  const std::string half = "\n.maxntid 256, 1, 1\n.minnctapersm 2";  // 128 a thread
  const auto change = [](const std::string& way, int count) {
    return "setmaxnreg." + way + ".sync.aligned.u32 " + std::to_string(count) + ";\n";
  };
  clean(kernel_of(half, change("dec", 24), change("inc", 232)), shape);
  found(kernel_of(half, change("dec", 32), change("inc", 232)), FaultKind::deadlock,
        {"waiting in setmaxnreg.inc.sync.aligned.u32"}, shape);
  clean(kernel_of("\n.maxntid 256, 1, 1\n.maxnreg 128", change("dec", 24), change("inc", 232)),
        shape);
  // What ptxas ignores.
  clean(kernel_of("", change("dec", 32), change("inc", 232)), shape);
  found(kernel_of(half, change("dec", 136), ""), FaultKind::sync,
        {"asks for 136 registers; it has 128"}, shape);
  found(kernel_of(half, change("inc", 120), ""), FaultKind::sync,
        {"asks for 120 registers; it has 128"}, shape);
}

TEST_CASE("a barrier that only a part of a warp comes to") {
  found(body("setp.ge.u32 %p1, %r1, 40; @%p1 bra B; bar.sync 0; B: bar.sync 0;\n"),
        FaultKind::barrier, {"only a part of the threads it needs has come"});
  clean(body("setp.ge.u32 %p1, %r1, 32; @%p1 bra B; bar.sync 0; ret; B: bar.sync 0;\n"));
  found(body("setp.ge.u32 %p1, %r1, 32; @%p1 bra B; bar.sync 1; ret; B: bar.sync 2;\n"),
        FaultKind::deadlock, {"warp 0 at barrier 1 (line 11); warp 1 at barrier 2 (line 11)"});
}

TEST_CASE("an mbarrier in the wrong") {
  const std::string make =
      "setp.ne.u32 %p1, %r1, 0; mov.u32 %r10, s; @!%p1 mbarrier.init.shared.b64 [%r10], 64;\n"
      "bar.sync 0;\n";
  const std::string wait =
      "WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [%r10], 0; @!%p3 bra WAIT;\n";
  const std::string arrive = "mbarrier.arrive.shared.b64 _, [%r10];\n";
  clean(body(make + arrive + wait));
  found(body(make + "@%p1 " + arrive + wait), FaultKind::deadlock,
        {"mbarrier.try_wait.parity.shared.b64", "1 arrivals"});
  found(body("mov.u32 %r10, s; " + arrive), FaultKind::sync, {"it was not initialized"});
  found(body(make + arrive + wait + "mbarrier.arrive.shared.b64 _, [%r10], 64;\n" +
             "mbarrier.arrive.shared.b64 _, [%r10], 65;\n"),
        FaultKind::sync, {"more threads arrive than the phase waits for"});
  // Ended while the other warp may still wait, or arrive.
  found(body(make + arrive + wait + "@!%p1 mbarrier.inval.shared.b64 [%r10];\n"), FaultKind::race,
        {"mbarrier.inval.shared.b64", "nothing orders the two"});
  clean(body(make + arrive + wait + "bar.sync 0;\n@!%p1 mbarrier.inval.shared.b64 [%r10];\n"));
}

TEST_CASE("member masks") {
  const std::string shuffle = "shfl.sync.bfly.b32 %r5, %r1, 1, 31, ";
  found(body("and.b32 %r6, %r1, 31; setp.lt.u32 %p1, %r6, 16; @%p1 bra B;\n" + shuffle +
             "0x0000ffff;\nB: ret;\n"),
        FaultKind::barrier, {"not in the member mask"});
  found(body("and.b32 %r6, %r1, 31; setp.lt.u32 %p1, %r6, 16; @%p1 bra B;\n" + shuffle +
             "0xffffffff;\nB: bar.warp.sync 0xffffffff;\n"),
        FaultKind::barrier, {"only a part of the threads it needs has come"});
  clean(body("and.b32 %r6, %r1, 31; setp.lt.u32 %p1, %r6, 16; @%p1 bra B;\n" + shuffle +
             "0xffff0000;\nB: bar.warp.sync 0xffffffff;\n"));
}

}  // namespace fa_tune::test
