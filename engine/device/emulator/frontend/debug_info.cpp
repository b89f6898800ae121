#include "engine/device/emulator/frontend/parser.hpp"

// Where the compiler says what an instruction was in CUDA C++ (PTX ISA, "Debugging Directives").
// Such a directive never makes a text invalid: it would mislead a debugger, not the kernel.

namespace fa_tune::emulator {

// .file 1 "mma.cu"[, timestamp, size]
void Parser::source_file() {
  const int line = take().line;
  if (peek().kind == Token::Kind::integer && peek(1).kind == Token::Kind::text &&
      peek().line == line) {
    const std::uint64_t number = take().value;
    const std::string_view quoted = take().text;
    module_.files[number] = quoted.substr(1, quoted.size() - 2);
  }
  while (peek().kind != Token::Kind::end && peek().line == line) take();
}

// .loc 2 100 29[, function_name NAME, inlined_at 1 6 3]
void Parser::source_place() {
  const int line = take().line;
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint64_t> call;
  bool inlined = false;
  while (peek().kind != Token::Kind::end && peek().line == line) {
    const Token& token = take();
    inlined |= token.text == "inlined_at";
    if (token.kind != Token::Kind::integer) continue;
    (inlined ? call : numbers).push_back(token.value);
  }
  if (numbers.size() < 2) return;
  SourcePlace place{numbers[0], numbers[1], -1};
  if (call.size() >= 2) {
    const auto found = latest_places_.find({call[0], call[1]});
    if (found != latest_places_.end()) place.inlined_at = found->second;
  }
  place_ = static_cast<int>(module_.places.size());
  module_.places.push_back(place);
  latest_places_[{place.file, place.line}] = place_;
}

}  // namespace fa_tune::emulator
