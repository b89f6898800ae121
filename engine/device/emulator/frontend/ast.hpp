#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

// A PTX module as it is written, names resolved, nothing checked against an instruction's rules
// yet. Texts point into the source.

// A variable in memory. Local variables of a function and its parameters get an offset in the
// function's frame when they are declared, a kernel's parameters their offset among these; frames,
// shared and global variables are placed when the kernel that uses them is decoded.
struct Symbol {
  // An address among the initial values: of a variable, or of the function called `name`.
  struct Reference {
    std::uint64_t offset = 0;  // where it goes, in bytes
    int bytes = 8;
    int shift = 0;  // 0xff00(name): its bits from 8 on
    std::string_view name;
    std::int64_t addend = 0;
    Symbol* symbol = nullptr;
    int line = 0;
  };
  std::string_view name;
  Space space = Space::global;
  int align = 1;
  std::uint64_t size = 0;  // bytes; 0 for an extern array, whose size is given at the launch
  std::uint64_t address = 0;
  bool is_extern = false;
  bool used = false;
  int line = 0;
  int function = -1;                  // of a function's local variable: its index in the module
  std::vector<std::uint8_t> initial;  // may be shorter than size: the rest is zero
  std::vector<Reference> references;
};

struct Operand {
  enum class Kind : std::uint8_t {
    reg,      // index: the function's register; second: of 'a|b', else -1
    special,  // name: %tid.x
    integer,  // value
    real32,   // value: bits
    real64,   // value: bits
    symbol,   // symbol, value: offset
    name,     // a label or a function
    address,  // parts[0]: base (reg, symbol or integer); value: offset; parts[1]: a tensor's
              // coordinates, if given
    vector,   // parts
    list,     // parts: the parenthesized arguments of a call
    sink,     // _
  };
  Kind kind = Kind::sink;
  bool negated = false;  // !p
  int index = -1;
  int second = -1;
  std::int64_t value = 0;
  std::string_view name;
  Symbol* symbol = nullptr;
  std::vector<Operand> parts;
};

// A place in the CUDA source, from a .loc directive (PTX ISA, "Debugging Directives: .loc").
struct SourcePlace {
  std::uint64_t file = 0;  // number of a .file
  std::uint64_t line = 0;
  int inlined_at = -1;  // the call's place, if the function was inlined: an earlier one
};

struct Statement {
  int line = 0;
  int place = -1;  // index of Module::places; -1 where the text has no .loc
  int scope = 0;
  int guard = -1;  // register of @p
  bool guard_negated = false;
  std::string_view opcode;
  std::vector<Operand> operands;
};

struct Label {
  std::string_view name;
  int scope = 0;
  int statement = 0;  // index of the statement that follows
};

struct BranchTargets {
  std::string_view name;
  int scope = 0;
  std::vector<std::string_view> labels;
};

// What an indirect call may call: .calltargets names functions, .callprototype gives their form.
struct CallTargets {
  std::string_view name;
  int scope = 0;
  bool by_form = false;
  std::vector<std::string_view> functions;
  std::vector<std::uint64_t> returns;  // bytes of each
  std::vector<std::uint64_t> parameters;
};

struct Function {
  std::string_view name;
  bool is_entry = false;
  bool has_body = false;
  int line = 0;
  std::vector<const Symbol*> returns;
  std::vector<const Symbol*> parameters;
  std::uint64_t parameter_bytes = 0;  // of an entry
  // What its performance directives say, 0 where they do not.
  std::uint64_t most_threads = 0;    // .maxntid, .reqntid
  std::uint64_t least_blocks = 0;    // .minnctapersm
  std::uint64_t most_registers = 0;  // .maxnreg
  std::uint64_t frame_bytes = 0;     // its part of the thread's local memory
  std::uint64_t frame_align = 16;
  std::vector<Type> registers;
  std::vector<int> scope_parents;  // of scope i; the outermost is 0 with parent -1
  std::vector<Statement> statements;
  std::vector<Label> labels;
  std::vector<BranchTargets> branch_targets;
  std::vector<CallTargets> call_targets;
};

struct Module {
  std::deque<Symbol> symbols;  // a deque: statements point into it
  std::deque<Function> functions;
  std::vector<SourcePlace> places;
  std::map<std::uint64_t, std::string_view> files;  // names by number
};

// Reads a whole module. Throws LoadError that names the line.
Module parse_module(std::string_view source);

// `places`: of each instruction, an index of module.places or -1.
SourceLines source_lines_of(const Module& module, const std::vector<int>& places);

}  // namespace fa_tune::emulator
