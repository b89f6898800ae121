#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/util/random.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/math/fragments.hpp"

// Matrix instructions as PTX: each form of mma against a product of whole numbers, the layouts by
// the formulas of the ISA; moves of 8 x 8 matrices.

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::emulator;

namespace {

using u32 = std::uint32_t;

// Loads `count` registers %name0.. from word `at` of the lane's column of the buffer.
std::string load(const std::string& name, int count, int at) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += fmt::format("ld.global.b32 %{}{}, [%rd3+{}];\n", name, i, (at + i) * 128);
  }
  return text;
}

std::string list(const std::string& name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, i);
  return text + "}";
}

constexpr const char* kLaneAddress =
    ".reg .b64 %rd<8>; .reg .b32 %t<4>; .reg .b32 %a<8>; .reg .b32 %b<4>; .reg .b32 %d<8>;\n"
    "ld.param.u64 %rd1, [out]; mov.u32 %t1, %tid.x; mul.wide.u32 %rd2, %t1, 4;\n"
    "add.u64 %rd3, %rd1, %rd2;\n";

struct Form {
  const char* opcode;
  MmaKind kind;  // without the rule, which is the device's
  int m = 16;
};

const Form kForms[] = {
    {"m16n8k8.row.col.f32.f16.f16.f32", {Element::f16, Element::f16, Accumulator::f32, 8}},
    {"m16n8k16.row.col.f32.f16.f16.f32", {Element::f16, Element::f16, Accumulator::f32, 16}},
    {"m16n8k8.row.col.f16.f16.f16.f16", {Element::f16, Element::f16, Accumulator::f16, 8}},
    {"m16n8k16.row.col.f16.f16.f16.f16", {Element::f16, Element::f16, Accumulator::f16, 16}},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", {Element::bf16, Element::bf16, Accumulator::f32, 8}},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", {Element::bf16, Element::bf16, Accumulator::f32, 16}},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", {Element::tf32, Element::tf32, Accumulator::f32, 4}},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", {Element::tf32, Element::tf32, Accumulator::f32, 8}},
    {"m16n8k16.row.col.f32.e4m3.e5m2.f32", {Element::e4m3, Element::e5m2, Accumulator::f32, 16}},
    {"m16n8k32.row.col.f32.e5m2.e5m2.f32", {Element::e5m2, Element::e5m2, Accumulator::f32, 32}},
    {"m16n8k16.row.col.f16.e4m3.e4m3.f16", {Element::e4m3, Element::e4m3, Accumulator::f16, 16}},
    {"m16n8k32.row.col.f16.e5m2.e4m3.f16", {Element::e5m2, Element::e4m3, Accumulator::f16, 32}},
    {"m8n8k16.row.col.s32.s8.s8.s32", {Element::s8, Element::s8, Accumulator::s32, 16}, 8},
    {"m8n8k16.row.col.satfinite.s32.u8.s8.s32",
     {Element::u8, Element::s8, Accumulator::s32, 16},
     8},
    {"m16n8k16.row.col.s32.s8.u8.s32", {Element::s8, Element::u8, Accumulator::s32, 16}},
    {"m16n8k32.row.col.s32.u8.u8.s32", {Element::u8, Element::u8, Accumulator::s32, 32}},
    {"m16n8k32.row.col.satfinite.s32.s8.s8.s32", {Element::s8, Element::s8, Accumulator::s32, 32}},
};

struct Matrices {
  int a[16][32] = {};
  int b[32][8] = {};
  int c[16][8] = {};
};

Matrices small_numbers(const MmaKind& kind, std::uint64_t seed) {
  Random random(seed);
  const auto small = [&](Element element) {
    const int value = static_cast<int>(random.below(9)) - 4;
    return element == Element::u8 ? std::abs(value) : value;
  };
  Matrices result;
  for (auto& row : result.a) {
    for (int& x : row) x = small(kind.a);
  }
  for (auto& row : result.b) {
    for (int& x : row) x = small(kind.b);
  }
  for (auto& row : result.c) {
    for (int& x : row) x = small(Element::s8);
  }
  return result;
}

u32 encode_sum(Accumulator sums, int value) {
  if (sums == Accumulator::s32) return static_cast<u32>(value);
  if (sums == Accumulator::f16) return to_f16(value);
  return std::bit_cast<u32>(static_cast<float>(value));
}

int a_registers(const Form& form) { return form.kind.k * bits_of(form.kind.a) / 128 * form.m / 8; }
int b_registers(const Form& form) { return form.kind.k * bits_of(form.kind.b) / 128; }
int sums(const Form& form) { return form.m / (form.kind.accumulator == Accumulator::f16 ? 8 : 4); }

