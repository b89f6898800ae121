#include "engine/device/emulator/timing/sass.hpp"

#include <array>

#include <doctest/doctest.h>

#include "engine/device/emulator/timing/sm_simulation.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/emulator/timing/coded_run.hpp"

// What a time is predicted from where the machine code is known. test::small_profile has a special
// unit that takes 8 clocks (latency 17).

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

const std::string kLoop =
    "mov.u32 %r1, 0;\n"
    "AGAIN:\n"
    "fma.rn.f32 %f3, %f1, %f1, %f2;\n"
    "ex2.approx.ftz.f32 %f1, %f2;\n"
    "add.s32 %r1, %r1, 1;\n"
    "setp.lt.s32 %p1, %r1, 10;\n"
    "@%p1 bra AGAIN;\n";

// The access to local memory, of 1, 2 or 4 words a lane.
EncodedInstruction of_words(EncodedInstruction access, unsigned words) {
  constexpr std::uint64_t kOneWord = 4;
  access.high |= (kOneWord + static_cast<unsigned>(std::bit_width(words)) - 1) << (73U - 64);
  return access;
}

}  // namespace

TEST_CASE("sass: control codes and branches as nvdisasm reads them") {
  // From cubins of NVRTC 13.0: LDSM.16.M88.4 R60, [R245+0x4000] and what follows it there.
  const auto ldsm = decode_sass({0x00400000f53c783b, 0x002e680000000200 | 4ULL << 46, 0}, 89);
  CHECK(std::string(ldsm.name) == "LDSM");
  CHECK(ldsm.kind == SassKind::shared);
  const auto tid =
      decode_sass({0x0000000000007919, 0x000e620000002100, 0}, 89);  // S2R R0, SR_TID.X
  CHECK(std::string(tid.name) == "S2R");
  CHECK(int{tid.stall} == 1);
  CHECK(int{tid.write_barrier} == 1);
  CHECK(int{tid.read_barrier} == 7);
  CHECK(int{tid.waits} == 0);
  const auto add = decode_sass({0x0000010000027810, 0x002fc40007ffe0ff, 0}, 89);  // IADD3
  CHECK(add.kind == SassKind::alu);
  CHECK(int{add.stall} == 2);
  CHECK(int{add.waits} == 2);
  // @!P1 BRA 1744 bytes on, on sm_89; 28448 bytes on and 64 back, on sm_90.
  CHECK(decode_sass({0x000006d000009947, 0x000fea0003800000, 0}, 89).jump == 1744);
  CHECK(decode_sass({0x0000006c00c88947, 0x002ff00003800000, 0}, 90).jump == 28448);
  CHECK(decode_sass({0xfffffffc00f08947, 0x000fea000383ffff, 0}, 90).jump == -64);
  // WARPGROUP.ARRIVE, and .DEPBAR.LE gsb0 of 0 and 1.
  CHECK(decode_sass({0x00000000000079c5, 0x000fe20000000000, 0}, 90).kind == SassKind::wgmma_sync);
  const auto all = decode_sass({0x00008000000079c5, 0x000fe40000010000, 0}, 90);
  const auto but_one = decode_sass({0x00008000000079c5, 0x000fe40000010100, 0}, 90);
  CHECK(all.kind == SassKind::wgmma_wait);
  CHECK(int{all.depth} == 0);
  CHECK(but_one.kind == SassKind::wgmma_wait);
  CHECK(int{but_one.depth} == 1);
  // MEMBAR.ALL.CTA, .ALL.GPU, .ALL.SYS and .SC.GPU.
  CHECK(decode_sass({0x0000000000007992, 0x0005ec0000008000, 0}, 90).kind == SassKind::fence);
  for (const std::uint64_t scope : {0xa000U, 0xb000U, 0x2000U})
    CHECK(decode_sass({0x0000000000007992, 0x000fec0000000000 | scope, 0}, 90).kind ==
          SassKind::device_fence);
  // VIMNMX3 R5, R25, R28, R29, !PT, and QGMMA.64x128x32.F32.E4M3.E4M3 R24, R104, gdesc[UR20], R24.
  const auto max3 = decode_sass({0x0000001c1905720f, 0x000fe2000780011d, 0}, 90);
  CHECK(std::string(max3.name) == "VIMNMX3");
  CHECK(max3.kind == SassKind::alu);
  CHECK(decode_sass({0x01e0001468187df3, 0x000fe60008000818, 0}, 90).kind == SassKind::wgmma);
  const auto unknown = decode_sass({0x1ff, 0x000fe20000000000, 0}, 90);
  CHECK(std::string(unknown.name) == "");
  CHECK(unknown.kind == SassKind::other);
  CHECK(int{unknown.stall} == 1);
}

