#include <algorithm>
#include <bit>
#include <string_view>

#include "engine/device/emulator/sanitizer/sanitizer.hpp"
#include "engine/device/emulator/state/cluster.hpp"

// Values that nobody has written are followed from the ld or ldmatrix that read them in shared or
// local memory, through registers and back to such memory, as Valgrind's memcheck does. They are a
// fault where they decide something (a branch, an address, a guard of what touches memory) or are
// stored to global memory. Where neither happens, as with elements beyond an edge whose results are
// thrown away, the kernel is right, and the launch has a note (LaunchContext::notes).
//
// What becomes of a value is known a lane and a register at a time, and never too little: a result
// is undefined if anything that went into it was.

namespace fa_tune::emulator {
namespace {

// What an instruction does with what it reads.
enum class Flow : std::uint8_t {
  by_lane,  // each lane's results are of its own operands
  select,   // r[0]: r[1] or r[2], as predicate r[3] says, negated by m[0]
  product,  // mma: rows of d are of the same rows of a and c, and of all of b
  across,   // each lane's results may be of every lane's operands
  store,    // r[0..3] go where r[8] says
  decides,  // nothing may be undefined: addresses, branches, all that is not known here
};

constexpr std::uint32_t kQuad = 0xf;  // lanes that hold a row of a fragment

Flow flow_of(const Program& program, const Op& op) {
  const std::string_view name = program.names[op.name];
  const auto is = [&](std::string_view root) { return name.starts_with(root); };
  if (op.kind == Kind::lanes) return is("selp.") ? Flow::select : Flow::by_lane;
  if (is("st.") && !is("st.async") && !is("st.bulk")) return Flow::store;
  if (is("mma.") && !name.ends_with("f64")) return Flow::product;
  for (const std::string_view each :
       {"mma.", "wmma.mma", "movmatrix", "shfl.", "vote.", "match.", "redux."}) {
    if (is(each)) return Flow::across;
  }
  return Flow::decides;
}

// Whole quads of those in which there is one.
std::uint32_t quads_of(std::uint32_t lanes) {
  std::uint32_t whole = 0;
  for (std::uint32_t quad = kQuad; quad != 0; quad <<= 4) whole |= (lanes & quad) != 0 ? quad : 0;
  return whole;
}

}  // namespace

Sanitizer::Undefined Sanitizer::operand(const std::vector<Undefined>& values, const Op& op,
                                        std::size_t i) {
  // A constant, or none: their numbers have the same bit.
  return (op.r[i] & kConstantBit) != 0 ? Undefined{} : values[op.r[i]];
}

// Of mma with as many `sums`, registers of d: those that hold the upper half of the rows, or the
// lower. A row lies in a quad, of a in its even registers (r[4], r[6]) or its odd ones.
Sanitizer::Undefined Sanitizer::product(const std::vector<Undefined>& values, const Op& op,
                                        std::size_t sums, bool lower) {
  const bool halves = op.r[5] != kNoOperand;
  Undefined rows;
  for (const std::size_t i : {4U, 5U, 6U, 7U})
    if (!halves || i % 2 == (lower ? 1U : 0U)) rows.add(operand(values, op, i));
  for (std::size_t i = 0; i < sums; ++i)
    if (!halves || (2 * i >= sums) == lower) rows.add(operand(values, op, 10 + i));
  rows.lanes = quads_of(rows.lanes);
  for (const std::size_t i : {8U, 9U}) {
    Undefined columns = operand(values, op, i);
    if (columns.lanes != 0) columns.lanes = kFullMask;
    rows.add(columns);
  }
  return rows;
}

void Sanitizer::follow(Warp& warp, const Op& op, std::uint32_t mask) {
  const Program& program = *context_.program;
  std::vector<Undefined>& values = undefined_[number(warp)];
  Undefined guard;
  std::uint32_t active = mask;
  if (op.guard != kPredicateTrue) {
    guard = values[program.slots + op.guard];
    guard.lanes &= mask;
    const std::uint32_t holds = warp.predicates[op.guard];
    active &= op.guard_negated ? ~holds : holds;
  }
  const auto value_of = [&](std::size_t i) { return operand(values, op, i); };

  Undefined result;
  const Flow flow = flow_of(program, op);
  if (flow == Flow::select) {
    const Undefined by = op.r[3] > kPredicateTrue ? values[program.slots + op.r[3]] : Undefined{};
    const std::uint32_t holds = warp.predicates[op.r[3]];
    const std::uint32_t first = op.m[0] != 0 ? ~holds : holds;
    for (const std::size_t i : {1U, 2U}) {
      Undefined chosen = value_of(i);
      const bool wide = program.def_use.writes(index_of(op)).size() == 2;
      if (wide && (op.r[i] & kConstantBit) == 0) chosen.add(values[op.r[i] + std::size_t{1}]);
      chosen.lanes &= i == 1 ? first : ~first;
      result.add(chosen);
    }
    result.add(by);
  } else if (flow == Flow::store) {
    // Its values are asked for when it is known where they go.
    if (op.m[2] != 0) result = value_of(8);
    if (op.m[2] == 8 && (op.r[8] & kConstantBit) == 0) result.add(values[op.r[8] + std::size_t{1}]);
  } else {
    for (const std::uint16_t place : program.def_use.reads(index_of(op))) result.add(values[place]);
  }
  result.lanes &= active;
  if (flow == Flow::across && result.lanes != 0) result.lanes = active;
  if (flow == Flow::store || flow == Flow::decides) {
    result.add(guard);
    if (result.lanes != 0) refuse_undefined(result);
    result = {};
  }
  // A lane that may or may not have done it has an undefined result.
  result.add(guard);
  const auto writes = program.def_use.writes(index_of(op));
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const bool lower = 2 * i >= writes.size();
    Undefined& value = values[writes[i]];
    value.lanes &= ~active;
    value.add(flow == Flow::product && result.lanes != 0 ? product(values, op, writes.size(), lower)
                                                         : result);
  }
}

