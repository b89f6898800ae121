#include <bit>

#include <fmt/format.h>

#include "engine/device/emulator/decode/decoder.hpp"

// What the operands of the statement at hand stand for, checked against the instruction's types.

namespace fa_tune::emulator {
namespace {

struct NamedSpecial {
  std::string_view name;
  Special special;
};
constexpr NamedSpecial kSpecials[] = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%gridid", Special::gridid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%aggr_smem_size", Special::total_smem_size},
    {"%total_smem_size", Special::total_smem_size},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
    {"%cluster_ctaid.x", Special::cluster_ctaid_x},
    {"%cluster_ctaid.y", Special::cluster_ctaid_y},
    {"%cluster_ctaid.z", Special::cluster_ctaid_z},
    {"%cluster_nctaid.x", Special::cluster_nctaid_x},
    {"%cluster_nctaid.y", Special::cluster_nctaid_y},
    {"%cluster_nctaid.z", Special::cluster_nctaid_z},
    {"%clusterid.x", Special::clusterid_x},
    {"%clusterid.y", Special::clusterid_y},
    {"%clusterid.z", Special::clusterid_z},
    {"%nclusterid.x", Special::nclusterid_x},
    {"%nclusterid.y", Special::nclusterid_y},
    {"%nclusterid.z", Special::nclusterid_z},
    {"%envreg1", Special::envreg1},
    {"%envreg2", Special::envreg2},
};

}  // namespace

// What a function writes must not touch what its callers keep, which lies elsewhere in the text:
// all of it lives all the time.
Ref Decoder::new_register(Type type, bool fixed) {
  const bool called = function_ != nullptr && !function_->is_entry;
  registers_.push_back({type, fixed || called});
  return {Ref::Kind::reg, static_cast<std::uint32_t>(registers_.size() - 1)};
}

Ref Decoder::new_predicate() {
  if (function_ != nullptr && !function_->is_entry) return fixed_predicate();
  return {Ref::Kind::predicate, predicates_++};
}

Ref Decoder::register_ref(int index) {
  const auto known = local_registers_.find(index);
  if (known != local_registers_.end()) return {Ref::Kind::reg, known->second};
  const Ref ref = new_register(function_->registers[static_cast<std::size_t>(index)], false);
  local_registers_[index] = ref.id;
  return ref;
}

Ref Decoder::predicate_register(int index) {
  if (function_->registers[static_cast<std::size_t>(index)] != Type::pred) {
    malformed("a predicate is expected");
  }
  const auto known = local_predicates_.find(index);
  if (known != local_predicates_.end()) return {Ref::Kind::predicate, known->second};
  const Ref ref = new_predicate();
  local_predicates_[index] = ref.id;
  return ref;
}

Ref Decoder::constant(std::uint64_t bits, int bytes) {
  const int width = bytes == 8 ? 8 : 4;
  const auto [place, is_new] = constants_.try_emplace({bits, width}, 0);
  if (is_new) {
    place->second = static_cast<std::uint32_t>(program_.constants.size() / kWarpSize);
    const auto low = static_cast<std::uint32_t>(bits);
    const auto high = static_cast<std::uint32_t>(bits >> 32);
    for (int lane = 0; lane < kWarpSize; ++lane) {
      program_.constants.push_back(low);
      if (width == 8) program_.constants.push_back(high);
    }
    if (program_.constants.size() / kWarpSize >= 0x7ff0) malformed("too many different constants");
  }
  return {Ref::Kind::constant, place->second};
}

std::uint64_t Decoder::symbol_address(const Symbol& symbol) const {
  return symbol.space == Space::param ? kParamWindow + symbol.address : symbol.address;
}

std::uint64_t Decoder::constant_bits(const Operand& operand, Type type) const {
  const auto value = static_cast<std::uint64_t>(operand.value);
  const std::uint64_t kept =
      size_of(type) >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * size_of(type))) - 1;
  switch (operand.kind) {
    case Operand::Kind::integer:
      if (type == Type::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(operand.value));
      if (type == Type::f64)
        return std::bit_cast<std::uint64_t>(static_cast<double>(operand.value));
      return value & kept;
    case Operand::Kind::real32:
      if (type == Type::f64) {
        return std::bit_cast<std::uint64_t>(
            static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value))));
      }
      if (size_of(type) != 4) malformed("a constant of 32 bits is not expected here");
      return value & kept;
    case Operand::Kind::real64:
      if (type == Type::f32) {
        return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
      }
      if (size_of(type) != 8) malformed("a constant of 64 bits is not expected here");
      return value;
    default:
      if (operand.symbol == nullptr) malformed("a register or a constant is expected");
      return (symbol_address(*operand.symbol) + value) & kept;
  }
}

Ref Decoder::special(const Operand& operand, Type type) {
  if (operand.name == "WARP_SZ") return constant(kWarpSize, size_of(type));
  for (const NamedSpecial& known : kSpecials) {
    if (known.name != operand.name) continue;
    if (size_of(type) > 4) malformed(fmt::format("{} has 32 bits", operand.name));
    const auto [place, is_new] = specials_.try_emplace(known.special, 0);
    if (is_new) place->second = new_register(Type::b32, true).id;
    return {Ref::Kind::reg, place->second};
  }
  fail_unknown(statement_->line, fmt::format("{} {}", statement_->opcode, operand.name));
}

