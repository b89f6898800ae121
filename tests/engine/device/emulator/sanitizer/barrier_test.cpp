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
