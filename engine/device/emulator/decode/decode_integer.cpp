#include <unordered_map>

#include "engine/device/emulator/decode/decoder.hpp"

// Integer arithmetic: sums and products, with carry, of bytes and halves of a word; masks.

namespace fa_tune::emulator {
namespace {

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

bool is_word(Type type) { return type == Type::u32 || type == Type::s32; }

}  // namespace

LaneOp Decoder::lane_op_of(std::string_view root) {
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

bool Decoder::integer(Type type) {
  LaneKey key{.op = lane_op_of(root()), .type = type, .sat = has("sat")};
  if (key.sat && type != Type::s32) return false;
  const bool pair = type == Type::u16x2 || type == Type::s16x2;
  if (root() == "mul" || root() == "mad") {
    Type to = type;
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
    if (!is_word(type)) return false;
    key.high = has("hi");
    if (!key.high && !has("lo")) return false;
    if (root() == "mul24") return !key.sat && lanes(key, Pipe::alu, type, {type, type});
    return lanes(key, Pipe::alu, type, {type, type, type});
  }
  if (root() == "sad") return lanes(key, Pipe::alu, type, {type, type, type});
  if (root() == "abs" || root() == "neg") {
    if (!is_signed(type) || pair || key.sat) return false;
    return lanes(key, Pipe::alu, type, {type});
  }
  if (root() == "min" || root() == "max") {
    key.relu = has("relu");
    if (key.relu && type != Type::s32 && type != Type::s16x2) return false;
    if (key.sat || operand_count() == 4) return false;
  } else if (pair && root() != "add") {
    return false;
  }
  return lanes(key, Pipe::alu, type, {type, type});
}

// add.cc, addc, addc.cc and likewise sub, mad. CC.CF is a predicate; it lives within a function.
bool Decoder::with_carry() {
  const Type type = last_type();
  const bool out = has("cc");
  const bool in = root().ends_with("c");
  const std::string_view base = in ? root().substr(0, root().size() - 1) : root();
  LaneKey key{.type = type};
  if (!is_word(type) && type != Type::u64 && type != Type::s64) return false;
  if (base == "add") {
    key.op = LaneOp::add_carry;
  } else if (base == "sub") {
    key.op = LaneOp::sub_carry;
  } else if (base == "mad") {
    if (has("lo")) {
      key.op = LaneOp::mad_lo_carry;
    } else if (has("hi")) {
      key.op = LaneOp::mad_hi_carry;
    } else {
      return false;
    }
  } else {
    return false;
  }
  const std::size_t count = base == "mad" ? 4 : 3;
  want_operands(count, count);
  if (carry_.kind == Ref::Kind::none) carry_ = new_predicate();
  const Ref result = target(operand(0), type);
  Ref from[3];
  for (std::size_t i = 1; i < count; ++i) from[i - 1] = source(operand(i), type);
  Draft& draft =
      emit(Kind::lanes, Pipe::alu, lanes_handler(key), {result}, {from[0], from[1], from[2]});
  if (in) read(draft, 4, carry_);
  if (out) write(draft, 5, carry_);
  return true;
}

// dp4a.atype.btype d, a, b, c; dp2a.mode.atype.btype.
bool Decoder::dot_product() {
  LaneKey key{.from = last_type()};
  const bool bytes = root() == "dp4a";
  const auto other =
      words_.size() == (bytes ? 3U : 4U) ? type_of(words_[words_.size() - 2]) : std::nullopt;
  if (!other || !is_word(*other) || !is_word(key.from)) return false;
  understood_[words_.size() - 2] = true;
  key.op = bytes ? LaneOp::dp4a : LaneOp::dp2a;
  key.type = *other;
  if (!bytes) {
    key.option = has("hi");
    if (!key.option && !has("lo")) return false;
  }
  return lanes(key, Pipe::alu, Type::b32, {Type::b32, Type::b32, Type::b32});
}

// fns.b32 d, mask, base, n; bmsk.mode.b32 d, from, length; szext.mode.type d, a, length.
bool Decoder::masks() {
  const Type type = last_type();
  LaneKey key{.type = type};
  if (root() == "fns") {
    key.op = LaneOp::fns;
    return type == Type::b32 && lanes(key, Pipe::alu, type, {Type::b32, Type::b32, Type::s32});
  }
  key.option = has("clamp");
  if (!key.option && !has("wrap")) return false;
  key.op = root() == "bmsk" ? LaneOp::bmsk : LaneOp::szext;
  if (key.op == LaneOp::bmsk ? type != Type::b32 : !is_word(type)) return false;
  return lanes(key, Pipe::alu, type, {Type::b32, Type::u32});
}

// prmt.b32.mode d, a, b, c
bool Decoder::permute_mode() {
  constexpr std::string_view modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  LaneKey key{.op = LaneOp::prmt_mode, .type = Type::b32};
  for (std::size_t i = 0; i < std::size(modes); ++i) {
    if (words_[2] != modes[i] || !has("b32")) continue;
    understood_[2] = true;
    if (!lanes(key, Pipe::alu, Type::b32, {Type::b32, Type::b32, Type::b32})) return false;
    drafts_.back().op.m[0] = static_cast<std::uint8_t>(i);
    return true;
  }
  return false;
}

// vadd2.dtype.atype.btype{.sat|.add} d, a, b, c; vset also has a comparison and no dtype. Masks and
// selections of elements are not among what is known.
bool Decoder::video() {
  static const std::unordered_map<std::string_view, Video> known = {
      {"vadd", Video::add},      {"vsub", Video::sub},
      {"vavrg", Video::average}, {"vabsdiff", Video::difference},
      {"vmin", Video::min},      {"vmax", Video::max},
      {"vset", Video::set}};
  const Video what = known.at(root().substr(0, root().size() - 1));
  const bool sat = has("sat");
  const bool sum = has("add");
  Compare compare = Compare::eq;
  if (what == Video::set) {
    constexpr std::string_view names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    std::size_t at = 0;
    while (at < std::size(names) && !has(names[at])) ++at;
    if (at == std::size(names) || sat) return false;
    compare = static_cast<Compare>(at);
  }
  std::vector<Type> types;
  for (std::size_t i = 1; i < words_.size(); ++i) {
    const auto type = type_of(words_[i]);
    if (!type) continue;
    if (!is_word(*type)) return false;
    types.push_back(*type);
    understood_[i] = true;
  }
  if (what == Video::set) types.insert(types.begin(), Type::u32);
  if (types.size() != 3 || (sat && sum)) return false;
  LaneKey key{.op = LaneOp::video, .type = Type::b32};
  if (!lanes(key, Pipe::alu, Type::b32, {Type::b32, Type::b32, Type::b32})) return false;
  Op& op = drafts_.back().op;
  op.m[0] = static_cast<std::uint8_t>(what);
  op.m[1] = root().back() == '4' ? 8 : 16;
  for (std::size_t i = 0; i < 3; ++i) {
    if (types[i] == Type::s32) op.m[2] = static_cast<std::uint8_t>(op.m[2] | 1U << i);
  }
  op.m[3] = sat ? 1 : sum ? 2 : 0;
  op.m[4] = static_cast<std::uint8_t>(compare);
  return true;
}

}  // namespace fa_tune::emulator
