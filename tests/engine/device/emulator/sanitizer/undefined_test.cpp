#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/engine/device/emulator/sanitizer/support.hpp"

// What becomes of values that nobody has written.

namespace fa_tune::test {
namespace {

using device::FaultKind;

// %r5: a word of `s` that nobody has written.
const std::string kLoadUnwritten = "ld.shared.u32 %r5, [%r3+1024];\n";
const std::string kStoreIt = "st.global.u32 [%rd3], %r5;\n";
const Shape kOneWarp{32, 1, 1024};

std::vector<std::string> notes_of(const std::string& ptx) {
  Bench bench(ptx, 1024);
  bench.launch.checks = device::Checks::all();
  REQUIRE(bench.run());
  auto notes = bench.device->take_notes();
  CHECK(bench.device->take_notes().empty());
  return notes;
}

void reaches(const std::string& text) {
  found(body(text), FaultKind::uninitialized,
        {"ld.shared.u32, block (0,0,0), thread (0,0,0): reads 4 bytes at shared address 0x800, "
         "which nobody has written; byte 1024 of the block's 2048"},
        kOneWarp);
}
void reaches_nothing(const std::string& text) { clean(body(text), kOneWarp); }

}  // namespace

TEST_CASE("a load of what nobody has written, of which nothing comes, is a note") {
  CHECK(notes_of(body("st.shared.u32 [%r3], %r1; ld.shared.u32 %r5, [%r3];\n" + kStoreIt)).empty());
  const std::string unread = kLoadUnwritten + "add.u32 %r5, %r5, 1; mov.u32 %r5, %r1;\n" + kStoreIt;
  reaches_nothing(unread);
  const auto notes = notes_of(body(unread));
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("ld.shared.u32, block (0,0,0), thread (0,0,0): reads 4 bytes at shared "
                      "address 0x800, which nobody has written") != std::string::npos);
  // The next launch, which has none, has none.
  CHECK(notes_of(body(kStoreIt)).empty());
}

TEST_CASE("an undefined value reaches global memory") {
  reaches(kLoadUnwritten + kStoreIt);
  reaches(kLoadUnwritten + "and.b32 %r5, %r5, 1; cvt.rn.f32.u32 %r6, %r5; mov.b32 %r5, %r6;\n" +
          kStoreIt);
  // By 64 bits, and by another lane.
  reaches(kLoadUnwritten +
          "cvt.u64.u32 %rd5, %r5; shl.b64 %rd5, %rd5, 3; st.global.u64 [%rd1], %rd5;\n");
  reaches(kLoadUnwritten + "shfl.sync.bfly.b32 %r6, %r5, 1, 31, -1; st.global.u32 [%rd3], %r6;\n");
  reaches(kLoadUnwritten + "atom.global.add.u32 %r6, [%rd1], %r5;\n");
  // By way of memory; the load that is named is the first.
  reaches(kLoadUnwritten +
          "st.shared.u32 [%r3], %r5; ld.shared.u32 %r6, [%r3];\n"
          "st.global.u32 [%rd3], %r6;\n");
  reaches(".local .align 16 .b8 depot[64]; mov.u64 %rd6, depot;\n" + kLoadUnwritten +
          "st.local.u32 [%rd6], %r5; ld.local.u32 %r6, [%rd6]; st.global.u32 [%rd3], %r6;\n");
  // What is written there afterwards is no more undefined.
  reaches_nothing(kLoadUnwritten +
                  "st.shared.u32 [%r3], %r5; st.shared.u32 [%r3], %r1;\n"
                  "ld.shared.u32 %r6, [%r3]; st.global.u32 [%rd3], %r6;\n");
}

TEST_CASE("an undefined value decides") {
  const std::string compare = kLoadUnwritten + "setp.eq.u32 %p1, %r5, 7;\n";
  reaches(compare + "@%p1 bra END; st.global.u32 [%rd3], %r1;\nEND:\n");
  reaches(compare + "@%p1 st.global.u32 [%rd3], %r1;\n");
  reaches(compare + "selp.u32 %r6, 1, 2, %p1; st.global.u32 [%rd3], %r6;\n");
  reaches(compare + "mov.u32 %r6, 3; @%p1 mov.u32 %r6, 4; st.global.u32 [%rd3], %r6;\n");
  // It is the load's fault, not that of the address that it makes.
  reaches(kLoadUnwritten +
          "cvt.u64.u32 %rd5, %r5; add.u64 %rd5, %rd5, %rd1; ld.global.u32 %r6, [%rd5];\n");
  reaches(kLoadUnwritten + "add.u32 %r6, %r3, %r5; st.shared.u32 [%r6], %r1;\n");
  reaches_nothing(compare + "mov.u32 %r6, 3; @%p1 mov.u32 %r6, 4; st.global.u32 [%rd3], %r1;\n");
}

