// From the traces' blocks of PTX to the machine code that ptxas made of them. Each machine
// instruction names the line of PTX it was made from, so:
//
// 1. The machine code is cut into basic blocks. Each stands for the block of PTX that most of its
//    instructions were made from: its host.
// 2. An instruction runs with its own block of PTX if that runs as often as the host, with the host
//    otherwise: then ptxas took it out of a loop, or runs it under a predicate. What waits,
//    arrives or moves data runs when the trace says so, unless it was taken out of a loop.
// 3. Of the instructions that a PTX instruction became, the one that does its work is found by what
//    kind it is; the others cost time alone. Where ptxas made one access to shared memory of
//    several, it has the wavefronts of all.
//
// What follows the last EXIT is out of the way on purpose (slow paths of divisions, further tries
// of a wait) and is left out. A block that ptxas unrolled, or of which something that has to happen
// is not found, keeps the steps of pseudo_sass.cpp.

#include "engine/device/emulator/timing/sass_blocks.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "engine/device/emulator/timing/sass.hpp"
#include "engine/device/emulator/timing/sass_cost.hpp"

namespace fa_tune::emulator {
namespace {

constexpr std::uint32_t kNone = ~0U;
// Two blocks that run about as often as each other run together: lanes that part, and the first and
// last times round a loop, make small differences.
constexpr double kAbout = 1.25;
// Whose machine code sass.cpp knows: Ampere's, Ada's and Hopper's.
constexpr int kFirstArch = 80;
constexpr int kLastArch = 90;

class Matcher {
 public:
  Matcher(const Program& program, const DeviceProfile& profile, const Record& record,
          MachineCode& code)
      : program_(program), profile_(profile), record_(record), code_(code) {}

  void run() {
    const int sm = sm_of(profile_);
    if (sm < kFirstArch || sm > kLastArch) {
      code_.unmatched = "machine code of " + profile_.arch + " is unknown";
      return;
    }
    costs_ = translate_each(program_, profile_);
    count_runs();
    decode(sm);
    find_ops();
    find_hosts();
    find_warpgroup_products();
    place();
    find_carried();
    double all = 0;
    double matched = 0;
    for (std::uint32_t block = 0; block < code_.blocks.size(); ++block) {
      const double instructions =
          runs_of(block) * (code_.blocks[block].end - code_.blocks[block].begin);
      all += instructions;
      if (write(block)) matched += instructions;
    }
    code_.machine_share = all > 0 ? matched / all : 0;
  }

 private:
  struct Instruction {
    SassInstruction sass;
    std::uint32_t op = kNone;    // of the program, that it was made from
    std::uint32_t host = kNone;  // block of PTX that its own block stands for
  };

  void decode(int sm) {
    for (const EncodedInstruction& each : program_.machine_code)
      code_of_.push_back({decode_sass(each, sm), kNone, kNone});
    while (!code_of_.empty() && code_of_.back().sass.kind != SassKind::exit) code_of_.pop_back();
  }

  // 90 of "sm_90a".
  static int sm_of(const DeviceProfile& profile) {
    int number = 0;
    for (const char c : profile.arch)
      if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
    return number;
  }

  void find_ops() {
    std::map<std::uint32_t, std::uint32_t> first;  // op by line
    for (std::uint32_t i = 0; i < program_.ops.size(); ++i) first.emplace(program_.ops[i].line, i);
    for (std::size_t i = 0; i < code_of_.size(); ++i) {
      const auto found = first.find(program_.machine_code[i].ptx_line);
      if (found == first.end()) continue;
      std::uint32_t op = found->second;
      // Several may stand in a line.
      for (std::uint32_t next = op; next < program_.ops.size(); ++next) {
        if (program_.ops[next].line != program_.ops[op].line) break;
        if (carrier_of(costs_[next]).has(code_of_[i].sass.kind)) {
          op = next;
          break;
        }
      }
      code_of_[i].op = op;
    }
  }

