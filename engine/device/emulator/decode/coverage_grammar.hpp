#pragma once

#include <string_view>
#include <vector>

namespace fa_tune::emulator {

// A line of an instruction's grammar, and operands that fit all of its forms.
struct GrammarLine {
  std::string_view grammar;
  std::string_view operands;
};
struct GrammarClass {
  std::string_view title;
  std::vector<GrammarLine> lines;
};

// The classes of PTX ISA 9.0, as far as ptxas takes them for sm_90a.
const std::vector<GrammarClass>& instruction_grammar();

}  // namespace fa_tune::emulator