TEST_CASE("sass: a warp issues when the machine code lets it") {
  Coded run(kExp + "ret;");
  const std::uint32_t ex2 = run.line("ex2.approx.ftz.f32");
  const std::uint32_t fma = run.line("fma.rn.f32");
  const std::uint32_t ret = run.line("ret");
  // Stall counts alone: 12, 10 and 1.
  CHECK(run.clocks({machine(kMufu, ex2, {12}), machine(kFfma, fma, {10}), machine(kExit, ret)}) ==
        doctest::Approx(23).epsilon(0.01));
  // A barrier that the special unit's result releases.
  const double waits = run.clocks(
      {machine(kMufu, ex2, {1, 3}), machine(kFfma, fma, {4, 7, 1U << 3U}), machine(kExit, ret)});
  CHECK(waits == doctest::Approx(17 + 4 + 1).epsilon(0.01));
  // Another barrier holds nobody up.
  CHECK(run.clocks({machine(kMufu, ex2, {1, 3}), machine(kFfma, fma, {4, 7, 1U << 2U}),
                    machine(kExit, ret)}) < waits - 10);
  CHECK(run.code({machine(kMufu, ex2), machine(kFfma, fma), machine(kExit, ret)}).machine_share ==
        1);
}

TEST_CASE("sass: ptxas may wait for products where the PTX does not") {
  const std::string product =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd1, 1, 1, "
      "1, 0, 0;\n";
  Coded run(
      ".shared .align 1024 .b8 s[8192];\n"
      "mov.u32 %r2, s; shr.u32 %r4, %r2, 4; cvt.u64.u32 %rd1, %r4;\n"
      "or.b64 %rd1, %rd1, " +
          std::to_string(128 / 16 << 16 | std::uint64_t{256 / 16} << 32) +
          ";\nwgmma.fence.sync.aligned;\n" + many(product, 4) +
          "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nret;",
      TensorRule::hopper, 128);
  constexpr std::uint64_t kHgmma = 0x9f0, kWait = 0x00008000000009c5;
  const std::uint32_t end = run.line("ret");
  const std::uint32_t waited = run.line("wgmma.wait_group.sync.aligned");
  const auto clocks = [&](bool serialized) {
    std::vector<EncodedInstruction> code;
    for (int i = 0; i < 4; ++i) {
      code.push_back(machine(kHgmma, 0));
      if (serialized || i == 3) code.push_back(machine(kWait, waited));
    }
    code.push_back(machine(kExit, end));
    return run.clocks(std::move(code));
  };
  // Each product's end is some 45 clocks after it, and the next begins no sooner.
  CHECK(clocks(true) > clocks(false) + 3 * 35);
}

TEST_CASE("sass: what ptxas lets a warp wait for arithmetic counts as such") {
  Coded run(kExp + "ret;");
  const std::uint32_t ex2 = run.line("ex2.approx.ftz.f32");
  const std::uint32_t fma = run.line("fma.rn.f32");
  const std::uint32_t ret = run.line("ret");
  const auto of = [](const SmTime& time, Wait wait) {
    return time.waits[static_cast<std::size_t>(wait)];
  };
  // All but the clock in which each is issued.
  const SmTime stalls =
      run.time({machine(kMufu, ex2, {12}), machine(kFfma, fma, {10}), machine(kExit, ret)});
  CHECK(of(stalls, Wait::arithmetic) == 11 + 9);
  CHECK(of(stalls, Wait::special) == 0);
  const SmTime barrier = run.time(
      {machine(kMufu, ex2, {1, 3}), machine(kFfma, fma, {4, 7, 1U << 3U}), machine(kExit, ret)});
  CHECK(of(barrier, Wait::arithmetic) == 3);
  CHECK(of(barrier, Wait::special) == 16);
}

