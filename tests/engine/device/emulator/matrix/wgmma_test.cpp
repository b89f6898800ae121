#include <cmath>
#include <functional>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/util/half.hpp"
#include "engine/util/random.hpp"
#include "tests/engine/device/emulator/hopper_support.hpp"

// wgmma against sums of whole numbers, which every element type holds exactly, in every layout of
// shared memory. The layouts are worked out here from row and column, not from addresses.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

enum class Number : std::uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8 };

int bytes_of(Number number) {
  if (number == Number::tf32) return 4;
  return number == Number::f16 || number == Number::bf16 ? 2 : 1;
}

const char* text_of(Number number) {
  constexpr const char* texts[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"};
  return texts[static_cast<int>(number)];
}

// The bits of a small whole number; negative ones are left out of u8.
std::uint32_t bits_of(Number number, int value) {
  const auto float8 = [&](int exponent_bits, int fraction_bits) -> std::uint32_t {
    if (value == 0) return 0;
    const int size = std::abs(value);
    const int exponent = std::bit_width(static_cast<unsigned>(size)) - 1;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int fraction = (size << fraction_bits >> exponent) & ((1 << fraction_bits) - 1);
    return static_cast<std::uint32_t>((value < 0 ? 0x80 : 0) | (exponent + bias) << fraction_bits |
                                      fraction);
  };
  switch (number) {
    case Number::f16:
      return to_f16(value);
    case Number::bf16:
      return to_bf16(value);
    case Number::tf32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case Number::e4m3:
      return float8(4, 3);
    case Number::e5m2:
      return float8(5, 2);
    default:
      return static_cast<std::uint32_t>(value) & 0xffU;
  }
}

// One matrix in shared memory: rows of m or n, 32 bytes of k.
struct Layout {
  int span = 0;  // bytes of the swizzle: 0, 32, 64, 128
  bool transposed = false;

  std::uint64_t leading(int) const { return !transposed ? 128 : span == 0 ? 128 : 16 * span; }
  std::uint64_t stride() const {
    if (span == 0) return 256;
    return 8 * static_cast<std::uint64_t>(span);
  }
  std::uint64_t mode() const { return span == 0 ? 0 : span == 128 ? 1 : span == 64 ? 2 : 3; }
  std::uint64_t descriptor(int rows) const {
    return leading(rows) / 16 << 16 | stride() / 16 << 32 | mode() << 62;
  }
  // Which of the 16-byte pieces of row `r` of a group of eight takes the place of piece `piece`.
  int piece_of(int r, int piece) const { return piece ^ (r * span / 128 % std::max(span / 16, 1)); }

  // Byte of an element of `size` bytes.
  int offset(int row, int k, int size) const {
    if (!transposed) {
      const int byte = k * size;
      if (span == 0) return row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16;
      return row / 8 * 8 * span + row % 8 * span + piece_of(row % 8, byte / 16) * 16 + byte % 16;
    }
    if (span == 0) return row / 8 * 256 + k / 8 * 128 + k % 8 * 16 + row % 8 * 2;
    const int across = span / 2;
    return row / across * 16 * span + k / 8 * 8 * span + k % 8 * span +
           piece_of(k % 8, row % across / 8) * 16 + row % 8 * 2;
  }
};

struct Product {
  Number a = Number::f16;
  Number b = Number::f16;
  std::string d = "f32";
  int n = 8;
  Layout a_layout;
  Layout b_layout;
  bool a_in_registers = false;
  bool a_negated = false;
  bool b_negated = false;

  int k() const { return 32 / bytes_of(a); }
  bool whole() const { return d == "s32"; }
  int registers() const { return n / 8 * (d == "f16" ? 2 : 4); }

  // Two products into the same sums: the first forgets what was there, the second adds.
  std::string ptx() const {
    std::string sums;
    for (int i = 0; i < registers(); ++i) sums += fmt::format("{}%d{}", i == 0 ? "" : ", ", i);
    std::string last =
        whole() ? "" : fmt::format(", {}, {}", a_negated ? -1 : 1, b_negated ? -1 : 1);
    if (bytes_of(a) == 2) {
      if (!a_in_registers) last += fmt::format(", {}", a_layout.transposed ? 1 : 0);
      last += fmt::format(", {}", b_layout.transposed ? 1 : 0);
    }
    const std::string type = d == "f32" ? "f32" : "b32";
    std::string text =
        kHopperRegisters + fmt::format(R"(
  .reg .{} %d<128>;
  .shared .align 1024 .b8 left[16384];
  .shared .align 1024 .b8 right[16384];
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [out];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, left;
  mov.u32 %r4, right;
FILL:
  cvt.u64.u32 %rd4, %r2;
  add.u64 %rd5, %rd1, %rd4;
  add.u64 %rd6, %rd2, %rd4;
  ld.global.u32 %r5, [%rd5];
  ld.global.u32 %r6, [%rd6];
  add.u32 %r7, %r3, %r2;
  add.u32 %r8, %r4, %r2;
  st.shared.u32 [%r7], %r5;
  st.shared.u32 [%r8], %r6;
  add.u32 %r2, %r2, 512;
  setp.lt.u32 %p1, %r2, 16384;
  @%p1 bra FILL;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 %r3, %r3, 4;
  shr.u32 %r4, %r4, 4;
  cvt.u64.u32 %rd7, %r3;
  cvt.u64.u32 %rd8, %r4;
  or.b64 %rd7, %rd7, {};
  or.b64 %rd8, %rd8, {};
  // Registers of A: rows 16w + lane / 4 and eight on, words lane % 4 and four on, from [a] as rows of
  // 32 bytes behind the image.
  shr.u32 %r10, %r1, 5;
  shl.b32 %r10, %r10, 4;
  and.b32 %r11, %r1, 31;
  shr.u32 %r12, %r11, 2;
  add.u32 %r10, %r10, %r12;
  and.b32 %r13, %r11, 3;
  shl.b32 %r14, %r10, 5;
  shl.b32 %r13, %r13, 2;
  add.u32 %r14, %r14, %r13;
  cvt.u64.u32 %rd9, %r14;
  add.u64 %rd9, %rd1, %rd9;
  ld.global.u32 %r20, [%rd9+16384];
  ld.global.u32 %r21, [%rd9+16640];
  ld.global.u32 %r22, [%rd9+16400];
  ld.global.u32 %r23, [%rd9+16656];
  wgmma.fence.sync.aligned;
  setp.ne.u32 %p2, %r1, %r1;
)",
                                       type, a_layout.descriptor(64), b_layout.descriptor(n));
    const std::string left = a_in_registers ? "{%r20, %r21, %r22, %r23}" : "%rd7";
    for (const char* adds : {"%p2", "1"}) {
      text +=
          fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{} {{{}}}, {}, %rd8, {}{};\n",
                      n, k(), d, text_of(a), text_of(b), sums, left, adds, last);
    }
    text += R"(
  wgmma.commit_group.sync.aligned;
  mov.u32 %r20, 0;
  wgmma.wait_group.sync.aligned 0;
  mul.lo.u32 %r24, %r1, )" +
            std::to_string(registers() * 4) + R"(;
  cvt.u64.u32 %rd10, %r24;
  add.u64 %rd10, %rd3, %rd10;
)";
    for (int i = 0; i < registers(); ++i)
      text += fmt::format("  st.global.{} [%rd10+{}], %d{};\n", type, 4 * i, i);
    return kernel(".param .u64 a, .param .u64 b, .param .u64 out", text);
  }
};

