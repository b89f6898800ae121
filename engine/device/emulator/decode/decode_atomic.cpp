#include <algorithm>

#include "engine/device/emulator/decode/decoder.hpp"

// atom and red. On vectors each element is updated on its own, as the ISA has it.

namespace fa_tune::emulator {
namespace {

struct Known {
  std::string_view name;
  Atomic what;
};
constexpr Known kAtomics[] = {
    {"add", Atomic::add},   {"min", Atomic::min},     {"max", Atomic::max},
    {"inc", Atomic::inc},   {"dec", Atomic::dec},     {"and", Atomic::bit_and},
    {"or", Atomic::bit_or}, {"xor", Atomic::bit_xor}, {"exch", Atomic::exch},
    {"cas", Atomic::cas},
};

bool is_half(Type type) {
  return type == Type::f16 || type == Type::bf16 || type == Type::f16x2 || type == Type::bf16x2;
}

// Which operation goes with which type; min and max of halves are of vectors alone.
bool goes_together(Atomic what, Type type, bool vector) {
  switch (what) {
    case Atomic::add:
      return vector ? is_half(type) || type == Type::f32
                    : is_float(type) || type == Type::u32 || type == Type::s32 || type == Type::u64;
    case Atomic::min:
    case Atomic::max:
      if (vector) return is_half(type);
      return type == Type::u32 || type == Type::s32 || type == Type::u64 || type == Type::s64;
    case Atomic::inc:
    case Atomic::dec:
      return type == Type::u32 && !vector;
    case Atomic::bit_and:
    case Atomic::bit_or:
    case Atomic::bit_xor:
    case Atomic::exch:
      return (type == Type::b32 || type == Type::b64) && !vector;
    case Atomic::cas:
      return (type == Type::b16 || type == Type::b32 || type == Type::b64) && !vector;
  }
  return false;
}

bool same_register(const Ref& a, const Ref& b) {
  return a.kind == Ref::Kind::reg && b.kind == Ref::Kind::reg && a.id == b.id;
}

}  // namespace

// The type need not come last: atom.global.v2.f16.add.noftz.
Type Decoder::atomic_type() {
  for (std::size_t i = words_.size(); i-- > 1;) {
    const auto type = type_of(words_[i]);
    if (!type) continue;
    understood_[i] = true;
    return *type;
  }
  unknown();
}

// atom.space.op.type d, [a], b{, c}; red has no d. A cache policy may follow.
bool Decoder::atomic() {
  if (has("async")) return false;
  const Type type = atomic_type();
  const bool reduction = root() == "red";
  const Known* found = nullptr;
  for (const Known& each : kAtomics) {
    if (found == nullptr && has(each.name)) found = &each;
  }
  if (found == nullptr) return false;
  const Atomic what = found->what;
  if (type == Type::b128) return atomic_quad(what);
  const std::size_t count = has("v8") ? 8 : has("v4") ? 4 : has("v2") ? 2 : 1;
  if (!goes_together(what, type, count > 1)) return false;
  if (count * static_cast<std::size_t>(size_of(type)) > 16) return false;
  const AtomicPlace place = atomic_place();
  if (!place.known) return false;
  const bool near_sm = place.where == Space::shared || place.where == Space::cluster;
  if (count > 1 && near_sm) return false;
  const std::size_t at = reduction ? 0 : 1;
  const std::size_t values = what == Atomic::cas ? 2 : 1;
  want_operands(at + 1 + values, at + 2 + values);
  const auto parts_of = [&](const Operand& operand) {
    if (count == 1) return std::vector<Operand>{operand};
    if (operand.kind != Operand::Kind::vector || operand.parts.size() != count) {
      malformed("a vector of as many values is expected");
    }
    return operand.parts;
  };
  std::vector<Ref> old(count);
  if (!reduction && operand(0).kind != Operand::Kind::sink) {
    const std::vector<Operand> parts = parts_of(operand(0));
    for (std::size_t i = 0; i < count; ++i) {
      if (parts[i].kind != Operand::Kind::sink) old[i] = target(parts[i], type);
    }
  }
  std::vector<Ref> b;
  for (const Operand& part : parts_of(operand(at + 1))) b.push_back(source(part, type));
  Ref c;
  if (what == Atomic::cas) c = source(operand(at + 2), type);
  // One element's result must not be the next one's operand.
  for (std::size_t i = 1; i < count; ++i) {
    const bool overwritten = std::any_of(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(i),
                                         [&](const Ref& ref) { return same_register(ref, b[i]); });
    if (overwritten) b[i] = copy_of(b[i]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    Draft& draft = emit(Kind::memory, Pipe::load_store, run_atomic, {old[i]}, {b[i], c});
    address(draft, operand(at), 8, 2);
    draft.op.immediate += static_cast<std::int64_t>(i) * size_of(type);
    draft.op.m[0] = static_cast<std::uint8_t>(place.where);
    draft.op.m[1] = static_cast<std::uint8_t>(size_of(type));
    draft.op.m[3] = static_cast<std::uint8_t>(type);
    draft.op.m[4] = place.order;
    draft.op.m[5] = static_cast<std::uint8_t>(width_of(type));
    draft.op.m[6] = static_cast<std::uint8_t>(what);
  }
  const bool orderless = reduction && !is_float(type) && what != Atomic::exch &&
                         what != Atomic::cas && what != Atomic::inc && what != Atomic::dec;
  if (!near_sm && !orderless) program_.order_dependent = true;
  return true;
}

Decoder::AtomicPlace Decoder::atomic_place() {
  AtomicPlace place;
  place.where = space();
  // .relaxed.gpu unless it says otherwise (PTX ISA, atom and red).
  const Ordering ordering = cache_modifiers();
  place.order = packed(ordering.acquires && ordering.releases ? MemoryOrder::acq_rel_update
                       : ordering.releases                    ? MemoryOrder::releasing_update
                       : ordering.acquires                    ? MemoryOrder::acquiring_update
                                                              : MemoryOrder::update,
                       ordering.scope);
  place.known = place.where == Space::generic || place.where == Space::global ||
                place.where == Space::shared || place.where == Space::cluster;
  return place;
}

// atom.cas.b128 d, [a], b, c; atom.exch.b128 d, [a], b
bool Decoder::atomic_quad(Atomic what) {
  if (root() != "atom" || (what != Atomic::cas && what != Atomic::exch)) return false;
  const AtomicPlace place = atomic_place();
  if (!place.known) return false;
  const std::size_t values = what == Atomic::cas ? 2 : 1;
  want_operands(2 + values, 3 + values);
  std::array<Ref, 2> old;
  if (operand(0).kind != Operand::Kind::sink) old = quad(operand(0));
  const std::array<Ref, 2> b = quad(operand(2));
  std::array<Ref, 2> c;
  if (values == 2) c = quad(operand(3));
  Draft& draft = emit(Kind::memory, Pipe::load_store, run_atomic_quad, {old[0], old[1]},
                      {b[0], b[1], c[0], c[1]});
  address(draft, operand(1), 8, 2);
  draft.op.m[0] = static_cast<std::uint8_t>(place.where);
  draft.op.m[1] = 16;
  draft.op.m[4] = place.order;
  draft.op.m[6] = static_cast<std::uint8_t>(what);
  if (place.where != Space::shared && place.where != Space::cluster) {
    program_.order_dependent = true;
  }
  return true;
}

}  // namespace fa_tune::emulator