// Registers of A, B and C, 32 words each, one after the other.
std::vector<u32> words_of(const Form& form, const Matrices& matrices) {
  const MmaKind& kind = form.kind;
  const int b_at = a_registers(form) * 32;
  const int c_at = b_at + b_registers(form) * 32;
  std::vector<u32> words(static_cast<std::size_t>(c_at + sums(form) * 32));
  for (int lane = 0; lane < 32; ++lane) {
    // Of 8 rows a lane has the first half of each 128 bits of k; those lie first.
    for (int i = 0; i < kind.k * form.m / 32; ++i) {
      const Place place = place_of_a(kind.a, lane, i);
      put(&words[lane], kind.a, i, encode(kind.a, matrices.a[place.row][place.k]));
    }
    for (int i = 0; i < kind.k / 4; ++i) {
      put(&words[b_at + lane], kind.b, i,
          encode(kind.b, matrices.b[place_of_b(kind.b, lane, i)][lane / 4]));
    }
    for (int i = 0; i < form.m / 4; ++i) {
      const int value = matrices.c[lane / 4 + (i >= 2 ? 8 : 0)][lane % 4 * 2 + i % 2];
      const u32 bits = encode_sum(kind.accumulator, value);
      const Element packed = kind.accumulator == Accumulator::f16 ? Element::f16 : Element::tf32;
      put(&words[c_at + lane], packed, i, bits);
    }
  }
  return words;
}

// What the instruction should leave in the registers of D.
std::vector<u32> expected(const Form& form, const Matrices& matrices) {
  std::vector<u32> words(static_cast<std::size_t>(sums(form) * 32));
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < form.m / 4; ++i) {
      const int row = lane / 4 + (i >= 2 ? 8 : 0);
      const int column = lane % 4 * 2 + i % 2;
      int sum = matrices.c[row][column];
      for (int k = 0; k < form.kind.k; ++k) sum += matrices.a[row][k] * matrices.b[k][column];
      const bool half = form.kind.accumulator == Accumulator::f16;
      put(&words[lane], half ? Element::f16 : Element::tf32, i,
          encode_sum(form.kind.accumulator, sum));
    }
  }
  return words;
}

std::string kernel_of(const Form& form, const std::string& d) {
  const int a = a_registers(form);
  const int b = b_registers(form);
  const int c = sums(form);
  std::string body = kLaneAddress + load("a", a, 0) + load("b", b, a) + load("d", c, a + b);
  body += fmt::format("mma.sync.aligned.{} {}, {}, {}, {};\n", form.opcode, list(d, c),
                      list("a", a), list("b", b), list("d", c));
  for (int i = 0; i < c; ++i) {
    body += fmt::format("st.global.b32 [%rd3+{}], %{}{};\n", (a + b + i) * 128, d, i);
  }
  return kernel(".param .u64 out", body);
}

std::vector<u32> run(const std::string& ptx, const std::vector<u32>& words, std::size_t from) {
  Bench bench(ptx, words.size());
  bench.write(words);
  const auto outcome = bench.run();
  const std::string message = outcome ? "" : outcome.error().message;
  REQUIRE(message == "");
  const auto result = bench.words();
  return {result.begin() + static_cast<std::ptrdiff_t>(from), result.end()};
}

}  // namespace

TEST_CASE("each form of mma multiplies matrices in the layouts of the ISA") {
  for (const Form& form : kForms) {
    CAPTURE(std::string(form.opcode));
    const Matrices matrices = small_numbers(form.kind, 17);
    const auto words = words_of(form, matrices);
    const auto from = words.size() - static_cast<std::size_t>(sums(form) * 32);
    CHECK(run(kernel_of(form, "d"), words, from) == expected(form, matrices));
  }
}

TEST_CASE("the result of mma may lie in the registers of a") {
  for (const Form& form : kForms) {
    if (a_registers(form) < sums(form)) continue;
    CAPTURE(std::string(form.opcode));
    const Matrices matrices = small_numbers(form.kind, 18);
    const auto words = words_of(form, matrices);
    const auto from = words.size() - static_cast<std::size_t>(sums(form) * 32);
    CHECK(run(kernel_of(form, "a"), words, from) == expected(form, matrices));
  }
}

TEST_CASE("integer products wrap around, or clamp where satfinite says so") {
  const Form form{"m16n8k32.row.col.s32.s8.s8.s32",
                  {Element::s8, Element::s8, Accumulator::s32, 32}};
  Form clamped = form;
  clamped.opcode = "m16n8k32.row.col.satfinite.s32.s8.s8.s32";
  std::vector<u32> words(10 * 32, 0x7F7F7F7FU);
  for (std::size_t i = 6 * 32; i < words.size(); ++i) words[i] = 0x7FFFFF00U;
  CHECK(run(kernel_of(form, "d"), words, 6 * 32)[0] == 0x7FFFFF00U + 32 * 127 * 127);
  CHECK(run(kernel_of(clamped, "d"), words, 6 * 32)[0] == 0x7FFFFFFFU);
}