// Elements of sums that differ from exact ones, in all schedules; or what went wrong.
std::string run(const Product& product) {
  HopperBench bench(product.ptx());
  Random random(static_cast<std::uint64_t>(product.n) * 31 + static_cast<std::uint64_t>(product.a));
  const int k = product.k();
  const auto draw = [&](Number number) {
    const int value = static_cast<int>(random.below(5)) - 2;
    return number == Number::u8 ? std::abs(value) : value;
  };
  std::vector<int> a(static_cast<std::size_t>(64 * k));
  std::vector<int> b(static_cast<std::size_t>(product.n * k));
  for (int& value : a) value = draw(product.a);
  for (int& value : b) value = draw(product.b);
  const auto image = [&](const std::vector<int>& values, Number number, const Layout& layout) {
    const int size = bytes_of(number);
    std::vector<std::byte> bytes(16384 + 64 * 32);
    for (int i = 0; i < static_cast<int>(values.size()); ++i) {
      const std::uint32_t bits = bits_of(number, values[static_cast<std::size_t>(i)]);
      std::memcpy(bytes.data() + layout.offset(i / k, i % k, size), &bits,
                  static_cast<std::size_t>(size));
      if (i / k < 64)
        std::memcpy(bytes.data() + 16384 + i * size, &bits, static_cast<std::size_t>(size));
    }
    return bytes;
  };
  const BufferHandle out =
      bench.buffer(std::vector<std::uint32_t>(static_cast<std::size_t>(128 * product.registers())));
  bench.launch.arguments = {bench.buffer(image(a, product.a, product.a_layout)),
                            bench.buffer(image(b, product.b, product.b_layout)), out};
  bench.launch.checks = Checks::all();
  const int sign = (product.a_negated ? -1 : 1) * (product.b_negated ? -1 : 1);
  for (std::uint64_t schedule = 0; schedule < 4; ++schedule) {
    bench.launch.schedule = schedule;
    if (const std::string wrong = bench.run(); !wrong.empty()) return wrong;
    const auto words =
        bench.read<std::uint32_t>(out, static_cast<std::size_t>(128 * product.registers()));
    for (int row = 0; row < 64; ++row) {
      for (int column = 0; column < product.n; ++column) {
        int sum = 0;
        for (int i = 0; i < k; ++i) {
          sum += 2 * sign * a[static_cast<std::size_t>(row * k + i)] *
                 b[static_cast<std::size_t>(column * k + i)];
        }
        // PTX ISA, "Register Fragments": thread and register of an element of D.
        const int thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
        const int pair = column / 8 * 2 + row % 16 / 8;
        double got = 0;
        if (product.d == "f16") {
          const std::uint32_t word =
              words[static_cast<std::size_t>(thread * product.registers() + pair)];
          got = from_f16(static_cast<std::uint16_t>(column % 2 == 0 ? word : word >> 16));
        } else {
          const std::uint32_t word =
              words[static_cast<std::size_t>(thread * product.registers() + 2 * pair + column % 2)];
          got = product.whole() ? static_cast<std::int32_t>(word)
                                : double{std::bit_cast<float>(word)};
        }
        if (got != sum)
          return fmt::format("schedule {}, row {}, column {}: {} for {}", schedule, row, column,
                             got, sum);
      }
    }
  }
  return "";
}

