#include <unordered_map>

#include "engine/device/emulator/decoder.hpp"

// Arithmetic, logic, bit fields.

namespace fa_tune::emulator {
namespace {

LaneOp op_of(std::string_view root) {
  static const std::unordered_map<std::string_view, LaneOp> ops = {
      {"add", LaneOp::add},     {"sub", LaneOp::sub},           {"mul", LaneOp::mul},
      {"mad", LaneOp::fma},     {"fma", LaneOp::fma},           {"div", LaneOp::div},
      {"rem", LaneOp::rem},     {"abs", LaneOp::abs},           {"neg", LaneOp::neg},
      {"min", LaneOp::min},     {"max", LaneOp::max},           {"sad", LaneOp::sad},
      {"mul24", LaneOp::mul24}, {"mad24", LaneOp::mad24},       {"sqrt", LaneOp::sqrt},
      {"rcp", LaneOp::rcp},     {"rsqrt", LaneOp::rsqrt},       {"ex2", LaneOp::ex2},
      {"lg2", LaneOp::lg2},     {"sin", LaneOp::sin},           {"cos", LaneOp::cos},
      {"tanh", LaneOp::tanh},   {"copysign", LaneOp::copysign}, {"and", LaneOp::bit_and},
      {"or", LaneOp::bit_or},   {"xor", LaneOp::bit_xor},       {"not", LaneOp::bit_not},
      {"cnot", LaneOp::cnot},   {"shl", LaneOp::shl},           {"shr", LaneOp::shr},
      {"prmt", LaneOp::prmt},   {"bfe", LaneOp::bfe},           {"bfi", LaneOp::bfi},
      {"bfind", LaneOp::bfind}, {"brev", LaneOp::brev},         {"clz", LaneOp::clz},
      {"popc", LaneOp::popc},
  };
  const auto found = ops.find(root);
  return found == ops.end() ? LaneOp::unknown : found->second;
}

Type wider(Type type) {
  switch (type) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    default:
      return Type::s64;
  }
}

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

// The modifiers of real arithmetic.
LaneKey Decoder::modifiers(LaneOp op, Type type) {
  LaneKey key;
  key.op = op;
  key.type = type;
  has("rn");
  if (has("rz")) key.round = Round::zero;
  if (has("rm")) key.round = Round::down;
  if (has("rp")) key.round = Round::up;
  key.ftz = has("ftz");
  key.sat = has("sat");
  key.relu = has("relu");
  key.nan = has("NaN");
  return key;
}

bool Decoder::integer(Type type) {
  LaneKey key;
  key.op = op_of(root());
  key.type = type;
  Type to = type;
  if (root() == "mul" || root() == "mad") {
    const bool product = root() == "mul";
    if (has("lo")) {
      key.op = product ? LaneOp::mul_lo : LaneOp::mad_lo;
    } else if (has("hi")) {
      key.op = product ? LaneOp::mul_hi : LaneOp::mad_hi;
    } else if (has("wide") && size_of(type) < 8) {
      key.op = product ? LaneOp::mul_wide : LaneOp::mad_wide;
      to = wider(type);
    } else {
      return false;
    }
    if (product) return lanes(key, Pipe::alu, to, {type, type});
    return lanes(key, Pipe::alu, to, {type, type, to});
  }
  if (root() == "mul24" || root() == "mad24") {
    if (!has("lo")) return false;
    if (root() == "mul24") return lanes(key, Pipe::alu, type, {type, type});
    return lanes(key, Pipe::alu, type, {type, type, type});
  }
  if (root() == "sad") return lanes(key, Pipe::alu, type, {type, type, type});
  if (root() == "abs" || root() == "neg") return lanes(key, Pipe::alu, type, {type});
  return lanes(key, Pipe::alu, type, {type, type});
}

bool Decoder::arithmetic() {
  const Type type = last_type();
  if (root() == "dp4a") {
    const auto other = words_.size() == 3 ? type_of(words_[1]) : std::nullopt;
    if (!other) return false;
    understood_[1] = true;
    LaneKey key;
    key.op = LaneOp::dp4a;
    key.type = *other;
    key.from = type;
    if (size_of(type) != 4 || is_float(type) || size_of(*other) != 4 || is_float(*other))
      return false;
    return lanes(key, Pipe::alu, Type::b32, {Type::b32, Type::b32, Type::b32});
  }
  if (!is_float(type)) return integer(type);
  const LaneKey key = modifiers(op_of(root()), type);
  if (key.op == LaneOp::unknown) return false;
  // div.approx and div.full are division, correctly rounded: within the bounds of both.
  if (key.op == LaneOp::div) {
    has("approx");
    has("full");
  }
  const Pipe pipe = pipe_of(key.op, type);
  switch (key.op) {
    case LaneOp::abs:
    case LaneOp::neg:
      return lanes(key, pipe, type, {type});
    case LaneOp::fma:
      return lanes(key, pipe, type, {type, type, type});
    case LaneOp::min:
    case LaneOp::max:
      if (operand_count() == 4) return false;  // three inputs came with sm_100
      return lanes(key, pipe, type, {type, type});
    default:
      return lanes(key, pipe, type, {type, type});
  }
}

bool Decoder::approximate() {
  const Type type = last_type();
  LaneKey key = modifiers(op_of(root()), type);
  has("approx");
  if (key.op == LaneOp::copysign) return lanes(key, Pipe::alu, type, {type, type});
  return lanes(key, Pipe::special, type, {type});
}

bool Decoder::logic() {
  const Type type = last_type();
  LaneKey key;
  key.op = op_of(root());
  key.type = type;
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
    Draft& draft = emit(Kind::lanes, Pipe::alu, lanes_handler(key));
    write(draft, 0, result);
    read(draft, 1, a);
    read(draft, 2, b);
    draft.op.m[0] = first_negated != inverting ? 1 : 0;
    draft.op.m[1] = second_negated ? 1 : 0;
    return true;
  }
  if (key.op == LaneOp::shl || key.op == LaneOp::shr) {
    if (is_float(type)) return false;
    return lanes(key, Pipe::alu, type, {type, Type::u32});
  }
  if (type != Type::b16 && type != Type::b32 && type != Type::b64) return false;
  if (key.op == LaneOp::bit_not || key.op == LaneOp::cnot) {
    return lanes(key, Pipe::alu, type, {type});
  }
  return lanes(key, Pipe::alu, type, {type, type});
}

