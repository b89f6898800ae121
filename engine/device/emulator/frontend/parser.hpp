#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/emulator/frontend/ast.hpp"
#include "engine/device/emulator/frontend/lexer.hpp"

namespace fa_tune::emulator {

// Where names of one '{ }' live.
struct Scope {
  struct Range {  // .reg .b32 %r<8>: %r0 to %r7
    int first = 0;
    std::uint64_t count = 0;
  };
  int id = 0;
  std::map<std::string_view, int> registers;
  std::map<std::string_view, Range> ranges;
  std::map<std::string_view, Symbol*> symbols;
};

// The grammar. Statements are in parser_body.cpp, their operands in parser_operands.cpp,
// declarations in parser.cpp, initial values in initializers.cpp, line information in
// line_info.cpp.
class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokenize(source)) { scopes_.emplace_back(); }
  Module run();

 private:
  const Token& peek(std::size_t ahead = 0) const;
  const Token& take();
  bool accept(char mark);
  void expect(char mark);
  std::string_view expect_word(std::string_view what);
  std::uint64_t expect_integer();
  void skip_line();
  void skip_braces();
  void source_file();
  void source_place();

  void module_item();
  void function(bool is_entry);
  std::vector<const Symbol*> formal_parameters(Function& function, bool is_entry);
  void variables(Space space, bool is_extern, Function* function);
  Symbol& declare(Symbol symbol);
  // initializers.cpp: initial values.
  void initializer(Symbol& symbol, int element_size);
  void initial_value(Symbol& symbol, int element_size);
  std::uint64_t scalar(int element_size);
  void resolve_references();
  bool performance_directive(Function& function);

  void body(Function& function);
  bool body_directive(Function& function);
  void registers(Function& function);
  void statement(Function& function);
  void branch_targets(Function& function, std::string_view name);
  void call_targets(Function& function, std::string_view name);
  std::vector<std::uint64_t> prototype_parameters();
  Operand operand(Function& function);
  Operand primary(Function& function);
  Operand address(Function& function);
  Operand list(Function& function, char close, Operand::Kind kind);
  Operand named(Function& function, const Token& token);
  Operand constant(const Token& token, bool negative);
  std::int64_t offset();
  int find_register(std::string_view name) const;
  Symbol* find_symbol(std::string_view name) const;

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Module module_;
  std::vector<Scope> scopes_;
  int place_ = -1;  // of the last .loc in the function at hand
  // Places by file and line, to find what a call was itself inlined into.
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> latest_places_;
  std::uint64_t frame_ = 0;  // local memory given out so far, of the function at hand
  std::uint64_t frame_align_ = 16;
};

}  // namespace fa_tune::emulator