TEST_CASE("sass: spills that L1 does not hold go to L2, and come from there") {
  Coded run(kExp + "ret;");
  const std::uint32_t ex2 = run.line("ex2.approx.ftz.f32");
  const std::uint32_t fma = run.line("fma.rn.f32");
  const std::uint32_t ret = run.line("ret");
  const auto spilled = [&](std::uint64_t opcode, bool leave_l1, int words = 1) {
    SmWork work;
    work.l2_bytes_per_clock = 16;
    work.spills_leave_l1 = leave_l1;
    return run.time({machine(kMufu, ex2), of_words(machine(opcode, ex2, {1, 3}), words),
                     machine(kFfma, fma, {4, 7, 1U << 3U}), machine(kExit, ret)},
                    work);
  };
  // Latencies of 23 and 250, and a warp's 128 bytes at 16 a clock.
  const SmTime held = spilled(kLdl, false);
  const SmTime gone = spilled(kLdl, true);
  CHECK(held.l2_busy == 0);
  CHECK(gone.l2_busy == 8);
  CHECK(gone.clocks - held.clocks == doctest::Approx(250 - 23 + 8).epsilon(0.02));
  CHECK(gone.waits[static_cast<std::size_t>(Wait::global)] > 240);
  CHECK(spilled(kLdl, true, 4).l2_busy == 4 * gone.l2_busy);
  CHECK(spilled(kLdl, false, 4).clocks > held.clocks);
  // Nothing waits for a store.
  CHECK(spilled(kStl, false).l2_busy == 0);
  CHECK(spilled(kStl, true).l2_busy == 8);
  CHECK(spilled(kStl, true).clocks == spilled(kStl, false).clocks);
}

TEST_CASE("sass: stores of spills that L1 does not hold wait for each other, as all stores to L2") {
  constexpr int kStores = 800;
  Coded run(kExp + "ret;");
  std::vector<EncodedInstruction> stores(
      kStores, of_words(machine(kStl, run.line("ex2.approx.ftz.f32")), 1));
  stores.push_back(machine(kExit, run.line("ret")));
  const auto clocks = [&](bool leave_l1) {
    SmWork work;
    work.l2_bytes_per_clock = 64;
    work.store_bytes_per_clock = 16;
    work.spills_leave_l1 = leave_l1;
    return run.time(stores, work).clocks;
  };
  // The last 16 KB may still be waiting.
  const double until_issued = (kStores * 128 - 16 * 1024) / 16.0;
  CHECK(clocks(true) == doctest::Approx(until_issued).epsilon(0.05));
  CHECK(clocks(false) < 0.7 * until_issued);
}

TEST_CASE("sass: one wide access that ptxas made of several has the wavefronts of all") {
  // A load of one wavefront and one of 32, and a store of one.
  Coded run(
      ".shared .align 16 .b8 s[8192];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, s;\n"
      "shl.b32 %r3, %r1, 7;\nadd.u32 %r3, %r3, %r2;\n"
      "st.shared.f32 [%r2], %f1;\nld.shared.u32 %r4, [%r2];\nld.shared.f32 %f2, [%r3];\nret;");
  const auto load = machine(kLds, run.line("ld.shared.u32"));
  const auto other = machine(kLds, run.line("ld.shared.f32"));
  const auto store = machine(kSts, run.line("st.shared.f32"));
  const auto end = machine(kExit, run.line("ret"));
  const auto busy = [&](std::vector<EncodedInstruction> instructions) {
    return run.time(std::move(instructions)).busy[static_cast<std::size_t>(Unit::memory)];
  };
  const double nothing = busy({end}), each = busy({store, load, other, end});
  CHECK(nothing == 0);
  CHECK(each > 0);
  CHECK(busy({store, load, end}) == doctest::Approx(each));
  CHECK(busy({store, other, end}) == doctest::Approx(each));
  // Loads do not make up for a store, and what is left of nothing stays nothing.
  CHECK(busy({load, other, end}) == doctest::Approx(each * 33 / 34));
  CHECK(busy({store, end}) == doctest::Approx(each / 34));
}

