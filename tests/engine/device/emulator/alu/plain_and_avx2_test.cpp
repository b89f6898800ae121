#include <algorithm>
#include <array>
#include <vector>

#include <doctest/doctest.h>

#include "engine/device/emulator/alu/lanes.hpp"
#include "engine/util/random.hpp"

// Handlers compiled for any processor and those for AVX2 must give the same bits for every
// operation, type and modifier, whatever the operands.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

constexpr std::size_t kSlots = 16;

// Interesting bit patterns turn up far more often than chance would have them.
std::uint32_t pattern(Random& random) {
  constexpr std::uint32_t known[] = {0,          1,          0x80000000, 0xffffffff, 0x7fffffff,
                                     0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
                                     0xffc12345, 0x00400000, 0x80000001, 0x007fffff, 0x00800000,
                                     0x7f7fffff, 0x3c003c00, 0x7c00fc00, 0x00018001, 0x7e00fe01,
                                     32,         31,         0x4b000001, 0x477fe000, 0x33000001};
  const std::uint64_t draw = random.next();
  if (draw % 3 == 0) return known[random.below(std::size(known))];
  return static_cast<std::uint32_t>(draw >> 32);
}

constexpr std::uint64_t kSeeds = 6;

// What a handler begins with. Drawn once for each seed: that takes longer than a handler.
struct Start {
  explicit Start(std::uint64_t seed) : random(seed) {
    for (std::uint32_t& word : registers) word = pattern(random);
    for (std::uint32_t& word : predicates) word = pattern(random);
  }
  Random random;
  std::array<std::uint32_t, kSlots * kWarpSize> registers{};
  std::array<std::uint32_t, 8> predicates{};
};

const Start& start_of(std::uint64_t seed) {
  static const std::vector<Start> all = [] {
    std::vector<Start> drawn;
    for (std::uint64_t each = 0; each < kSeeds; ++each) drawn.emplace_back(each);
    return drawn;
  }();
  return all.at(seed);
}

// Runs one handler on registers drawn from `seed`; returns all registers and predicates.
std::vector<std::uint32_t> run(Handler handler, const LaneKey& key, std::uint64_t seed) {
  const Start& start = start_of(seed);
  Random random = start.random;
  std::vector<std::uint32_t> registers(kSlots * kWarpSize + 16);
  const auto address = reinterpret_cast<std::uintptr_t>(registers.data());
  std::uint32_t* begin = registers.data() + (64 - address % 64) % 64 / 4;
  std::copy(start.registers.begin(), start.registers.end(), begin);
  auto predicates = start.predicates;
  LaneFile lanes;
  lanes.base[0] = lanes.base[1] = begin;
  lanes.predicates = predicates.data();
  Op op;
  op.r = {0, 2, 4, 6, 8};
  if (key.op == LaneOp::setp) op.r = {2, 3, 2, 4, 4};
  if (key.op == LaneOp::testp) op.r = {2, 4};
  if (key.op == LaneOp::select || key.op == LaneOp::set) op.r[3] = 5;
  const bool carries = key.op == LaneOp::add_carry || key.op == LaneOp::sub_carry ||
                       key.op == LaneOp::mad_lo_carry || key.op == LaneOp::mad_hi_carry;
  if (carries) op.r = {0, 2, 4, 6, 2, 3};
  if (key.op == LaneOp::lop3_test) op.r = {0, 2, 4, 6, 2, 3};
  const bool predicate_only = key.op >= LaneOp::predicate_and;
  if (predicate_only) op.r = {2, 3, 4};
  op.immediate = static_cast<std::int64_t>(random.below(256));
  op.m[0] = static_cast<std::uint8_t>(random.below(4));
  op.m[1] = static_cast<std::uint8_t>(random.below(2));
  if (key.op == LaneOp::video)
    op.m = {static_cast<std::uint8_t>(random.below(7)),
            static_cast<std::uint8_t>(8 << random.below(2)),
            static_cast<std::uint8_t>(random.below(8)),
            static_cast<std::uint8_t>(random.below(3)),
            static_cast<std::uint8_t>(random.below(6)),
            0,
            0};
  if (key.op == LaneOp::convert_pack) {
    op.m[0] = static_cast<std::uint8_t>(2 << random.below(4));
    op.m[1] = static_cast<std::uint8_t>(random.below(4));
  }
  if (key.op == LaneOp::convert || key.op == LaneOp::convert_pair) {
    const bool pair = key.op == LaneOp::convert_pair;
    const Type to = !pair ? key.type : key.type == Type::f16x2 ? Type::f16 : Type::bf16;
    op.m = {static_cast<std::uint8_t>(to),
            static_cast<std::uint8_t>(key.from),
            static_cast<std::uint8_t>(key.round),
            static_cast<std::uint8_t>((key.integral ? 1 : 0) | (key.ftz ? 2 : 0) |
                                      (key.sat ? 4 : 0) | (key.relu ? 8 : 0) |
                                      (key.finite ? 16 : 0) | (random.below(2) * 32)),
            static_cast<std::uint8_t>((size_of(key.from) == 8 ? 1 : 0) |
                                      (size_of(key.type) == 8 ? 2 : 0)),
            static_cast<std::uint8_t>(std::max(2, size_of(key.type))),
            0};
  }
  const std::uint32_t mask = seed % 2 == 0 ? kFullMask : pattern(random) | 1U;
  handler(lanes, op, mask);
  std::vector<std::uint32_t> result(begin, begin + kSlots * kWarpSize);
  result.insert(result.end(), predicates.begin(), predicates.end());
  return result;
}

}  // namespace

