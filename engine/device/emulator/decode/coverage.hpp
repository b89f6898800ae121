#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fa_tune::emulator {

// Which instructions the emulator knows, asked of the decoder itself: the grammar of each class of
// instructions (PTX ISA 9.0, as ptxas takes it for sm_90) is written out form by form, and each
// form is decoded once.
struct CoverageRow {
  std::string title;                 // "integer arithmetic"
  std::vector<std::string> grammar;  // as asked: "add{.sat}.s32"; {} may be left out, <> may not
  int asked = 0;
  int known = 0;
  std::vector<std::string> refused;  // forms that the decoder does not know
};
std::vector<CoverageRow> coverage();

// The rows as a table in Markdown, one line each.
std::string coverage_table();

// Opcodes without their modifiers that the decoder has a function for.
std::vector<std::string> known_opcodes();

// All forms of one line of grammar.
std::vector<std::string> forms_of(std::string_view grammar);

// coverage_grammar.cpp: a line of an instruction's grammar, and operands that fit all of its forms.
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
