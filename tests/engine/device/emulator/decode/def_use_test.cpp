#include "engine/device/emulator/ir/def_use.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "engine/device/emulator/decode/loader.hpp"
#include "tests/engine/device/emulator/support.hpp"

// What instructions read and write, by place.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

using Places = std::vector<std::uint16_t>;

Program program_of(const std::string& body) {
  GlobalMemory memory;
  const auto loaded =
      load_program(test::kernel(".param .u64 out",
                                ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;\n" + body),
                   "k", TensorRule::ampere, memory);
  const std::string message = loaded ? "" : loaded.error().message;
  REQUIRE(message == "");
  return *loaded;
}

Places reads(const Program& program, std::size_t op) {
  const auto places = program.def_use.reads(op);
  return {places.begin(), places.end()};
}

Places writes(const Program& program, std::size_t op) {
  const auto places = program.def_use.writes(op);
  return {places.begin(), places.end()};
}

}  // namespace

TEST_CASE("an instruction's places are those of its operands; constants have none") {
  const Program p = program_of(
      "ld.param.u64 %rd1, [out];\n mov.u32 %r1, 7;\n add.u32 %r2, %r1, 3;\n"
      "st.global.u32 [%rd1], %r2;");
  REQUIRE(p.def_use.size() == p.ops.size());
  const Places pointer = writes(p, 0);
  REQUIRE(pointer.size() == 2);  // 64 bits
  CHECK(pointer[1] == pointer[0] + 1);
  CHECK(reads(p, 1).empty());
  CHECK(reads(p, 2) == writes(p, 1));
  CHECK(writes(p, 3).empty());
  Places stored = reads(p, 3);
  Places expected = {writes(p, 2)[0], pointer[0], pointer[1]};
  std::sort(stored.begin(), stored.end());
  std::sort(expected.begin(), expected.end());
  CHECK(stored == expected);
}

TEST_CASE("predicates come after the registers; a guard is read") {
  const Program p = program_of(
      "mov.u32 %r1, 7;\n setp.eq.u32 %p1, %r1, 3;\n @%p1 mov.u32 %r1, 8;\n ld.param.u64 %rd1, "
      "[out];\n st.global.u32 [%rd1], %r1;");
  const Places predicate = writes(p, 1);
  REQUIRE(predicate.size() == 1);
  CHECK(predicate[0] >= p.slots + 2);  // behind false and true
  CHECK(predicate[0] < p.slots + p.predicates);
  CHECK(reads(p, 2) == predicate);
  CHECK(writes(p, 2) == writes(p, 0));
}

}  // namespace fa_tune::test
