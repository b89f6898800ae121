#include <fmt/format.h>

#include "tools/bench/emulator/tensor_core/parts.hpp"

namespace fa_tune::bench {

using emulator::Accumulator;
using emulator::bits_of;
using emulator::Element;
using emulator::MmaKind;
using emulator::TensorRule;

namespace {

const char* name_of(Element element) {
  constexpr const char* names[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"};
  return names[static_cast<int>(element)];
}

const char* name_of(Accumulator sums) {
  constexpr const char* names[] = {"f32", "f16", "s32"};
  return names[static_cast<int>(sums)];
}

Format mma(Element a, Element b, Accumulator sums, int k, bool saturate = false, int m = 16) {
  Format format;
  format.m = m;
  format.kind = {a, b, sums, k, TensorRule::hopper, saturate};
  format.name = fmt::format("mma.sync.aligned.m{}n8k{}.row.col{}.{}.{}.{}.{}", m, k,
                            saturate ? ".satfinite" : "", name_of(sums), name_of(a), name_of(b),
                            name_of(sums));
  return format;
}

Format wgmma(Element a, Element b, Accumulator sums, bool saturate = false) {
  Format format;
  format.wgmma = true;
  format.kind = {a, b, sums, 256 / bits_of(a), TensorRule::hopper_wgmma, saturate};
  format.name = fmt::format("wgmma.mma_async.sync.aligned.m64n8k{}{}.{}.{}.{}", format.kind.k,
                            saturate ? ".satfinite" : "", name_of(sums), name_of(a), name_of(b));
  return format;
}

Format f64(int m, int k) {
  Format format;
  format.f64 = true;
  format.m = m;
  format.kind.k = k;
  format.name = fmt::format("mma.sync.aligned.m{}n8k{}.row.col.f64.f64.f64.f64", m, k);
  return format;
}

std::string join(int count, int from, const char* pattern) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += fmt::format(fmt::runtime(pattern), from + i);
  }
  return text;
}

}  // namespace

int Format::a_registers() const {
  return (f64 ? kind.k / 4 : kind.k * bits_of(kind.a) / 128) * (m / 8);
}

int Format::b_registers() const { return f64 ? kind.k / 4 : kind.k * bits_of(kind.b) / 128; }

int Format::sums() const { return m / (kind.accumulator == Accumulator::f16 && !f64 ? 8 : 4); }