// Asks a small product for something wrong: `from` in its text becomes `to`.
std::string spoiled(const std::string& from, const std::string& to) {
  const Product product;
  std::string ptx = product.ptx();
  const std::size_t at = ptx.find(from);
  REQUIRE(at != std::string::npos);
  ptx.replace(at, from.size(), to);
  HopperBench bench(ptx);
  bench.launch.checks = Checks::all();
  const auto zeros = std::vector<std::byte>(20000);
  bench.launch.arguments = {bench.buffer(zeros), bench.buffer(zeros), bench.buffer(zeros)};
  return bench.run();
}

}  // namespace

TEST_CASE("wgmma of every element and of several widths") {
  const std::pair<Number, Number> elements[] = {
      {Number::f16, Number::f16},   {Number::bf16, Number::bf16}, {Number::tf32, Number::tf32},
      {Number::e4m3, Number::e4m3}, {Number::e4m3, Number::e5m2}, {Number::e5m2, Number::e4m3},
      {Number::e5m2, Number::e5m2}, {Number::s8, Number::s8},     {Number::s8, Number::u8},
      {Number::u8, Number::s8},     {Number::u8, Number::u8}};
  for (const auto& [a, b] : elements) {
    const bool whole = a == Number::s8 || a == Number::u8;
    for (const int n : {8, 24, 128, 256}) {
      for (const bool registers : {false, true}) {
        Product product;
        product.a = a;
        product.b = b;
        product.d = whole ? "s32" : "f32";
        product.n = n;
        product.a_in_registers = registers;
        INFO(text_of(a), " ", text_of(b), " ", n, registers ? " registers" : "");
        CHECK(run(product) == "");
      }
    }
  }
}

TEST_CASE("wgmma reads every layout of shared memory") {
  for (const int span : {0, 32, 64, 128}) {
    for (const bool a_transposed : {false, true}) {
      for (const bool b_transposed : {false, true}) {
        Product product;
        product.n = 64;
        product.a_layout = {span, a_transposed};
        product.b_layout = {span, b_transposed};
        INFO(span, " ", a_transposed, " ", b_transposed);
        CHECK(run(product) == "");
      }
    }
    Product bytes;
    bytes.a = bytes.b = Number::e4m3;
    bytes.n = 40;
    bytes.a_layout = bytes.b_layout = {span, false};
    CHECK(run(bytes) == "");
  }
}