TEST_CASE("each lane and each value counts for itself") {
  // Elements beyond the edge are read by threads that store nothing.
  const std::string written =
      "setp.lt.u32 %p2, %r1, 16; @%p2 st.shared.u32 [%r3+1024], %r1; bar.warp.sync -1;\n";
  reaches_nothing(written + kLoadUnwritten +
                  "add.u32 %r5, %r5, 1; @%p2 st.global.u32 [%rd3], %r5;\n");
  found(body(written + kLoadUnwritten + "add.u32 %r5, %r5, 1; st.global.u32 [%rd3], %r5;\n"),
        FaultKind::uninitialized, {"thread (16,0,0)"}, kOneWarp);
  reaches_nothing(written + kLoadUnwritten +
                  "selp.u32 %r6, %r5, 0, %p2; st.global.u32 [%rd3], %r6;\n");
  reaches(kLoadUnwritten +
          "setp.lt.u32 %p2, %r1, 16; selp.u32 %r6, %r5, 0, %p2;\n"
          "st.global.u32 [%rd3], %r6;\n");
  reaches_nothing(kLoadUnwritten +
                  "setp.lt.u32 %p2, %r1, 99; selp.u32 %r6, 0, %r5, %p2;\n"
                  "st.global.u32 [%rd3], %r6;\n");
  reaches_nothing(kLoadUnwritten +
                  "setp.lt.u32 %p2, %r1, 99; selp.u32 %r6, %r5, 3, !%p2;\n"
                  "st.global.u32 [%rd3], %r6;\n");
  reaches(kLoadUnwritten +
          "setp.lt.u32 %p2, %r1, 99; selp.u32 %r6, 3, %r5, !%p2;\n"
          "st.global.u32 [%rd3], %r6;\n");
  // At an address that is no register's.
  reaches_nothing(
      "ld.shared.u32 %r30, [%r3+1024]; ld.shared.u32 %r31, [%r3+1024];\n"
      "add.u32 %r30, %r30, %r31; st.shared.u32 [s+4], 7;\n");
  // Half of a vector.
  const std::string vector =
      "shl.b32 %r6, %r1, 3; mov.u32 %r7, s; add.u32 %r7, %r7, %r6; st.shared.u32 [%r7], %r1;\n"
      "ld.shared.v2.u32 {%r8, %r9}, [%r7];\n";
  reaches_nothing(vector + "st.global.u32 [%rd3], %r8;\n");
  found(body(vector + "st.global.u32 [%rd3], %r9;\n"), FaultKind::uninitialized,
        {"of which nobody has written 4, the first byte 4"}, kOneWarp);
  // Where lanes have parted.
  reaches_nothing("setp.lt.u32 %p2, %r1, 16; @%p2 bra NEAR;\n" + kLoadUnwritten +
                  "bra END;\nNEAR: mov.u32 %r5, 1;\n" + kStoreIt + "END:\n");
}

TEST_CASE("a row of a product is undefined if its own is") {
  // Rows 8 to 15 of A are beyond the edge; of B all is there.
  const auto product = [](const std::string& rows_of_b) {
    return "shl.b32 %r6, %r1, 4; mov.u32 %r7, s; add.u32 %r7, %r7, %r6;\n"
           "setp.lt.u32 %p2, %r1, 8; @%p2 st.shared.v4.u32 [%r7], {%r1, %r1, %r1, %r1};\n"
           "setp.lt.u32 %p3, %r1, " +
           rows_of_b +
           ";\n"
           "@%p3 st.shared.v4.u32 [%r7+512], {%r1, %r1, %r1, %r1}; bar.warp.sync -1;\n"
           "and.b32 %r8, %r1, 15; shl.b32 %r8, %r8, 4; mov.u32 %r9, s; add.u32 %r9, %r9, %r8;\n"
           "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r10, %r11}, [%r9];\n"
           "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r12}, [%r9+512];\n"
           "mov.u32 %r13, 0;\n"
           "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r14, %r15, %r16, %r17},\n"
           "  {%r10, %r11}, {%r12}, {%r13, %r13, %r13, %r13};\n";
  };
  reaches_nothing(product("8") + "st.global.v2.u32 [%rd1], {%r14, %r15};\n");
  found(body(product("8") + "st.global.u32 [%rd3], %r16;\n"), FaultKind::uninitialized,
        {"ldmatrix"}, kOneWarp);
  found(body(product("7") + "setp.lt.u32 %p4, %r1, 4; @%p4 st.global.u32 [%rd3], %r14;\n"),
        FaultKind::uninitialized, {"ldmatrix"}, kOneWarp);
}

}  // namespace fa_tune::test
