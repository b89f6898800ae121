// Basic blocks in the order that ptxas may be expected to give their instructions. The PTX has a
// load right before its use; ptxas moves it up, as far as registers allow. Modelled as list
// scheduling (Gibbons and Muchnick 1986): at each step, of the next `kWindow` instructions of the
// text those whose inputs are known, take the one that could issue first, and of equals the one
// with the longest way to the block's end. Only true dependencies count, for ptxas names registers
// anew. Accesses to memory keep their order relative to stores, barriers and waits.

#include "engine/device/emulator/timing/pseudo_sass.hpp"

#include <algorithm>
#include <array>

#include "engine/device/emulator/timing/instruction_cache.hpp"
#include "engine/device/emulator/timing/sass_blocks.hpp"

namespace fa_tune::emulator {
namespace {

// How far up an instruction may move, in instructions that are left of the text: what lies between
// holds registers.
constexpr std::size_t kWindow = 48;

// Loads may change places with loads alone.
enum class Order : std::uint8_t { free, load, fence };

Order order_of(const Op& op, const Cost& cost) {
  if (op.kind == Kind::barrier || op.kind == Kind::wait) return Order::fence;
  switch (cost.role) {
    case Role::plain:
      return op.pipe == Pipe::control ? Order::fence : Order::free;
    case Role::shared:
    case Role::global_read:
      return op.run == nullptr ? Order::fence : Order::load;
    default:
      return Order::fence;
  }
}

bool ends_block(const Op& op) {
  switch (op.kind) {
    case Kind::branch:
    case Kind::branch_indexed:
    case Kind::call:
    case Kind::ret:
    case Kind::exit:
    case Kind::trap:
      return true;
    default:
      return false;
  }
}

class BlockMaker {
 public:
  BlockMaker(const Program& program, MachineCode& code)
      : program_(program), code_(code), writer_(program.values, -1) {}

  void run() {
    cut();
    find_live_values();
    for (MachineBlock& block : code_.blocks) schedule(block);
  }