  void find_hosts() {
    const std::size_t count = code_of_.size();
    std::vector<bool> leads(count + 1, false);
    for (std::size_t i = 0; i < count; ++i) {
      const SassInstruction& sass = code_of_[i].sass;
      if (sass.kind == SassKind::branch || sass.kind == SassKind::call ||
          sass.kind == SassKind::exit)
        leads[i + 1] = true;
      if (!sass.jump) continue;
      const std::int64_t target = static_cast<std::int64_t>(i) + 1 + *sass.jump / 16;
      if (target >= 0 && target < static_cast<std::int64_t>(count))
        leads[static_cast<std::size_t>(target)] = true;
    }
    for (std::size_t begin = 0; begin < count;) {
      std::size_t end = begin + 1;
      while (end < count && !leads[end]) ++end;
      std::map<std::uint32_t, int> votes;
      for (std::size_t i = begin; i < end; ++i)
        if (code_of_[i].op != kNone) ++votes[code_.block_of[code_of_[i].op]];
      if (!votes.empty()) {
        const auto most =
            std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
        for (std::size_t i = begin; i < end; ++i) code_of_[i].host = most->first;
      }
      stretches_.push_back({begin, end, std::move(votes)});
      begin = end;
    }
  }

  // ptxas gives the products of a warpgroup no lines. It keeps their order: those of a block of PTX
  // are in the block of machine code that has the most of its other instructions.
  void find_warpgroup_products() {
    std::vector<std::vector<std::uint32_t>> products(stretches_.size());
    std::map<std::size_t, std::vector<std::uint32_t>> wanted;  // ops by stretch
    for (std::size_t k = 0; k < stretches_.size(); ++k) {
      for (std::size_t i = stretches_[k].begin; i < stretches_[k].end; ++i) {
        if (code_of_[i].sass.kind != SassKind::wgmma) continue;
        code_of_[i].op = kNone;
        products[k].push_back(static_cast<std::uint32_t>(i));
      }
    }
    for (const MachineBlock& block : code_.blocks) {
      std::vector<std::uint32_t> ops;
      for (std::uint32_t op = block.begin; op < block.end; ++op)
        if (costs_[op].role == Role::tensor_async) ops.push_back(op);
      if (ops.empty()) continue;
      const std::uint32_t number = code_.block_of[block.begin];
      std::size_t best = stretches_.size();
      int most = 0;
      for (std::size_t k = 0; k < stretches_.size(); ++k) {
        const auto vote = stretches_[k].votes.find(number);
        if (products[k].empty() || vote == stretches_[k].votes.end() || vote->second <= most)
          continue;
        best = k;
        most = vote->second;
      }
      if (best == stretches_.size()) continue;
      auto& of_stretch = wanted[best];
      of_stretch.insert(of_stretch.end(), ops.begin(), ops.end());
    }
    for (const auto& [stretch, ops] : wanted) {
      if (ops.size() != products[stretch].size()) continue;
      for (std::size_t i = 0; i < ops.size(); ++i) code_of_[products[stretch][i]].op = ops[i];
    }
  }

  void count_runs() {
    for (const MachineBlock& block : code_.blocks) {
      std::uint64_t most = 0;
      for (std::uint32_t i = block.begin; i < block.end; ++i)
        most = std::max(most, record_.ops()[i].executions);
      runs_.push_back(static_cast<double>(most));
    }
  }
  double runs_of(std::uint32_t block) const { return runs_[block]; }

  // Which block of PTX each runs with.
  void place() {
    placed_.resize(code_.blocks.size());
    for (std::uint32_t i = 0; i < code_of_.size(); ++i) {
      const Instruction& each = code_of_[i];
      if (each.host == kNone || each.sass.kind == SassKind::nop) continue;
      std::uint32_t block = each.host;
      if (each.op != kNone && code_.block_of[each.op] != block) {
        const std::uint32_t own = code_.block_of[each.op];
        const double own_runs = runs_of(own);
        const double host_runs = runs_of(block);
        const bool hoisted = own_runs > kAbout * host_runs;
        const bool together = !hoisted && host_runs <= kAbout * own_runs;
        if (together || (carries(each) && (!hoisted || in_order(costs_[each.op])))) block = own;
      }
      placed_[block].push_back(i);
    }
  }

