#include <doctest/doctest.h>

#include "tests/engine/device/emulator/support.hpp"

// Loads and stores of every space, what is refused, atomics, asynchronous copies, matrices.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

using u32 = std::uint32_t;

constexpr const char* kDeclarations =
    ".reg .b16 %h<8>; .reg .b32 %r<24>; .reg .b64 %rd<16>; .reg .pred %p<8>;\n"
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"
    "add.u64 %rd3, %rd1, %rd2;\n";

std::string with(const std::string& body, const std::string& before = "") {
  return kernel(".param .u64 out", kDeclarations + body, before);
}

std::vector<u32> run(const std::string& body, const std::vector<u32>& words = std::vector<u32>(32),
                     const std::string& before = "", const std::vector<Argument>& more = {},
                     const std::string& parameters = ".param .u64 out") {
  Bench bench(kernel(parameters, kDeclarations + body, before), words.size());
  bench.write(words);
  for (const Argument& argument : more) bench.launch.arguments.push_back(argument);
  const auto outcome = bench.run();
  INFO(body);
  const std::string message = outcome ? "" : outcome.error().message;
  REQUIRE(message == "");
  return bench.words();
}

void refused(const std::string& body, FaultKind kind, const std::string& part,
             const std::string& before = "") {
  const Fault fault = fault_of(with(body, before));
  INFO(body);
  INFO(fault.message);
  CHECK(fault.kind == kind);
  CHECK(fault.message.find(part) != std::string::npos);
}

std::vector<u32> counting(std::size_t count) {
  std::vector<u32> words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = static_cast<u32>(i * 0x01010101U);
  return words;
}

}  // namespace

TEST_CASE("loads extend by type and come as vectors") {
  const std::vector<u32> words = {0x8081fffe, 2, 3, 4};
  CHECK(run("ld.global.s8 %r2, [%rd1]; st.global.u32 [%rd1], %r2;", words)[0] == 0xfffffffe);
  CHECK(run("ld.global.u8 %h1, [%rd1+1]; cvt.u32.u16 %r2, %h1; st.global.u32 [%rd1], %r2;",
            words)[0] == 0xff);
  CHECK(run("ld.global.s16 %rd4, [%rd1+2]; st.global.u64 [%rd1+8], %rd4;", words)[3] ==
        0xffffffffU);
  CHECK(run("ld.global.v4.u32 {%r2, _, %r4, %r5}, [%rd1]; add.u32 %r2, %r4, %r5; "
            "st.global.u32 [%rd1+4], %r2;",
            words)[1] == 7);
  CHECK(run("ld.global.v2.u16 {%h1, %h2}, [%rd1]; mov.b32 %r2, {%h2, %h1}; "
            "st.global.b32 [%rd1+4], %r2;",
            words)[1] == 0xfffe8081U);
  CHECK(run("ld.global.nc.L1::no_allocate.L2::128B.v2.b32 {%r2, %r3}, [%rd1+8]; "
            "st.global.v2.b32 [%rd1], {%r3, 9};",
            words)[0] == 4);
  CHECK(run("ld.global.u32 %rd4, [%rd1]; st.global.u8 [%rd1+4], %rd4;", words)[1] == 0xfe);
}

TEST_CASE("parameters, constants, module variables and local memory") {
  const std::string before =
      ".const .align 4 .b8 table[8] = {1, 0, 0, 0, 2, 1};\n.global .align 4 .u32 counter = 41;\n"
      ".global .align 8 .f64 pair[2] = {0d3FF0000000000000, 0d4000000000000000};\n";
  CHECK(run("ld.const.u32 %r2, [table+4]; st.global.u32 [%rd1], %r2;", counting(4), before)[0] ==
        258);
  CHECK(run("mov.u64 %rd4, table; ld.const.u32 %r2, [%rd4]; st.global.u32 [%rd1], %r2;",
            counting(4), before)[0] == 1);
  CHECK(run("setp.ne.u32 %p1, %r1, 0; @%p1 exit; mov.u64 %rd4, counter; ld.global.u32 %r2, [%rd4]; "
            "add.u32 %r2, %r2, 1; st.global.u32 [counter], %r2; ld.global.u32 %r3, [counter]; "
            "st.global.u32 [%rd1], %r3;",
            counting(4), before)[0] == 42);
  CHECK(run("ld.global.u64 %rd4, [pair+8]; st.global.u64 [%rd1], %rd4;", counting(4), before)[1] ==
        0x40000000U);
  // Each thread has its own.
  const auto local =
      run(".local .align 8 .b8 depot[64]; mov.u64 %rd4, depot; cvta.local.u64 %rd5, %rd4; "
          "add.u64 %rd5, %rd5, %rd2; rem.u32 %r2, %r1, 8; mul.wide.u32 %rd6, %r2, 4; "
          "add.u64 %rd6, %rd6, %rd4; st.local.u32 [%rd6], %r1; cvta.local.u64 %rd7, %rd6; "
          "ld.u32 %r3, [%rd7]; st.global.u32 [%rd3], %r3;");
  for (u32 i = 0; i < 32; ++i) CHECK(local[i] == i);
  // A structure by value, read through a register and through a generic address.
  std::vector<std::byte> bytes(12);
  bytes[4] = std::byte{77};
  CHECK(run("mov.b64 %rd4, s; add.u64 %rd5, %rd4, 4; ld.param.u32 %r2, [%rd5]; ld.u32 %r3, [%rd5]; "
            "add.u32 %r2, %r2, %r3; st.global.u32 [%rd1], %r2;",
            counting(4), "", {bytes}, ".param .u64 out, .param .align 4 .b8 s[12]")[0] == 154);
}

