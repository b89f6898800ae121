#include "engine/device/emulator/decode/decoder.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/device/emulator/frontend/ast.hpp"

// From functions to drafts: which functions and variables a kernel uses, where they lie, and what
// the operands of a statement stand for.

namespace fa_tune::emulator {
namespace {

constexpr std::uint64_t kMostStaticShared = 1 << 20;
constexpr std::size_t kMostInstructions = 4'000'000;
constexpr std::size_t kMostNames = 0xffff;
constexpr std::uint64_t kMostLocalBytes = 512 * 1024;  // a thread's, CUDA C++ guide
// What alloca may take, a thread; the driver's own limit is a setting whose default is of this
// size.
constexpr std::uint64_t kDynamicStackBytes = 16 * 1024;

}  // namespace

int width_of(Type type) { return std::max(2, size_of(type)); }

Program Decoder::decode(std::string_view kernel) {
  Function* entry = nullptr;
  for (Function& function : module_.functions) {
    if (function.is_entry && function.has_body && function.name == kernel) entry = &function;
  }
  if (entry == nullptr) {
    std::string known;
    for (const Function& function : module_.functions) {
      if (function.is_entry) known += (known.empty() ? "" : ", ") + std::string(function.name);
    }
    throw LoadError{
        {DiagnosticKind::load_failed, fmt::format("the PTX has no kernel '{}'; it has: {}", kernel,
                                                  known.empty() ? "none" : known)}};
  }
  know_functions();
  const std::vector<Function*> functions = collect(*entry);
  program_.special_slots.fill(kNoOperand);
  place_symbols(*entry, functions);
  for (const Function* each : functions) {
    if (each != entry) return_slots_[each] = new_register(Type::b32, true).id;
  }
  for (const Function* each : functions) function(*each);
  finish(*entry);
  return std::move(program_);
}

void Decoder::mark_used(const Operand& operand) {
  if (operand.symbol != nullptr) mark_used(*operand.symbol);
  for (const Operand& part : operand.parts) mark_used(part);
}

void Decoder::mark_used(Symbol& symbol) {
  std::vector<Symbol*> found = {&symbol};
  while (!found.empty()) {
    Symbol& next = *found.back();
    found.pop_back();
    if (next.used) continue;
    next.used = true;
    for (const Symbol::Reference& reference : next.references) {
      if (reference.symbol != nullptr) found.push_back(reference.symbol);
    }
  }
}

// Functions have addresses of their own, where there is no memory.
std::uint64_t Decoder::function_address(const Function& function) const {
  std::uint64_t index = 1;
  for (const Function& each : module_.functions) {
    if (&each == &function) break;
    ++index;
  }
  return kCodeWindow + 16 * index;
}

void Decoder::place_frames(const std::vector<Function*>& functions) {
  std::map<int, std::uint64_t> begins;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < module_.functions.size(); ++i) {
    const Function& each = module_.functions[i];
    if (std::find(functions.begin(), functions.end(), &each) == functions.end()) continue;
    const std::uint64_t begin = aligned_up(end, each.frame_align);
    begins[static_cast<int>(i)] = begin;
    end = begin + each.frame_bytes;
    if (end > kMostLocalBytes) fail_load(each.line, "more local memory than a thread has");
  }
  for (Symbol& symbol : module_.symbols) {
    if (symbol.space != Space::local) continue;
    if (symbol.function >= 0) {
      if (const auto begin = begins.find(symbol.function); begin != begins.end()) {
        symbol.address += begin->second;
      }
    } else if (symbol.used) {
      symbol.address = aligned_up(end, static_cast<std::uint64_t>(symbol.align));
      end = symbol.address + symbol.size;
      if (end > kMostLocalBytes) fail_load(symbol.line, "more local memory than a thread has");
    }
  }
  stack_begin_ = aligned_up(end, 16);
  program_.local_bytes =
      static_cast<std::uint32_t>(stack_begin_ + (uses_stack_ ? kDynamicStackBytes : 0));
}

// The addresses among a variable's initial values, once everything is placed.
void Decoder::write_references(const Symbol& symbol) {
  for (const Symbol::Reference& reference : symbol.references) {
    std::uint64_t value = 0;
    if (reference.symbol != nullptr) {
      value = reference.symbol->address;
    } else if (const auto found = functions_.find(reference.name); found != functions_.end()) {
      value = function_address(*found->second);
    } else {
      const bool declared =
          std::any_of(module_.functions.begin(), module_.functions.end(),
                      [&](const Function& each) { return each.name == reference.name; });
      if (!declared) fail_load(reference.line, fmt::format("'{}' is not declared", reference.name));
    }
    value += static_cast<std::uint64_t>(reference.addend);
    placing_.write(symbol.address + reference.offset, value >> reference.shift,
                   std::min(reference.bytes, 8));
  }
}

