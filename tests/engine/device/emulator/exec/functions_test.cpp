#include <doctest/doctest.h>

#include "engine/util/file.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/helpers.hpp"

// Functions: by name, by address, with stacks of their own; and variables that hold addresses.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

std::string functions_ptx() {
  return read_file(std::string(FA_TUNE_ROOT) + "/tests/engine/device/emulator/ptx/functions.ptx");
}

// Thread i of kernel `name` gets (out, n).
std::vector<std::uint32_t> run(const std::string& name, std::int32_t n,
                               const std::vector<std::uint32_t>& words) {
  Bench bench(functions_ptx(), 64, 1, name);
  bench.write(words);
  bench.launch.arguments = {bench.buffer, raw(n)};
  const auto outcome = bench.run();
  const std::string message = outcome ? "" : outcome.error().message;
  REQUIRE(message == "");
  return bench.words();
}

std::vector<std::uint32_t> counted() {
  std::vector<std::uint32_t> words(64);
  for (std::uint32_t i = 0; i < 64; ++i) words[i] = i + 3;
  return words;
}

// Calls function number %r1 of a table of two.
std::string table_kernel(const std::string& body_of_second) {
  return ".version 9.0\n.target sm_89\n.address_size 64\n"
         ".func (.param .b32 r) one(.param .b32 a);\n.func (.param .b32 r) two(.param .b32 a);\n"
         ".global .align 8 .u64 table[2] = {one, two};\n"
         ".func (.param .b32 r) one(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a];\n"
         "add.u32 %x, %x, 1; st.param.b32 [r], %x; ret; }\n"
         ".func (.param .b32 r) two(.param .b32 a) { .reg .b32 %x; .reg .b64 %d<3>;\n"
         "ld.param.b32 %x, [a];\n" +
         body_of_second +
         "st.param.b32 [r], %x; ret; }\n"
         ".visible .entry k(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %l<9>; .reg .pred "
         "%p<5>;\n"
         "ld.param.u64 %l1, [out]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1;\n"
         "mul.wide.u32 %l2, %r2, 8; mov.u64 %l3, table; add.u64 %l2, %l2, %l3;\n"
         "setp.lt.u32 %p1, %r1, 7;\n"
         "ld.global.u64 %l4, [%l2]; { .param .b32 a0; .param .b32 r0; st.param.b32 [a0], %r1;\n"
         "form: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
         "call (r0), %l4, (a0), form; ld.param.b32 %r3, [r0]; }\n"
         "@%p1 add.u32 %r3, %r3, 100;\n"
         "mul.wide.u32 %l5, %r1, 4; add.u64 %l1, %l1, %l5; st.global.u32 [%l1], %r3; ret; }\n";
}

}  // namespace

TEST_CASE("calls by address choose each lane's function and keep the caller's predicates") {
  // The callee writes predicates and registers of its own.
  Bench bench(table_kernel(".reg .pred %q; setp.ge.u32 %q, %x, 0; @%q mul.lo.u32 %x, %x, 10;\n"));
  REQUIRE(bench.load_fault.message == "");
  REQUIRE(bench.run());
  const auto words = bench.words();
  for (std::uint32_t i = 0; i < 32; ++i) {
    CHECK(words[i] == (i % 2 == 0 ? i + 1 : 10 * i) + (i < 7 ? 100 : 0));
  }
}

TEST_CASE("a function that reaches itself by address is stopped there, and others run") {
  const std::string again =
      "mov.u64 %d1, table; ld.global.u64 %d2, [%d1+8]; { .param .b32 a1; .param .b32 r1;\n"
      "st.param.b32 [a1], %x; f: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
      "call (r1), %d2, (a1), f; ld.param.b32 %x, [r1]; }\n";
  const Fault fault = fault_of(table_kernel(again));
  CHECK(fault.kind == FaultKind::trap);
  CHECK(fault.message.find("thread (1,0,0)") != std::string::npos);
  CHECK(fault.message.find("calls itself") != std::string::npos);
  // Only where it happens: no lane takes the second function here.
  Bench one(table_kernel(again));
  one.launch.config.block = {1, 1, 1};
  CHECK(one.run());
}

TEST_CASE("an address that is no function's") {
  const Fault fault = fault_of(kernel(
      ".param .u64 out",
      ".reg .b64 %l<3>; ld.param.u64 %l1, [out];\nform: .callprototype _ ();\ncall %l1, form;"));
  CHECK(fault.kind == FaultKind::trap);
  CHECK(fault.message.find("no function of that form") != std::string::npos);
}