TEST_CASE("sass: the width of an access to shared memory") {
  // From cubins of NVRTC 13.0, as nvdisasm 13.5 prints them.
  CHECK(int{decode_sass({0x0000b007ff047984, 0x000ee80008000c00, 0}, 80).bytes} == 16);  // LDS.128
  CHECK(int{decode_sass({0x0000b006ff0e7984, 0x000ee80008000a00, 0}, 89).bytes} == 8);   // LDS.64
  CHECK(int{decode_sass({0x000084000a157984, 0x000f620000000800, 0}, 90).bytes} == 4);   // LDS
  CHECK(int{decode_sass({0x00000a0000137984, 0x000ea80000000400, 0}, 90).bytes} == 2);   // LDS.U16
  CHECK(int{decode_sass({0x0000010416117984, 0x000e680008000200, 0}, 90).bytes} == 1);   // LDS.S8
  CHECK(int{decode_sass({0x0000000c07007387, 0x000fe80000100c00, 0}, 90).bytes} == 16);  // STL.128
  CHECK(int{decode_sass({0x0000480001027983, 0x000ea80000100a00, 0}, 90).bytes} == 8);   // LDL.64
  CHECK(int{decode_sass({0x0000240001007983, 0x000ee20000100800, 0}, 90).bytes} == 4);   // LDL
  CHECK(int{decode_sass({0x0002800c10007388, 0x000fea0000000c00, 0}, 90).bytes} == 16);  // STS.128
  CHECK(int{decode_sass({0x00400000f53c783b, 0x002e680000000200 | 4ULL << 46, 0}, 89).bytes} == 0);
}

TEST_CASE("sass: a wide access has the wavefronts that its width has") {
  // Loads of two or four neighbouring words, from where `offset` says for each lane; by themselves
  // or as one.
  const auto busy = [](const std::string& offset, std::size_t words, bool joined) {
    const std::array<std::string, 4> types = {"u32", "f32", "s32", "b32"};
    std::string body = ".shared .align 16 .b8 s[8192];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, s;\n" +
                       offset + "\nadd.u32 %r3, %r3, %r2;\n";
    for (std::size_t i = 0; i < words; ++i)
      body += "ld.shared." + types[i] + (i == 1 ? " %f2" : " %r4") + ", [%r3+" +
              std::to_string(4 * i) + "];\n";
    Coded run(body + "ret;");
    constexpr std::uint64_t kSizeBit = 9, kOneWord = 4;
    std::vector<EncodedInstruction> code;
    for (std::size_t i = 0; i < (joined ? 1 : words); ++i) {
      code.push_back(machine(kLds, run.line("ld.shared." + types[i])));
      code.back().high |= (joined ? kOneWord + words / 2 : kOneWord) << kSizeBit;
    }
    code.push_back(machine(kExit, run.line("ret")));
    return run.time(code).busy[static_cast<std::size_t>(Unit::memory)];
  };
  const std::string same = "mov.u32 %r3, 0;";
  const double one = busy(same, 2, true);  // all lanes want the same two words
  CHECK(one > 0);
  CHECK(busy(same, 2, false) == 2 * one);
  CHECK(busy(same, 4, true) == 2 * one);
  // Every second word, whose conflicts are of two alone and of none together; every fourth.
  const std::string second = "shl.b32 %r3, %r1, 3;", fourth = "shl.b32 %r3, %r1, 4;";
  CHECK(busy(second, 2, false) == 4 * one);
  CHECK(busy(second, 2, true) == 2 * one);
  CHECK(busy(fourth, 2, false) == 8 * one);
  CHECK(busy(fourth, 2, true) == 4 * one);
  CHECK(busy(fourth, 4, false) == 16 * one);
  CHECK(busy(fourth, 4, true) == 4 * one);
}

