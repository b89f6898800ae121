#include "engine/device/emulator/decode/decoder.hpp"
#include "engine/device/emulator/ir/def_use.hpp"

namespace fa_tune::emulator {
namespace {

// Appends the places of `ref`, whose register the allocator put at `place`.
void append(const Ref& ref, std::uint16_t place, const std::vector<VirtualRegister>& registers,
            const Program& program, std::vector<std::uint16_t>& to) {
  if (place == kNoOperand) return;
  if (ref.kind == Ref::Kind::reg) {
    to.push_back(place);
    if (width_of(registers[ref.id].type) == 8) to.push_back(static_cast<std::uint16_t>(place + 1));
  } else if (ref.kind == Ref::Kind::predicate && place > kPredicateTrue) {
    to.push_back(static_cast<std::uint16_t>(program.slots + place));
  }
}

}  // namespace

DefUse def_use_of(const std::vector<Draft>& drafts, const std::vector<VirtualRegister>& registers,
                  const Program& program) {
  DefUse table;
  std::vector<std::uint16_t> reads;
  std::vector<std::uint16_t> writes;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    const Draft& draft = drafts[i];
    const Op& op = program.ops[i];
    reads.clear();
    writes.clear();
    append(draft.guard, op.guard, registers, program, reads);
    for (std::size_t j = 0; j < draft.refs.size(); ++j) {
      const bool written = (draft.writes >> j & 1U) != 0;
      append(draft.refs[j], op.r[j], registers, program, written ? writes : reads);
    }
    if (!draft.sums.empty()) {
      const std::vector<std::uint16_t>& sums = program.wgmma[op.target].sums;
      reads.insert(reads.end(), sums.begin(), sums.end());
      writes.insert(writes.end(), sums.begin(), sums.end());
    }
    table.add(reads, writes);
  }
  return table;
}

ValueDefUse value_def_use_of(const std::vector<Draft>& drafts, std::size_t registers) {
  ValueDefUse table;
  std::vector<std::uint32_t> reads;
  std::vector<std::uint32_t> writes;
  const auto append_value = [&](const Ref& ref, std::vector<std::uint32_t>& to) {
    if (ref.kind == Ref::Kind::reg) to.push_back(ref.id);
    if (ref.kind == Ref::Kind::predicate && ref.id > kPredicateTrue) {
      to.push_back(static_cast<std::uint32_t>(registers) + ref.id);
    }
  };
  for (const Draft& draft : drafts) {
    reads.clear();
    writes.clear();
    append_value(draft.guard, reads);
    for (std::size_t j = 0; j < draft.refs.size(); ++j) {
      append_value(draft.refs[j], (draft.writes >> j & 1U) != 0 ? writes : reads);
    }
    for (const Ref& ref : draft.sums) {
      append_value(ref, reads);
      append_value(ref, writes);
    }
    table.add(reads, writes);
  }
  return table;
}

}  // namespace fa_tune::emulator
