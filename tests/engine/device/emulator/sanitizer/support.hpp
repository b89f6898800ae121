#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/engine/device/emulator/support.hpp"

// Kernels that the sanitizers are to look at.

namespace fa_tune::test {

// The parameter `out` is a buffer of 32 words; %r1 thread, %r2 4 * thread, %r3 the address of the
// thread's word of `s`, %rd1 the buffer, %rd3 the thread's word there, %r4 the block.
inline std::string body(const std::string& text, const std::string& before = "") {
  return kernel(".param .u64 out",
                ".reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %rd<16>; .reg .pred %p<8>;\n"
                ".shared .align 16 .b8 s[2048];\n"
                "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"
                "add.u64 %rd3, %rd1, %rd2; mov.u32 %r3, s; shl.b32 %r2, %r1, 2;\n"
                "add.u32 %r3, %r3, %r2; mov.u32 %r4, %ctaid.x;\n" +
                    text,
                before);
}

struct Shape {
  std::uint32_t threads = 64;
  std::uint32_t blocks = 1;
  std::size_t words = 1024;
};

// The fault of a kernel under all checks and a few schedules; "it ran" if there is none.
inline device::Fault checked(const std::string& ptx, const Shape& shape = {}) {
  for (const std::uint64_t schedule : {0, 1, 2, 3, 4, 5, 6, 7}) {
    Bench bench(ptx, shape.words);
    bench.launch.config.block = {shape.threads, 1, 1};
    bench.launch.config.grid = {shape.blocks, 1, 1};
    bench.launch.checks = device::Checks::all();
    bench.launch.schedule = schedule;
    if (const auto outcome = bench.run(); !outcome) return outcome.error();
  }
  return {device::FaultKind::device_lost, "it ran"};
}

inline void clean(const std::string& ptx, const Shape& shape = {}) {
  INFO(ptx);
  CHECK(checked(ptx, shape).message == "it ran");
}

inline void found(const std::string& ptx, device::FaultKind kind,
                  const std::vector<std::string>& parts, const Shape& shape = {}) {
  const device::Fault fault = checked(ptx, shape);
  INFO(ptx);
  INFO(fault.message);
  CHECK(to_text(fault.kind) == to_text(kind));
  for (const std::string& part : parts) {
    INFO(part);
    CHECK(fault.message.find(part) != std::string::npos);
  }
}

}  // namespace fa_tune::test