std::string Format::source() const {
  const char* word = f64 ? "double" : "unsigned";
  const bool real = kind.accumulator == Accumulator::f32 && !f64;
  const char* constraint = f64 ? "d" : real ? "f" : "r";
  const char* operand_constraint = f64 ? "d" : "r";
  std::string text = fmt::format(
      "extern \"C\" __global__ void k(const {0}* a, const {0}* b, const {0}* c, {0}* d) {{\n"
      "  const unsigned warp = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;\n",
      word);
  const auto load = [&](char operand, int count, bool as_float) {
    for (int i = 0; i < count; ++i) {
      const std::string place =
          fmt::format("{}[(warp * {}ull + {}) * 32 + lane]", operand, count, i);
      text += fmt::format(fmt::runtime(as_float ? "  float {0}{1} = __uint_as_float({2});\n"
                                                : "  {3} {0}{1} = {2};\n"),
                          operand, i, place, word);
    }
  };
  load('a', a_registers(), false);
  load('c', sums(), real);
  const int d_count = sums();
  const int a_count = a_registers();
  const int b_count = b_registers();
  if (wgmma) {
    // B: two core matrices of 8 rows of 16 bytes; a fragment's registers lie in their order.
    text += fmt::format(
        "  __shared__ __align__(128) unsigned tile[64];\n"
        "  if (threadIdx.x < 64) tile[threadIdx.x] = b[blockIdx.x * 4 * 64ull + threadIdx.x];\n"
        "  asm volatile(\"fence.proxy.async;\" ::: \"memory\");\n"
        "  __syncthreads();\n"
        "  unsigned long long at;\n"
        "  asm(\"cvta.to.shared.u64 %0, %1;\" : \"=l\"(at) : \"l\"(tile));\n"
        "  const unsigned long long descriptor = ((at & 0x3ffff) >> 4) | 8ull << 16 | 8ull << "
        "32;\n"
        "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
        "  asm volatile(\"{} {{{}}}, {{{}}}, %{}, 1{};\" : {} : {}, \"l\"(descriptor));\n"
        "  asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
        "  asm volatile(\"wgmma.wait_group.sync.aligned 0;\" : {} :: \"memory\");\n",
        name, join(d_count, 0, "%{}"), join(a_count, d_count, "%{}"), d_count + a_count,
        kind.accumulator == Accumulator::s32 ? ""
        : bits_of(kind.a) == 16              ? ", 1, 1, 0"
                                             : ", 1, 1",
        join(d_count, 0, (std::string("\"+") + constraint + "\"(c{})").c_str()),
        join(a_count, 0, "\"r\"(a{})"),
        join(d_count, 0, (std::string("\"+") + constraint + "\"(c{})").c_str()));
  } else {
    load('b', b_count, false);
    text +=
        fmt::format("  asm volatile(\"{} {{{}}}, {{{}}}, {{{}}}, {{{}}};\" : {} : {}, {});\n", name,
                    join(d_count, 0, "%{}"), join(a_count, d_count, "%{}"),
                    join(b_count, d_count + a_count, "%{}"), join(d_count, 0, "%{}"),
                    join(d_count, 0, (std::string("\"+") + constraint + "\"(c{})").c_str()),
                    join(a_count, 0, (std::string("\"") + operand_constraint + "\"(a{})").c_str()),
                    join(b_count, 0, (std::string("\"") + operand_constraint + "\"(b{})").c_str()));
  }
  for (int i = 0; i < d_count; ++i) {
    text += fmt::format(fmt::runtime(real ? "  d[(warp * {0}ull + {1}) * 32 + lane] = "
                                            "__float_as_uint(c{1});\n"
                                          : "  d[(warp * {0}ull + {1}) * 32 + lane] = c{1};\n"),
                        d_count, i);
  }
  return text + "}\n";
}

std::vector<Format> all_formats() {
  constexpr auto f32 = Accumulator::f32;
  constexpr auto f16 = Accumulator::f16;
  constexpr auto s32 = Accumulator::s32;
  std::vector<Format> formats;
  for (const int k : {8, 16}) {
    formats.push_back(mma(Element::f16, Element::f16, f32, k));
    formats.push_back(mma(Element::f16, Element::f16, f16, k));
    formats.push_back(mma(Element::bf16, Element::bf16, f32, k));
    formats.push_back(mma(Element::tf32, Element::tf32, f32, k / 2));
  }
  formats.push_back(wgmma(Element::f16, Element::f16, f32));
  formats.push_back(wgmma(Element::f16, Element::f16, f16));
  formats.push_back(wgmma(Element::bf16, Element::bf16, f32));
  formats.push_back(wgmma(Element::tf32, Element::tf32, f32));
  for (const Element a : {Element::e4m3, Element::e5m2}) {
    for (const Element b : {Element::e4m3, Element::e5m2}) {
      for (const Accumulator sums : {f32, f16}) {
        for (const int k : {16, 32}) formats.push_back(mma(a, b, sums, k));
        formats.push_back(wgmma(a, b, sums));
      }
    }
  }
  for (const Element a : {Element::s8, Element::u8}) {
    for (const Element b : {Element::s8, Element::u8}) {
      for (const bool saturate : {false, true}) {
        formats.push_back(mma(a, b, s32, 16, saturate, 8));
        formats.push_back(mma(a, b, s32, 16, saturate));
        formats.push_back(mma(a, b, s32, 32, saturate));
        formats.push_back(wgmma(a, b, s32, saturate));
      }
    }
  }
  formats.push_back(f64(8, 4));
  for (const int k : {4, 8, 16}) formats.push_back(f64(16, k));
  return formats;
}

}  // namespace fa_tune::bench