  // Whether it does the work of the PTX instruction that it was made from.
  bool carries(const Instruction& each) const {
    return each.op != kNone && carrier_of(costs_[each.op]).has(each.sass.kind);
  }

  void find_carried() {
    carried_.assign(program_.ops.size(), false);
    for (const auto& placed : placed_)
      for (const std::uint32_t i : placed)
        if (carries(code_of_[i])) carried_[code_of_[i].op] = true;
  }

  // The wavefronts of a block's loads from shared memory, or of its stores, over those of the ones
  // that machine code is left of: ptxas makes one wide access of several, and names one of them.
  double joined_wavefronts(const MachineBlock& block, bool stores) const {
    double all = 0;
    double carried = 0;
    for (std::uint32_t op = block.begin; op < block.end; ++op) {
      if (costs_[op].role != Role::shared || is_store(op) != stores) continue;
      const auto wavefronts = static_cast<double>(record_.ops()[op].shared_wavefronts);
      all += wavefronts;
      if (carried_[op]) carried += wavefronts;
    }
    return carried > 0 ? all / carried : 1;
  }

  bool is_store(std::uint32_t op) const {
    return program_.names[program_.ops[op].name].starts_with("st");
  }

  // The instructions that do the work of each PTX instruction, in their order.
  std::map<std::uint32_t, std::vector<std::uint32_t>> carriers(std::uint32_t block) const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> found;
    for (const std::uint32_t i : placed_[block])
      if (carries(code_of_[i])) found[code_of_[i].op].push_back(i);
    return found;
  }

  bool leave(std::uint32_t block, std::string why) {
    if (runs_of(block) > 0 && code_.unmatched.empty())
      code_.unmatched = "PTX line " + std::to_string(program_.ops[code_.blocks[block].begin].line) +
                        ": " + std::move(why);
    return runs_of(block) == 0;
  }

  // Whether most PTX instructions became several machine instructions of their own kind. Two or three
  // are usual of integers of 64 bits, and any number of tensor products.
  bool is_unrolled(std::uint32_t number) const {
    std::map<std::uint32_t, std::size_t> integer;  // by PTX instruction
    std::map<std::uint32_t, std::size_t> other;
    for (const std::uint32_t i : placed_[number]) {
      const std::uint32_t op = code_of_[i].op;
      if (op == kNone || code_.block_of[op] != number) continue;
      const SassKind kind = code_of_[i].sass.kind;
      const Cost& cost = costs_[op];
      if (kind == SassKind::alu || kind == SassKind::imad)
        ++integer[op];
      else if (kind == SassKind::fp64 || (kind == SassKind::fma && cost.unit == Unit::fma) ||
               (cost.unit != Unit::tensor && carrier_of(cost).has(kind)))
        ++other[op];
    }
    const auto most_are_above = [](const std::map<std::uint32_t, std::size_t>& counts,
                                   std::size_t usual) {
      std::vector<std::size_t> counted;
      for (const auto& [op, count] : counts) counted.push_back(count);
      const auto quarter = counted.begin() + static_cast<std::ptrdiff_t>(counted.size() / 4);
      std::ranges::nth_element(counted, quarter);
      return *quarter > usual;
    };
    if (!other.empty()) return most_are_above(other, 1);
    return !integer.empty() && most_are_above(integer, 3);
  }

  // False: the block keeps its steps.
  bool write(std::uint32_t number) {
    MachineBlock& block = code_.blocks[number];
    if (runs_of(number) == 0) return true;
    auto found = carriers(number);
    for (std::uint32_t op = block.begin; op < block.end; ++op) {
      const Carrier wanted = carrier_of(costs_[op]);
      if (wanted.count == 0) continue;
      const auto at = found.find(op);
      const std::size_t count = at == found.end() ? 0 : at->second.size();
      if (count == 0 && wanted.wanted && record_.ops()[op].executions > 0)
        return leave(number,
                     "nothing does what " + program_.names[program_.ops[op].name] + " does");
    }
    if (is_unrolled(number)) return leave(number, "unrolled by ptxas");
    write_steps(block, number, found);
    return true;
  }