// As NVRTC writes printf("%d", x) and assert(x < 20): thread i has x = i.
std::string driver_calls_kernel(const std::string& guard) {
  return ".version 9.0\n.target sm_89\n.address_size 64\n"
         ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
         ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, "
         ".param .b64 e);\n"
         ".global .align 1 .b8 $str[3] = {37, 100, 0};\n"
         ".visible .entry k(.param .u64 out) { .local .align 8 .b8 depot[8]; .reg .b32 %r<9>;\n"
         ".reg .b64 %l<9>; .reg .pred %p;\n"
         "ld.param.u64 %l1, [out]; mov.u32 %r1, %tid.x; mov.u64 %l2, depot;\n"
         "cvta.local.u64 %l3, %l2; st.local.u32 [%l2], %r1;\n"
         "mov.u64 %l4, $str; cvta.global.u64 %l5, %l4;\n"
         "{ .param .b64 p0; .param .b64 p1; .param .b32 r0; st.param.b64 [p0], %l5;\n"
         "st.param.b64 [p1], %l3; call.uni (r0), vprintf, (p0, p1); ld.param.b32 %r2, [r0]; }\n"
         "setp.lt.u32 %p, %r1, 20; " +
         guard +
         " bra DONE;\n"
         "{ .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;\n"
         "st.param.b64 [p0], %l5; st.param.b64 [p1], %l5; st.param.b32 [p2], 7;\n"
         "st.param.b64 [p3], %l5; st.param.b64 [p4], 1;\n"
         "call.uni __assertfail, (p0, p1, p2, p3, p4); }\n"
         "DONE: add.u32 %r3, %r1, %r2; mul.wide.u32 %l6, %r1, 4; add.u64 %l1, %l1, %l6;\n"
         "st.global.u32 [%l1], %r3; ret; }\n";
}

TEST_CASE("printf prints nothing, and an assertion that fails stops the kernel") {
  for (const Checks checks : {Checks{}, Checks::all()}) {
    Bench quiet(driver_calls_kernel(""), 64);
    quiet.launch.arguments = {quiet.buffer};
    quiet.launch.checks = checks;
    const auto outcome = quiet.run();
    CHECK((outcome ? "" : outcome.error().message) == "");
    CHECK(quiet.words()[29] == 29);

    Bench failing(driver_calls_kernel("@%p"), 64);
    failing.launch.arguments = {failing.buffer};
    failing.launch.checks = checks;
    const auto stopped = failing.run();
    REQUIRE(!stopped);
    CHECK(stopped.error().kind == FaultKind::trap);
    CHECK(has(stopped.error().message, "an assertion of the kernel failed"));
    CHECK(has(stopped.error().message, "thread (20,0,0): an assertion of the kernel failed"));
  }
}

TEST_CASE("virtual functions") {
  const auto words = run("virtuals", 1, counted());
  for (std::uint32_t i = 0; i < 32; ++i) {
    CHECK(words[i] == ((i + 1) % 2 == 0 ? i + 3 : i * 5));
  }
}

TEST_CASE("function pointers in global and constant memory") {
  const auto words = run("pointers", 1, counted());
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t x = i + 3;
    const std::uint32_t by_table[] = {x * 2, x + 3, x ^ 7};
    CHECK(words[i] == by_table[(i + 1) % 3] + (4 ^ 7));
  }
}

TEST_CASE("structures, strings and addresses among initial values") {
  const auto words = run("initial", 0, counted());
  for (std::uint32_t i = 0; i < 32; ++i) {
    CHECK(words[i] == static_cast<std::uint32_t>("hello"[i % 5]) + 4 + 1 + 2 + 5 + (i % 4));
  }
}

TEST_CASE("structures by value, and stacks of a size known at run time") {
  const auto words = run("stacks", 9, counted());
  for (std::uint32_t i = 0; i < 32; ++i) {
    std::uint32_t sum = 0;
    for (std::uint32_t j = 0; j < 9; ++j) sum = sum * 3 + (j + 3 + i);
    CHECK(words[32 + i] == 2 * sum + 20 + i);
  }
}

TEST_CASE("a stack that grows without end leaves local memory and is told so") {
  const Fault fault =
      fault_of(kernel(".param .u64 out",
                      ".reg .b64 %l<4>; .reg .b32 %r<2>; mov.u64 %l2, 4096; mov.u32 %r1, 1;\n"
                      "AGAIN: alloca.u64 %l1, %l2, 16; st.local.u32 [%l1], %r1; bra AGAIN;"));
  CHECK(fault.kind == FaultKind::out_of_bounds);
  CHECK(fault.message.find("local") != std::string::npos);
}

}  // namespace fa_tune::test
