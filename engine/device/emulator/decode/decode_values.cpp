#include <unordered_map>

#include "engine/device/emulator/decode/decoder.hpp"

// Comparisons, selections, conversions and moves.

namespace fa_tune::emulator {
namespace {

std::optional<Compare> compare_of(std::string_view word) {
  static const std::unordered_map<std::string_view, Compare> compares = {
      {"eq", Compare::eq},   {"ne", Compare::ne},   {"lt", Compare::lt},   {"le", Compare::le},
      {"gt", Compare::gt},   {"ge", Compare::ge},   {"lo", Compare::lt},   {"ls", Compare::le},
      {"hi", Compare::gt},   {"hs", Compare::ge},   {"equ", Compare::equ}, {"neu", Compare::neu},
      {"ltu", Compare::ltu}, {"leu", Compare::leu}, {"gtu", Compare::gtu}, {"geu", Compare::geu},
      {"num", Compare::num}, {"nan", Compare::nan},
  };
  const auto found = compares.find(word);
  if (found == compares.end()) return std::nullopt;
  return found->second;
}

}  // namespace

// The .BoolOp of setp, set and lop3.
Combine Decoder::combination() {
  Combine combine = Combine::none;
  if (has("and")) combine = Combine::with_and;
  if (has("or")) combine = Combine::with_or;
  if (has("xor")) combine = Combine::with_xor;
  return combine;
}

bool Decoder::setp() {
  const Type type = last_type();
  const auto compare = words_.size() > 2 ? compare_of(words_[1]) : std::nullopt;
  if (!compare) return false;
  understood_[1] = true;
  LaneKey key{.op = LaneOp::setp, .type = type, .compare = *compare, .ftz = has("ftz")};
  if (key.ftz && type != Type::f32 && type != Type::f16 && type != Type::f16x2) return false;
  const Combine combine = combination();
  const Handler run = lanes_handler(key);
  if (run == nullptr) return false;
  const std::size_t count = combine == Combine::none ? 3 : 4;
  want_operands(count, count);
  Operand first = operand(0);
  first.second = -1;
  const Ref p = predicate_target(first);
  Ref q;
  if (operand(0).second >= 0) q = predicate_register(operand(0).second);
  const Ref a = source(operand(1), type);
  const Ref b = source(operand(2), type);
  Ref c;
  bool negated = false;
  if (count == 4) c = predicate_source(operand(3), negated);
  Draft& draft = emit(Kind::lanes, Pipe::alu, run, {p, q}, {a, b, c});
  draft.op.m[0] = static_cast<std::uint8_t>(combine);
  draft.op.m[1] = negated ? 1 : 0;
  return true;
}

// set.CmpOp{.BoolOp}{.ftz}.dtype.stype
bool Decoder::set_value() {
  const Type from = last_type();
  if (words_.size() < 4) return false;
  const auto to = type_of(words_[words_.size() - 2]);
  const auto compare = compare_of(words_[1]);
  if (!to || !compare) return false;
  understood_[1] = understood_[words_.size() - 2] = true;
  LaneKey key{.op = LaneOp::set, .type = *to, .from = from, .compare = *compare, .ftz = has("ftz")};
  if (key.ftz && from != Type::f32 && from != Type::f16 && from != Type::f16x2) return false;
  const Combine combine = combination();
  const bool pair = from == Type::f16x2 || from == Type::bf16x2;
  if (size_of(*to) == 8 || (pair && combine != Combine::none)) return false;
  const Handler run = lanes_handler(key);
  if (run == nullptr) return false;
  const std::size_t count = combine == Combine::none ? 3 : 4;
  want_operands(count, count);
  const Ref result = target(operand(0), *to);
  const Ref a = source(operand(1), from);
  const Ref b = source(operand(2), from);
  Ref c;
  bool negated = false;
  if (count == 4) c = predicate_source(operand(3), negated);
  Draft& draft = emit(Kind::lanes, Pipe::alu, run, {result}, {a, b, c});
  draft.op.m[0] = static_cast<std::uint8_t>(combine);
  draft.op.m[1] = negated ? 1 : 0;
  switch (*to) {
    case Type::f32:
      draft.op.immediate = 0x3f800000;
      break;
    case Type::f16:
    case Type::f16x2:
      draft.op.immediate = 0x3c00;
      break;
    case Type::bf16:
    case Type::bf16x2:
      draft.op.immediate = 0x3f80;
      break;
    default:
      draft.op.immediate = size_of(*to) == 2 ? 0xffff : 0xffffffff;
      break;
  }
  return true;
}

bool Decoder::select() {
  Type type = last_type();
  LaneKey key;
  if (root() == "slct") {
    const auto value = words_.size() > 2 ? type_of(words_[words_.size() - 2]) : std::nullopt;
    if (!value || (type != Type::s32 && type != Type::f32)) return false;
    understood_[words_.size() - 2] = true;
    key.ftz = has("ftz");
    if (key.ftz && type != Type::f32) return false;
    key.op = LaneOp::slct;
    key.type = *value;
    key.from = type;
    return lanes(key, Pipe::alu, *value, {*value, *value, type});
  }
  key.op = LaneOp::select;
  key.type = type;
  const Handler run = size_of(type) >= 2 ? lanes_handler(key) : nullptr;
  if (run == nullptr) return false;
  want_operands(4, 4);
  const Ref result = target(operand(0), type);
  const Ref a = source(operand(1), type);
  const Ref b = source(operand(2), type);
  bool negated = false;
  const Ref p = predicate_source(operand(3), negated);
  Draft& draft = emit(Kind::lanes, Pipe::alu, run, {result}, {a, b, p});
  draft.op.m[0] = negated ? 1 : 0;
  return true;
}

bool Decoder::testp() {
  const Type type = last_type();
  constexpr std::string_view properties[] = {"finite",     "infinite", "number",
                                             "notanumber", "normal",   "subnormal"};
  LaneKey key{.op = LaneOp::testp, .type = type};
  const Handler run = lanes_handler(key);
  if (run == nullptr) return false;
  want_operands(2, 2);
  for (std::size_t i = 0; i < std::size(properties); ++i) {
    if (!has(properties[i])) continue;
    const Ref p = predicate_target(operand(0));
    const Ref a = source(operand(1), type);
    Draft& draft = emit(Kind::lanes, Pipe::alu, run, {p}, {a});
    draft.op.m[0] = static_cast<std::uint8_t>(i);
    return true;
  }
  return false;
}

void Decoder::copy_constant(const Operand& to, Type type) {
  LaneKey key{.type = size_of(type) == 8 ? Type::b64 : size_of(type) == 4 ? Type::b32 : Type::b16};
  const Ref result = target(to, type);
  const Ref zero = constant(0, size_of(type));
  emit(Kind::lanes, Pipe::alu, lanes_handler(key), {result}, {zero});
}

bool Decoder::move() {
  const Type type = last_type();
  want_operands(2, 2);
  if (type == Type::pred) {
    bool negated = false;
    const Ref result = predicate_target(operand(0));
    const Ref a = predicate_source(operand(1), negated);
    LaneKey key{.op = LaneOp::predicate_mov};
    Draft& draft = emit(Kind::lanes, Pipe::alu, lanes_handler(key), {result}, {a, a});
    draft.op.m[0] = negated ? 1 : 0;
    return true;
  }
  if (size_of(type) < 2 || type == Type::e4m3x2 || type == Type::e5m2x2) return false;
  if (operand(1).kind == Operand::Kind::vector) return pack(type);
  if (operand(0).kind == Operand::Kind::vector) return unpack(type);
  if (type == Type::b128) return move_quad();
  if (operand(1).kind == Operand::Kind::special) {
    const std::string_view name = operand(1).name;
    const bool upper = name == "%clock_hi" || name == "%globaltimer_hi";
    const bool clock = upper || name == "%clock" || name == "%clock64" || name == "%globaltimer" ||
                       name == "%globaltimer_lo";
    if (clock) {
      const Ref result = target(operand(0), type);
      Draft& draft = emit(Kind::memory, Pipe::alu, run_clock, {result});
      draft.op.m[0] = upper ? 32 : 0;
      draft.op.m[5] = static_cast<std::uint8_t>(width_of(type));
      return true;
    }
    // What only a driver or a profiler would set, and the number of the launch.
    const bool workspace = name == "%envreg1" || name == "%envreg2";
    const bool nothing = name.starts_with("%pm") || (name.starts_with("%envreg") && !workspace) ||
                         (name == "%gridid" && size_of(type) == 8) || name == "%current_graph_exec";
    if (nothing && !is_float(type)) {
      copy_constant(operand(0), type);
      return true;
    }
  }
  LaneKey key{.type = size_of(type) == 8 ? Type::b64 : size_of(type) == 4 ? Type::b32 : Type::b16};
  return lanes(key, Pipe::alu, type, {type});
}

// mov.b16 d, {low, high} and mov.b32 of four: bytes, each in a register of its own.
bool Decoder::pack_bytes(Type type) {
  const std::vector<Operand>& parts = operand(1).parts;
  LaneKey key{.op = LaneOp::pack_bytes, .type = Type::b32};
  const Ref result = target(operand(0), type);
  std::vector<Ref> refs;
  refs.reserve(parts.size());
  for (const Operand& part : parts) refs.push_back(source(part, Type::b8));
  Draft& draft = emit(Kind::lanes, Pipe::alu, lanes_handler(key), {result});
  for (std::size_t i = 0; i < refs.size(); ++i) read(draft, i + 1, refs[i]);
  return true;
}

// mov.b32 d, {low, high}
bool Decoder::pack(Type type) {
  const std::vector<Operand>& parts = operand(1).parts;
  const std::size_t count = parts.size();
  if (type == Type::b128) return pack_quad();
  if (count > 0 && static_cast<std::size_t>(size_of(type)) == count) return pack_bytes(type);
  LaneKey key{.op = LaneOp::pack,
              .type = size_of(type) == 8 ? Type::b64 : Type::b32,
              .option = size_of(type) == 8 && count == 4};
  const Type part_type = key.option || size_of(type) == 4 ? Type::b16 : Type::b32;
  if (size_of(type) < 4 || (count != 2 && !key.option)) return false;
  const Ref result = target(operand(0), type);
  std::vector<Ref> refs;
  refs.reserve(count);
  for (const Operand& part : parts) refs.push_back(source(part, part_type));
  Draft& draft = emit(Kind::lanes, Pipe::alu, lanes_handler(key), {result});
  for (std::size_t i = 0; i < count; ++i) read(draft, i + 1, refs[i]);
  return true;
}

// mov.b32 {low, high}, a
bool Decoder::unpack(Type type) {
  const std::vector<Operand>& parts = operand(0).parts;
  const std::size_t count = parts.size();
  if (type == Type::b128) return unpack_quad();
  LaneKey key{.op = LaneOp::unpack};
  if (count > 0 && static_cast<std::size_t>(size_of(type)) == count) {
    key.op = LaneOp::unpack_byte;
    key.type = Type::b32;
    const Ref a = source(operand(1), type);
    for (std::size_t i = 0; i < count; ++i) {
      if (parts[i].kind == Operand::Kind::sink) continue;
      const Ref result = target(parts[i], Type::b8);
      Draft& draft = emit(Kind::lanes, Pipe::alu, lanes_handler(key), {result}, {a});
      draft.op.m[0] = static_cast<std::uint8_t>(8 * i);
    }
    return true;
  }
  key.type = size_of(type) == 8 ? Type::b64 : Type::b32;
  key.option = size_of(type) == 8 && count == 4;
  if (size_of(type) < 4 || (count != 2 && !key.option)) return false;
  const Type part_type = key.option || size_of(type) == 4 ? Type::b16 : Type::b32;
  const Ref a = source(operand(1), type);
  for (std::size_t i = 0; i < count; ++i) {
    if (parts[i].kind == Operand::Kind::sink) continue;
    const Ref result = target(parts[i], part_type);
    Draft& draft = emit(Kind::lanes, Pipe::alu, lanes_handler(key), {result}, {a});
    draft.op.m[0] = static_cast<std::uint8_t>(i * 8 * static_cast<std::size_t>(size_of(part_type)));
  }
  return true;
}

// Global and constant memory have the same address everywhere; shared and local memory have
// windows.
bool Decoder::address_conversion() {
  const bool to = has("to");
  const Space where = space();
  if (last_type() != Type::u64 || where == Space::generic) return false;
  std::uint64_t window = 0;
  if (where == Space::shared) window = kSharedWindow;
  if (where == Space::local) window = kLocalWindow;
  LaneKey key{.op = to ? LaneOp::sub : LaneOp::add, .type = Type::u64};
  if (where == Space::param && !to) {
    // A 64-bit register has a parameter's generic address already, a 32-bit one its low half.
    window = kParamWindow;
    key.op = LaneOp::bit_or;
  }
  want_operands(2, 2);
  const Ref result = target(operand(0), Type::u64);
  const Ref a = source(operand(1), Type::u64);
  const Ref base = constant(window, 8);
  emit(Kind::lanes, Pipe::alu, lanes_handler(key), {result}, {a, base});
  return true;
}

}  // namespace fa_tune::emulator