  void write_steps(MachineBlock& block, std::uint32_t number,
                   const std::map<std::uint32_t, std::vector<std::uint32_t>>& found) {
    // What happens in order keeps it: which machine instruction does which of it follows the trace.
    std::vector<std::uint32_t> ordered;
    std::map<std::uint32_t, std::uint32_t> acts;  // op by machine instruction
    std::map<std::uint32_t, std::size_t> parts;   // of an op that several do together
    std::vector<std::uint32_t> absent;            // ops that nothing is left of
    for (std::uint32_t op = block.begin; op < block.end; ++op) {
      const auto at = found.find(op);
      if (at == found.end()) {
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
    for (const auto& [op, all] : found) {
      if (op >= block.begin && op < block.end) continue;
      parts[op] = all.size();  // taken out of another block
      for (const std::uint32_t i : all) acts[i] = op;
    }
    std::vector<std::uint32_t> carriers;
    for (const std::uint32_t op : ordered) carriers.push_back(found.at(op).front());
    std::ranges::sort(carriers);
    for (std::size_t i = 0; i < ordered.size(); ++i) acts[carriers[i]] = ordered[i];

    const std::array joined = {joined_wavefronts(block, false), joined_wavefronts(block, true)};
    block.steps.clear();
    block.inputs.clear();
    block.outputs.clear();
    std::fill_n(code_.issues.begin() + block.begin, block.end - block.begin, 0.0);
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
    for (const std::uint32_t i : placed_[number]) {
      const Instruction& each = code_of_[i];
      if (each.op >= block.begin && each.op < block.end) place = each.op;
      Step step;
      step.is_machine = true;
      step.place = step.op = place;
      step.stall = std::max<std::uint8_t>(each.sass.stall, 1);
      step.write_barrier = each.sass.write_barrier;
      step.read_barrier = each.sass.read_barrier;
      step.waits = each.sass.waits;
      const auto act = acts.find(i);
      step.acts = act != acts.end();
      if (step.acts) {
        step.op = act->second;
        if (in_order(costs_[step.op])) {
          step.place = step.op;
          add_absent(step.op);
        }
        const auto part = parts.find(step.op);
        const auto count = part == parts.end() ? 1.0 : static_cast<double>(part->second);
        const bool is_shared =
            costs_[step.op].role == Role::shared && step.op >= block.begin && step.op < block.end;
        step.share = static_cast<float>((is_shared ? joined[is_store(step.op)] : 1) / count);
        Cost cost = costs_[step.op];
        cost.issues = 1;
        if (cost.unit == Unit::tensor) {
          cost.busy /= count;
          cost.operands /= count;
        }
        step.cost = add_cost(cost);
      } else {
        step.cost = plain_cost(each.sass.kind);
      }
      code_.issues[step.place] += 1;
      block.steps.push_back(step);
    }
    add_absent(block.end);
  }

  std::uint32_t add_cost(const Cost& cost) {
    code_.costs.push_back(cost);
    return static_cast<std::uint32_t>(code_.costs.size() - 1);
  }

  std::uint32_t plain_cost(SassKind kind) {
    std::uint32_t& place = plain_[static_cast<std::size_t>(kind)];
    if (place == 0) place = add_cost(cost_of(kind, profile_));
    return place;
  }

  // A basic block of the machine code.
  struct Stretch {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::map<std::uint32_t, int> votes;  // instructions by the block of PTX they were made from
  };

  const Program& program_;
  const DeviceProfile& profile_;
  const Record& record_;
  MachineCode& code_;
  std::vector<double> runs_;  // of each block of PTX
  std::vector<Stretch> stretches_;
  std::vector<Cost> costs_;  // of each PTX instruction by itself
  std::vector<Instruction> code_of_;
  std::vector<std::vector<std::uint32_t>> placed_;  // machine instructions by block of PTX
  std::vector<bool> carried_;  // PTX instructions that a machine instruction does the work of
  std::array<std::uint32_t, static_cast<std::size_t>(SassKind::other) + 1> plain_{};
};

}  // namespace

void use_machine_code(const Program& program, const DeviceProfile& profile, const Record& record,
                      MachineCode& code) {
  Matcher(program, profile, record, code).run();
}

}  // namespace fa_tune::emulator
