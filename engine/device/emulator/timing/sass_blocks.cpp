// From the traces' blocks of PTX to the machine code that ptxas made of them. Each machine
// instruction names the line of PTX it was made from, so:
//
// 1. The machine code is cut into basic blocks. Each stands for the block of PTX that most of its
//    instructions were made from: its host.
// 2. Each instruction runs with one block of PTX (sass_placement.hpp).
// 3. Of the instructions that a PTX instruction became, the one that does its work is found by what
//    kind it is; the others cost time alone. Where ptxas made one access to shared memory of
//    several, it has the wavefronts of its width.
//
// 4. A loop that ptxas unrolled has several rounds in one basic block, whose instructions are mixed.
//    Each time round a part of it is run, as long as the others. Loops of one block of PTX alone.
//
// What follows the last EXIT is out of the way on purpose (slow paths of divisions, further tries
// of a wait) and is left out. A block that is unrolled otherwise, or of which something that has to
// happen is not found, keeps the steps of pseudo_sass.cpp.

#include "engine/device/emulator/timing/sass_blocks.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "engine/device/emulator/timing/instruction_cache.hpp"
#include "engine/device/emulator/timing/sass.hpp"
#include "engine/device/emulator/timing/sass_cost.hpp"
#include "engine/device/emulator/timing/sass_placement.hpp"
#include "engine/device/emulator/timing/sass_steps.hpp"

namespace fa_tune::emulator {
namespace {

constexpr std::uint32_t kNone = MatchedInstruction::kNone;
// Machine instructions from an election to the branch that goes by it.
constexpr std::size_t kElectionAtMost = 4;
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
    placed_ = Placement{code_of_, stretches_, code_.block_of, costs_, runs_}.by_block();
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

