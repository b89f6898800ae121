#include "engine/device/emulator/async/st_async.hpp"
#include "engine/device/emulator/decode/decoder.hpp"

namespace fa_tune::emulator {

// st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes{.v2,.v4}.type [to], values, [mbar]
bool Decoder::async_store() {
  if (!hopper()) return false;
  const Type type = last_type();
  has("async");
  has("weak");
  if (!has("shared::cluster") || !has("mbarrier::complete_tx::bytes")) return false;
  const std::size_t count = has("v4") ? 4 : has("v2") ? 2 : 1;
  const bool known = type == Type::b32 || type == Type::u32 || type == Type::s32 ||
                     type == Type::f32 || type == Type::b64 || type == Type::u64 ||
                     type == Type::s64 || type == Type::f64;
  if (!known || count * static_cast<std::size_t>(size_of(type)) > 16) return false;
  want_operands(3, 3);
  std::vector<Operand> values = {operand(1)};
  if (count > 1) {
    if (operand(1).kind != Operand::Kind::vector) malformed("a vector is expected");
    values = operand(1).parts;
  }
  if (values.size() != count) malformed("the vector has another number of values");
  bool wide_to = false;
  bool wide_barrier = false;
  const Ref to = whole_address(operand(0), wide_to);
  const Ref barrier = whole_address(operand(2), wide_barrier);
  std::vector<Ref> refs;
  refs.reserve(values.size());
  for (const Operand& value : values) refs.push_back(source(value, type));
  Draft& draft = emit(Kind::memory, Pipe::load_store, run_async_store);
  read(draft, 0, to);
  read(draft, 3, barrier);
  for (std::size_t i = 0; i < count; ++i) read(draft, async_store_value + i, refs[i]);
  draft.op.m[1] = static_cast<std::uint8_t>((wide_to ? 1U : 0U) | (wide_barrier ? 8U : 0U));
  draft.op.m[3] = static_cast<std::uint8_t>(type);
  draft.op.m[4] = static_cast<std::uint8_t>(count);
  draft.op.m[5] = static_cast<std::uint8_t>(width_of(type));
  return true;
}

}  // namespace fa_tune::emulator
