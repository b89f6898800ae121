#include "tests/engine/device/emulator/sanitizer/support.hpp"

// Reads of what nobody has written.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

// A launch whose buffer the host has written only in part. `input`: the launch may only read it.
Fault partly_written(const std::string& ptx, std::size_t written, bool input = false) {
  const auto device = open_emulator(small_profile(), 1);
  const BufferHandle buffer = device->allocate(4096);
  const std::vector<std::byte> bytes(written);
  REQUIRE(device->write(buffer, 0, bytes));
  const auto kernel = device->load(image(ptx));
  REQUIRE(kernel);
  Launch launch;
  launch.kernel = *kernel;
  launch.config.block = {32, 1, 1};
  launch.arguments = {buffer};
  launch.checks = Checks::all();
  if (input) launch.read_only = {buffer};
  const auto outcome = device->launch(launch);
  return outcome ? Fault{FaultKind::device_lost, "it ran"} : outcome.error();
}

// What the thread loaded goes out.
const std::string kOut = "st.global.u32 [%rd3], %r5;\n";

}  // namespace

TEST_CASE("shared memory that nobody has written") {
  const Shape warp{32, 1, 1024};
  const std::string write = "st.shared.u32 [%r3], %r1;\n";
  clean(body(write + "ld.shared.u32 %r5, [%r3];\n" + kOut), warp);
  found(body(write + "ld.shared.u32 %r5, [%r3+128];\n" + kOut), FaultKind::uninitialized,
        {"ld.shared.u32, block (0,0,0), thread (0,0,0): reads 4 bytes at shared address 0x480, "
         "which nobody has written; byte 128 of the block's 2048"},
        warp);
  found(body("st.shared.u8 [%r3+1], %r1; ld.shared.u32 %r5, [%r3];\n" + kOut),
        FaultKind::uninitialized, {"of which nobody has written 3, the first byte 0"}, warp);
  found(body("shl.b32 %r6, %r1, 4; mov.u32 %r7, s; add.u32 %r7, %r7, %r6;\n"
             "st.shared.v2.u32 [%r7], {%r1, %r1};\n"
             "ld.shared.v4.u32 {%r8, %r9, %r10, %r5}, [%r7];\n" +
             kOut),
        FaultKind::uninitialized, {"of which nobody has written 8, the first byte 8"}, warp);
  found(body("red.shared.add.u32 [s], 1;\n"), FaultKind::uninitialized, {"red.shared.add.u32"},
        warp);
  // The next block finds nothing of the one before.
  found(body("setp.ne.u32 %p1, %r4, 0; @!%p1 st.shared.u32 [%r3], %r1; ld.shared.u32 %r5, [%r3];\n"
             "@%p1 " +
             kOut),
        FaultKind::uninitialized, {"block (1,0,0)"}, {32, 2, 1024});
}

TEST_CASE("local memory counts by values") {
  const Shape warp{32, 1, 1024};
  const std::string depot = ".local .align 16 .b8 depot[64]; mov.u64 %rd6, depot;\n";
  clean(body(depot + "st.local.u32 [%rd6+8], %r1; ld.local.u32 %r5, [%rd6+8];\n"), warp);
  found(body(depot + "st.local.u32 [%rd6+8], %r1; ld.local.u32 %r5, [%rd6+12];\n" + kOut),
        FaultKind::uninitialized,
        {"reads 4 bytes at local address 0x", "byte 12 of the thread's 64"}, warp);
  // A structure with padding is copied whole.
  clean(body(depot +
             "st.local.u8 [%rd6], %r1; st.local.u32 [%rd6+4], %r1;\n"
             "ld.local.v2.u32 {%r5, %r6}, [%rd6];\n" +
             kOut),
        warp);
  found(body(depot + "st.local.u32 [%rd6+4], %r1; ld.local.v2.u32 {%r5, %r6}, [%rd6];\n" + kOut),
        FaultKind::uninitialized, {"reads 8 bytes"}, warp);
  // Each thread has its own, also through a generic address.
  found(body(depot +
             "setp.eq.u32 %p1, %r1, 5; @!%p1 st.local.u32 [%rd6], %r1;\n"
             "cvta.local.u64 %rd7, %rd6; ld.u32 %r5, [%rd7];\n" +
             kOut),
        FaultKind::uninitialized, {"thread (5,0,0)"}, warp);
}

TEST_CASE("global memory: what the host and kernels have written counts") {
  const std::string read = body("ld.global.u32 %r5, [%rd3];\n");
  CHECK(partly_written(read, 128).message == "it ran");
  const Fault fault = partly_written(read, 120);
  INFO(fault.message);
  CHECK(fault.kind == FaultKind::uninitialized);
  CHECK(fault.message.find("thread (30,0,0): reads 4 bytes at global address 0x") !=
        std::string::npos);
  CHECK(fault.message.find("it is byte 120 of the 4096 bytes at 0x") != std::string::npos);
  CHECK(partly_written(body("st.global.u32 [%rd3+512], %r1; ld.global.u32 %r5, [%rd3+512];\n"), 0)
            .message == "it ran");
  const std::string copy =
      "mov.u32 %r5, s; shl.b32 %r6, %r1, 4; add.u32 %r5, %r5, %r6; mul.wide.u32 %rd4, %r1, 16;\n"
      "add.u64 %rd5, %rd1, %rd4; cp.async.cg.shared.global [%r5], [%rd5], 16;\n"
      "cp.async.wait_all;\n";
  CHECK(partly_written(body(copy), 512).message == "it ran");
  CHECK(partly_written(body(copy), 511).kind == FaultKind::uninitialized);
  CHECK(partly_written(body(copy), 512, true).message == "it ran");
  CHECK(partly_written(body(copy), 511, true).kind == FaultKind::uninitialized);
  // Module variables begin as zeros.
  CHECK(partly_written(
            body("ld.global.u32 %r5, [counter+4];\n", ".global .align 4 .b8 counter[16];\n"), 0)
            .message == "it ran");
}

TEST_CASE("after a launch that is not checked nothing is said to be unwritten") {
  Bench bench(body("ld.global.u32 %r5, [%rd3+128];\n"), 1024);
  const BufferHandle other = bench.device->allocate(4096);
  bench.launch.arguments = {other};
  bench.launch.checks = Checks::all();
  REQUIRE_FALSE(bench.run());
  bench.launch.checks = {};
  CHECK(bench.run());
  bench.launch.checks = Checks::all();
  CHECK(bench.run());
}

TEST_CASE("a buffer that was released is known as such") {
  Bench bench(body("ld.global.u64 %rd5, [%rd1]; ld.global.u32 %r5, [%rd5+16];\n"), 1024);
  const BufferHandle other = bench.device->allocate(4096);
  const auto address = std::get<std::vector<std::byte>>(bench.device->address(other, 0));
  REQUIRE(bench.device->write(bench.buffer, 0, address));
  CHECK(bench.run());
  bench.device->release(other);
  const auto outcome = bench.run();
  REQUIRE_FALSE(outcome);
  INFO(outcome.error().message);
  CHECK(outcome.error().kind == FaultKind::freed);
  CHECK(outcome.error().message.find("it is byte 16 of the 4096 bytes at 0x") != std::string::npos);
  CHECK(outcome.error().message.find("which have been released") != std::string::npos);
}

}  // namespace fa_tune::test
