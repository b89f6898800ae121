// What an NVIDIA H100 80GB HBM3 (driver 580.159.04, NVRTC 13.0.88, 2026-11-21) answered where the
// published rules are silent or differ: tools/bench/emulator/tensor_core found these.

#include <doctest/doctest.h>

#include "engine/device/emulator/tensor_core/tensor_core_reference.hpp"
#include "tests/engine/device/math/fragments.hpp"
#include "warp.hpp"

using namespace fa_tune::emulator;

namespace {

struct Case {
  MmaKind kind;
  std::array<std::uint32_t, 32> a;
  std::array<std::uint32_t, 32> b;
  std::uint32_t c;
  std::uint32_t answer;
};

// Signs of zeros; sums below the smallest normal number; fp8 with f16 sums by mma.sync.
constexpr Case kCases[] = {
    {{Element::f16, Element::f16, Accumulator::f16, 8, TensorRule::hopper},
     {0x80dc, 0x0, 0x0, 0x9c00, 0x90, 0x42cd, 0x83e8, 0x8000},
     {0x8000, 0x63ff, 0x8000, 0x0, 0x0, 0x0, 0x35f, 0x0},
     0x8000,
     0x0},
    {{Element::f16, Element::f16, Accumulator::f16, 8, TensorRule::hopper},
     {0x26f5, 0x2760, 0x269f, 0x27ba, 0xa56c, 0xa651, 0xa72b, 0xa586},
     {0xa000, 0x2095, 0xa2c0, 0xa1f0, 0xa000, 0xa3e8, 0xa09a, 0x2219},
     0x6d6,
     0x0},
    {{Element::f16, Element::f16, Accumulator::f16, 8, TensorRule::hopper},
     {0x1028, 0x198d, 0x8c0b, 0x1851, 0x1de2, 0x1742, 0x15e2, 0x1800},
     {0x96ee, 0x132c, 0x98a6, 0x1ba4, 0x90a8, 0xc6e, 0x1800, 0x1f26},
     0x818c,
     0x0},
    {{Element::bf16, Element::bf16, Accumulator::f32, 8, TensorRule::hopper},
     {0x1e7f, 0x1c9a, 0x9cad, 0x9e13, 0x9c6f, 0x1ccd, 0x1cad, 0x9e7f},
     {0x9d6b, 0x9d3e, 0x9d72, 0x1d27, 0x9d00, 0x1c87, 0x1de4, 0x1e45},
     0x0,
     0x80020fff},
    {{Element::bf16, Element::bf16, Accumulator::f32, 8, TensorRule::hopper},
     {0x2e00, 0x26a0, 0x8000, 0x890a, 0x8000, 0x8000, 0x96bc, 0x0},
     {0x2a, 0x933f, 0x8227, 0x0, 0x8b6d, 0x6319, 0x9938, 0x0},
     0x0,
     0x80000775},
    {{Element::tf32, Element::tf32, Accumulator::f32, 4, TensorRule::hopper},
     {0x9ba6f75e, 0x1c260086, 0x9ce1d4f1, 0x1c3ef41e},
     {0x1bfa0168, 0x1c5cb0c6, 0x9d000535, 0x9d8415e8},
     0x80000000,
     0x1b3},
    {{Element::tf32, Element::tf32, Accumulator::f32, 4, TensorRule::hopper},
     {0x807dc17b, 0x9bed3d87, 0x807ffa93, 0x908d28e},
     {0x338ad59b, 0x0, 0x0, 0x807fe731},
     0x80000000,
     0x0},
    {{Element::tf32, Element::tf32, Accumulator::f32, 4, TensorRule::hopper},
     {0xd99682f, 0x0, 0x487b873, 0x64258146},
     {0x252dd6bc, 0x67405ab2, 0x32001cb1, 0x0},
     0x0,
     0x11},
    {{Element::tf32, Element::tf32, Accumulator::f32, 4, TensorRule::hopper},
     {0x9ed67623, 0x20800ed1, 0x207fff91, 0x9f7e0519},
     {0x9e2a81db, 0x206320d2, 0x9f001424, 0x218546d4},
     0x8852e4,
     0x0},
    {{Element::tf32, Element::tf32, Accumulator::f32, 8, TensorRule::hopper_wgmma},
     {0x1c4acec5, 0x9b5be092, 0x9f3c0cb3, 0x9c619734, 0x1d271045, 0x1eb59858, 0x1c7feec1,
      0x9b1adf80},
     {0x9ed931e5, 0x1ca8a2e4, 0x9fff1bf2, 0x1b001113, 0x206bbae9, 0x9a02088a, 0x9fffeed9,
      0x1dd23c71},
     0x80000000,
     0x326fb7},
    {{Element::tf32, Element::tf32, Accumulator::f32, 8, TensorRule::hopper_wgmma},
     {0xad82bb58, 0x80000000, 0x7d614a, 0xaf001041, 0x80000000, 0x0, 0x0, 0x34dfbc67},
     {0x0, 0x8ffebfb, 0x89cdd1e4, 0x80000000, 0xbbe5e3fc, 0x177a95e3, 0xf4ac15a, 0x800f6b0c},
     0x80000000,
     0x0},
    {{Element::tf32, Element::tf32, Accumulator::f32, 8, TensorRule::hopper_wgmma},
     {0x9f8ff76a, 0x9f083d15, 0x20001c31, 0x214e1a33, 0x1f0014e8, 0x9f75b94a, 0x1fa8c0ec,
      0x214d2229},
     {0x20f51f90, 0xa134b5c6, 0x1f98d6ee, 0x1f7d0a8d, 0xa125188c, 0x9f7ff8a2, 0x1f53da52,
      0x9f7ffeb5},
     0x6d36f2,
     0x0},
    {{Element::e4m3, Element::e5m2, Accumulator::f16, 16, TensorRule::hopper},
     {0x88, 0xac, 0x9d, 0x78, 0xe1, 0x5b, 0x75, 0xb3, 0x0, 0x36, 0x69, 0xf5, 0x23, 0x13, 0x60,
      0x57},
     {0x78, 0xe4, 0xc0, 0xdd, 0x44, 0x0, 0x40, 0x58, 0x18, 0xbd, 0xec, 0x70, 0xef, 0xb7, 0xf2, 0x1},
     0x81f1,
     0xfc00},
    {{Element::e4m3, Element::e5m2, Accumulator::f16, 16, TensorRule::hopper},
     {0x2, 0x85, 0x87, 0x0, 0x6, 0x7, 0x81, 0x80, 0x80, 0x2, 0x4, 0x81, 0x82, 0x87, 0x85, 0x4},
     {0x8d, 0x10, 0x20, 0x18, 0x1d, 0x1c, 0x9f, 0x12, 0x99, 0xa0, 0x9f, 0xa3, 0x95, 0x18, 0x9b,
      0x9b},
     0xcab2,
     0xcab2},
    {{Element::e5m2, Element::e5m2, Accumulator::f16, 32, TensorRule::hopper_wgmma},
     {0xa3, 0x9c, 0x8, 0x92, 0x8c, 0x89, 0xa1, 0x9f, 0x8,  0x88, 0x1b, 0x18, 0x90, 0x20, 0x91, 0x8c,
      0x9c, 0x9f, 0xb, 0x11, 0x23, 0x9c, 0xa,  0x12, 0x9c, 0x99, 0x1a, 0x8d, 0x9a, 0xf,  0x19, 0xf},
     {0x14, 0xd,  0x24, 0x13, 0xd,  0x1a, 0x8c, 0x21, 0x7,  0x17, 0x8,
      0xa3, 0x21, 0x96, 0x6,  0x8b, 0x17, 0x14, 0x9c, 0x10, 0x21, 0x1e,
      0x8c, 0x5,  0x1e, 0x97, 0x9b, 0xa,  0x88, 0xf,  0x88, 0xa},
     0x372,
     0x0},
    // NVIDIA H200, the same driver and compiler.
    {{Element::bf16, Element::bf16, Accumulator::f32, 8, TensorRule::hopper},
     {0x8000, 0xb372, 0x587f, 0x50, 0x0, 0x8000, 0x3b3c, 0x5b},
     {0x807e, 0x8000, 0x8000, 0x94ff, 0x8000, 0x8075, 0x807f, 0x2f9c},
     0x80000000,
     0x80005d44},
    {{Element::tf32, Element::tf32, Accumulator::f32, 4, TensorRule::hopper},
     {0x1bb64f97, 0x1d3234c1, 0x1bbd063c, 0x1e8479f7},
     {0x9a801dcd, 0x1b3fb44d, 0x9e801f1a, 0x9c803443},
     0x80000000,
     0x80002bf1},
    {{Element::tf32, Element::tf32, Accumulator::f32, 4, TensorRule::hopper},
     {0x1e56a8e2, 0x9df7634e, 0x1c1f7773, 0x1e001f98},
     {0x1d46dea1, 0x9c88dfb7, 0x9cc12202, 0x1c352d65},
     0x80000000,
     0x6d46},
    {{Element::tf32, Element::tf32, Accumulator::f32, 8, TensorRule::hopper_wgmma},
     {0x9d8a2d75, 0x9d23d2af, 0x1dc5d454, 0x9d1fdd37, 0x1cc2e1c6, 0x9d7ff250, 0x1d933071,
      0x1cffedc2},
     {0x1cb74f1e, 0x1c09cc87, 0x9c8b42e8, 0x9ce4daad, 0x9e1eb469, 0x9cffeab7, 0x9c5a6318,
      0x1c77bbd3},
     0x80000000,
     0x800025d1},
    {{Element::tf32, Element::tf32, Accumulator::f32, 8, TensorRule::hopper_wgmma},
     {0x1c001e0d, 0x9c7fefeb, 0x9d1b0e1c, 0x9dc07d05, 0x1c43f17d, 0x1e001525, 0x9cc79803,
      0x9cffe13d},
     {0x1e110740, 0x1cd6fe28, 0x9b801983, 0x1b05adc4, 0x9bcdf2d0, 0x1af0dfed, 0x9b059a4e,
      0x1b447676},
     0x80000000,
     0x641},
    {{Element::tf32, Element::tf32, Accumulator::f32, 8, TensorRule::hopper_wgmma},
     {0x9dea4151, 0x1de1eb0c, 0x1c939e90, 0x9d555032, 0x1cedf8c0, 0x1de5f6ba, 0x1dd95397,
      0x9d7ff781},
     {0x1e000a8c, 0x1b90c7eb, 0x1ce862fb, 0x9e001a6f, 0x9e8014d2, 0x1eb83ce6, 0x9ee8fbb3,
      0x1cf156c0},
     0x0,
     0x8000c2c2},
    {{Element::tf32, Element::tf32, Accumulator::f32, 8, TensorRule::hopper_wgmma},
     {0x1f0b46dd, 0x1c001692, 0x9a8c228a, 0x9d00184a, 0x9cf4c11e, 0x1f234239, 0x9ba1b99a,
      0x9f001498},
     {0x1ba9f316, 0x1d394047, 0x9e000d45, 0x1c9a063a, 0x9efff3eb, 0x1cd035cc, 0x1bd199dd,
      0x9bdc726b},
     0x0,
     0x1309a},
};

struct Case64 {
  int m;
  int k;
  std::array<std::uint64_t, 8> a;
  std::array<std::uint64_t, 8> b;
  std::uint64_t c;
  std::uint64_t answer;
};

// Which NaN comes out.
constexpr Case64 kCases64[] = {
    {8,
     4,
     {0x48c82ad12d051859, 0xc3a3ec0afc7a7e12, 0x7ffd94aa54015b4c, 0xbfe0262361f5e551},
     {0x78b7397cab22e786, 0x7ff5e11bf9fc72cc, 0xf63961d35f23037c, 0x42afffffffffffff},
     0xf668d748ebebdb89,
     0x7ffde11bf9fc72cc},
    {8,
     4,
     {0x1a27d722deb73165, 0x7ff3aa7821f12f9c, 0x40d3719ade7602bd, 0x75e65976857e0b8b},
     {0xfff7cbb8d058df07, 0xcccc769ac0fa508a, 0x6bfffffffffffff, 0x4b9a889c46ae3d79},
     0xb79fb8caaf5fbf63,
     0xffffcbb8d058df07},
    {8,
     4,
     {0x7ff9c7241bed13f4, 0xef035b7c2d9a5d16, 0x4c945dbe935f480, 0x4dec5dfe85d81ece},
     {0xed4a9547e5e7eece, 0x681dce676263e17d, 0x2fb0ae02bc48358, 0x8000000000000000},
     0x7ffdd12c68347f01,
     0x7ffdd12c68347f01},
    {16,
     8,
     {0x33b3c627dee047fa, 0xbb2d937a7c92a22b, 0x6990d2ffa21f1499, 0xbb1e450bcaf5cfad,
      0x7ff44eeb63fd3db2, 0xe42c82d059c1dbfb, 0x1680000000000000, 0xcc7ac4fd102178ea},
     {0x510000000000000, 0xf27611a517e3ea2a, 0xfff89f8fed3ee34b, 0xaa4065f3f9ea533a,
      0x7c72f0043092be2a, 0xfb590269c026ebf, 0xbd20000000000000, 0xe640000000000000},
     0x8000000000000000,
     0xfff89f8fed3ee34b},
    {16,
     8,
     {0x34893f13d47eb27d, 0x115a28b3e09bd58d, 0x8785f5017e5a7bc9, 0x57fffffffffffff,
      0x7ffa44360ff88b0d, 0xb82723244a97fb04, 0xa7348e55337dd8b6, 0x623f89ee19810355},
     {0xf0557cd1005db0da, 0x7ff8607252e0621e, 0x869871f1665da532, 0x1204ea4ff6562a6d,
      0xc8d6cf9bdc27bc19, 0xfb360eb7f1de05fe, 0xfdc41cbbaa58beab, 0x643fffffffffffff},
     0xfec7fd92b1621f0f,
     0x7ff8607252e0621e},
    {16,
     8,
     {0xf31454415c2f8d3, 0x12487d57e7ae93c7, 0x8cc0f1a9bcefc63f, 0xe090ea195be4329a,
      0xd1dfffffffffffff, 0x7ff2da0eeb70f607, 0xc32fffffffffffff, 0x6b80000000000000},
     {0xf0557cd1005db0da, 0x7ff8607252e0621e, 0x869871f1665da532, 0x1204ea4ff6562a6d,
      0xc8d6cf9bdc27bc19, 0xfb360eb7f1de05fe, 0xfdc41cbbaa58beab, 0x643fffffffffffff},
     0x0,
     0x7ff8607252e0621e},
};

// Row 0 of A, column 0 of B, element 0, 0 of C.
void fill(const Case& test, Warp& warp) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < test.kind.k / 2; ++i) {
      const Place place = place_of_a(test.kind.a, lane, i);
      if (place.row == 0) {
        put(&warp.a[0][lane], test.kind.a, i, test.a[static_cast<std::size_t>(place.k)]);
      }
    }
    for (int i = 0; i < test.kind.k / 4 && lane < 4; ++i) {
      const auto k = static_cast<std::size_t>(place_of_b(test.kind.b, lane, i));
      put(&warp.b[0][lane], test.kind.b, i, test.b[k]);
    }
  }
  warp.c[0][0] = test.c;
}

}  // namespace

