#pragma once

#include <bit>

#include <doctest/doctest.h>

#include "tests/engine/device/emulator/support.hpp"

// One instruction at a time, for tests of what it gives.

namespace fa_tune::test {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

inline u32 f(float value) { return std::bit_cast<u32>(value); }
inline u64 d(double value) { return std::bit_cast<u64>(value); }

// Runs one piece of PTX with %h1.., %r1.., %l1.. holding the low bits of a, b, c, and %h0, %r0, %l0
// and %p0 for results, once for all lanes and once for odd lanes alone: both must agree, and even
// lanes must keep what they had. Returns %l0, else %p0, else %r0, else %h0, by which of them the
// text mentions.
inline u64 eval(const std::string& text, u64 a = 0, u64 b = 0, u64 c = 0,
                const std::string& before = "") {
  const auto mentions = [&](const char* name) { return text.find(name) != std::string::npos; };
  const auto body = [&](bool odd_only) {
    std::string out =
        ".reg .b16 %h<6>; .reg .b32 %r<9>; .reg .b64 %l<9>; .reg .pred %p<5>; .reg .b32 %t;\n"
        ".reg .b128 %q<3>; .reg .b8 %b<5>;\n"
        "ld.param.u64 %l4, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %l5, %t, 8;\n"
        "add.u64 %l5, %l4, %l5; ld.param.u64 %l1, [a]; ld.param.u64 %l2, [b];\n"
        "ld.param.u64 %l3, [c]; cvt.u32.u64 %r1, %l1; cvt.u32.u64 %r2, %l2;\n"
        "cvt.u32.u64 %r3, %l3; cvt.u16.u64 %h1, %l1; cvt.u16.u64 %h2, %l2; cvt.u16.u64 %h3, %l3;\n"
        "mov.u64 %l0, 7; mov.u32 %r0, 7; mov.u16 %h0, 7; setp.ne.u32 %p0, %t, %t;\n";
    if (odd_only) out += "and.b32 %t, %t, 1; setp.eq.u32 %p3, %t, 0; @%p3 bra SKIP;\n";
    out += text + "\nSKIP:\n";
    if (!mentions("%l0")) {
      out += mentions("%p0")   ? "selp.u64 %l0, 1, 7, %p0;\n"
             : mentions("%r0") ? "cvt.u64.u32 %l0, %r0;\n"
                               : "cvt.u64.u16 %l0, %h0;\n";
    }
    return out + "st.global.u64 [%l5], %l0;";
  };
  const std::string parameters = ".param .u64 out, .param .u64 a, .param .u64 b, .param .u64 c";
  std::vector<u32> results[2];
  for (const bool odd_only : {false, true}) {
    Bench bench(kernel(parameters, body(odd_only), before), 64);
    bench.launch.arguments = {bench.buffer, raw(a), raw(b), raw(c)};
    const auto outcome = bench.run();
    INFO(text);
    const std::string message = outcome ? "" : outcome.error().message;
    REQUIRE(message == "");
    results[odd_only ? 1 : 0] = bench.words();
  }
  const auto lane = [&](int which, std::size_t i) {
    return u64{results[which][2 * i + 1]} << 32 | results[which][2 * i];
  };
  INFO(text);
  CHECK(lane(0, 0) == lane(0, 31));
  CHECK(lane(1, 1) == lane(0, 1));
  CHECK(lane(1, 30) == 7);
  return lane(0, 0);
}

// Whether the text sets %p0.
inline bool holds(const std::string& text, u64 a = 0, u64 b = 0, u64 c = 0) {
  return eval(text, a, b, c) == 1;
}

}  // namespace fa_tune::test