void Decoder::place_symbols(Function& entry, const std::vector<Function*>& functions) {
  std::uint64_t end = kSharedReserved;
  std::uint64_t dynamic_align = 16;
  for (Symbol& symbol : module_.symbols) {
    if (!symbol.used || symbol.space != Space::shared) continue;
    const auto align = static_cast<std::uint64_t>(symbol.align);
    if (symbol.size == 0) {
      dynamic_align = std::max(dynamic_align, align);
      continue;
    }
    symbol.address = aligned_up(end, align);
    end = symbol.address + symbol.size;
    if (end > kMostStaticShared) {
      fail_load(symbol.line,
                fmt::format("'{}' makes {} bytes of shared memory, more than any GPU has",
                            symbol.name, end - kSharedReserved));
    }
  }
  const std::uint64_t dynamic_begin = aligned_up(end, dynamic_align);
  for (Symbol& symbol : module_.symbols) {
    if (!symbol.used) continue;
    if (symbol.space == Space::shared && symbol.size == 0) symbol.address = dynamic_begin;
    if (symbol.space == Space::global || symbol.space == Space::constant) {
      if (symbol.is_extern && symbol.initial.empty()) {
        fail_load(symbol.line, fmt::format("the extern variable '{}' is nowhere", symbol.name));
      }
      symbol.address = placing_.place(symbol);
      program_.globals.push_back(symbol.address);
    }
  }
  for (const Symbol& symbol : module_.symbols) {
    if (symbol.used && !symbol.references.empty()) write_references(symbol);
  }
  program_.kernel = entry.name;
  entry_registers_ = thread_registers(entry);
  program_.static_shared_bytes = static_cast<std::uint32_t>(end - kSharedReserved);
  program_.dynamic_shared_begin = static_cast<std::uint32_t>(dynamic_begin);
  program_.parameter_bytes = static_cast<std::uint32_t>(entry.parameter_bytes);
  for (const Symbol* parameter : entry.parameters) {
    program_.parameter_sizes.push_back(static_cast<std::uint32_t>(parameter->size));
    program_.parameter_offsets.push_back(static_cast<std::uint32_t>(parameter->address));
  }
  place_frames(functions);
}

void Decoder::function(const Function& function) {
  function_ = &function;
  local_registers_.clear();
  local_predicates_.clear();
  branches_.clear();
  places_.clear();
  first_table_ = program_.branch_tables.size();
  carry_ = {};
  entries_[&function] = static_cast<std::uint32_t>(drafts_.size());
  enter(function);
  for (const Statement& each : function.statements) {
    places_.push_back(static_cast<std::uint32_t>(drafts_.size()));
    statement(each);
    if (drafts_.size() > kMostInstructions) fail_load(each.line, "too many instructions");
  }
  // A text may leave out the last 'ret'; labels at the very end point to this one.
  places_.push_back(static_cast<std::uint32_t>(drafts_.size()));
  Statement last;
  last.line = function.statements.empty() ? function.line : function.statements.back().line;
  last.place = function.statements.empty() ? -1 : function.statements.back().place;
  last.opcode = "ret";
  statement(last);
  for (const Patch& patch : branches_) drafts_[patch.draft].op.target = places_[patch.label];
  for (std::size_t i = first_table_; i < program_.branch_tables.size(); ++i) {
    for (std::uint32_t& target : program_.branch_tables[i]) target = places_[target];
  }
}

void Decoder::statement(const Statement& statement) {
  statement_ = &statement;
  words_.clear();
  for (std::size_t begin = 0; begin <= statement.opcode.size();) {
    const std::size_t end = std::min(statement.opcode.find('.', begin), statement.opcode.size());
    words_.push_back(statement.opcode.substr(begin, end - begin));
    begin = end + 1;
  }
  understood_.assign(words_.size(), false);
  understood_[0] = true;
  const Family known = family(words_[0]);
  if (known == nullptr || !(this->*known)()) unknown();
  all_understood();
}

std::uint32_t Decoder::label(std::string_view name) const {
  for (int scope = statement_->scope;;
       scope = function_->scope_parents[static_cast<std::size_t>(scope)]) {
    for (const Label& each : function_->labels) {
      if (each.scope == scope && each.name == name)
        return static_cast<std::uint32_t>(each.statement);
    }
    if (scope == 0) break;
  }
  malformed(fmt::format("there is no label '{}'", name));
}

