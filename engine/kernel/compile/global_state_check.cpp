#include "engine/kernel/compile/global_state_check.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "engine/kernel/compile/elf_sections.hpp"
#include "engine/source/ptx_statements.hpp"

namespace fa_tune::kernel {
namespace {

constexpr std::string_view kKeepsState = "keeps device memory from launch to launch: ";

// What a value is made of: names of variables whose addresses are in it, and kClock.
using Origins = std::set<std::string_view>;
constexpr std::string_view kClock = "%clock";

constexpr std::array<std::string_view, 55> kArithmetic = {
    "abs",   "add",   "addc", "and",   "bfe",  "bfi",  "bfind", "bmsk", "brev",  "clz",
    "cnot",  "cvt",   "cvta", "div",   "dp2a", "dp4a", "ex2",   "fma",  "fns",   "isspacep",
    "lg2",   "lop3",  "mad",  "mad24", "madc", "mapa", "match", "max",  "min",   "mov",
    "mul",   "mul24", "neg",  "not",   "or",   "popc", "prmt",  "rcp",  "redux", "rem",
    "rsqrt", "sad",   "selp", "set",   "setp", "shf",  "shfl",  "shl",  "shr",   "slct",
    "sqrt",  "sub",   "subc", "vote",  "xor"};
constexpr std::array<std::string_view, 6> kLooks = {"ld",        "ldu", "prefetch",
                                                    "prefetchu", "bra", "nanosleep"};
// What reads strings and writes nothing that a kernel could find.
constexpr std::array<std::string_view, 2> kHarmlessCalls = {"vprintf", "__assertfail"};
constexpr std::array<std::string_view, 3> kAllocates = {"malloc", "free", "cudaMalloc"};

bool among(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool reads_clock(std::string_view word) {
  return word.starts_with("%clock") || word.starts_with("%globaltimer");
}

// Follows addresses and times through the registers of one function, in no order: what may be in a
// register somewhere may be in it everywhere.
class Flow {
 public:
  Flow(const source::PtxFunction& function, const std::map<std::string_view, bool>& variables)
      : function_(function), variables_(variables) {}

  // What the function may change, or let out of sight.
  Origins kept() {
    std::size_t before = 0;
    do {
      before = known_;
      called_with_.clear();
      for (const source::PtxInstruction& each : function_.instructions) follow(each);
      keep(called_with_);  // behind the last call: a result
    } while (known_ > before);
    return kept_;
  }

 private:
  Origins of(const source::PtxOperand& operand) const {
    Origins origins;
    for (const std::string_view word : operand.words) {
      if (variables_.contains(word)) origins.insert(word);
      if (reads_clock(word)) origins.insert(kClock);
      if (const auto found = registers_.find(word); found != registers_.end())
        origins.insert(found->second.begin(), found->second.end());
    }
    return origins;
  }
  Origins of(const std::vector<source::PtxOperand>& operands, bool addresses,
             std::size_t first = 0) const {
    Origins origins;
    for (std::size_t i = first; i < operands.size(); ++i)
      if (operands[i].is_address == addresses) origins.merge(of(operands[i]));
    return origins;
  }

  void keep(const Origins& origins) {
    for (const std::string_view each : origins) known_ += kept_.insert(each).second ? 1 : 0;
  }
  void keep_variables(Origins origins) {
    origins.erase(kClock);
    keep(origins);
  }
  void put(const source::PtxOperand& into, const Origins& origins) {
    for (const std::string_view word : into.words)
      for (const std::string_view each : origins)
        known_ += registers_[word].insert(each).second ? 1 : 0;
  }

  void follow(const source::PtxInstruction& each) {
    if (each.operands.empty()) return;
    const auto is = [&](std::string_view space) {
      return std::ranges::any_of(each.suffixes, [space](std::string_view suffix) {
        return suffix.substr(0, suffix.find(':')) == space;
      });
    };
    if (each.opcode == "call") {
      call(each);
    } else if (among(kArithmetic, each.opcode)) {
      Origins from = of(each.operands, false, 1);
      from.merge(of(each.operands, true, 1));
      put(each.operands[0], from);
    } else if (among(kLooks, each.opcode)) {
      // Times that lie in memory of a thread or a block come back from there.
      if (each.opcode.starts_with("ld") && times_nearby_ && !is("param") && !is("const"))
        put(each.operands[0], {kClock});
    } else if (each.opcode == "st") {
      keep_variables(of(each.operands, true));
      const Origins value = of(each.operands, false);
      if (is("param")) {
        called_with_.insert(value.begin(), value.end());
        return;
      }
      keep_variables(without_constants(value));
      if (!value.contains(kClock)) return;
      if (is("local") || is("shared"))
        known_ += std::exchange(times_nearby_, true) ? 0 : 1;
      else
        keep({kClock});
    } else {
      const bool writes = each.opcode == "atom" || each.opcode == "red" || each.opcode == "cp";
      const Origins addresses = of(each.operands, true), values = of(each.operands, false);
      keep_variables(writes ? addresses : without_constants(addresses));
      keep_variables(without_constants(values));
      if (writes && values.contains(kClock) && !is("shared")) keep({kClock});
    }
  }

  void call(const source::PtxInstruction& each) {
    const auto calls = [&](const auto& names) {
      return std::ranges::any_of(each.operands, [&](const source::PtxOperand& operand) {
        return std::ranges::any_of(operand.words, [&](auto word) { return among(names, word); });
      });
    };
    if (!calls(kHarmlessCalls)) keep(without_constants(called_with_));
    called_with_.clear();
    for (const source::PtxOperand& operand : each.operands)
      for (const std::string_view word : operand.words)
        if (among(kAllocates, word)) keep({word});
  }

  Origins without_constants(Origins origins) const {
    std::erase_if(origins, [&](std::string_view each) {
      const auto found = variables_.find(each);
      return found != variables_.end() && found->second;
    });
    return origins;
  }

  const source::PtxFunction& function_;
  const std::map<std::string_view, bool>& variables_;  // whether each is a constant
  std::map<std::string_view, Origins> registers_;
  Origins called_with_;        // by the next call
  bool times_nearby_ = false;  // in local or shared memory
  Origins kept_;
  std::size_t known_ = 0;  // facts so far
};

// What is declared in a block of its own goes by "$__name__17$1" there.
bool is_declared(std::string_view symbol, const std::map<std::string_view, bool>& variables) {
  constexpr std::string_view kInBlock = "$__";
  return variables.contains(symbol) ||
         (symbol.starts_with(kInBlock) && std::ranges::any_of(variables, [&](const auto& each) {
            const std::string_view behind = symbol.substr(kInBlock.size());
            return behind.starts_with(each.first) &&
                   behind.substr(each.first.size()).starts_with("__");
          }));
}

// Of the machine code, what no PTX declared.
std::vector<std::string> undeclared(std::string_view cubin,
                                    const std::map<std::string_view, bool>& variables) {
  std::vector<std::string> names;
  const auto symbols = read_elf_symbols(cubin);
  if (!symbols) return names;
  for (const ElfSymbol& symbol : *symbols)
    if (symbol.is_object && symbol.section.starts_with(".nv.global") &&
        !is_declared(symbol.name, variables))
      names.push_back(symbol.name);
  return names;
}

}  // namespace

std::optional<std::string> persistent_variables(std::string_view ptx, std::string_view cubin) {
  const source::PtxText text = source::read_ptx(ptx);
  std::map<std::string_view, bool> variables;
  for (const source::PtxVariable& each : text.variables)
    variables[each.name] =
        each.constant && (!variables.contains(each.name) || variables[each.name]);
  Origins kept;
  // An address in a table goes wherever the table is read.
  for (const source::PtxVariable& each : text.variables)
    for (const std::string_view word : each.initial)
      if (variables.contains(word)) kept.insert(word);
  for (const source::PtxFunction& each : text.functions) kept.merge(Flow(each, variables).kept());

  std::vector<std::string> names;
  for (const source::PtxVariable& each : text.variables)
    if (kept.contains(each.name) && !among(names, each.name)) names.emplace_back(each.name);
  for (const std::string_view each : kAllocates)
    if (kept.contains(each)) names.push_back("memory of " + std::string(each) + "()");
  if (kept.contains(kClock)) names.emplace_back("the time of a clock");
  for (std::string& each : undeclared(cubin, variables)) names.push_back(std::move(each));
  if (names.empty()) return std::nullopt;
  std::string all;
  for (const std::string& each : names) all += (all.empty() ? "" : ", ") + each;
  return all;
}

std::string keeps_state_warning(const std::string& variables) {
  return std::string(kKeepsState) + variables +
         " (a kernel under test may have no memory; tables are only read, and never handed on by "
         "their address)";
}

std::optional<std::string> keeps_state(const Compiled& compiled) {
  const auto found = std::ranges::find_if(compiled.warnings, [](const std::string& warning) {
    return warning.starts_with(kKeepsState);
  });
  if (found == compiled.warnings.end()) return std::nullopt;
  return *found;
}

}  // namespace fa_tune::kernel