Ref Decoder::source(const Operand& operand, Type type) {
  int width = 0;
  const Ref ref = source_at_least(operand, type, width);
  if (operand.kind == Operand::Kind::reg && width != width_of(type)) {
    malformed(fmt::format("{} is not {} bits wide", operand.name, 8 * size_of(type)));
  }
  return ref;
}

Ref Decoder::register_at_least(const Operand& operand, Type type, int& width) {
  const Type held = function_->registers[static_cast<std::size_t>(operand.index)];
  if (held == Type::pred) malformed(fmt::format("{} is a predicate", operand.name));
  if (held == Type::b128) malformed(fmt::format("{} has 128 bits", operand.name));
  width = width_of(held);
  if (width < width_of(type)) {
    malformed(fmt::format("{} is narrower than {} bits", operand.name, 8 * size_of(type)));
  }
  return register_ref(operand.index);
}

Ref Decoder::source_at_least(const Operand& operand, Type type, int& width) {
  if (operand.second >= 0 || operand.negated) malformed("a plain value is expected");
  width = width_of(type);
  switch (operand.kind) {
    case Operand::Kind::reg:
      return register_at_least(operand, type, width);
    case Operand::Kind::special:
      width = 4;
      return special(operand, type);
    case Operand::Kind::integer:
    case Operand::Kind::real32:
    case Operand::Kind::real64:
    case Operand::Kind::symbol:
      return constant(constant_bits(operand, type), size_of(type));
    case Operand::Kind::name:
      if (const auto found = functions_.find(operand.name); found != functions_.end()) {
        return constant(function_address(*found->second), 8);
      }
      malformed(fmt::format("'{}' is not declared", operand.name));
    default:
      malformed("a register or a constant is expected");
  }
}

Ref Decoder::target_at_least(const Operand& operand, Type type, int& width) {
  width = width_of(type);
  if (operand.kind == Operand::Kind::sink) return new_register(type, false);
  if (operand.kind != Operand::Kind::reg || operand.negated) {
    malformed("the result wants a register");
  }
  return register_at_least(operand, type, width);
}

Ref Decoder::target(const Operand& operand, Type type) {
  int width = 0;
  const Ref ref = target_at_least(operand, type, width);
  if (width != width_of(type)) {
    malformed(fmt::format("{} is not {} bits wide", operand.name, 8 * size_of(type)));
  }
  if (operand.second >= 0) malformed("one result is expected");
  return ref;
}

Ref Decoder::predicate_source(const Operand& operand, bool& negated) {
  negated = operand.negated;
  if (operand.kind == Operand::Kind::integer) {
    return {Ref::Kind::predicate, operand.value != 0 ? kPredicateTrue : kPredicateFalse};
  }
  if (operand.kind != Operand::Kind::reg) malformed("a predicate is expected");
  return predicate_register(operand.index);
}

Ref Decoder::predicate_target(const Operand& operand) {
  if (operand.kind == Operand::Kind::sink) return new_predicate();
  if (operand.kind != Operand::Kind::reg || operand.negated) malformed("a predicate is expected");
  return predicate_register(operand.index);
}

void Decoder::address(Draft& draft, const Operand& operand, std::size_t ref, std::size_t width_at) {
  if (operand.kind != Operand::Kind::address || operand.parts.size() != 1) {
    malformed("an address in [ ] is expected");
  }
  const Operand& base = operand.parts[0];
  draft.op.immediate = operand.value;
  if (base.kind == Operand::Kind::reg) {
    int width = 0;
    read(draft, ref, source_at_least(base, Type::b32, width));
    draft.op.m[width_at] = static_cast<std::uint8_t>(width);
    return;
  }
  auto address = static_cast<std::uint64_t>(base.value);
  if (base.kind == Operand::Kind::symbol) address = symbol_address(*base.symbol);
  draft.op.immediate =
      static_cast<std::int64_t>(address + static_cast<std::uint64_t>(operand.value));
  draft.op.m[width_at] = 0;
}

// The value of an address with its offset, in one register or constant of 32 or (`wide`) 64 bits:
// for instructions with several addresses.
Ref Decoder::whole_address(const Operand& operand, bool& wide) {
  if (operand.kind != Operand::Kind::address) malformed("an address in [ ] is expected");
  const Operand& base = operand.parts[0];
  const auto offset = static_cast<std::uint64_t>(operand.value);
  if (base.kind != Operand::Kind::reg) {
    auto address = static_cast<std::uint64_t>(base.value);
    if (base.kind == Operand::Kind::symbol) address = symbol_address(*base.symbol);
    wide = true;
    return constant(address + offset, 8);
  }
  int width = 0;
  const Ref ref = source_at_least(base, Type::b32, width);
  wide = width == 8;
  if (offset == 0) return ref;
  LaneKey key{.op = LaneOp::add, .type = wide ? Type::u64 : Type::u32};
  const Ref sum = new_register(key.type, !function_->is_entry);
  const Ref added = constant(wide ? offset : offset & UINT32_MAX, width);
  emit(Kind::lanes, Pipe::alu, lanes_handler(key), {sum}, {ref, added});
  return sum;
}

// A copy of a register's value as it is now.
Ref Decoder::copy_of(Ref ref) {
  const Type type = registers_[ref.id].type;
  LaneKey key{.type = size_of(type) == 8 ? Type::b64 : Type::b32};
  const Ref copy = new_register(type, registers_[ref.id].fixed);
  emit(Kind::lanes, Pipe::alu, lanes_handler(key), {copy}, {ref});
  return copy;
}

}  // namespace fa_tune::emulator
