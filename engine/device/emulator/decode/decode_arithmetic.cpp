#include <algorithm>

#include "engine/device/emulator/decode/decoder.hpp"

// Arithmetic on reals, logic, bit fields. Integers are in decode_integer.cpp.

namespace fa_tune::emulator {
namespace {

Pipe pipe_of(LaneOp op, Type type) {
  if (type == Type::f32) {
    const bool fused =
        op == LaneOp::add || op == LaneOp::sub || op == LaneOp::mul || op == LaneOp::fma;
    if (fused) return Pipe::fma_f32;
    return op == LaneOp::div ? Pipe::special : Pipe::alu;
  }
  if (type == Type::f64) return Pipe::special;
  return is_float(type) ? Pipe::half : Pipe::alu;
}

}  // namespace

void Decoder::rounding(LaneKey& key) {
  has("rn");
  if (has("rz")) key.round = Round::zero;
  if (has("rm")) key.round = Round::down;
  if (has("rp")) key.round = Round::up;
}

// The modifiers of real arithmetic but its rounding.
LaneKey Decoder::modifiers(LaneOp op, Type type) {
  LaneKey key{.op = op,
              .type = type,
              .ftz = has("ftz"),
              .sat = has("sat"),
              .relu = has("relu"),
              .nan = has("NaN"),
              .approx = has("approx")};
  key.xorsign = has("xorsign") && has("abs");
  return key;
}

bool Decoder::arithmetic() {
  if (has("cc")) return with_carry();
  // max.s32.relu: the compiler writes the modifier behind the type.
  const bool trailing = words_.size() > 2 && words_.back() == "relu";
  if (trailing) std::swap(words_[words_.size() - 1], words_[words_.size() - 2]);
  const Type type = last_type();
  if (!is_float(type)) return integer(type);
  LaneKey key = modifiers(lane_op_of(root()), type);
  const Pipe pipe = pipe_of(key.op, type);
  if (key.op != LaneOp::min && key.op != LaneOp::max && (key.nan || key.xorsign)) return false;
  if (key.approx && key.op != LaneOp::div) return false;
  switch (key.op) {
    case LaneOp::unknown:
      return false;
    case LaneOp::abs:
    case LaneOp::neg:
      if (key.sat || key.relu) return false;
      return lanes(key, pipe, type, {type});
    case LaneOp::fma:
      rounding(key);
      return lanes(key, pipe, type, {type, type, type});
    case LaneOp::min:
    case LaneOp::max:
      // Three inputs came with sm_100.
      if (operand_count() == 4 || key.sat || key.relu) return false;
      return lanes(key, pipe, type, {type, type});
    case LaneOp::div:
      key.full = has("full");
      if (key.full && key.approx) return false;
      if (key.full) key.approx = true;
      if (!key.approx) rounding(key);
      if (key.sat || size_of(type) < 4) return false;
      return lanes(key, pipe, type, {type, type});
    case LaneOp::add:
    case LaneOp::sub:
    case LaneOp::mul:
      rounding(key);
      return lanes(key, pipe, type, {type, type});
    default:
      return false;
  }
}

bool Decoder::approximate() {
  const Type type = last_type();
  LaneKey key = modifiers(lane_op_of(root()), type);
  if (key.sat || key.relu || key.nan || key.xorsign) return false;
  if (key.op == LaneOp::copysign) {
    return !key.ftz && !key.approx && lanes(key, Pipe::alu, type, {type, type});
  }
  // Either the hardware's own way or rounded as told, and some only the one.
  const bool also_exact = key.op == LaneOp::sqrt || key.op == LaneOp::rcp;
  if (!key.approx) {
    const bool rounded = std::any_of(words_.begin(), words_.end(), [](std::string_view word) {
      return word == "rn" || word == "rz" || word == "rm" || word == "rp";
    });
    if (!also_exact || !rounded) return false;
    rounding(key);
  }
  if (key.approx && key.op == LaneOp::sqrt && type != Type::f32) return false;
  const bool is_bf16 = type == Type::bf16 || type == Type::bf16x2;
  const bool never_flushes = key.op == LaneOp::tanh || (type != Type::f32 && type != Type::f64);
  if (key.op == LaneOp::ex2 && is_bf16 ? !key.ftz : key.ftz && never_flushes) return false;
  return lanes(key, Pipe::special, type, {type});
}

bool Decoder::logic() {
  const Type type = last_type();
  LaneKey key{.op = lane_op_of(root()), .type = type};
  if (type == Type::pred) {
    bool first_negated = false;
    bool second_negated = false;
    const bool inverting = root() == "not";
    if (root() == "and") {
      key.op = LaneOp::predicate_and;
    } else if (root() == "or") {
      key.op = LaneOp::predicate_or;
    } else if (root() == "xor") {
      key.op = LaneOp::predicate_xor;
    } else if (inverting) {
      key.op = LaneOp::predicate_mov;
    } else {
      return false;
    }
    want_operands(inverting ? 2 : 3, inverting ? 2 : 3);
    const Ref result = predicate_target(operand(0));
    const Ref a = predicate_source(operand(1), first_negated);
    const Ref b = inverting ? a : predicate_source(operand(2), second_negated);
    Draft& draft = emit(Kind::lanes, Pipe::alu, lanes_handler(key), {result}, {a, b});
    draft.op.m[0] = first_negated != inverting ? 1 : 0;
    draft.op.m[1] = second_negated ? 1 : 0;
    return true;
  }
  if (key.op == LaneOp::shl || key.op == LaneOp::shr) {
    const bool plain_bits = type == Type::b16 || type == Type::b32 || type == Type::b64;
    const bool left = key.op == LaneOp::shl;
    if (is_float(type) || size_of(type) < 2 || (left && !plain_bits)) return false;
    if (type == Type::u16x2 || type == Type::s16x2 || type == Type::b128) return false;
    return lanes(key, Pipe::alu, type, {type, Type::u32});
  }
  if (type != Type::b16 && type != Type::b32 && type != Type::b64) return false;
  if (key.op == LaneOp::bit_not || key.op == LaneOp::cnot) {
    return lanes(key, Pipe::alu, type, {type});
  }
  return lanes(key, Pipe::alu, type, {type, type});
}

bool Decoder::bit_field() {
  if (root() == "prmt" && words_.size() == 3) return permute_mode();
  const Type type = last_type();
  if (is_float(type) || size_of(type) < 4) return false;
  LaneKey key{.op = lane_op_of(root()), .type = type};
  const bool plain_bits = type == Type::b32 || type == Type::b64;
  if (root() == "shf") {
    if (type != Type::b32) return false;
    const bool left = has("l");
    if (!left && !has("r")) return false;
    key.op = left ? LaneOp::shf_left : LaneOp::shf_right;
    key.option = has("clamp");
    if (!key.option && !has("wrap")) return false;
    return lanes(key, Pipe::alu, type, {type, type, Type::u32});
  }
  switch (key.op) {
    case LaneOp::prmt:
      return type == Type::b32 && lanes(key, Pipe::alu, type, {type, type, type});
    case LaneOp::bfe:
      return lanes(key, Pipe::alu, type, {type, Type::u32, Type::u32});
    case LaneOp::bfi:
      return plain_bits && lanes(key, Pipe::alu, type, {type, type, Type::u32, Type::u32});
    case LaneOp::bfind:
      key.option = has("shiftamt");
      return lanes(key, Pipe::alu, Type::u32, {type});
    case LaneOp::brev:
      return plain_bits && lanes(key, Pipe::alu, type, {type});
    default:  // clz, popc
      return plain_bits && lanes(key, Pipe::alu, Type::u32, {type});
  }
}

// lop3.b32 d, a, b, c, table; lop3.BoolOp.b32 d|p, a, b, c, table, q: then p = (d != 0) BoolOp q.
bool Decoder::lop3() {
  if (last_type() != Type::b32) return false;
  LaneKey key{.op = LaneOp::lop3, .type = Type::b32};
  const Combine combine = combination();
  const bool testing = combine != Combine::none;
  if (testing) key.op = LaneOp::lop3_test;
  want_operands(testing ? 6 : 5, testing ? 6 : 5);
  if (operand(4).kind != Operand::Kind::integer) malformed("the table wants a constant");
  Operand first = operand(0);
  if (testing && first.second < 0) malformed("a predicate after '|' is expected");
  if (testing) first.second = -1;
  const Ref result = target(first, Type::b32);
  const Ref a = source(operand(1), Type::b32);
  const Ref b = source(operand(2), Type::b32);
  const Ref c = source(operand(3), Type::b32);
  Ref p;
  Ref q;
  bool negated = false;
  if (testing) {
    p = predicate_register(operand(0).second);
    q = predicate_source(operand(5), negated);
  }
  Draft& draft = emit(Kind::lanes, Pipe::alu, lanes_handler(key), {result}, {a, b, c});
  if (testing) {
    write(draft, 4, p);
    read(draft, 5, q);
  }
  draft.op.m[0] = static_cast<std::uint8_t>(combine);
  draft.op.m[1] = negated ? 1 : 0;
  draft.op.immediate = operand(4).value & 0xff;
  return true;
}

}  // namespace fa_tune::emulator
