#include "engine/device/emulator/decode/decoder.hpp"

// Values of 128 bits. A register of them is two virtual registers of 64 bits, the lower half first.

namespace fa_tune::emulator {

Ref Decoder::quad_half(int index, int half) {
  // Upper halves are known by numbers that no register has.
  const int key = half == 0 ? index : -1 - index;
  const auto known = local_registers_.find(key);
  if (known != local_registers_.end()) return {Ref::Kind::reg, known->second};
  const Ref ref = new_register(Type::b64, false);
  local_registers_[key] = ref.id;
  return ref;
}

std::array<Ref, 2> Decoder::quad(const Operand& operand) {
  const bool is_quad = operand.kind == Operand::Kind::reg && operand.second < 0 &&
                       !operand.negated &&
                       function_->registers[static_cast<std::size_t>(operand.index)] == Type::b128;
  if (!is_quad) malformed("a register of 128 bits is expected");
  return {quad_half(operand.index, 0), quad_half(operand.index, 1)};
}

bool Decoder::move_quad() {
  if (operand(0).kind == Operand::Kind::vector) return unpack_quad();
  const std::array<Ref, 2> to = quad(operand(0));
  const std::array<Ref, 2> from = quad(operand(1));
  for (std::size_t i = 0; i < 2; ++i) copy_register(from[i], to[i]);
  return true;
}

// mov.b128 d, {a, b} of 64 bits, or of four of 32.
bool Decoder::pack_quad() {
  const std::vector<Operand>& parts = operand(1).parts;
  if (parts.size() != 2 && parts.size() != 4) return false;
  const std::array<Ref, 2> to = quad(operand(0));
  const Type part_type = parts.size() == 2 ? Type::b64 : Type::b32;
  std::vector<Ref> refs;
  refs.reserve(parts.size());
  for (const Operand& part : parts) refs.push_back(source(part, part_type));
  for (std::size_t i = 0; i < 2; ++i) {
    if (parts.size() == 2) {
      copy_register(refs[i], to[i]);
      continue;
    }
    LaneKey key{.op = LaneOp::pack, .type = Type::b64};
    emit(Kind::lanes, Pipe::alu, lanes_handler(key), {to[i]}, {refs[2 * i], refs[2 * i + 1]});
  }
  return true;
}

// mov.b128 {a, b}, d
bool Decoder::unpack_quad() {
  const std::vector<Operand>& parts = operand(0).parts;
  if (parts.size() != 2 && parts.size() != 4) return false;
  const std::array<Ref, 2> from = quad(operand(1));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].kind == Operand::Kind::sink) continue;
    if (parts.size() == 2) {
      copy_register(from[i], target(parts[i], Type::b64));
      continue;
    }
    LaneKey key{.op = LaneOp::unpack, .type = Type::b64};
    const Ref result = target(parts[i], Type::b32);
    Draft& draft = emit(Kind::lanes, Pipe::alu, lanes_handler(key), {result}, {from[i / 2]});
    draft.op.m[0] = i % 2 == 0 ? 0 : 32;
  }
  return true;
}

// ld.b128 d, [a]
bool Decoder::load_quad() {
  const Space where = space();
  const std::uint8_t order = cache_modifiers().of_access();
  want_operands(2, 3);
  const Operand& from = operand(1);
  if (from.kind != Operand::Kind::address) malformed("an address in [ ] is expected");
  const std::array<Ref, 2> to = quad(operand(0));
  Draft& draft = emit(Kind::memory, Pipe::load_store, run_load);
  for (std::size_t i = 0; i < 2; ++i) write(draft, i, to[i]);
  address(draft, from, 8, 2);
  set_values(draft.op, loaded_space(where, from), Type::b64, 2, 8);
  draft.op.m[6] = order;
  return true;
}

// st.b128 [a], b
bool Decoder::store_quad() {
  Space where = space();
  if (where == Space::param) where = Space::local;  // an argument of a call
  if (where == Space::constant || has("async")) return false;
  const std::uint8_t order = cache_modifiers().of_access();
  want_operands(2, 3);
  const std::array<Ref, 2> from = quad(operand(1));
  Draft& draft = emit(Kind::memory, Pipe::load_store, run_store);
  for (std::size_t i = 0; i < 2; ++i) read(draft, i, from[i]);
  address(draft, operand(0), 8, 2);
  set_values(draft.op, where, Type::b64, 2, 8);
  draft.op.m[6] = order;
  return true;
}

}  // namespace fa_tune::emulator
