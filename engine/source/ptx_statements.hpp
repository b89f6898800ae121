#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fa_tune::source {

// PTX as far as one must read it to follow where values go (PTX ISA, chapters 4 and 5). For any
// text whatever: what is no PTX gives statements that mean nothing.

// One operand: its words, with those of its parts (of a vector, of an address with an offset).
struct PtxOperand {
  std::vector<std::string_view> words;
  bool is_address = false;  // in brackets
};

// An instruction: "ld", {"global", "nc", "f32"}, and what follows.
struct PtxInstruction {
  std::string_view opcode;
  std::vector<std::string_view> suffixes;
  std::vector<PtxOperand> operands;
};

struct PtxFunction {
  std::vector<PtxInstruction> instructions;  // in the order of the text, of all of its blocks
};

// A variable in the state space .global or .const, wherever it is declared.
struct PtxVariable {
  std::string_view name;
  bool constant = false;
  std::vector<std::string_view> initial;  // words of what it is initialised with
};

struct PtxText {
  std::vector<PtxVariable> variables;
  std::vector<PtxFunction> functions;
};

// What it returns points into `ptx`.
PtxText read_ptx(std::string_view ptx);

}  // namespace fa_tune::source
