#include "engine/device/emulator/decode/decoder.hpp"

// cvt in all its forms.

namespace fa_tune::emulator {
namespace {

bool is_fp8(Type type) { return type == Type::e4m3x2 || type == Type::e5m2x2; }

}  // namespace

// cvt{.round}{.relu}{.sat}{.ftz}.to.from
bool Decoder::convert() {
  if (words_.size() < 3) return false;
  if (words_[1] == "pack") return convert_pack();
  LaneKey key{.from = last_type()};
  const auto to = type_of(words_[words_.size() - 2]);
  if (!to) return false;
  understood_[words_.size() - 2] = true;
  if (is_fp8(*to) || is_fp8(key.from)) return convert_fp8(*to, key.from);
  if (*to == Type::b128 || key.from == Type::b128) return false;
  key.type = *to;
  key.op = LaneOp::convert;
  rounding(key);
  const bool away = has("rna");
  const bool whole[] = {has("rni"), has("rzi"), has("rmi"), has("rpi")};
  for (std::uint8_t i = 0; i < 4; ++i) {
    if (!whole[i]) continue;
    key.integral = true;
    key.round = static_cast<Round>(i);
  }
  key.ftz = has("ftz");
  key.sat = has("sat");
  key.relu = has("relu");
  key.finite = has("satfinite");
  const bool narrow = *to == Type::f16 || *to == Type::bf16 || *to == Type::f16x2 ||
                      *to == Type::bf16x2 || *to == Type::tf32;
  if ((key.relu || key.finite) && !narrow) return false;
  const bool pair = *to == Type::f16x2 || *to == Type::bf16x2;
  if (size_of(key.from) == 0 || size_of(*to) == 0) return false;
  if (key.from == Type::f16x2 || key.from == Type::bf16x2 || key.from == Type::tf32) return false;
  if (away && *to != Type::tf32) return false;
  if (*to == Type::tf32) {
    const bool directed = key.round == Round::down || key.round == Round::up;
    if (key.from != Type::f32 || directed || key.integral || key.sat || key.ftz) return false;
  }
  if (pair && (key.from != Type::f32 || key.integral)) return false;
  if (pair) key.op = LaneOp::convert_pair;
  const std::size_t count = pair ? 3 : 2;
  want_operands(count, count);
  int to_width = 0;
  int from_width = 0;
  // Only integers may sit in a wider register; reals have their own width.
  Ref result;
  if (is_float(*to)) {
    result = target(operand(0), *to == Type::tf32 ? Type::b32 : *to);
    to_width = width_of(*to);
  } else {
    result = target_at_least(operand(0), *to, to_width);
  }
  const Ref a = source_at_least(operand(1), key.from, from_width);
  Ref b;
  if (pair) b = source(operand(2), Type::f32);
  if (operand(1).kind != Operand::Kind::reg) from_width = size_of(key.from);
  key.wide =
      (to_width == 8) != (size_of(*to) == 8) || (from_width == 8) != (size_of(key.from) == 8);
  key.option = to_width == 4 && size_of(*to) < 4;
  const Handler run = lanes_handler(key);
  if (run == nullptr) return false;
  Draft& draft = emit(Kind::lanes, Pipe::convert, run, {result}, {a, b});
  const Type lane_type = *to == Type::f16x2 ? Type::f16 : *to == Type::bf16x2 ? Type::bf16 : *to;
  draft.op.m[0] = static_cast<std::uint8_t>(lane_type);
  draft.op.m[1] = static_cast<std::uint8_t>(key.from);
  draft.op.m[2] = static_cast<std::uint8_t>(key.round);
  draft.op.m[3] =
      static_cast<std::uint8_t>((key.integral ? 1 : 0) | (key.ftz ? 2 : 0) | (key.sat ? 4 : 0) |
                                (key.relu ? 8 : 0) | (key.finite ? 16 : 0) | (away ? 32 : 0));
  draft.op.m[4] = static_cast<std::uint8_t>((from_width == 8 ? 1 : 0) | (to_width == 8 ? 2 : 0));
  draft.op.m[5] = static_cast<std::uint8_t>(to_width);
  return true;
}

// cvt.rn.satfinite{.relu}.e4m3x2.f32 d, a, b; cvt.rn.satfinite{.relu}.e4m3x2.f16x2 d, a;
// cvt.rn{.relu}.f16x2.e4m3x2 d, a.
bool Decoder::convert_fp8(Type to, Type from) {
  LaneKey key{.type = to, .from = from, .relu = has("relu")};
  if (!has("rn")) return false;
  const bool narrowing = is_fp8(to);
  if (narrowing != has("satfinite")) return false;
  if (from == Type::f32 && narrowing) {
    key.op = LaneOp::convert_fp8_pair;
    return lanes(key, Pipe::convert, Type::b16, {Type::f32, Type::f32});
  }
  key.op = LaneOp::convert_fp8;
  if ((narrowing ? from : to) != Type::f16x2) return false;
  return lanes(key, Pipe::convert, narrowing ? Type::b16 : Type::b32,
               {narrowing ? Type::b32 : Type::b16});
}

// cvt.pack.sat.u16.s32 d, a, b; cvt.pack.sat.u8.s32.b32 d, a, b, c.
bool Decoder::convert_pack() {
  if (!has("pack") || !has("sat") || words_.size() < 5) return false;
  const bool third = words_.size() == 6;
  if (third && (words_.back() != "b32" || !has("b32"))) return false;
  struct Narrow {
    std::string_view name;
    std::uint8_t bits;
    bool is_signed;
  };
  constexpr Narrow known[] = {{"u16", 16, false}, {"s16", 16, true}, {"u8", 8, false},
                              {"s8", 8, true},    {"u4", 4, false},  {"s4", 4, true},
                              {"u2", 2, false},   {"s2", 2, true}};
  for (const Narrow& each : known) {
    if (words_[3] != each.name || words_[4] != "s32") continue;
    if (third == (each.bits == 16)) return false;
    understood_[3] = understood_[4] = true;
    LaneKey key{.op = LaneOp::convert_pack, .type = Type::b32};
    const bool done = third
                          ? lanes(key, Pipe::convert, Type::b32, {Type::b32, Type::b32, Type::b32})
                          : lanes(key, Pipe::convert, Type::b32, {Type::b32, Type::b32});
    if (!done) return false;
    Op& op = drafts_.back().op;
    op.m[0] = each.bits;
    op.m[1] = static_cast<std::uint8_t>((each.is_signed ? 1 : 0) | 2);
    return true;
  }
  return false;
}

}  // namespace fa_tune::emulator
