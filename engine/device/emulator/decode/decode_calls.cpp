#include <algorithm>

#include <fmt/format.h>

#include "engine/device/emulator/decode/decoder.hpp"

// Functions and their calls. Parameters of a call are local memory of both sides: before it the
// arguments are copied to the callee's frame, after it the results back. Frames are static, so a
// function that calls itself is not among what is known: by name it is refused here, by address the
// call is stopped when it happens.
//
// Two functions have no body in any module, for the driver has them (CUDA C++ Programming Guide,
// "System calls" of the PTX interoperability): printf's, which prints nothing here, and assert's.
//
// An indirect call becomes a chain: the address is compared with that of each function of the right
// form whose address the module takes, and the lanes that match call it by name.

namespace fa_tune::emulator {
namespace {

bool is_call(const Statement& statement) {
  return statement.opcode == "call" || statement.opcode.starts_with("call.");
}

struct CallParts {
  const Operand* results = nullptr;
  const Operand* target = nullptr;
  const Operand* arguments = nullptr;
  const Operand* targets = nullptr;  // of an indirect call
  bool whole = false;                // all operands have a part
};

CallParts parts_of(const Statement& statement) {
  const std::vector<Operand>& operands = statement.operands;
  CallParts parts;
  std::size_t at = 0;
  const auto next = [&](Operand::Kind kind) -> const Operand* {
    return at < operands.size() && operands[at].kind == kind ? &operands[at++] : nullptr;
  };
  parts.results = next(Operand::Kind::list);
  parts.target = next(Operand::Kind::name);
  if (parts.target == nullptr) parts.target = next(Operand::Kind::reg);
  parts.arguments = next(Operand::Kind::list);
  parts.targets = next(Operand::Kind::name);
  const bool indirect = parts.target != nullptr && parts.target->kind == Operand::Kind::reg;
  parts.whole =
      parts.target != nullptr && at == operands.size() && indirect == (parts.targets != nullptr);
  return parts;
}

bool is_print(std::string_view name) { return name == "vprintf"; }
bool is_failed_assertion(std::string_view name) { return name == "__assertfail"; }

bool has_form(const Function& function, const CallTargets& targets) {
  const auto fits = [](const Symbol* symbol, std::uint64_t bytes) { return symbol->size == bytes; };
  return std::equal(function.returns.begin(), function.returns.end(), targets.returns.begin(),
                    targets.returns.end(), fits) &&
         std::equal(function.parameters.begin(), function.parameters.end(),
                    targets.parameters.begin(), targets.parameters.end(), fits);
}

using Edges = std::map<const Function*, std::vector<Function*>>;

// The functions that lie on a cycle of calls or between two.
std::vector<const Function*> on_cycles(const std::vector<Function*>& functions,
                                       const Edges& edges) {
  std::vector<const Function*> left(functions.begin(), functions.end());
  for (const bool backwards : {false, true}) {
    for (bool changed = true; changed;) {
      std::map<const Function*, bool> wanted;
      for (const Function* from : left) {
        for (const Function* to : edges.at(from)) {
          if (std::find(left.begin(), left.end(), to) == left.end()) continue;
          wanted[backwards ? from : to] = true;
        }
      }
      const auto before = left.size();
      std::erase_if(left, [&](const Function* each) { return !wanted.contains(each); });
      changed = left.size() != before;
    }
  }
  return left;
}

}  // namespace

Function& Decoder::find_function(std::string_view name, int line) {
  const auto found = functions_.find(name);
  if (found != functions_.end()) return *found->second;
  fail_unknown(line, fmt::format("call of {}, which has no body here", name));
}

// Functions by name, and those whose address is taken: by an initial value or by an instruction.
void Decoder::know_functions() {
  for (Function& function : module_.functions) {
    if (function.has_body) functions_.try_emplace(function.name, &function);
  }
  const auto take = [&](std::string_view name) {
    const auto found = functions_.find(name);
    if (found != functions_.end() && !found->second->is_entry) taken_.insert(found->second);
  };
  for (const Symbol& symbol : module_.symbols) {
    for (const Symbol::Reference& reference : symbol.references) {
      if (reference.symbol == nullptr) take(reference.name);
    }
  }
  for (const Function& function : module_.functions) {
    for (const Statement& each : function.statements) {
      if (is_call(each)) continue;
      for (const Operand& operand : each.operands) {
        if (operand.kind == Operand::Kind::name) take(operand.name);
      }
    }
  }
}

// Whom the call at hand may reach.
std::vector<Function*> Decoder::callees(const Function& caller, const Statement& statement) {
  const CallParts parts = parts_of(statement);
  if (!parts.whole) {
    fail_unknown(statement.line, fmt::format("{} of this form", statement.opcode));
  }
  if (parts.targets == nullptr) {
    const std::string_view name = parts.target->name;
    if (!functions_.contains(name) && (is_print(name) || is_failed_assertion(name))) return {};
    return {&find_function(name, statement.line)};
  }
  std::vector<Function*> found;
  for (const CallTargets& targets : caller.call_targets) {
    if (targets.name != parts.targets->name) continue;
    for (const std::string_view name : targets.functions) {
      found.push_back(&find_function(name, statement.line));
    }
    if (!targets.by_form) return found;
    for (Function& function : module_.functions) {
      if (taken_.contains(&function) && has_form(function, targets)) found.push_back(&function);
    }
    return found;
  }
  fail_load(statement.line, fmt::format("'{}' is not declared", parts.targets->name));
}

// The kernel first, then whatever it can reach.
std::vector<Function*> Decoder::collect(Function& entry) {
  std::vector<Function*> found = {&entry};
  Edges named;
  Edges all;
  std::set<const Function*> seen = {&entry};
  for (std::size_t i = 0; i < found.size(); ++i) {
    Function& function = *found[i];
    named[&function];
    all[&function];
    for (const Statement& each : function.statements) {
      for (const Operand& operand : each.operands) mark_used(operand);
      uses_stack_ |= each.opcode.starts_with("alloca");
      if (!is_call(each)) continue;
      const bool by_name = parts_of(each).targets == nullptr;
      for (Function* callee : callees(function, each)) {
        if (callee->is_entry) {
          fail_load(each.line, fmt::format("{} is a kernel and cannot be called", callee->name));
        }
        if (by_name) named[&function].push_back(callee);
        all[&function].push_back(callee);
        if (seen.insert(callee).second) found.push_back(callee);
      }
    }
  }
  if (const auto cycle = on_cycles(found, named); !cycle.empty()) {
    fail_unknown(cycle.front()->line,
                 fmt::format("the recursive function {}", cycle.front()->name));
  }
  for (const Function* each : on_cycles(found, all)) active_[each] = fixed_predicate().id;
  return found;
}

Ref Decoder::fixed_predicate() {
  fixed_predicates_.push_back(predicates_);
  return {Ref::Kind::predicate, predicates_++};
}

void Decoder::set_flag(Ref flag, bool value) {
  const Ref from = {Ref::Kind::predicate, value ? kPredicateTrue : kPredicateFalse};
  emit(Kind::lanes, Pipe::control, lanes_handler({.op = LaneOp::predicate_mov}), {flag},
       {from, from});
}

// One argument or result from frame to frame.
void Decoder::copy_parameter(const Symbol* from, const Symbol* to) {
  if (from == nullptr || to == nullptr || from->space != Space::local ||
      to->space != Space::local || from->size != to->size) {
    malformed("an argument does not fit its parameter");
  }
  const std::uint64_t unit =
      from->size % 4 == 0 && from->address % 4 == 0 && to->address % 4 == 0 ? 4 : 1;
  const Ref between = new_register(Type::b32, true);
  for (std::uint64_t offset = 0; offset < from->size; offset += unit) {
    for (const bool storing : {false, true}) {
      Draft& draft = emit(Kind::memory, Pipe::load_store, storing ? run_store : run_load);
      draft.op.m = {static_cast<std::uint8_t>(Space::local),
                    static_cast<std::uint8_t>(unit),
                    0,
                    static_cast<std::uint8_t>(unit == 4 ? Type::b32 : Type::b8),
                    1,
                    4,
                    packed(MemoryOrder::copy, MemoryScope::none)};
      draft.op.immediate = static_cast<std::int64_t>((storing ? to : from)->address + offset);
      storing ? read(draft, 0, between) : write(draft, 0, between);
    }
  }
}

void Decoder::call_one(const Function& callee, const std::vector<Operand>& results,
                       const std::vector<Operand>& arguments) {
  if (results.size() != callee.returns.size() || arguments.size() != callee.parameters.size()) {
    malformed(fmt::format("does not fit the declaration of {}", callee.name));
  }
  const auto active = active_.find(&callee);
  if (active != active_.end()) {
    const Ref flag = {Ref::Kind::predicate, active->second};
    emit(Kind::memory, Pipe::control, run_wrong_call, {}, {flag});
    set_flag(flag, true);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    copy_parameter(arguments[i].symbol, callee.parameters[i]);
  }
  emit(Kind::call, Pipe::control, nullptr, {{Ref::Kind::reg, return_slots_.at(&callee)}});
  calls_.push_back({drafts_.size() - 1, &callee, 0});
  for (std::size_t i = 0; i < results.size(); ++i) {
    copy_parameter(callee.returns[i], results[i].symbol);
  }
  if (active != active_.end()) set_flag({Ref::Kind::predicate, active->second}, false);
}

void Decoder::call_of_driver(std::string_view name, const std::vector<Operand>& results) {
  if (is_failed_assertion(name)) {
    emit(Kind::trap, Pipe::control, nullptr).op.m[0] = 1;
    return;
  }
  for (const Operand& result : results) {
    if (result.kind == Operand::Kind::sink) continue;
    if (result.symbol == nullptr || result.symbol->space != Space::local ||
        result.symbol->size != 4)
      malformed("a result that is not of 4 bytes");
    Draft& draft = emit(Kind::memory, Pipe::load_store, run_store);
    draft.op.m = {static_cast<std::uint8_t>(Space::local),     4, 0,
                  static_cast<std::uint8_t>(Type::b32),        1, 4,
                  packed(MemoryOrder::copy, MemoryScope::none)};
    draft.op.immediate = static_cast<std::int64_t>(result.symbol->address);
    read(draft, 0, constant(0, 4));
  }
}

bool Decoder::call() {
  has("uni");
  const CallParts parts = parts_of(*statement_);
  if (!parts.whole) return false;
  const std::vector<Operand> none;
  const std::vector<Operand>& results = parts.results == nullptr ? none : parts.results->parts;
  const std::vector<Operand>& arguments =
      parts.arguments == nullptr ? none : parts.arguments->parts;
  const std::vector<Function*> known = callees(*function_, *statement_);
  if (known.empty() && parts.targets == nullptr) {
    call_of_driver(parts.target->name, results);
    return true;
  }
  if (parts.targets == nullptr) {
    call_one(*known.front(), results, arguments);
    return true;
  }
  const Ref address = source(*parts.target, Type::u64);
  Ref rest = {Ref::Kind::predicate, kPredicateTrue};
  bool negated = false;
  if (statement_->guard >= 0) {
    rest = predicate_register(statement_->guard);
    negated = statement_->guard_negated;
  }
  for (const Function* each : known) {
    LaneKey key{.op = LaneOp::setp, .type = Type::u64, .compare = Compare::eq};
    const Ref is = new_predicate();
    const Ref others = new_predicate();
    const Ref wanted = constant(function_address(*each), 8);
    guard_ = Ref{Ref::Kind::predicate, kPredicateTrue};
    Draft& draft =
        emit(Kind::lanes, Pipe::alu, lanes_handler(key), {is, others}, {address, wanted, rest});
    draft.op.m[0] = static_cast<std::uint8_t>(Combine::with_and);
    draft.op.m[1] = negated ? 1 : 0;
    guard_ = is;
    call_one(*each, results, arguments);
    rest = others;
    negated = false;
  }
  guard_ = Ref{Ref::Kind::predicate, kPredicateTrue};
  Draft& draft = emit(Kind::memory, Pipe::control, run_wrong_call, {}, {rest});
  draft.op.m[0] = negated ? 1 : 0;
  guard_.reset();
  return true;
}

bool Decoder::return_or_exit() {
  has("uni");
  want_operands(0, 0);
  if (root() == "exit" || function_->is_entry) {
    emit(Kind::exit, Pipe::control, nullptr);
    return true;
  }
  if (saved_stack_.kind != Ref::Kind::none) copy_register(saved_stack_, stack_pointer_);
  emit(Kind::ret, Pipe::control, nullptr, {}, {{Ref::Kind::reg, return_slots_.at(function_)}});
  return true;
}

void Decoder::copy_register(Ref from, Ref to) {
  emit(Kind::lanes, Pipe::alu, lanes_handler({.type = Type::b64}), {to}, {from});
}

// Before a function's first instruction: a kernel starts with an empty stack and no function
// active; a function that takes stack gives it back when it returns.
void Decoder::enter(const Function& function) {
  Statement begin;
  begin.line = function.line;
  begin.opcode = function.is_entry ? ".entry" : ".func";
  statement_ = &begin;
  saved_stack_ = {};
  if (function.is_entry) {
    for (const auto& [callee, flag] : active_) set_flag({Ref::Kind::predicate, flag}, false);
    if (!uses_stack_) return;
    stack_pointer_ = new_register(Type::b64, true);
    copy_register(constant(stack_begin_, 8), stack_pointer_);
    return;
  }
  const bool takes =
      std::any_of(function.statements.begin(), function.statements.end(),
                  [](const Statement& each) { return each.opcode.starts_with("alloca"); });
  if (!takes) return;
  saved_stack_ = new_register(Type::b64, true);
  copy_register(stack_pointer_, saved_stack_);
}

// alloca.u64 p, bytes{, align}; stacksave.u64 d; stackrestore.u64 a. The stack lies behind the
// frames and grows upward: who takes too much leaves the thread's local memory and is told so.
bool Decoder::stack() {
  const Type type = last_type();
  if (type != Type::u64) return false;
  if (!uses_stack_) {  // nothing is ever taken
    uses_stack_ = true;
    stack_pointer_ = constant(stack_begin_, 8);
  }
  if (root() == "stacksave") {
    want_operands(1, 1);
    copy_register(stack_pointer_, target(operand(0), type));
    return true;
  }
  if (root() == "stackrestore") {
    want_operands(1, 1);
    const Ref from = source(operand(0), type);
    if (stack_pointer_.kind == Ref::Kind::reg) copy_register(from, stack_pointer_);
    return true;
  }
  want_operands(2, 3);
  std::int64_t align = 8;
  if (operand_count() == 3) {
    align = operand(2).value;
    if (operand(2).kind != Operand::Kind::integer || align <= 0 || (align & (align - 1)) != 0) {
      malformed("the alignment wants a power of two");
    }
  }
  const Ref result = target(operand(0), type);
  const Ref bytes = source(operand(1), type);
  const auto combine = [&](LaneOp op, Type as, Ref to, Ref a, Ref b) {
    emit(Kind::lanes, Pipe::alu, lanes_handler({.op = op, .type = as}), {to}, {a, b});
  };
  const auto low = static_cast<std::uint64_t>(align) - 1;
  const Ref begin = new_register(Type::b64, true);
  combine(LaneOp::add, Type::u64, begin, stack_pointer_, constant(low, 8));
  combine(LaneOp::bit_and, Type::b64, begin, begin, constant(~low, 8));
  combine(LaneOp::add, Type::u64, stack_pointer_, begin, bytes);
  copy_register(begin, result);
  return true;
}

}  // namespace fa_tune::emulator