TEST_CASE("generic addresses find their space") {
  const auto words =
      run(".shared .align 8 .b8 s[64]; mov.u64 %rd4, s; cvta.shared.u64 %rd5, %rd4; "
          "isspacep.shared %p1, %rd5; isspacep.global %p2, %rd5; selp.u32 %r2, 1, 0, %p1; "
          "@%p2 add.u32 %r2, %r2, 10; st.u32 [%rd5+4], %r2; cvta.to.shared.u64 %rd6, %rd5; "
          "cvt.u32.u64 %r3, %rd6; ld.shared.u32 %r4, [%r3+4]; cvta.to.global.u64 %rd7, %rd1; "
          "st.global.u32 [%rd7], %r4;");
  CHECK(words[0] == 1);
}

TEST_CASE("a parameter's generic address comes from a register of 32 bits as of 64") {
  const auto words =
      run("mov.b32 %r2, out; cvt.u64.u32 %rd4, %r2; cvta.param.u64 %rd5, %rd4; mov.b64 %rd4, out; "
          "cvta.param.u64 %rd6, %rd4; setp.eq.u64 %p1, %rd5, %rd6; selp.u32 %r2, 7, 0, %p1; "
          "ld.u64 %rd7, [%rd5]; st.global.u32 [%rd7], %r2;");
  CHECK(words[0] == 7);
}

TEST_CASE("an access outside its memory names thread, address and neighbour") {
  refused("st.global.u32 [%rd3+4], %r1;", FaultKind::out_of_bounds,
          "k, PTX line 9: st.global.u32, block (0,0,0), thread (31,0,0): writes 4 bytes at global "
          "address 0x");
  refused("st.global.u32 [%rd3+4], %r1;", FaultKind::out_of_bounds,
          "it is 0 bytes past the end of the 128 bytes at 0x");
  refused("ld.global.u32 %r2, [%rd1+-4];", FaultKind::out_of_bounds,
          "4 bytes before the 128 bytes");
  refused("ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1+128];", FaultKind::out_of_bounds, "reads 16");
  refused("mov.u64 %rd4, 0; ld.global.u32 %r2, [%rd4];", FaultKind::out_of_bounds,
          "no allocation near it");
  refused(
      ".shared .align 4 .b8 s[64]; mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3; "
      "st.shared.u32 [%r2], %r1;",
      FaultKind::out_of_bounds, "thread (16,0,0)");
  refused("mov.u32 %r2, 0; ld.shared.u32 %r3, [%r2];", FaultKind::out_of_bounds,
          "shared address 0x0");
  refused(".local .align 4 .b8 d[16]; mov.u64 %rd4, d; ld.local.u32 %r2, [%rd4+16];",
          FaultKind::out_of_bounds, "local address");
  refused("ld.param.u32 %r2, [out+8];", FaultKind::out_of_bounds, "parameter");
  refused("mov.u64 %rd4, table; st.global.u32 [%rd4], %r1;", FaultKind::out_of_bounds, "constant",
          ".const .align 4 .b8 table[8];\n");
  refused("atom.global.add.u32 %r2, [%rd1+128], 1;", FaultKind::out_of_bounds,
          "atom.global.add.u32");
}

TEST_CASE("one lane of a full warp outside is seen, whatever came before") {
  // The first access shows where the allocation is; the second is tested by whole warps.
  const std::string first = "ld.global.u32 %r2, [%rd1]; mul.wide.u32 %rd4, %r1, ";
  const auto past = [&](const std::string& bytes, const std::string& access) {
    refused(first + bytes + "; add.u64 %rd4, %rd1, %rd4; " + access, FaultKind::out_of_bounds,
            "past the end");
  };
  past("4", "ld.global.u32 %r3, [%rd4+4];");
  past("4", "st.global.u32 [%rd4+4], %r3;");
  past("4", "ld.u32 %r3, [%rd4+4];");
  past("2", "ld.global.u16 %h1, [%rd4+66];");
  past("8", "ld.global.u64 %rd5, [%rd4];");
  past("2", "st.global.u16 [%rd4+66], %h1;");
  const std::string shared =
      ".shared .align 16 .b8 s[128]; mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3; ";
  refused(shared + "ld.shared.u32 %r4, [%r2+4];", FaultKind::out_of_bounds, "thread (31,0,0)");
  refused(shared + "ld.shared.u16 %h1, [%r2+4];", FaultKind::out_of_bounds, "thread (31,0,0)");
  refused(first + "4; add.u64 %rd4, %rd1, %rd4; ld.global.u32 %r3, [%rd4+2];",
          FaultKind::misaligned, "of 4");
}