void Decoder::finish(const Function& entry) {
  for (const Patch& patch : calls_) drafts_[patch.draft].op.target = entries_.at(patch.callee);
  program_.entry = entries_.at(&entry);
  program_.ops.reserve(drafts_.size());
  for (const Draft& draft : drafts_) program_.ops.push_back(draft.op);
  std::vector<int> places;
  places.reserve(drafts_.size());
  for (const Draft& draft : drafts_) places.push_back(draft.place);
  program_.sources = source_lines_of(module_, places);
  const std::vector<std::uint16_t> slots =
      allocate_registers(drafts_, registers_, predicates_, fixed_predicates_, program_);
  program_.def_use = def_use_of(drafts_, registers_, program_);
  program_.value_def_use = value_def_use_of(drafts_, registers_.size());
  program_.values = static_cast<std::uint32_t>(registers_.size()) + predicates_;
  for (const auto& [which, reg] : specials_) {
    program_.special_slots[static_cast<std::size_t>(which)] = slots[reg];
  }
}

void Decoder::unknown() const { fail_unknown(statement_->line, std::string(statement_->opcode)); }

void Decoder::malformed(const std::string& what) const {
  fail_load(statement_->line, fmt::format("{}: {}", statement_->opcode, what));
}

bool Decoder::has(std::string_view modifier) {
  for (std::size_t i = 1; i < words_.size(); ++i) {
    if (words_[i] != modifier) continue;
    understood_[i] = true;
    return true;
  }
  return false;
}

Type Decoder::last_type() {
  const auto type = type_of(words_.back());
  if (words_.size() < 2 || !type) unknown();
  understood_.back() = true;
  return *type;
}

void Decoder::all_understood() const {
  if (std::find(understood_.begin(), understood_.end(), false) != understood_.end()) unknown();
}

const Operand& Decoder::operand(std::size_t index) const {
  if (index >= statement_->operands.size()) {
    malformed(fmt::format("operand {} is missing", index + 1));
  }
  return statement_->operands[index];
}

void Decoder::want_operands(std::size_t least, std::size_t most) const {
  if (operand_count() < least || operand_count() > most) {
    malformed(fmt::format("{} operands where {} to {} are expected", operand_count(), least, most));
  }
}

Draft& Decoder::emit(Kind kind, Pipe pipe, Handler run) {
  Draft& draft = drafts_.emplace_back();
  draft.op.kind = kind;
  draft.op.pipe = pipe;
  draft.op.run = run;
  draft.op.line = static_cast<std::uint32_t>(statement_->line);
  draft.place = statement_->place;
  const auto known = names_.find(statement_->opcode);
  if (known != names_.end()) {
    draft.op.name = known->second;
  } else {
    if (program_.names.size() >= kMostNames) malformed("too many different instructions");
    draft.op.name = static_cast<std::uint16_t>(program_.names.size());
    names_[statement_->opcode] = draft.op.name;
    program_.names.emplace_back(statement_->opcode);
  }
  draft.guard = {Ref::Kind::predicate, kPredicateTrue};
  if (guard_) {
    draft.guard = *guard_;
  } else if (statement_->guard >= 0) {
    draft.guard = predicate_register(statement_->guard);
    draft.op.guard_negated = statement_->guard_negated;
  }
  return draft;
}

Draft& Decoder::emit(Kind kind, Pipe pipe, Handler run, std::initializer_list<Ref> targets,
                     std::initializer_list<Ref> sources) {
  Draft& draft = emit(kind, pipe, run);
  std::size_t index = 0;
  for (const Ref& ref : targets) {
    if (ref.kind != Ref::Kind::none) write(draft, index, ref);
    ++index;
  }
  for (const Ref& ref : sources) draft.refs[index++] = ref;
  return draft;
}

void Decoder::read(Draft& draft, std::size_t index, Ref ref) { draft.refs[index] = ref; }

void Decoder::write(Draft& draft, std::size_t index, Ref ref) {
  draft.refs[index] = ref;
  draft.writes = static_cast<std::uint16_t>(draft.writes | 1U << index);
}

bool Decoder::lanes(const LaneKey& key, Pipe pipe, Type to, std::initializer_list<Type> sources) {
  const Handler run = lanes_handler(key);
  if (run == nullptr) return false;
  want_operands(sources.size() + 1, sources.size() + 1);
  const Ref result = target(operand(0), to);
  std::vector<Ref> from;
  for (const Type type : sources) from.push_back(source(operand(from.size() + 1), type));
  Draft& draft = emit(Kind::lanes, pipe, run, {result});
  for (std::size_t i = 0; i < from.size(); ++i) read(draft, i + 1, from[i]);
  return true;
}

}  // namespace fa_tune::emulator
