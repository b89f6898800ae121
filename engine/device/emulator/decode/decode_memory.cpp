#include <algorithm>

#include "engine/device/emulator/decode/decoder.hpp"

// Loads, stores, atomics and asynchronous copies.

namespace fa_tune::emulator {
namespace {

constexpr std::int64_t kAllGroups = -1;

// The types that memory holds: not those of an instruction's arithmetic alone.
bool is_plain(Type type) { return type <= Type::f64; }

}  // namespace

// What run_load and run_store find in Op::m: the space, the bytes a lane, the type and number of
// its values and the bytes of the register that holds one.
void Decoder::set_values(Op& op, Space where, Type type, std::size_t count, int width) {
  op.m[0] = static_cast<std::uint8_t>(where);
  op.m[1] = static_cast<std::uint8_t>(count * static_cast<std::size_t>(size_of(type)));
  op.m[3] = static_cast<std::uint8_t>(type);
  op.m[4] = static_cast<std::uint8_t>(count);
  op.m[5] = static_cast<std::uint8_t>(width);
}

Space Decoder::space() {
  if (has("global")) return Space::global;
  if (has("shared") || has("shared::cta")) return Space::shared;
  if (has("shared::cluster")) return Space::cluster;
  if (has("local")) return Space::local;
  if (has("const")) return Space::constant;
  if (has("param") || has("param::entry") || has("param::func")) return Space::param;
  return Space::generic;
}

// What says how fast or how visible an access is; here every access is visible at once. Volatile
// ones are relaxed at the scope of the system (PTX ISA, "Memory Consistency Model: Strong
// Operations").
Decoder::Ordering Decoder::cache_modifiers() {
  Ordering found;
  for (const std::string_view word : {"volatile", "relaxed", "mmio"}) found.relaxed |= has(word);
  const bool both = has("acq_rel");
  found.acquires = has("acquire") || both;
  found.releases = has("release") || both;
  found.scope = has("cta")       ? MemoryScope::cta
                : has("cluster") ? MemoryScope::cluster
                                 : MemoryScope::gpu;
  for (const std::string_view word :
       {"gpu", "sys", "weak", "ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc", "noftz"}) {
    has(word);
  }
  for (std::size_t i = 1; i < words_.size(); ++i) {
    if (words_[i].starts_with("L1::") || words_[i].starts_with("L2::")) understood_[i] = true;
  }
  return found;
}

// Of ld and st.
std::uint8_t Decoder::Ordering::of_access() const {
  if (releases) return packed(MemoryOrder::releasing, scope);
  if (acquires) return packed(MemoryOrder::acquiring, scope);
  return relaxed ? packed(MemoryOrder::strong, scope)
                 : packed(MemoryOrder::plain, MemoryScope::none);
}

// A function's parameters are local memory.
Space Decoder::loaded_space(Space where, const Operand& from) const {
  if (where != Space::param) return where;
  const Symbol* symbol = from.parts[0].symbol;
  const bool local = symbol != nullptr ? symbol->space == Space::local : !function_->is_entry;
  return local ? Space::local : where;
}

// One value, or a vector of `count`. A single one may stand in braces too: the ISA's "Vector
// Operands" knows only two and four, but ptxas takes `ld.global.b32 {%r1}, [...]`, Triton's form.
std::vector<Operand> Decoder::values(const Operand& operand, std::size_t count) const {
  const bool braced = operand.kind == Operand::Kind::vector;
  if (count == 1 && !(braced && operand.parts.size() == 1)) return {operand};
  if (operand.kind != Operand::Kind::vector) malformed("a vector is expected");
  if (operand.parts.size() != count) malformed("the vector has another number of values");
  return operand.parts;
}

bool Decoder::load() {
  const Type type = last_type();
  if (type == Type::b128) return load_quad();
  Space where = space();
  const std::uint8_t order = cache_modifiers().of_access();
  const std::size_t count = has("v4") ? 4 : has("v2") ? 2 : 1;
  const std::size_t bytes = count * static_cast<std::size_t>(size_of(type));
  if (bytes == 0 || bytes > 16 || !is_plain(type)) return false;
  want_operands(2, 3);  // the third is a cache policy
  const Operand& from = operand(1);
  if (from.kind != Operand::Kind::address) malformed("an address in [ ] is expected");
  where = loaded_space(where, from);
  const std::vector<Operand> parts = values(operand(0), count);
  std::vector<Ref> refs;
  int width = 0;
  for (const Operand& part : parts) {
    int own = 0;
    refs.push_back(target_at_least(part, type, own));
    if (part.kind == Operand::Kind::sink) {
      refs.back() = {};
      continue;
    }
    if (width != 0 && own != width) malformed("the vector's registers differ in width");
    width = own;
  }
  if (width == 0) width = width_of(type);
  Draft& draft = emit(Kind::memory, Pipe::load_store, run_load);
  for (std::size_t i = 0; i < count; ++i) {
    if (refs[i].kind != Ref::Kind::none) write(draft, i, refs[i]);
  }
  address(draft, from, 8, 2);
  set_values(draft.op, where, type, count, width);
  draft.op.m[6] = order;
  return true;
}

bool Decoder::store() {
  if (std::find(words_.begin(), words_.end(), "async") != words_.end()) return async_store();
  const Type type = last_type();
  if (type == Type::b128) return store_quad();
  Space where = space();
  if (where == Space::param) where = Space::local;  // an argument of a call
  if (where == Space::constant) return false;
  const std::uint8_t order = cache_modifiers().of_access();
  const std::size_t count = has("v4") ? 4 : has("v2") ? 2 : 1;
  const std::size_t bytes = count * static_cast<std::size_t>(size_of(type));
  if (bytes == 0 || bytes > 16 || !is_plain(type)) return false;
  want_operands(2, 3);
  const std::vector<Operand> parts = values(operand(1), count);
  // Registers of a vector may be mixed with constants, which come as wide as the others.
  int width = 0;
  for (const Operand& part : parts) {
    if (part.kind != Operand::Kind::reg) continue;
    int own = 0;
    source_at_least(part, type, own);
    if (width != 0 && (own == 8) != (width == 8))
      malformed("the vector's registers differ in width");
    width = own;
  }
  if (width == 0) width = width_of(type);
  std::vector<Ref> refs;
  for (const Operand& part : parts) {
    int own = 0;
    const bool is_register = part.kind == Operand::Kind::reg || part.kind == Operand::Kind::special;
    refs.push_back(is_register ? source_at_least(part, type, own)
                               : constant(constant_bits(part, type), width));
    if (part.kind == Operand::Kind::special && width == 8) malformed("mixed widths");
  }
  Draft& draft = emit(Kind::memory, Pipe::load_store, run_store);
  for (std::size_t i = 0; i < count; ++i) read(draft, i, refs[i]);
  address(draft, operand(0), 8, 2);
  set_values(draft.op, where, type, count, width);
  draft.op.m[6] = order;
  return true;
}

bool Decoder::isspacep() {
  const Space where = space();
  if (where == Space::generic) return false;
  want_operands(2, 2);
  const Ref p = predicate_target(operand(0));
  const Ref a = source(operand(1), Type::u64);
  Draft& draft = emit(Kind::memory, Pipe::alu, run_isspacep, {p}, {a});
  draft.op.m[0] = static_cast<std::uint8_t>(where);
  return true;
}

// cp.async.{ca,cg}.shared.global [to], [from], bytes{, bytes to read | ignore}{, policy}
bool Decoder::async() {
  if (has("mbarrier")) return async_arrive();
  if (std::find(words_.begin(), words_.end(), "bulk") != words_.end()) return bulk();
  if (!has("async")) return false;
  if (has("commit_group")) {
    want_operands(0, 0);
    emit(Kind::memory, Pipe::load_store, run_async_commit);
    return true;
  }
  const bool all = has("wait_all");
  if (all || has("wait_group")) {
    want_operands(all ? 0 : 1, all ? 0 : 1);
    std::int64_t left = kAllGroups;
    if (!all) {
      if (operand(0).kind != Operand::Kind::integer || operand(0).value < 0) {
        malformed("a number of groups is expected");
      }
      left = operand(0).value;
    }
    Draft& draft = emit(Kind::memory, Pipe::control, run_async_wait);
    draft.op.immediate = left;
    return true;
  }
  const bool near_global = has("cg");
  if (!near_global && !has("ca")) return false;
  if (!(has("shared") || has("shared::cta")) || !has("global")) return false;
  bool has_policy = false;
  for (std::size_t i = 1; i < words_.size(); ++i) {
    if (!words_[i].starts_with("L2::")) continue;
    understood_[i] = true;
    has_policy |= words_[i] == "L2::cache_hint";
  }
  const std::size_t count = operand_count() - (has_policy && operand_count() > 3 ? 1 : 0);
  if (count != 3 && count != 4) malformed("three or four operands are expected");
  const std::int64_t bytes = operand(2).value;
  const bool legal = operand(2).kind == Operand::Kind::integer &&
                     (bytes == 16 || (!near_global && (bytes == 4 || bytes == 8)));
  if (!legal) malformed("copies 16 bytes, with .ca also 4 or 8");
  Ref valid;
  Ref ignore;
  bool negated = false;
  if (count == 4) {
    const Operand& last = operand(3);
    const bool is_predicate =
        last.kind == Operand::Kind::reg &&
        function_->registers[static_cast<std::size_t>(last.index)] == Type::pred;
    if (is_predicate) {
      ignore = predicate_source(last, negated);
    } else {
      valid = source(last, Type::u32);
    }
  }
  Draft& draft = emit(Kind::memory, Pipe::load_store, run_async_copy);
  // Two addresses: the second one's offset goes to `target`.
  address(draft, operand(1), 1, 3);
  const std::int64_t offset = draft.op.immediate;
  if (draft.op.m[3] == 0 || offset != static_cast<std::int32_t>(offset)) {
    // A constant address in global memory is written by no compiler.
    malformed("the source wants a register");
  }
  address(draft, operand(0), 0, 2);
  draft.op.target = static_cast<std::uint32_t>(static_cast<std::int32_t>(offset));
  read(draft, 2, valid);
  read(draft, 3, ignore);
  draft.op.m[1] = static_cast<std::uint8_t>(bytes);
  draft.op.m[4] = static_cast<std::uint8_t>(Space::global);
  draft.op.m[5] = negated ? 1 : 0;
  return true;
}

}  // namespace fa_tune::emulator
