#include "engine/device/emulator/matrix/wmma_layout.hpp"

namespace fa_tune::emulator {

namespace {

struct NamedShape {
  std::string_view name;
  WmmaShape shape;
};
constexpr NamedShape kWmmaShapes[] = {{"m16n16k16", {16, 16, 16}},
                                      {"m32n8k16", {32, 8, 16}},
                                      {"m8n32k16", {8, 32, 16}},
                                      {"m16n16k8", {16, 16, 8}},
                                      {"m8n8k4", {8, 8, 4}}};

// PTX ISA, "wmma": which types go with which depth.
int depth_of(std::string_view type) {
  if (type == "tf32") return 8;
  return type == "f64" ? 4 : 16;
}

int bits_of(std::string_view type) {
  if (type == "f64") return 64;
  if (type == "f32" || type == "s32" || type == "tf32") return 32;
  return type == "s8" || type == "u8" ? 8 : 16;
}

}  // namespace

WmmaFragment::Place WmmaFragment::place_of(int index) const {
  const int in_block = bits == 64 ? 4 : 128 / bits;  // elements of a line in a register
  index %= distinct;
  switch (role) {
    case Role::left: {
      const int group = index / (2 * k_blocks);
      const int within = index % (2 * k_blocks);
      return {16 * group + 8 * (within % 2), in_block * (within / 2)};
    }
    case Role::right:
      return {8 * (index / k_blocks), in_block * (index % k_blocks)};
    default: {
      const int block = bits == 16 ? index : index / 2;  // of 8 x 8
      const int odd = bits == 16 ? 0 : index % 2;
      return wide ? Place{8 * (block % 2), 8 * (block / 2) + odd} : Place{8 * block, odd};
    }
  }
}

void WmmaFragment::pack(Op& op) const {
  op.m[1] = static_cast<std::uint8_t>(role);
  op.m[3] = static_cast<std::uint8_t>(bits);
  op.m[4] = static_cast<std::uint8_t>(registers);
  op.m[5] = contiguous ? 1 : 0;
  op.target = static_cast<std::uint32_t>(distinct | k_blocks << 8 | (wide ? 1 << 16 : 0));
}

WmmaFragment WmmaFragment::unpack(const Op& op) {
  WmmaFragment fragment;
  fragment.role = static_cast<Role>(op.m[1]);
  fragment.bits = op.m[3];
  fragment.registers = op.m[4];
  fragment.contiguous = op.m[5] != 0;
  fragment.distinct = static_cast<int>(op.target & 0xFF);
  fragment.k_blocks = static_cast<int>(op.target >> 8 & 0xFF);
  fragment.wide = (op.target >> 16 & 1) != 0;
  return fragment;
}

std::optional<WmmaShape> wmma_shape(std::string_view name) {
  for (const NamedShape& each : kWmmaShapes) {
    if (each.name == name) return each.shape;
  }
  return {};
}

std::optional<WmmaFragment> wmma_fragment(const WmmaShape& shape, char operand,
                                          std::string_view type, bool by_rows) {
  const bool exchanged = shape.m == 8 && shape.n == 32;
  WmmaFragment fragment;
  fragment.bits = bits_of(type);
  if (operand == 'c') {
    const bool known = shape.k == 4   ? type == "f64"
                       : shape.k == 8 ? type == "f32"
                                      : one_of(type, {"f16", "f32", "s32"});
    if (!known) return {};
    fragment.role = WmmaFragment::Role::sums;
    fragment.wide = shape.m == 16 && shape.n == 16;
    fragment.contiguous = by_rows != exchanged;
    fragment.registers = shape.m * shape.n / 32 / (fragment.bits == 16 ? 2 : 1);
    fragment.distinct = fragment.registers;
    fragment.line_length = by_rows ? shape.n : shape.m;
    return fragment;
  }
  if (!one_of(type, {"f16", "bf16", "tf32", "s8", "u8", "f64"}) || depth_of(type) != shape.k) {
    return {};
  }
  const bool is_a = operand == 'a';
  const int lines = is_a ? shape.m : shape.n;
  const bool left = exchanged ? !is_a : is_a && shape.m != 8;
  fragment.role = left ? WmmaFragment::Role::left : WmmaFragment::Role::right;
  fragment.k_blocks = fragment.bits == 64 ? 1 : shape.k * fragment.bits / 128;
  fragment.distinct = lines / 8 * fragment.k_blocks;
  fragment.registers = type == "f16" ? 8 : fragment.distinct;
  fragment.contiguous = by_rows == is_a;
  fragment.line_length = by_rows == is_a ? shape.k : lines;
  return fragment;
}

}  // namespace fa_tune::emulator