void Sanitizer::refuse_undefined(const Undefined& value) {
  if (!unwritten_) unwritten_ = unwritten_loads_[value.origin].diagnostic;
}

bool Sanitizer::follows(const Current& at) const {
  return at.access->by_registers || context_.program->names[at.op->name].starts_with("ldmatrix.");
}

// The registers that lanes of `lanes` load `missing` bytes into, of which nobody has written those
// whose bits are set.
void Sanitizer::load_undefined(const Current& at, std::uint32_t lanes, std::uint32_t missing,
                               std::uint16_t origin) {
  std::vector<Undefined>& values = undefined_[number(*at.warp)];
  const Op& op = *at.op;
  at.warp->undefined = true;
  if (!at.access->by_registers) {  // ldmatrix: a lane's row goes to four lanes, or to all
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const int giver = std::countr_zero(rest);
      const std::uint32_t takers = op.m[5] == 0 ? kQuad << 4 * (giver % 8) : kFullMask;
      values[op.r[static_cast<std::size_t>(giver) / 8]].add({takers, origin});
    }
    return;
  }
  const std::uint32_t width = value_bytes(at);
  for (std::size_t i = 0; i < op.m[4]; ++i) {
    const std::uint32_t own = InitShadow::low(width) << width * i;
    if (op.r[i] == kNoOperand || (missing & own) == 0) continue;
    values[op.r[i]].add({lanes, origin});
    if (op.m[5] == 8) values[op.r[i] + std::size_t{1}].add({lanes, origin});
  }
}

// What a lane stores that is undefined: it leaves memory as if nobody had written it.
void Sanitizer::store_undefined(const Current& at, int lane, InitShadow& map, std::size_t offset,
                                std::uint64_t key) {
  const std::vector<Undefined>& values = undefined_[number(*at.warp)];
  const Op& op = *at.op;
  const std::uint32_t width = value_bytes(at);
  for (std::size_t i = 0; i < op.m[4]; ++i) {
    const Undefined* const value = stored_value(values, op, i, lane);
    if (value == nullptr) continue;
    map.unmark(offset + width * i, width);
    for (std::size_t byte = 0; byte < width; ++byte)
      stored_undefined_[key + width * i + byte] = value->origin;
  }
}

const Sanitizer::Undefined* Sanitizer::stores_undefined(const Current& at, int lane) const {
  if (!at.access->write || !at.access->by_registers || !at.warp->undefined) return nullptr;
  const std::vector<Undefined>& values = undefined_[number(*at.warp)];
  for (std::size_t i = 0; i < at.op->m[4]; ++i)
    if (const Undefined* value = stored_value(values, *at.op, i, lane)) return value;
  return nullptr;
}

const Sanitizer::Undefined* Sanitizer::stored_value(const std::vector<Undefined>& values,
                                                    const Op& op, std::size_t i, int lane) const {
  if ((op.r[i] & kConstantBit) != 0) return nullptr;
  for (std::size_t half = 0; half < (op.m[5] == 8 ? 2U : 1U); ++half)
    if ((values[op.r[i] + half].lanes >> lane & 1U) != 0) return &values[op.r[i] + half];
  return nullptr;
}

std::uint32_t Sanitizer::value_bytes(const Current& at) {
  return std::max(at.access->bytes / std::max<std::uint32_t>(at.op->m[4], 1), 1U);
}

std::uint16_t Sanitizer::origin_of(const Current& at, const std::function<Diagnostic()>& describe) {
  const std::uint32_t op = index_of(*at.op);
  const auto known = std::ranges::find(unwritten_loads_, op, &UnwrittenLoad::op);
  if (known == unwritten_loads_.end()) {
    unwritten_loads_.push_back({op, describe()});
    return static_cast<std::uint16_t>(unwritten_loads_.size() - 1);
  }
  return static_cast<std::uint16_t>(known - unwritten_loads_.begin());
}

void Sanitizer::tell_notes() {
  if (context_.notes == nullptr) return;
  for (const UnwrittenLoad& each : unwritten_loads_)
    if (std::ranges::find(*context_.notes, each.diagnostic.message) == context_.notes->end())
      context_.notes->push_back(each.diagnostic.message);
  unwritten_loads_.clear();
}

}  // namespace fa_tune::emulator
