#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "engine/device/emulator/frontend/parser.hpp"

// Where the compiler says what an instruction was in CUDA C++ (PTX ISA, "Debugging Directives").
// Such a directive never makes a text invalid: it would mislead a debugger, not the kernel.

namespace fa_tune::emulator {
namespace {

constexpr std::size_t kLongestChain = 64;

// "mma.cu": folders make a line of a report long and say little.
std::string_view file_name(const Module& module, std::uint64_t number) {
  const auto found = module.files.find(number);
  if (found == module.files.end()) return "?";
  std::string_view name = found->second;
  return name.substr(name.find_last_of('/') + 1);
}

// What is shown of a chain of calls: where the instruction is, and the innermost call in the
// kernel's own file.
std::string text_of(const Module& module, int index) {
  std::vector<const SourcePlace*> chain = {&module.places[static_cast<std::size_t>(index)]};
  while (chain.back()->inlined_at >= 0 && chain.size() < kLongestChain)
    chain.push_back(&module.places[static_cast<std::size_t>(chain.back()->inlined_at)]);
  const SourcePlace& place = *chain.front();
  std::string text = fmt::format("{}:{}", file_name(module, place.file), place.line);
  if (chain.size() == 1) return text;
  const auto in_kernel_file = [&](const SourcePlace* call) {
    return call->file == chain.back()->file;
  };
  const SourcePlace& call = **std::find_if(chain.begin() + 1, chain.end(), in_kernel_file);
  return text + fmt::format(" in {}:{}", file_name(module, call.file), call.line);
}

}  // namespace

SourceLines source_lines_of(const Module& module, const std::vector<int>& places) {
  SourceLines lines;
  if (module.places.empty()) return lines;
  std::map<int, std::uint32_t> by_place;
  std::map<std::string, std::uint32_t> by_text;
  for (const int place : places) {
    if (place < 0) {
      lines.of_ops.push_back(SourceLines::kUnknown);
      continue;
    }
    const auto [known, is_new] = by_place.try_emplace(place, 0);
    if (is_new) {
      const std::string text = text_of(module, place);
      const auto [same, first] =
          by_text.try_emplace(text, static_cast<std::uint32_t>(lines.texts.size()));
      if (first) lines.texts.push_back(text);
      known->second = same->second;
    }
    lines.of_ops.push_back(known->second);
  }
  return lines;
}

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