TEST_CASE("answers of an H100 where they are not what the published rule says") {
  for (const Case& test : kCases) {
    CAPTURE(static_cast<int>(test.kind.a));
    CAPTURE(static_cast<int>(test.kind.rule));
    CAPTURE(test.a[0]);
    const std::uint32_t mask = test.kind.accumulator == Accumulator::f16 ? 0xFFFF : 0xFFFFFFFF;
    Warp fast;
    Warp plain;
    fill(test, fast);
    fill(test, plain);
    mma_m16n8(test.kind, fast.fragments());
    mma_reference(test.kind, plain.fragments());
    CHECK((fast.d[0][0] & mask) == test.answer);
    CHECK((plain.d[0][0] & mask) == test.answer);
  }
}

TEST_CASE("NaN of an H100's f64 products") {
  for (const Case64& test : kCases64) {
    CAPTURE(test.answer);
    Double a[4][32] = {};
    Double b[2][32] = {};
    Double c[4][32] = {};
    for (std::size_t k = 0; k < static_cast<std::size_t>(test.k); ++k) {
      a[static_cast<std::size_t>(test.m) / 8 * (k / 4)][k % 4] = std::bit_cast<double>(test.a[k]);
      b[k / 4][k % 4] = std::bit_cast<double>(test.b[k]);
    }
    c[0][0] = std::bit_cast<double>(test.c);
    const Lanes64 d_lanes[] = {c[0], c[1], c[2], c[3]};
    const ConstLanes64 a_lanes[] = {a[0], a[1], a[2], a[3]};
    const ConstLanes64 b_lanes[] = {b[0], b[1]};
    const ConstLanes64 c_lanes[] = {c[0], c[1], c[2], c[3]};
    mma_f64(test.m, test.k, d_lanes, a_lanes, b_lanes, c_lanes);
    CHECK(std::bit_cast<std::uint64_t>(double{c[0][0]}) == test.answer);
  }
}
