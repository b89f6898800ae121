#include "engine/device/emulator/timing/sass_steps.hpp"

#include <algorithm>

#include "engine/device/emulator/timing/instruction_cache.hpp"
#include "engine/device/emulator/timing/sass_cost.hpp"
#include "engine/device/emulator/timing/simulated_phases.hpp"

namespace fa_tune::emulator {
namespace {

constexpr float kWordBytes = 4;
// From a test of an mbarrier to what waits for its answer, by Nsight Compute's samples of kernels of
// wgmma (a log). Others keep kPhaseTestClocks, with which their constants were set.
constexpr double kAnswerClocks = 40;

}  // namespace

void StepWriter::begin(MachineBlock& block) {
  block.steps.clear();
  block.inputs.clear();
  block.outputs.clear();
  block.rounds.clear();
}

Step StepWriter::step_of(const MachineBlock& block, std::uint32_t instruction, const Acts& acts,
                         std::uint32_t& place) {
  const auto& [sass, op, host] = instructions_[instruction];
  if (op >= block.begin && op < block.end) place = op;
  Step step;
  step.is_machine = true;
  step.place = step.op = place;
  step.stall = static_cast<std::uint8_t>(std::max<std::uint8_t>(sass.stall, 1) + sass.rejoin);
  step.line = instruction / InstructionCache::kLineInstructions;
  step.write_barrier = sass.write_barrier;
  step.read_barrier = sass.read_barrier;
  step.waits = sass.waits;
  step.acts = acts.contains(instruction);
  if (step.acts) return step;
  if (sass.kind == SassKind::local || sass.kind == SassKind::local_write)
    step.share = static_cast<float>(sass.bytes) / kWordBytes;
  step.cost = sass.kind == SassKind::wgmma_wait ? added_wait(sass) : plain_cost(sass.kind);
  return step;
}

// ptxas waits for products where the PTX does not: for each of a group where registers are short
// (its warning C7512), or before it uses registers of theirs for something else (C7517).
std::uint32_t StepWriter::added_wait(const SassInstruction& sass) {
  Cost cost = cost_of(sass.kind, profile_);
  cost.role = Role::tensor_wait;
  // Of a group that the PTX has not committed too.
  cost.depth = sass.depth == 0 ? -1 : sass.depth;
  return add_cost(cost);
}

void StepWriter::act(Step& step, SassKind kind, std::uint32_t op, double part) {
  step.op = op;
  step.share = static_cast<float>(part);
  Cost cost = costs_[op];
  cost.issues = 1;
  if (kind == SassKind::mbarrier) cost.latency = kPhaseTestClocks;
  if (cost.unit == Unit::tensor) {
    cost.busy *= part;
    cost.operands *= part;
  }
  step.cost = add_cost(cost);
}

std::uint32_t StepWriter::test_cost(Cost cost, std::uint32_t instruction,
                                    const std::vector<std::uint32_t>& placed) {
  const std::uint8_t barrier = instructions_[instruction].sass.write_barrier;
  double hidden = 0;
  for (std::uint32_t i = instruction + 1; i < instructions_.size(); ++i) {
    const SassInstruction& sass = instructions_[i].sass;
    if ((sass.waits >> barrier & 1U) != 0) break;
    if (sass.kind == SassKind::branch || sass.kind == SassKind::exit) {
      hidden = 0;
      break;
    }
    if (!std::ranges::binary_search(placed, i)) hidden += std::max<int>(sass.stall, 1);
  }
  cost.latency = std::max(kAnswerClocks - hidden, 0.0);
  return add_cost(cost);
}

std::map<std::uint32_t, double> StepWriter::shares_of_shared(
    const MachineBlock& block, const Carriers& carriers, std::size_t rounds,
    const std::vector<bool>& carried) const {
  // Bytes of lanes, and wavefronts, of all executions.
  struct Side {
    double bytes = 0;
    double seen_bytes = 0, seen_wavefronts = 0;      // by machine instructions
    double unseen_bytes = 0, unseen_wavefronts = 0;  // of PTX that none of them names
  };
  std::array<Side, 2> sides;  // loads, stores
  std::map<std::uint32_t, double> shares;
  const auto count = static_cast<double>(rounds);
  for (std::uint32_t op = block.begin; op < block.end; ++op) {
    if (costs_[op].role != Role::shared) continue;
    const OpCounters& did = record_.ops()[op];
    const auto executions = static_cast<double>(did.executions);
    const double bytes = bytes_of(op);
    const auto all_wavefronts = static_cast<double>(did.shared_wavefronts);
    const double wavefronts = executions > 0 ? all_wavefronts / executions : 0;
    Side& side = sides[is_store(op)];
    double seen = carried[op] ? 1 : 0;
    if (const auto own = carriers.find(op); own != carriers.end()) {
      seen = 0;
      const double part = std::min(count / static_cast<double>(own->second.size()), 1.0);
      for (const std::uint32_t i : own->second) {
        const std::uint8_t moved = instructions_[i].sass.bytes;
        const double wide = std::max(moved / bytes, 1.0);
        double of_it = wavefronts;
        if (wide > 1 && moved >= 8 && executions > 0)
          of_it = static_cast<double>(did.shared_wavefronts_as_wide[moved / 16]) / executions;
        shares[i] = wavefronts > 0 ? part * of_it / wavefronts : part;
        seen += wide * part / count;
        side.seen_wavefronts += executions * of_it * part / count;
      }
    }
    const double unseen = std::max(1 - seen, 0.0);
    side.bytes += executions * bytes;
    side.seen_bytes += executions * bytes * seen;
    side.unseen_bytes += executions * bytes * unseen;
    side.unseen_wavefronts += all_wavefronts * unseen;
  }
  // What the widths do not account for is shared out among those that are seen.
  for (auto& [i, share] : shares) {
    const Side& side = sides[is_store(instructions_[i].op)];
    if (side.unseen_bytes <= 0 || side.seen_wavefronts <= 0) continue;
    const double left = std::max(side.bytes - side.seen_bytes, 0.0) / side.unseen_bytes;
    share *= 1 + side.unseen_wavefronts * left / side.seen_wavefronts;
  }
  return shares;
}

bool StepWriter::is_store(std::uint32_t op) const {
  return program_.names[program_.ops[op].name].starts_with("st");
}

std::uint32_t StepWriter::bytes_of(std::uint32_t op) const {
  constexpr std::uint32_t kRow = 16;  // of a matrix
  const std::string& name = program_.names[program_.ops[op].name];
  const bool is_plain = name.starts_with("ld.") || name.starts_with("st.");
  return is_plain ? std::max<std::uint32_t>(program_.ops[op].m[1], 1) : kRow;
}

void StepWriter::write(MachineBlock& block, const std::vector<std::uint32_t>& placed,
                       const Carriers& carriers, const std::vector<bool>& carried) {
  // What happens in order keeps it: which machine instruction does which of it follows the trace.
  std::vector<std::uint32_t> ordered;
  Acts acts;
  std::map<std::uint32_t, std::size_t> parts;  // of an op that several do together
  std::vector<std::uint32_t> absent;           // ops that nothing is left of
  for (std::uint32_t op = block.begin; op < block.end; ++op) {
    const auto at = carriers.find(op);
    if (at == carriers.end()) {
      if (in_order(costs_[op])) absent.push_back(op);
      continue;
    }
    if (in_order(costs_[op])) {
      ordered.push_back(op);
      continue;
    }
    parts[op] = at->second.size();
    for (const std::uint32_t i : at->second) acts[i] = op;
  }
  for (const auto& [op, all] : carriers) {
    if (op >= block.begin && op < block.end) continue;
    parts[op] = all.size();  // taken out of another block
    for (const std::uint32_t i : all) acts[i] = op;
  }
  std::vector<std::uint32_t> in_turn;
  for (const std::uint32_t op : ordered) {
    // Of several waits for products those ahead of the last one were added.
    const auto& all = carriers.at(op);
    in_turn.push_back(costs_[op].role == Role::tensor_wait ? all.back() : all.front());
  }
  std::ranges::sort(in_turn);
  for (std::size_t i = 0; i < ordered.size(); ++i) acts[in_turn[i]] = ordered[i];

  const auto shared = shares_of_shared(block, carriers, 1, carried);
  begin(block);
  std::uint32_t place = block.begin;
  std::size_t next_absent = 0;
  const auto add_absent = [&](std::uint32_t before) {
    for (; next_absent < absent.size() && absent[next_absent] < before; ++next_absent) {
      const std::uint32_t op = absent[next_absent];
      Cost cost = costs_[op];
      cost.issues = cost.busy = 0;
      cost.unit = Unit::control;
      Step step;
      step.op = step.place = op;
      step.cost = add_cost(cost);
      step.is_machine = true;
      block.steps.push_back(step);
    }
  };
  for (const std::uint32_t i : placed) {
    Step step = step_of(block, i, acts, place);
    if (step.acts) {
      const std::uint32_t op = acts.at(i);
      if (in_order(costs_[op])) {
        step.place = op;
        add_absent(op);
      }
      const auto part = parts.find(op);
      const auto share = shared.find(i);
      act(step, instructions_[i].sass.kind, op,
          share != shared.end() ? share->second
          : part == parts.end() ? 1.0
                                : 1.0 / static_cast<double>(part->second));
    }
    const SassInstruction& sass = instructions_[i].sass;
    if (code_.has_warpgroup_products && sass.kind == SassKind::mbarrier &&
        sass.write_barrier < kBarriers)
      step.cost = test_cost(code_.costs[step.cost], i, placed);
    block.steps.push_back(step);
  }
  add_absent(block.end);
}

void StepWriter::write(MachineBlock& block, const UnrolledRounds& rounds) {
  const auto shared = shares_of_shared(block, rounds.carriers, rounds.count,
                                       std::vector<bool>(program_.ops.size(), false));
  begin(block);
  const auto count = static_cast<double>(rounds.count);
  std::uint32_t place = block.begin;
  Acts acts;
  for (const auto& [op, all] : rounds.carriers)
    for (const std::uint32_t i : all) acts[i] = op;
  for (const std::uint32_t i : rounds.instructions) {
    Step step = step_of(block, i, acts, place);
    if (step.acts) {
      const std::uint32_t op = acts.at(i);
      const auto share = shared.find(i);
      act(step, instructions_[i].sass.kind, op,
          share != shared.end() ? share->second
                                : count / static_cast<double>(rounds.carriers.at(op).size()));
    }
    block.steps.push_back(step);
  }
  for (std::size_t round = 1; round <= rounds.count; ++round)
    block.rounds.push_back(static_cast<std::uint32_t>(round * block.steps.size() / rounds.count));
}

std::uint32_t StepWriter::add_cost(const Cost& cost) {
  code_.costs.push_back(cost);
  return static_cast<std::uint32_t>(code_.costs.size() - 1);
}

std::uint32_t StepWriter::plain_cost(SassKind kind) {
  std::uint32_t& place = plain_[static_cast<std::size_t>(kind)];
  if (place == 0) place = add_cost(cost_of(kind, profile_));
  return place;
}

}  // namespace fa_tune::emulator