TEST_CASE("mma of f64, also into the registers of its operands") {
  for (const auto& [m, k] : {std::pair{8, 4}, {16, 4}, {16, 8}, {16, 16}}) {
    const int a = m * k / 32;
    const int b = k / 4;
    const int c = m / 4;
    Random random(23);
    // One column of the buffer a lane, 8 bytes each.
    std::vector<double> values(static_cast<std::size_t>(a + b + c) * 32);
    for (double& value : values) value = random.normal();
    std::string body =
        ".reg .b64 %rd<8>; .reg .b32 %t<4>; .reg .f64 %a<12>; .reg .f64 %b<4>; .reg .f64 %d<8>;\n"
        "ld.param.u64 %rd1, [out]; mov.u32 %t1, %tid.x; mul.wide.u32 %rd2, %t1, 8;\n"
        "add.u64 %rd3, %rd1, %rd2;\n";
    const auto load64 = [](const char* name, int count, int at) {
      std::string text;
      for (int i = 0; i < count; ++i) {
        text += fmt::format("ld.global.f64 %{}{}, [%rd3+{}];\n", name, i, (at + i) * 256);
      }
      return text;
    };
    body += load64("a", a, 0) + load64("b", b, a) + load64("d", c, a + b);
    const std::string into = a >= c ? "a" : "d";
    body += fmt::format("mma.sync.aligned.m{}n8k{}.row.col.f64.f64.f64.f64 {}, {}, {}, {};\n", m, k,
                        list(into, c), list("a", a), list("b", b), list("d", c));
    for (int i = 0; i < c; ++i) {
      body += fmt::format("st.global.f64 [%rd3+{}], %{}{};\n", (a + b + i) * 256, into, i);
    }
    std::vector<u32> words(values.size() * 2);
    std::memcpy(words.data(), values.data(), words.size() * 4);
    const auto at = static_cast<std::size_t>(a + b) * 64;
    const auto result = run(kernel(".param .u64 out", body), words, at);
    std::vector<double> found(result.size() / 2);
    std::memcpy(found.data(), result.data(), result.size() * 4);
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < c; ++i) {
        const int row = i / 2;  // in units of 8
        const int column = lane % 4 * 2 + i % 2;
        double sum = values[static_cast<std::size_t>((a + b + i) * 32 + lane)];
        for (int each = 0; each < k; ++each) {
          const int a_at = (row + m / 8 * (each / 4)) * 32 + lane / 4 * 4 + each % 4;
          const int b_at = (a + each / 4) * 32 + column * 4 + each % 4;
          sum = std::fma(values[static_cast<std::size_t>(a_at)],
                         values[static_cast<std::size_t>(b_at)], sum);
        }
        REQUIRE(found[static_cast<std::size_t>(i * 32 + lane)] == sum);
      }
    }
  }
}