TEST_CASE("dynamic shared memory follows the static one, aligned as it says") {
  const auto words =
      run(".shared .align 4 .b8 s[20]; mov.u32 %r2, s; mov.u32 %r3, d; sub.u32 %r4, %r3, %r2; "
          "st.global.u32 [%rd1], %r4; and.b32 %r5, %r3, 127; st.global.u32 [%rd1+4], %r5;",
          counting(4), ".extern .shared .align 128 .b8 d[];\n");
  CHECK(words[0] == 128);
  CHECK(words[1] == 0);
}

TEST_CASE("an access must be aligned to its size") {
  refused("ld.global.u32 %r2, [%rd1+2];", FaultKind::misaligned, "no multiple of 4");
  refused("ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1+8];", FaultKind::misaligned, "of 16");
  refused(".shared .align 16 .b8 s[64]; mov.u32 %r2, s; st.shared.v2.u32 [%r2+4], {%r1, %r1};",
          FaultKind::misaligned, "of 8");
  refused(".local .align 4 .b8 d[16]; mov.u64 %rd4, d; ld.local.u16 %h1, [%rd4+1];",
          FaultKind::misaligned, "of 2");
  refused("ld.param.u32 %r2, [out+2];", FaultKind::misaligned, "of 4");
  refused(
      ".shared .align 16 .b8 s[1024]; mov.u32 %r2, s; add.u32 %r2, %r2, 8; "
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];",
      FaultKind::misaligned, "of 16");
  refused(
      ".shared .align 16 .b8 s[1024]; mov.u32 %r2, s; add.u32 %r2, %r2, 8; "
      "cp.async.cg.shared.global [%r2], [%rd1], 16;",
      FaultKind::misaligned, "of 16");
}

TEST_CASE("a buffer's release and a guard band are seen") {
  Bench bench(with("ld.global.u32 %r2, [%rd1];"));
  bench.launch.arguments = {bench.device->address(bench.buffer, 124)};
  CHECK(bench.run());
  const Argument old = bench.device->address(bench.buffer, 0);
  bench.device->release(bench.buffer);
  bench.launch.arguments = {old};
  const auto outcome = bench.run();
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().kind == FaultKind::freed);
}

TEST_CASE("atomics serve every thread once") {
  CHECK(
      run("atom.global.add.u32 %r2, [%rd1], 2; red.global.max.s32 [%rd1+4], %r1; "
          "atom.global.inc.u32 %r3, [%rd1+8], 10; red.global.add.f32 [%rd1+12], 0f3F800000;")[0] ==
      64);
  const auto words = run(
      "atom.global.add.u32 %r2, [%rd1], 2; red.global.max.s32 [%rd1+4], %r1; "
      "atom.global.inc.u32 %r3, [%rd1+8], 10; red.global.add.f32 [%rd1+12], 0f3F800000; "
      "atom.global.cas.b32 %r4, [%rd1+16], 0, 7; atom.global.exch.b64 %rd5, [%rd1+24], 99; "
      "red.global.or.b32 [%rd1+32], %r1; atom.global.add.noftz.f16x2 %r6, [%rd1+36], 0x3c003c00; "
      "atom.global.min.u64 %rd6, [%rd1+40], 0;");
  CHECK(words[1] == 31);
  CHECK(words[2] == 32 % 11);
  CHECK(words[3] == 0x42000000U);
  CHECK(words[4] == 7);
  CHECK(words[6] == 99);
  CHECK(words[8] == 31);
  CHECK(words[9] == 0x50005000U);
  const auto shared =
      run(".shared .align 4 .u32 s; st.shared.u32 [s], 0; bar.sync 0; "
          "atom.shared.add.u32 %r2, [s], 3; bar.sync 0; ld.shared.u32 %r3, [s]; "
          "st.global.u32 [%rd1], %r3;");
  CHECK(shared[0] == 96);
}

TEST_CASE("what nobody has written reads as NaN") {
  CHECK(run(".shared .align 4 .u32 s; ld.shared.u32 %r2, [s]; st.global.u32 [%rd1], %r2;")[0] ==
        0xffffffffU);
}

