#include <algorithm>
#include <optional>

#include "engine/device/emulator/async/async_copy.hpp"
#include "engine/device/emulator/async/tensor_map.hpp"
#include "engine/device/emulator/decode/decoder.hpp"

// tensormap.replace and tensormap.cp_fenceproxy.

namespace fa_tune::emulator {
namespace {

struct Field {
  std::string_view name;
  TensorMapField what;
  Type type = Type::b32;
  std::int64_t ordinals = 0;  // 0: it takes none
};
constexpr Field kFields[] = {
    {"global_address", TensorMapField::address, Type::b64},
    {"rank", TensorMapField::rank},
    {"box_dim", TensorMapField::box, Type::b32, 5},
    {"global_dim", TensorMapField::dim, Type::b32, 5},
    {"global_stride", TensorMapField::stride, Type::b64, 4},
    {"element_stride", TensorMapField::step, Type::b32, 5},
    {"elemtype", TensorMapField::element},
    {"swizzle_mode", TensorMapField::swizzle},
    {"fill_mode", TensorMapField::nan_fill},
    {"interleave_layout", TensorMapField::nothing},
};

// By the ISA's number for it; those that round or flush as they are copied, and those of less than
// a byte, are unknown here.
std::optional<std::uint8_t> element_of(std::int64_t number) {
  constexpr TensorElement kElements[] = {TensorElement::u8,  TensorElement::u16, TensorElement::u32,
                                         TensorElement::s32, TensorElement::u64, TensorElement::s64,
                                         TensorElement::f16, TensorElement::f32};
  if (number >= 0 && number < 8) return static_cast<std::uint8_t>(kElements[number]);
  if (number == 9) return static_cast<std::uint8_t>(TensorElement::f64);
  if (number == 10) return static_cast<std::uint8_t>(TensorElement::bf16);
  return std::nullopt;
}

// What TensorMapBits has for a constant of the text, if the emulator knows it.
std::optional<std::uint8_t> constant_of(TensorMapField field, std::int64_t number) {
  switch (field) {
    case TensorMapField::element:
      return element_of(number);
    case TensorMapField::swizzle:  // rows of 32, 64 or 128 bytes
      if (number < 0 || number > 3) return std::nullopt;
      return static_cast<std::uint8_t>(1U << static_cast<unsigned>(number) >> 1U);
    case TensorMapField::nan_fill:
      if (number < 0 || number > 1) return std::nullopt;
      return static_cast<std::uint8_t>(number);
    default:
      if (number != 0) return std::nullopt;
      return 0;
  }
}

}  // namespace

bool Decoder::tensor_map() {
  if (!hopper()) return false;
  if (has("cp_fenceproxy")) return tensor_map_copy();
  if (!has("replace") || !has("tile") || !has("b1024")) return false;
  const Type type = last_type();
  const auto* field = std::find_if(std::begin(kFields), std::end(kFields),
                                   [&](const Field& each) { return has(each.name); });
  if (field == std::end(kFields) || field->type != type) return false;
  const Space where = space();
  if (where != Space::shared && where != Space::global && where != Space::generic) return false;
  const bool constant = field->what >= TensorMapField::element;
  const std::size_t count = field->ordinals > 0 ? 3 : 2;
  want_operands(count, count);
  const Operand& value = operand(count - 1);
  std::uint8_t which = 0;
  if (field->ordinals > 0) {
    const Operand& ordinal = operand(1);
    if (ordinal.kind != Operand::Kind::integer || ordinal.value < 0 ||
        ordinal.value >= field->ordinals) {
      malformed("the dimension is expected, as a constant");
    }
    which = static_cast<std::uint8_t>(ordinal.value);
  }
  Ref given;
  if (constant) {
    if (value.kind != Operand::Kind::integer) malformed("a constant is expected");
    const auto known = constant_of(field->what, value.value);
    if (!known) unknown();
    which = *known;
  } else {
    given = source(value, type);
  }
  Draft& draft = emit(Kind::memory, Pipe::load_store, run_tensor_map_replace);
  if (!constant) read(draft, 0, given);
  address(draft, operand(0), 8, 2);
  draft.op.m[0] = static_cast<std::uint8_t>(where);
  draft.op.m[3] = which;
  draft.op.m[4] = static_cast<std::uint8_t>(field->what);
  draft.op.m[5] = static_cast<std::uint8_t>(size_of(type));
  return true;
}

// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned
// [to], [from], 128
bool Decoder::tensor_map_copy() {
  for (const std::string_view word :
       {"global", "shared::cta", "tensormap::generic", "release", "sync", "aligned"}) {
    if (!has(word)) return false;
  }
  if (!has("cta") && !has("cluster") && !has("gpu") && !has("sys")) return false;
  want_operands(3, 3);
  if (operand(2).kind != Operand::Kind::integer || operand(2).value != sizeof(TensorMapBits)) {
    malformed("128 bytes are expected");
  }
  bool to_is_wide = false;
  bool from_is_wide = false;
  const Ref to = whole_address(operand(0), to_is_wide);
  const Ref from = whole_address(operand(1), from_is_wide);
  if (!to_is_wide) malformed("global memory wants an address of 64 bits");
  Draft& draft = emit(Kind::converge, Pipe::load_store, run_tensor_map_copy, {}, {to, from});
  draft.op.m[1] = static_cast<std::uint8_t>(1U | (from_is_wide ? 2U : 0U));
  draft.op.m[6] = 1;  // aligned
  return true;
}

}  // namespace fa_tune::emulator
