#include <doctest/doctest.h>

#include "engine/util/file.hpp"
#include "engine/util/random.hpp"
#include "tests/engine/device/emulator/support.hpp"

// Texts that are wrong, cut off or no PTX at all: refused with a line, never worse.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

std::string example(const std::string& name) {
  return read_file(std::string(FA_TUNE_ROOT) + "/tests/engine/device/emulator/ptx/" + name);
}

Fault load_fault(const std::string& ptx, const std::string& name = "k") {
  const auto device = open_emulator(small_profile(), 1);
  const auto loaded = device->load(image(ptx, name));
  return loaded ? Fault{FaultKind::device_lost, "it loaded"} : loaded.error();
}

void refused(const std::string& body, FaultKind kind, const std::string& part) {
  const Fault fault = load_fault(
      kernel(".param .u64 out",
             ".reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %l<4>; .reg .pred %p<4>;\n" + body));
  INFO(body);
  INFO(fault.message);
  CHECK(fault.kind == kind);
  CHECK(fault.message.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("an unknown instruction is named before anything runs") {
  refused("frobnicate.u32 %r1, %r2;", FaultKind::unknown_instruction,
          "PTX line 7: the emulator does not know 'frobnicate.u32'");
  refused("add.cc.u16 %h1, %h2, %h3;", FaultKind::unknown_instruction, "add.cc.u16");
  refused("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%r0}, {%r0}, {%r0}, {%r0};",
          FaultKind::unknown_instruction, "m16n8k64");
  refused("mov.u32 %r1, %nosuch;", FaultKind::unknown_instruction, "%nosuch");
  refused("add.rn.u32 %r1, %r2, %r3;", FaultKind::unknown_instruction, "add.rn.u32");
  refused("cp.async.bulk.commit_group;", FaultKind::unknown_instruction, "cp.async.bulk");
  refused("call (%r1), %r2;", FaultKind::unknown_instruction, "call");
}

TEST_CASE("operands that do not fit are refused with their line") {
  refused("add.u32 %r1, %r2;", FaultKind::load_failed, "PTX line 7: add.u32: 2 operands");
  refused("add.u32 %r1, %l2, %r3;", FaultKind::load_failed, "%l2 is not 32 bits wide");
  refused("add.u32 %p1, %r2, %r3;", FaultKind::load_failed, "%p1 is a predicate");
  refused("add.u32 7, %r2, %r3;", FaultKind::load_failed, "wants a register");
  refused("add.u32 %r1, %r2, nowhere;", FaultKind::load_failed, "'nowhere' is not declared");
  refused("bra NOWHERE;", FaultKind::load_failed, "no label 'NOWHERE'");
  refused("ld.global.v2.u32 {%r1}, [%l1];", FaultKind::load_failed, "number of values");
  refused("ld.global.u32 %h1, [%l1];", FaultKind::load_failed, "narrower");
  refused("ld.global.u32 %r1, %l1;", FaultKind::load_failed, "address in [ ]");
  refused("@%r1 bra X; X:", FaultKind::load_failed, "no predicate");
  refused("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0}, {%r0}, {%r0}, {%r0};",
          FaultKind::load_failed, "number of registers");
  refused("st.shared.v2.u32 [%r1], {%r2, [%r3]};", FaultKind::load_failed, "");
  refused("st.shared.u32 [%r1], [%r3];", FaultKind::load_failed, "constant is expected");
  refused("cp.async.cg.shared.global [%r1], [%l1], 8;", FaultKind::load_failed, "16 bytes");
  refused("setp.eq.u32 %r1, %r2, %r3;", FaultKind::load_failed, "predicate");
  refused("add.u32 %r1, %r2, %r99;", FaultKind::unknown_instruction, "%r99");
  refused(".reg .b32 %x<4000000000>;", FaultKind::load_failed, "more registers");
  refused("{ add.u32 %r1, %r2, %r3;", FaultKind::load_failed, "ends inside");
}

TEST_CASE("modules that are no modules") {
  CHECK(load_fault("").kind == FaultKind::load_failed);
  CHECK(load_fault("hello world").kind == FaultKind::load_failed);
  CHECK(load_fault(kernel("", ""), "other").message.find("it has: k") != std::string::npos);
  CHECK(load_fault("/* ").message.find("comment") != std::string::npos);
  CHECK(load_fault(std::string(1 << 20, '(')).kind == FaultKind::load_failed);
  CHECK(load_fault(kernel("", "mov.u32 " + std::string(1 << 20, '{'))).kind ==
        FaultKind::load_failed);
  CHECK(load_fault(kernel("", std::string(1 << 20, '{'))).kind == FaultKind::load_failed);
  CHECK(load_fault(kernel("", ".shared .b8 s[4000000000]; .reg .b32 %r; mov.u32 %r, s;")).kind ==
        FaultKind::load_failed);
  CHECK(load_fault(".func f() { call f; ret; }\n" + kernel("", "call f;")).kind ==
        FaultKind::unknown_instruction);
}

TEST_CASE("a text cut anywhere is refused or runs, and never crashes") {
  for (const char* name : {"reduction.ptx", "gemm.ptx"}) {
    const std::string ptx = example(name);
    for (std::size_t at = 0; at < ptx.size(); at = ptx.find('\n', at) + 1) {
      const Fault fault = load_fault(ptx.substr(0, at), "gemm");
      CHECK(fault.message != "");
      if (ptx.find('\n', at) == std::string::npos) break;
    }
  }
}

TEST_CASE("bytes changed at random, and random bytes") {
  Random random(5);
  const std::string ptx = example("gemm.ptx");
  for (int round = 0; round < 400; ++round) {
    std::string text = ptx;
    for (std::uint64_t i = 0; i < 1 + random.below(4); ++i) {
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    }
    CHECK(load_fault(text, "gemm").message != "");
  }
  for (int round = 0; round < 100; ++round) {
    std::string text;
    for (int i = 0; i < 500; ++i) text += static_cast<char>(random.below(256));
    CHECK(load_fault(text).kind == FaultKind::load_failed);
  }
}

TEST_CASE("words exchanged at random load or are refused, and what loads runs or faults") {
  Random random(6);
  const std::string ptx = example("reduction.ptx");
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', at), ptx.size());
    lines.push_back(ptx.substr(at, end - at));
    at = end + 1;
  }
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> changed = lines;
    std::swap(changed[random.below(changed.size())], changed[random.below(changed.size())]);
    changed.erase(changed.begin() + static_cast<long>(random.below(changed.size())));
    std::string text;
    for (const std::string& line : changed) text += line + "\n";
    Bench bench(text, 512, 1, "reduction");
    if (!bench.load_fault.message.empty()) continue;
    bench.launch.config.block = {64, 1, 1};
    bench.launch.arguments = {bench.buffer, bench.buffer, raw(64)};
    // A loop that lost its step would take the whole budget: those are left to other tests.
    if (text.find("bra") != std::string::npos) continue;
    (void)bench.run();
  }
}

}  // namespace fa_tune::test