TEST_CASE("an asynchronous copy arrives at the wait that covers it and not before") {
  const std::string copy =
      ".shared .align 16 .b8 s[1024]; mov.u32 %r2, s; and.b32 %r3, %r1, 7; shl.b32 %r3, %r3, 4; "
      "add.u32 %r4, %r2, %r3; cvt.u64.u32 %rd4, %r3; add.u64 %rd5, %rd1, %rd4; "
      "cp.async.cg.shared.global.L2::128B [%r4], [%rd5], 16; cp.async.commit_group; ";
  const std::string use = "ld.shared.u32 %r6, [%r4]; st.global.u32 [%rd5], %r6;";
  const std::vector<u32> words = counting(32);
  CHECK(run(copy + "cp.async.wait_group 0; " + use, words)[4] == words[4]);
  CHECK(run(copy + "cp.async.wait_all; " + use, words)[4] == words[4]);
  CHECK(run(copy + "cp.async.wait_group 1; " + use, words)[4] == 0xffffffffU);
  CHECK(run(copy + use, words)[4] == 0xffffffffU);
  // The group before the last is covered by a wait that leaves one.
  CHECK(run(copy + "cp.async.commit_group; cp.async.wait_group 1; " + use, words)[4] == words[4]);
  // What is not committed is in no group.
  const std::string loose =
      ".shared .align 16 .b8 s[1024]; mov.u32 %r4, s; mov.u64 %rd5, %rd1; "
      "cp.async.ca.shared.global [%r4], [%rd5+4], 4; ";
  CHECK(run(loose + "cp.async.wait_group 0; " + use, words)[0] == 0xffffffffU);
  CHECK(run(loose + "cp.async.wait_all; " + use, words)[0] == words[1]);
}

TEST_CASE("a short copy fills with zeros and does not look beyond its bytes") {
  const std::string head =
      ".shared .align 16 .b8 s[1024]; mov.u32 %r4, s; mov.u32 %r5, 4; setp.eq.u32 %p1, %r5, 4; ";
  const std::string tail =
      "cp.async.wait_all; ld.shared.v2.u32 {%r6, %r7}, [%r4]; st.global.v2.u32 [%rd1], {%r6, %r7};";
  const std::vector<u32> words = {5, 6, 7, 8};
  const auto partly =
      run(head + "cp.async.cg.shared.global [%r4], [%rd1], 16, %r5; " + tail, words);
  CHECK(partly[0] == 5);
  CHECK(partly[1] == 0);
  const auto nothing = run(
      head + "mov.u64 %rd6, 0; mov.u32 %r5, 0; cp.async.ca.shared.global [%r4], [%rd6], 8, %r5; " +
          tail,
      words);
  CHECK(nothing[0] == 0);
  const auto ignored =
      run(head + "cp.async.cg.shared.global [%r4], [%rd1], 16, %p1; " + tail, words);
  CHECK(ignored[0] == 0);
  refused(
      ".shared .align 16 .b8 s[64]; mov.u32 %r4, s; cp.async.cg.shared.global [%r4], [%rd1+128], "
      "16;",
      FaultKind::out_of_bounds, "reads 16 bytes at global");
  refused(
      ".shared .align 16 .b8 s[64]; mov.u32 %r4, s; cp.async.cg.shared.global [%r4+64], [%rd1], "
      "16;",
      FaultKind::out_of_bounds, "writes 16 bytes at shared");
}

TEST_CASE("ldmatrix deals rows out, straight and transposed") {
  // Rows of 8 halves, numbered 0..63; lane i of the first eight gives row i.
  const std::string fill =
      ".shared .align 16 .b8 s[256]; mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r3, %r3, %r2; "
      "shl.b32 %r4, %r1, 1; add.u32 %r5, %r4, 1; shl.b32 %r5, %r5, 16; or.b32 %r4, %r4, %r5; "
      "st.shared.u32 [%r3], %r4; add.u32 %r4, %r4, 0x00400040; st.shared.u32 [%r3+128], %r4; "
      "bar.sync 0; and.b32 %r6, %r1, 15; shl.b32 %r6, %r6, 4; add.u32 %r7, %r2, %r6; ";
  const auto straight = run(fill +
                            "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r8, %r9}, [%r7]; "
                            "st.global.u32 [%rd3], %r9;");
  const auto transposed = run(fill +
                              "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r8}, [%r7]; "
                              "st.global.u32 [%rd3], %r8;");
  for (u32 lane = 0; lane < 32; ++lane) {
    const u32 first = 64 + lane / 4 * 8 + lane % 4 * 2;
    CHECK(straight[lane] == (first | (first + 1) << 16));
    const u32 upper = lane % 4 * 2 * 8 + lane / 4;
    CHECK(transposed[lane] == (upper | (upper + 8) << 16));
  }
}

}  // namespace fa_tune::test