TEST_CASE("stmatrix puts matrices where ldmatrix finds them, and movmatrix transposes") {
  const std::string body = std::string(kLaneAddress) + load("a", 4, 0) + R"(
.shared .align 16 .b8 tile[1024];
mov.u32 %t2, tile; and.b32 %t3, %t1, 31; shl.b32 %t3, %t3, 4; add.u32 %t2, %t2, %t3;
)";
  const std::string store =
      "st.global.b32 [%rd3], %d0; st.global.b32 [%rd3+128], %d1;\n"
      "st.global.b32 [%rd3+256], %d2; st.global.b32 [%rd3+384], %d3;";
  std::vector<u32> words(128);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<u32>(i * 0x10001 + 0x8000);
  const auto with = [&](const std::string& text) {
    return run(kernel(".param .u64 out", body + text + store), words, 0);
  };
  const std::string four = "{%a0, %a1, %a2, %a3};\n";
  const std::string back = " {%d0, %d1, %d2, %d3}, [%t2];\n";
  CHECK(with("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%t2], " + four +
             "ldmatrix.sync.aligned.m8n8.x4.shared.b16" + back) == words);
  CHECK(with("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%t2], " + four +
             "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16" + back) == words);
  // Stored plain and read by the ISA's formula: row r of matrix j is 16 bytes at lane 8j + r's
  // address, and element c of it is half c % 2 of lane 4r + c / 2.
  const auto memory = with("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%t2], " + four +
                           "ld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%t2];\n");
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) {
      REQUIRE(memory[i * 32 + lane] == words[lane / 8 * 32 + lane % 8 * 4 + i]);
    }
  }
  // Transposed: that element is in row c instead.
  const auto turned = with("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%t2], " + four +
                           "ldmatrix.sync.aligned.m8n8.x4.shared.b16" + back);
  std::string moves;
  for (int i = 0; i < 4; ++i) {
    moves += fmt::format("movmatrix.sync.aligned.m8n8.trans.b16 %d{0}, %a{0};\n", i);
  }
  const auto moved = with(moves);
  const auto half = [](const std::vector<u32>& all, std::size_t j, std::size_t r, std::size_t c) {
    return all[j * 32 + r * 4 + c / 2] >> (16 * (c % 2)) & 0xFFFF;
  };
  for (std::size_t j = 0; j < 4; ++j) {
    for (std::size_t r = 0; r < 8; ++r) {
      for (std::size_t c = 0; c < 8; ++c) {
        REQUIRE(half(moved, j, r, c) == half(words, j, c, r));
        REQUIRE(half(turned, j, r, c) == half(words, j, c, r));
      }
    }
  }
  // Fewer matrices write only their rows.
  const auto two = with(
      "st.shared.v4.b32 [%t2], {0, 0, 0, 0};\n"
      "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%t2], {%a0, %a1};\n"
      "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%t2], {%a2};\n"
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16" +
      back);
  for (std::size_t i = 0; i < 32; ++i) {
    REQUIRE(two[32 + i] == words[32 + i]);
    REQUIRE(two[64 + i] == 0);
    REQUIRE(two[96 + i] == 0);
  }
  REQUIRE(half(two, 0, 3, 5) == half(words, 2, 5, 3));
}

TEST_CASE("matrix instructions want every thread of the warp") {
  for (const std::string text :
       {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%d0, %d1, %d2, %d3}, "
        "{%a0, %a1, %a2, %a3}, {%b0, %b1}, {%d0, %d1, %d2, %d3};",
        "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%t2], {%a0};"}) {
    CAPTURE(text);
    const Fault fault = fault_of(
        kernel(".param .u64 out", std::string(kLaneAddress) +
                                      ".shared .align 16 .b8 tile[1024]; mov.u32 %t2, tile;\n"
                                      ".reg .pred %p<2>; setp.eq.u32 %p1, %t1, 7; @%p1 exit;\n" +
                                      text));
    CHECK(fault.kind == FaultKind::barrier);
  }
}

TEST_CASE("sums of tensor cores that nobody has measured are refused, those of whole numbers not") {
  const auto load = [](const std::string& arch, const std::string& form,
                       const std::string& registers) {
    const auto device = open_emulator(small_profile(arch), 1);
    const auto loaded = device->load(
        image(kernel(".param .u64 out",
                     ".reg .b32 %r<9>;\n.reg .f32 %f<9>;\nmma.sync.aligned." + form + " {" +
                         registers + "}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {" + registers + "};")));
    return loaded ? std::string("loaded") : to_text(loaded.error().kind) + loaded.error().message;
  };
  const std::string floats = "m16n8k16.row.col.f32.f16.f16.f32";
  const std::string wholes = "m16n8k32.row.col.s32.s8.s8.s32";
  for (const std::string arch : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"}) {
    CHECK(load(arch, floats, "%f1, %f2, %f3, %f4") == "loaded");
  }
  for (const std::string arch : {"sm_75", "sm_100", "sm_100a", "sm_120"}) {
    CAPTURE(arch);
    const std::string said = load(arch, floats, "%f1, %f2, %f3, %f4");
    CHECK_MESSAGE(said.starts_with("unknown_instruction"), said);
    CHECK_MESSAGE(said.find("how the tensor cores of this architecture add") != std::string::npos,
                  said);
    CHECK(load(arch, wholes, "%r1, %r2, %r3, %r4") == "loaded");
  }
}

TEST_CASE("forms of mma that do not exist are named when the kernel is loaded") {
  for (const std::string opcode :
       {"m16n8k16.row.col.f32.tf32.tf32.f32", "m16n8k8.row.col.f32.s8.s8.f32",
        "m16n8k16.row.col.f16.bf16.bf16.f16", "m16n8k16.row.col.f32.f16.bf16.f32",
        "m16n8k16.row.col.satfinite.f32.f16.f16.f32", "m8n8k16.row.col.f32.e4m3.e4m3.f32"}) {
    CAPTURE(opcode);
    const Fault fault = fault_of(
        kernel(".param .u64 out", std::string(kLaneAddress) + "mma.sync.aligned." + opcode +
                                      " {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, "
                                      "{%d0, %d1, %d2, %d3};"));
    CHECK(fault.kind == FaultKind::unknown_instruction);
  }
}

}  // namespace fa_tune::test