  // Whether the branch leads all lanes but an elected one around what that does.
  bool follows_election(std::size_t branch) const {
    const std::size_t first = branch - std::min(branch, kElectionAtMost);
    return std::any_of(code_of_.begin() + static_cast<std::ptrdiff_t>(first),
                       code_of_.begin() + static_cast<std::ptrdiff_t>(branch),
                       [](const auto& each) { return each.sass.kind == SassKind::elect; });
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
      if (target < 0 || target >= static_cast<std::int64_t>(count)) continue;
      leads[static_cast<std::size_t>(target)] = true;
      SassInstruction& reached = code_of_[static_cast<std::size_t>(target)].sass;
      if (follows_election(i)) reached.rejoin = reached.rejoin_elected;
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

  void find_carried() {
    carried_.assign(program_.ops.size(), false);
    for (const auto& placed : placed_)
      for (const std::uint32_t i : placed)
        if (carries(code_of_[i], costs_)) carried_[code_of_[i].op] = true;
  }

  // The instructions that do the work of each PTX instruction, in their order.
  Carriers carriers(std::uint32_t block) const {
    Carriers found;
    for (const std::uint32_t i : placed_[block])
      if (carries(code_of_[i], costs_)) found[code_of_[i].op].push_back(i);
    return found;
  }

  bool leave(std::uint32_t block, std::string why) {
    if (runs_of(block) > 0 && code_.unmatched.empty())
      code_.unmatched = "PTX line " + std::to_string(program_.ops[code_.blocks[block].begin].line) +
                        ": " + std::move(why);
    return runs_of(block) == 0;
  }

  // Whether most PTX instructions became several machine instructions of their own kind. Two or three
  // are usual of integers of 64 bits, and any number of tensor products and of waits for them.
  bool is_unrolled(std::uint32_t number) const {
    std::map<std::uint32_t, std::size_t> integer;  // by PTX instruction
    std::map<std::uint32_t, std::size_t> other;
    for (const std::uint32_t i : placed_[number]) {
      const std::uint32_t op = code_of_[i].op;
      if (op == kNone || code_.block_of[op] != number) continue;
      const SassKind kind = code_of_[i].sass.kind;
      const Cost& cost = costs_[op];
      if (kind == SassKind::alu || kind == SassKind::float_alu || kind == SassKind::imad)
        ++integer[op];
      else if (kind == SassKind::fp64 || (kind == SassKind::fma && cost.unit == Unit::fma) ||
               (cost.unit != Unit::tensor && cost.role != Role::tensor_wait &&
                carrier_of(cost).has(kind)))
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
    for (const std::uint32_t i : placed_[number])
      if (*code_of_[i].sass.name == '\0')
        return leave(number, fmt::format("opcode {:#05x} of the machine code is unknown",
                                         opcode_of(program_.machine_code[i])));
    if (is_unrolled(number)) return write_rounds(number) || leave(number, "unrolled by ptxas");
    writer_.write(block, placed_[number], found, carried_);
    if (code_.has_warpgroup_products) find_place(block, number);
    return true;
  }

  // By the instructions that its own basic block of machine code has, if there are any.
  void find_place(MachineBlock& block, std::uint32_t number) const {
    const auto& placed = placed_[number];
    const auto is_own = [&](std::uint32_t i) { return code_of_[i].host == number; };
    const bool any = std::ranges::any_of(placed, is_own);
    const auto place_of = [&](std::uint32_t i) -> MachineBlock::Place {
      const auto behind = std::ranges::upper_bound(stretches_, i, {}, &Stretch::begin);
      return {static_cast<std::uint32_t>(behind - stretches_.begin()) - 1,
              i / InstructionCache::kLineInstructions};
    };
    for (const std::uint32_t i : placed) {
      if (any && !is_own(i)) continue;
      if (block.first.basic_block == MachineBlock::Place::kUnknown) block.first = place_of(i);
      block.last = place_of(i);
    }
  }

  // How often in a row a loop of one block runs; once if it is none.
  double rounds_in_a_row(std::uint32_t number) const {
    const MachineBlock& block = code_.blocks[number];
    const Op& last = program_.ops[block.end - 1];
    if (last.kind != Kind::branch || last.target != block.begin || number == 0) return 1;
    const double entries = runs_of(number - 1);
    return entries > 0 ? runs_of(number) / entries : 1;
  }

  // Of the basic blocks that a loop became, the one with the most rounds that it may run: those
  // before and behind it do what is left over. False: there is none, or what it does has an order.
  bool write_rounds(std::uint32_t number) {
    MachineBlock& block = code_.blocks[number];
    for (std::uint32_t op = block.begin; op < block.end; ++op)
      if (in_order(costs_[op])) return false;
    const double most = kRunsAbout * rounds_in_a_row(number);
    UnrolledRounds best;
    for (const Stretch& stretch : stretches_) {
      UnrolledRounds rounds = rounds_in(stretch, number);
      if (rounds.count > best.count && static_cast<double>(rounds.count) <= most)
        best = std::move(rounds);
    }
    if (best.count < 2) return false;
    writer_.write(block, best);
    return true;
  }

  // None where something that has to happen is not found.
  UnrolledRounds rounds_in(const Stretch& stretch, std::uint32_t number) const {
    UnrolledRounds rounds;
    for (const std::uint32_t i : placed_[number]) {
      if (i < stretch.begin || i >= stretch.end) continue;
      rounds.instructions.push_back(i);
      if (carries(code_of_[i], costs_) && code_.block_of[code_of_[i].op] == number)
        rounds.carriers[code_of_[i].op].push_back(i);
    }
    const MachineBlock& block = code_.blocks[number];
    for (std::uint32_t op = block.begin; op < block.end; ++op) {
      const Carrier wanted = carrier_of(costs_[op]);
      if (wanted.count > 0 && wanted.wanted && !rounds.carriers.contains(op)) return {};
    }
    // As many as most PTX instructions have carriers: some are joined to wide ones, others become
    // several.
    std::map<std::size_t, int> votes;
    for (const auto& [op, all] : rounds.carriers) ++votes[all.size()];
    const auto most =
        std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
    if (most != votes.end()) rounds.count = most->first;
    return rounds;
  }

  const Program& program_;
  const DeviceProfile& profile_;
  const Record& record_;
  MachineCode& code_;
  std::vector<double> runs_;  // of each block of PTX
  std::vector<Stretch> stretches_;
  std::vector<Cost> costs_;  // of each PTX instruction by itself
  std::vector<MatchedInstruction> code_of_;
  std::vector<std::vector<std::uint32_t>> placed_;  // machine instructions by block of PTX
  std::vector<bool> carried_;  // PTX instructions that a machine instruction does the work of
  StepWriter writer_{program_, profile_, record_, code_, costs_, code_of_};
};

}  // namespace

void use_machine_code(const Program& program, const DeviceProfile& profile, const Record& record,
                      MachineCode& code) {
  Matcher(program, profile, record, code).run();
}

}  // namespace fa_tune::emulator
