#include <doctest/doctest.h>

#include "tests/engine/device/emulator/support.hpp"

// Reports name the line of the CUDA source where the compiler said which it was.

namespace fa_tune::test {

namespace {

// Reads far outside its buffer at a place that `directives` describe.
std::string message_of(const std::string& directives, const std::string& files) {
  const std::string ptx = kernel(".param .u64 p",
                                 ".reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
                                 "ld.param.u64 %rd1, [p];\n" +
                                     directives + "\nld.global.u32 %r1, [%rd1+65536];");
  return fault_of(ptx + files).message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a fault names its line in the PTX where nothing more is known") {
  CHECK(contains(message_of("", ""), "k, PTX line 9: ld.global.u32"));
  CHECK(contains(message_of("", ".file 1 \"a.cu\"\n"), "k, PTX line 9: ld.global.u32"));
}

TEST_CASE("with line information it names the CUDA file and line first") {
  const std::string files = ".file 1 \"/home/me/a.cu\"\n.file 7 \"part/b.cuh\", 1700000000, 52\n";
  CHECK(contains(message_of(".loc 1 12 3", files), "k, a.cu:12 (PTX line 9): ld.global.u32"));
  CHECK(contains(message_of(".loc 1 12 3\n.loc 7 40 1", files), "k, b.cuh:40 (PTX line 10)"));
  SUBCASE("what was inlined is named with the outermost call") {
    CHECK(contains(message_of(".loc 1 12 3\n.loc 7 40 1, function_name $L__info_string0, "
                              "inlined_at 1 12 3",
                              files),
                   "k, b.cuh:40 in a.cu:12 (PTX line 10)"));
    CHECK(contains(message_of(".loc 1 12 3\n.loc 7 40 1, function_name $L__x, inlined_at 1 12 3\n"
                              ".loc 7 50 1, function_name $L__y+7, inlined_at 7 40 1",
                              files),
                   "k, b.cuh:50 in a.cu:12 (PTX line 11)"));
  }
}

TEST_CASE("line information that makes no sense harms nobody") {
  for (const std::string directive :
       {".loc", ".loc 1", ".loc 1 2 3, inlined_at", ".loc 1 2 3, inlined_at 9 9 9", ".loc x y z"}) {
    CAPTURE(directive);
    CHECK(contains(message_of(directive, ".file\n.file 3\n.file x \"y\"\n"), "PTX line 9"));
  }
  CHECK(contains(message_of(".loc 5 2 3", ""), "?:2 (PTX line 9)"));
}

TEST_CASE("a place of one function is not that of the next") {
  const std::string ptx =
      ".version 9.0\n.target sm_89\n.address_size 64\n"
      ".func f()\n{\n.loc 1 77 1\nret;\n}\n"
      ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
      "call f, ();\nld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1+65536];\nret;\n}\n"
      ".file 1 \"a.cu\"\n";
  CHECK(contains(fault_of(ptx).message, "k, PTX line 14: ld.global.u32"));
}

}  // namespace fa_tune::test