TEST_CASE("wgmma negates its factors and sums halves") {
  Product product;
  product.n = 16;
  product.a_negated = true;
  CHECK(run(product) == "");
  product.b_negated = true;
  product.b = product.a = Number::bf16;
  CHECK(run(product) == "");
  product.a_negated = false;
  product.b = product.a = Number::f16;
  product.d = "f16";
  CHECK(run(product) == "");
}

TEST_CASE("sums of a wgmma that nobody has waited for are not to be touched") {
  const std::string wait = "wgmma.wait_group.sync.aligned 0;";
  const std::string touch = "add.f32 %d0, %d0, %d0;\n" + wait;
  const std::string outcome = spoiled(wait, touch);
  INFO(outcome);
  CHECK(outcome.starts_with("sync: "));
  CHECK(outcome.find("touches a sum of wgmma.mma_async") != std::string::npos);
  // The compiler's own moves make it wait.
  CHECK(spoiled(wait, "mov.f32 %d1, %d0;\n" + wait) == "");
  // One group may stay under way: then the sums are still not there.
  CHECK(spoiled(wait, "wgmma.wait_group.sync.aligned 1;").starts_with("sync: "));
}

TEST_CASE("registers of a wgmma want a fence") {
  CHECK(spoiled("wgmma.fence.sync.aligned;", "").find("no wgmma.fence") != std::string::npos);
  CHECK(spoiled("setp.ne.u32 %p2, %r1, %r1;", "setp.ne.u32 %p2, %r1, %r1;\nadd.f32 %d0, %d0, %d0;")
            .find("since the last wgmma.fence") != std::string::npos);
  // What the compiler moves into place after the fence is its own affair.
  CHECK(spoiled("setp.ne.u32 %p2, %r1, %r1;",
                "setp.ne.u32 %p2, %r1, %r1;\nmov.f32 %d0, 0f00000000;") == "");
}

TEST_CASE("a tile that is written while a wgmma may read it is a race") {
  const std::string commit = "wgmma.commit_group.sync.aligned;";
  const std::string outcome = spoiled(commit, commit + "\nst.shared.u32 [left], %r1;");
  INFO(outcome);
  CHECK(outcome.starts_with("race: "));
}

TEST_CASE("all warps of a warpgroup execute the same wgmma") {
  const std::string fence = "wgmma.fence.sync.aligned;";
  const std::string first_warp = ".reg .pred %first;\nsetp.lt.u32 %first, %r1, 32;\n";
  const std::string last_warp = ".reg .pred %last;\nsetp.ge.u32 %last, %r1, 96;\n";
  const auto refused = [](const std::string& outcome, const std::string& reason) {
    INFO(outcome);
    CHECK(outcome.starts_with("sync: "));
    CHECK(outcome.find(reason) != std::string::npos);
  };
  refused(spoiled("wgmma.mma_async", last_warp + "@!%last wgmma.mma_async"),
          "another warp of its warpgroup executes the wgmma at line");
  refused(spoiled(fence, last_warp + "@%last exit;\n" + fence),
          "another warp of its warpgroup has exited without it");
  refused(spoiled(fence, first_warp + "@%first exit;\n" + fence),
          "exits without the wgmma at line");
  refused(spoiled(fence, last_warp + "@%last add.u64 %rd8, %rd8, 1;\n" + fence),
          "its matrix descriptor is not that of the other warps");
  CHECK(spoiled(fence, first_warp + last_warp + fence) == "");
}

TEST_CASE("wgmma in the wrong is named") {
  CHECK(spoiled("or.b64 %rd8, %rd8, ", "or.b64 %rd8, %rd8, 16383;\nor.b64 %rd8, %rd8, ")
            .starts_with("out_of_bounds: "));
  CHECK(spoiled("m64n8k16", "m64n12k16").starts_with("unknown_instruction: "));
  CHECK(spoiled("m64n8k16", "m64n8k8").starts_with("unknown_instruction: "));
  CHECK(spoiled(", 1, 1, 0, 0;", ", 2, 1, 0, 0;").starts_with("load_failed: "));
}

}  // namespace fa_tune::test