TEST_CASE("both variants of every lane handler agree") {
  int compared = 0;
  const auto compare = [&](const LaneKey& key) {
    const Handler plain = lanes_handler(key, false);
    const Handler fast = lanes_handler(key, true);
    REQUIRE((plain == nullptr) == (fast == nullptr));
    if (plain == nullptr || plain == fast) return;
    ++compared;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      if (run(plain, key, seed) == run(fast, key, seed)) continue;
      CAPTURE(static_cast<int>(key.op));
      CAPTURE(name_of(key.type));
      CAPTURE(name_of(key.from));
      CAPTURE(static_cast<int>(key.round));
      CAPTURE(static_cast<int>(key.compare));
      CAPTURE(key.ftz);
      CAPTURE(seed);
      FAIL_CHECK("the variants differ");
      return;
    }
  };
  for (int op = 0; op <= static_cast<int>(LaneOp::predicate_mov); ++op) {
    for (int type = 1; type <= static_cast<int>(Type::s16x2); ++type) {
      LaneKey key;
      key.op = static_cast<LaneOp>(op);
      key.type = static_cast<Type>(type);
      if (key.op == LaneOp::convert || key.op == LaneOp::convert_pair) {
        const bool pair = key.type == Type::f16x2 || key.type == Type::bf16x2;
        if (pair != (key.op == LaneOp::convert_pair) || size_of(key.type) == 0) continue;
        for (int from = 2; from <= static_cast<int>(Type::f64); ++from) {
          key.from = static_cast<Type>(from);
          if (pair && key.from != Type::f32) continue;
          for (int variant = 0; variant < 16; ++variant) {
            key.round = static_cast<Round>(variant % 4);
            key.integral = variant / 4 % 2 == 1;
            key.sat = variant >= 8;
            key.finite = key.relu = variant >= 12;
            compare(key);
          }
        }
        continue;
      }
      if (key.op == LaneOp::setp || key.op == LaneOp::set) {
        for (int relation = 0; relation <= static_cast<int>(Compare::nan); ++relation) {
          key.compare = static_cast<Compare>(relation);
          key.from = key.type;
          for (const bool ftz : {false, true}) {
            key.ftz = ftz;
            compare(key);
          }
        }
        continue;
      }
      key.from = key.op == LaneOp::slct          ? Type::f32
                 : key.op == LaneOp::convert_fp8 ? Type::f16x2
                                                 : Type::s32;
      if (key.op == LaneOp::convert_fp8 || key.op == LaneOp::convert_fp8_pair) {
        key.type = type % 2 == 0 ? Type::e4m3x2 : Type::e5m2x2;
      }
      for (int variant = 0; variant < 64; ++variant) {
        key.ftz = (variant & 1) != 0;
        key.sat = (variant & 2) != 0;
        key.nan = (variant & 4) != 0;
        key.option = (variant & 8) != 0;
        key.round = static_cast<Round>(variant / 16);
        compare(key);
        LaneKey other = key;  // what seldom goes with the others
        other.xorsign = true;
        compare(other);
        other = key;
        other.relu = true;
        compare(other);
        other = key;
        other.approx = true;
        compare(other);
        other = key;
        other.high = true;
        compare(other);
      }
    }
  }
  MESSAGE("handlers compared: " << compared);
}

}  // namespace fa_tune::test