TEST_CASE("sass: what ptxas took out of a loop runs once, what follows the last exit never") {
  Coded run(kLoop + "ret;");
  const std::uint32_t ex2 = run.line("ex2.approx.ftz.f32");
  const std::uint32_t fma = run.line("fma.rn.f32");
  const std::uint32_t bra = run.line("bra");
  const std::uint32_t ret = run.line("ret");
  const std::uint32_t mov = run.line("mov.u32");
  const EncodedInstruction costly = machine(kFfma, fma, {15});
  // Back to the instruction `words` before it.
  const auto back = [&](std::int64_t words) {
    EncodedInstruction branch = machine(kBra, bra);
    branch.low |= static_cast<std::uint64_t>(-(words + 1) * 16) << 32U;
    branch.high |= 0x3ffff;  // the sign goes on
    return branch;
  };
  const auto start = machine(0x202, mov);
  const auto special = machine(kMufu, ex2);
  // Two of the block's three were made from instructions before the loop, as the first of it is.
  const double inside = run.clocks({start, costly, special, back(2), machine(kExit, ret)});
  const double outside = run.clocks({start, start, costly, special, back(1), machine(kExit, ret)});
  // Ten times the stalls; once, and ten times the 8 clocks of the special unit.
  CHECK(inside > 10 * 17);
  CHECK(inside < 10 * 17 + 10);
  CHECK(outside > 15 + 10 * 8 - 5);
  CHECK(outside < 15 + 10 * 8 + 10);
  const double with_slow_path = run.clocks(
      {start, costly, special, back(2), machine(kExit, ret), costly, costly, machine(kRet, ret)});
  CHECK(with_slow_path == run.clocks({start, costly, special, back(2), machine(kExit, ret)}));
}

TEST_CASE("sass: of a loop that ptxas unrolled each time round is a part") {
  Coded run(kLoop + "ret;");
  const auto special = machine(kMufu, run.line("ex2.approx.ftz.f32"));
  const auto costly = machine(kFfma, run.line("fma.rn.f32"), {15});
  const auto again = machine(kBra, run.line("bra"), {5});
  const auto end = machine(kExit, run.line("ret"));
  // Ten rounds.
  const auto rounds = [&](int copies, std::vector<EncodedInstruction> leftover = {}) {
    std::vector<EncodedInstruction> instructions;
    for (int i = 0; i < copies; ++i) instructions.insert(instructions.end(), {costly, special});
    instructions.push_back(again);
    instructions.insert(instructions.end(), leftover.begin(), leftover.end());
    instructions.push_back(end);
    return instructions;
  };
  for (const int copies : {1, 2, 5, 10}) {
    CAPTURE(copies);
    const MachineCode code = run.code(rounds(copies));
    CHECK(code.unmatched == "");
    CHECK(code.machine_share == 1);
    const SmTime time = run.time(rounds(copies));
    CHECK(time.busy[static_cast<std::size_t>(Unit::special)] == 10 * 8);
    // The branch is there once for all copies.
    CHECK(time.clocks == doctest::Approx(10 * 16 + 10.0 / copies * 5).epsilon(0.03));
  }
  // What is left over after the rounds is not run with them.
  CHECK(run.clocks(rounds(5, {costly, special, again})) == doctest::Approx(run.clocks(rounds(5))));
}