 private:
  void cut() {
    const std::vector<Op>& ops = program_.ops;
    std::vector<bool> leads(ops.size() + 1, false);
    leads[0] = true;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind == Kind::branch || ops[i].kind == Kind::call) leads[ops[i].target] = true;
      if (ends_block(ops[i])) leads[i + 1] = true;
    }
    for (const auto& table : program_.branch_tables) {
      for (const std::uint32_t target : table) leads[target] = true;
    }
    code_.block_of.resize(ops.size());
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      if (leads[i]) {
        code_.blocks.emplace_back();
        code_.blocks.back().begin = i;
      }
      code_.blocks.back().end = i + 1;
      code_.block_of[i] = static_cast<std::uint32_t>(code_.blocks.size() - 1);
    }
  }

  // Values that are read in another block than they are written, or before it in the same.
  void find_live_values() {
    live_.assign(program_.values, -1);
    const auto live = [&](std::uint32_t value) {
      if (live_[value] < 0) live_[value] = static_cast<std::int32_t>(code_.live_values++);
    };
    std::vector<std::uint32_t> written_in(program_.values, 0);
    for (std::uint32_t number = 0; number < code_.blocks.size(); ++number) {
      const MachineBlock& block = code_.blocks[number];
      for (std::size_t i = block.begin; i < block.end; ++i) {
        for (const std::uint32_t value : program_.value_def_use.reads(i)) {
          if (written_in[value] != number + 1) live(value);
        }
        for (const std::uint32_t value : program_.value_def_use.writes(i)) {
          written_in[value] = number + 1;
        }
      }
    }
  }

  // Inputs of the block's instructions by their place in the text, and what keeps them in order.
  void find_inputs(const MachineBlock& block) {
    const std::size_t count = block.end - block.begin;
    inputs_.assign(count, {});
    before_.assign(count, {});
    std::int32_t last_fence = -1;
    std::vector<std::int32_t> loads;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t op = block.begin + i;
      for (const std::uint32_t value : program_.value_def_use.reads(op)) {
        inputs_[i].push_back(writer_[value] >= 0 ? writer_[value] : ~live_[value]);
      }
      const auto own = static_cast<std::int32_t>(i);
      const Order order = order_of(program_.ops[op], code_.costs[op]);
      const bool stores = order == Order::load && program_.value_def_use.writes(op).empty();
      if (order == Order::load && !stores) {
        if (last_fence >= 0) before_[i].push_back(last_fence);
        loads.push_back(own);
      } else if (order != Order::free) {
        for (const std::int32_t load : loads) before_[i].push_back(load);
        if (last_fence >= 0) before_[i].push_back(last_fence);
        loads.clear();
        last_fence = own;
      }
      for (const std::uint32_t value : program_.value_def_use.writes(op)) writer_[value] = own;
    }
    // A branch ends its block whatever the order of the rest.
    if (ends_block(program_.ops[block.end - 1])) {
      for (std::size_t i = 0; i + 1 < count; ++i) {
        before_[count - 1].push_back(static_cast<std::int32_t>(i));
      }
    }
  }

  void find_heights(const MachineBlock& block) {
    const std::size_t count = block.end - block.begin;
    heights_.assign(count, 0);
    for (std::size_t i = count; i-- > 0;) {
      heights_[i] += code_.costs[block.begin + i].latency;
      for (const std::int32_t input : inputs_[i]) {
        if (input < 0) continue;
        double& height = heights_[static_cast<std::size_t>(input)];
        height = std::max(height, heights_[i]);
      }
    }
  }

  void schedule(MachineBlock& block) {
    find_inputs(block);
    find_heights(block);
    const std::size_t count = block.end - block.begin;
    std::vector<std::size_t> order;
    order.reserve(count);
    std::vector<double> done(count, -1);  // when its result is there; -1: not placed
    std::array<double, kUnitCount> free{};
    double now = 0;
    std::vector<std::size_t> window;
    std::size_t next = 0;
    const auto placed = [&](std::int32_t i) { return done[static_cast<std::size_t>(i)] >= 0; };
    while (order.size() < count) {
      std::size_t real = 0;
      for (const std::size_t i : window) real += code_.costs[block.begin + i].issues > 0 ? 1 : 0;
      while (next < count && real < kWindow) {
        real += code_.costs[block.begin + next].issues > 0 ? 1 : 0;
        window.push_back(next++);
      }
      std::size_t best = window.size();
      double best_time = 0;
      for (std::size_t j = 0; j < window.size(); ++j) {
        const std::size_t i = window[j];
        const Cost& cost = code_.costs[block.begin + i];
        double time =
            cost.issues > 0 ? std::max(now, free[static_cast<std::size_t>(cost.unit)]) : 0;
        bool known = std::all_of(before_[i].begin(), before_[i].end(), placed);
        for (const std::int32_t input : inputs_[i]) {
          if (input < 0) continue;
          known = known && placed(input);
          if (known) time = std::max(time, done[static_cast<std::size_t>(input)]);
        }
        if (!known) continue;
        if (cost.issues <= 0) {  // nothing to decide
          best = j;
          best_time = time;
          break;
        }
        const bool better = best == window.size() || time < best_time ||
                            (time == best_time && heights_[i] > heights_[window[best]]);
        if (better) {
          best = j;
          best_time = time;
        }
      }
      const std::size_t chosen = window[best];
      const Cost& cost = code_.costs[block.begin + chosen];
      if (cost.issues > 0) {
        now = best_time + cost.issues;
        free[static_cast<std::size_t>(cost.unit)] = best_time + cost.holds_unit();
      }
      done[chosen] = best_time + cost.latency;
      order.push_back(chosen);
      window.erase(window.begin() + static_cast<std::ptrdiff_t>(best));
    }
    write(block, order);
  }

  void write(MachineBlock& block, const std::vector<std::size_t>& order) {
    std::vector<std::int32_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = static_cast<std::int32_t>(i);
    }
    for (const std::size_t i : order) {
      Step step;
      step.op = step.place = step.cost = block.begin + static_cast<std::uint32_t>(i);
      step.inputs_begin = static_cast<std::uint32_t>(block.inputs.size());
      for (const std::int32_t input : inputs_[i]) {
        block.inputs.push_back(input < 0 ? input : place[static_cast<std::size_t>(input)]);
      }
      step.inputs_end = static_cast<std::uint32_t>(block.inputs.size());
      block.steps.push_back(step);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const std::uint32_t value : program_.value_def_use.writes(block.begin + i)) {
        if (writer_[value] == static_cast<std::int32_t>(i) && live_[value] >= 0) {
          block.outputs.push_back(
              {static_cast<std::uint32_t>(place[i]), static_cast<std::uint32_t>(live_[value])});
        }
      }
    }
    for (std::size_t i = block.begin; i < block.end; ++i) {
      for (const std::uint32_t value : program_.value_def_use.writes(i)) writer_[value] = -1;
    }
  }

  const Program& program_;
  MachineCode& code_;
  std::vector<std::int32_t> live_;    // number among the values that live across blocks, or -1
  std::vector<std::int32_t> writer_;  // of the block at hand: place in the text, or -1
  std::vector<std::vector<std::int32_t>> inputs_;
  std::vector<std::vector<std::int32_t>> before_;
  std::vector<double> heights_;
};

// Lines for the steps of the PTX alone.
void place_behind_machine_code(std::size_t machine_instructions, MachineCode& code) {
  auto before = static_cast<double>(machine_instructions + InstructionCache::kLineInstructions);
  for (MachineBlock& block : code.blocks)
    for (Step& step : block.steps) {
      if (step.is_machine) continue;
      step.line = static_cast<std::uint32_t>(before / InstructionCache::kLineInstructions);
      before += code.costs[step.cost].issues;
    }
}

}  // namespace

MachineCode make_machine_code(const Program& program, const DeviceProfile& profile,
                              const Record& record) {
  MachineCode code;
  code.costs = translate(program, profile);
  code.has_warpgroup_products =
      std::ranges::find(code.costs, Role::tensor_async, &Cost::role) != code.costs.end();
  BlockMaker(program, code).run();
  if (!program.machine_code.empty()) use_machine_code(program, profile, record, code);
  place_behind_machine_code(program.machine_code.size(), code);
  return code;
}

std::vector<bool> lines_that_run(const MachineCode& code, const Record& record) {
  std::vector<bool> runs;
  for (const MachineBlock& block : code.blocks) {
    if (block.begin >= record.ops().size() || record.ops()[block.begin].executions == 0) continue;
    for (const Step& step : block.steps) {
      if (step.line >= runs.size()) runs.resize(step.line + 1);
      if (code.costs[step.cost].issues > 0) runs[step.line] = true;
    }
  }
  return runs;
}

const char* name_of(Unit unit) {
  constexpr const char* names[] = {"fma",    "alu",           "half",   "special",
                                   "tensor", "shared memory", "control"};
  return unit < Unit::count ? names[static_cast<std::size_t>(unit)] : "";
}

}  // namespace fa_tune::emulator