bool Decoder::bit_field() {
  const Type type = last_type();
  if (is_float(type) || size_of(type) < 4) return false;
  LaneKey key;
  key.op = op_of(root());
  key.type = type;
  if (root() == "shf") {
    const bool left = has("l");
    if (!left && !has("r")) return false;
    key.op = left ? LaneOp::shf_left : LaneOp::shf_right;
    key.option = has("clamp");
    if (!key.option && !has("wrap")) return false;
    return lanes(key, Pipe::alu, type, {type, type, Type::u32});
  }
  switch (key.op) {
    case LaneOp::prmt:  // with .f4e and its like the selector means something else
      return size_of(type) == 4 && lanes(key, Pipe::alu, type, {type, type, type});
    case LaneOp::bfe:
      return lanes(key, Pipe::alu, type, {type, Type::u32, Type::u32});
    case LaneOp::bfi:
      return lanes(key, Pipe::alu, type, {type, type, Type::u32, Type::u32});
    case LaneOp::bfind:
      key.option = has("shiftamt");
      return lanes(key, Pipe::alu, Type::u32, {type});
    case LaneOp::brev:
      return lanes(key, Pipe::alu, type, {type});
    default:  // clz, popc
      return lanes(key, Pipe::alu, Type::u32, {type});
  }
}

bool Decoder::lop3() {
  if (last_type() != Type::b32) return false;
  want_operands(5, 5);
  if (operand(4).kind != Operand::Kind::integer) malformed("the table wants a constant");
  LaneKey key;
  key.op = LaneOp::lop3;
  key.type = Type::b32;
  const Ref result = target(operand(0), Type::b32);
  const Ref a = source(operand(1), Type::b32);
  const Ref b = source(operand(2), Type::b32);
  const Ref c = source(operand(3), Type::b32);
  Draft& draft = emit(Kind::lanes, Pipe::alu, lanes_handler(key));
  write(draft, 0, result);
  read(draft, 1, a);
  read(draft, 2, b);
  read(draft, 3, c);
  draft.op.immediate = operand(4).value & 0xff;
  return true;
}

}  // namespace fa_tune::emulator