TEST_CASE("sass: of an unrolled loop one wide access has the wavefronts of its rounds") {
  Coded run(
      ".shared .align 16 .b8 s[64];\nmov.u32 %r2, s;\nmov.u32 %r1, 0;\nAGAIN:\n"
      "ld.shared.f32 %f3, [%r2];\nex2.approx.ftz.f32 %f1, %f3;\nlg2.approx.ftz.f32 %f1, %f3;\n"
      "rcp.approx.ftz.f32 %f1, %f3;\nadd.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, 8;\n"
      "@%p1 bra AGAIN;\nret;");
  const auto load = machine(kLds, run.line("ld.shared.f32"));
  const auto again = machine(kBra, run.line("bra"));
  const auto end = machine(kExit, run.line("ret"));
  const auto busy = [&](int copies, int loads, bool leftover = false) {
    std::vector<EncodedInstruction> instructions(static_cast<std::size_t>(loads), load);
    for (int i = 0; i < copies; ++i)
      for (const char* name : {"ex2.approx.ftz.f32", "lg2.approx.ftz.f32", "rcp.approx.ftz.f32"})
        instructions.push_back(machine(kMufu, run.line(name)));
    instructions.push_back(again);
    if (leftover) instructions.insert(instructions.end(), {load, again});
    instructions.push_back(end);
    return run.time(instructions).busy[static_cast<std::size_t>(Unit::memory)];
  };
  const double each = busy(1, 1);
  CHECK(each > 0);
  CHECK(busy(4, 4) == doctest::Approx(each));
  CHECK(busy(4, 2) == doctest::Approx(each));
  CHECK(busy(4, 1) == doctest::Approx(each));
  // What is left over, which is not run, takes none of them.
  CHECK(busy(4, 2, true) == doctest::Approx(each));
}

TEST_CASE("sass: what cannot be told keeps its steps, and is said") {
  Coded run(kLoop + "ld.param.u64 %rd1, [out];\nst.global.f32 [%rd1], %f3;\nret;");
  const std::uint32_t ex2 = run.line("ex2.approx.ftz.f32");
  const std::uint32_t bra = run.line("bra");
  const std::uint32_t ret = run.line("ret");
  const std::uint32_t store = run.line("st.global.f32");
  // More rounds of the loop than it runs.
  std::vector<EncodedInstruction> rounds(20, machine(kMufu, ex2));
  rounds.insert(rounds.end(), {machine(kBra, bra), machine(kStg, store), machine(kExit, ret)});
  const MachineCode unrolled = run.code(rounds);
  CHECK(unrolled.unmatched ==
        "PTX line " + std::to_string(run.line("fma.rn.f32")) + ": unrolled by ptxas");
  CHECK(unrolled.machine_share > 0);
  CHECK(unrolled.machine_share < 0.3);
  const MachineCode lost = run.code(
      {machine(kMufu, ex2), machine(kBra, bra), machine(kFfma, store), machine(kExit, ret)});
  CHECK(lost.unmatched.find("nothing does what st.global.f32 does") != std::string::npos);
  constexpr std::uint64_t kNoOpcode = 0x1ff;
  const MachineCode strange =
      run.code({machine(kMufu, ex2), machine(kNoOpcode, ex2), machine(kBra, bra),
                machine(kStg, store), machine(kExit, ret)});
  CHECK(strange.unmatched == "PTX line " + std::to_string(run.line("fma.rn.f32")) +
                                 ": opcode 0x1ff of the machine code is unknown");
  CHECK(strange.machine_share < 0.3);
  // That of a GPU whose encoding is unknown is not guessed at.
  run.program.machine_code = {machine(kMufu, ex2), machine(kExit, ret)};
  emulator::DeviceProfile newer = test::small_profile();
  newer.arch = "sm_100";
  const MachineCode unknown = make_machine_code(run.program, newer, run.record);
  CHECK(unknown.unmatched == "machine code of sm_100 is unknown");
  CHECK(unknown.machine_share == 0);
  // Machine code that says nothing of its lines.
  const MachineCode blank = run.code({machine(kMufu, 0), machine(kBra, 0), machine(kExit, 0)});
  CHECK(blank.machine_share < 1);
  CHECK(run.clocks({machine(kMufu, 0), machine(kExit, 0)}) > 0);
}

}  // namespace fa_tune::test
