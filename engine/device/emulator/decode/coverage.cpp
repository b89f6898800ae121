#include "engine/device/emulator/decode/coverage.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/device/emulator/decode/decoder.hpp"
#include "engine/device/emulator/decode/loader.hpp"

namespace fa_tune::emulator {
namespace {

// A kernel of one statement, with a register of every kind and a variable in every space.
std::string kernel_of(const std::string& opcode, std::string_view operands) {
  return fmt::format(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 s[4096];\n"
      ".func (.param .b32 r) one(.param .b32 a) {{ ret; }}\n"
      ".visible .entry k(.param .u64 out)\n{{\n"
      ".reg .pred %p<9>; .reg .b8 %b<9>; .reg .b16 %h<19>; .reg .b32 %r<99>; .reg .b64 %l<19>;\n"
      ".reg .b128 %q<9>; .local .align 16 .b8 v[64]; .param .b32 a0; .param .b32 r0;\n"
      "form: .callprototype (.param .b32 _) _ (.param .b32 _);\ntable: .branchtargets HERE;\n"
      "{} {};\nHERE: ret;\n}}\n",
      opcode, operands);
}

bool is_known(const std::string& opcode, std::string_view operands) {
  GlobalMemory memory;
  return load_program(kernel_of(opcode, operands), "k", TensorRule::hopper, memory).has_value();
}

CoverageRow ask(const GrammarClass& each) {
  CoverageRow row;
  row.title = each.title;
  for (const GrammarLine& line : each.lines) {
    row.grammar.emplace_back(line.grammar);
    for (const std::string& form : forms_of(line.grammar)) {
      ++row.asked;
      if (is_known(form, line.operands)) {
        ++row.known;
      } else {
        row.refused.push_back(form);
      }
    }
  }
  return row;
}

}  // namespace

// Alternatives in {} (or none of them) and in <> (one of them), from left to right.
std::vector<std::string> forms_of(std::string_view grammar) {
  std::vector<std::string> forms = {""};
  for (std::size_t at = 0; at < grammar.size();) {
    std::vector<std::string> choices;
    const char open = grammar[at];
    if (open == '{' || open == '<') {
      const std::size_t end = grammar.find(open == '{' ? '}' : '>', at);
      if (open == '{') choices.emplace_back();
      for (std::size_t begin = at + 1; begin <= end;) {
        const std::size_t stop = std::min(grammar.find('|', begin), end);
        choices.emplace_back(grammar.substr(begin, stop - begin));
        begin = stop + 1;
      }
      at = end + 1;
    } else {
      const std::size_t end = std::min(grammar.find_first_of("{<", at), grammar.size());
      choices.emplace_back(grammar.substr(at, end - at));
      at = end;
    }
    std::vector<std::string> longer;
    for (const std::string& form : forms) {
      for (const std::string& choice : choices) longer.push_back(form + choice);
    }
    forms = std::move(longer);
  }
  return forms;
}

std::vector<CoverageRow> coverage() {
  std::vector<CoverageRow> rows;
  for (const GrammarClass& each : instruction_grammar()) rows.push_back(ask(each));
  return rows;
}

std::vector<std::string> known_opcodes() { return Decoder::opcodes(); }

std::string coverage_table() {
  std::string text = "| class | forms | instructions |\n| --- | --- | --- |\n";
  for (const CoverageRow& row : coverage()) {
    std::set<std::string> roots;
    std::string names;
    for (const std::string& line : row.grammar) {
      for (const std::string& form : forms_of(line)) {
        const std::string root = form.substr(0, form.find('.'));
        if (roots.insert(root).second) names += (names.empty() ? "" : " ") + root;
      }
    }
    std::string refused;
    for (const std::string& form : row.refused) {
      refused += (refused.empty() ? "; not " : ", ") + form;
    }
    text +=
        fmt::format("| {} | {} of {} | {}{} |\n", row.title, row.known, row.asked, names, refused);
  }
  return text;
}

}  // namespace fa_tune::emulator
