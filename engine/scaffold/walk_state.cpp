#include "engine/scaffold/walk_state.hpp"

#include <algorithm>

namespace fa_tune::scaffold {

namespace {

// Tokens that may be looked at again.
constexpr std::size_t kMostWork = 1'000'000;

}  // namespace

bool is_assignment(const Token& token) {
  static const std::set<std::string> known = {
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
  return known.contains(token.text);
}

WalkState::WalkState(const SourceText& source_text, const KernelText& kernel_text,
                     const std::set<std::string>& exact,
                     const std::map<std::string, Polynomial>& known, Algebra& names)
    : source(source_text), kernel(kernel_text), tokens(source.tokens()), algebra(names) {
  for (const std::string& name : exact) scope.variables[name] = exactly(Polynomial(name));
  for (const auto& [name, number] : source.numbers)
    if (!exact.contains(name)) scope.variables[name] = exactly(Polynomial(number));
  for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
    const std::string name = kAxes[axis];
    for (const char* whole : {"blockDim.", "gridDim."}) {
      const auto found = known.find(whole + name);
      scope.variables[whole + name] =
          exactly(found == known.end() ? Polynomial(whole + name) : found->second);
    }
    for (const auto& [one, all] :
         {std::pair{"threadIdx.", "blockDim."}, std::pair{"blockIdx.", "gridDim."}}) {
      IndexRange range;
      range.low = Polynomial();
      range.high = algebra.sum(scope.variables[all + name].high, Polynomial(1), -1);
      (one == std::string("threadIdx.") ? range.threads : range.blocks) = 1U << axis;
      scope.variables[one + name] = range;
    }
  }
}

const Token& WalkState::token(std::size_t at) const {
  static const Token none;
  return at < tokens.size() ? tokens[at] : none;
}

bool WalkState::afford(std::size_t tokens_again) {
  work_ += tokens_again;
  return work_ < kMostWork;
}

IndexRange WalkState::evaluate(Part part) {
  if (part.end > part.begin + kLongestIndex || !afford(part.end - part.begin)) return {};
  const IndexRange made = IndexReader(tokens, scope, algebra).read(part);
  note_covers(made);
  return made;
}

std::size_t WalkState::expression_end(std::size_t at, std::size_t end) const {
  int depth = 0;
  end = std::min(end, at + kLongestPart);
  for (; at < end; ++at) {
    const std::string& text = tokens[at].text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if (text == ")" || text == "]" || text == "}") {
      if (depth-- == 0) return at;
    }
    if (depth == 0 && (text == ";" || text == ",")) return at;
  }
  return end;
}

void WalkState::note_covers(const IndexRange& range) {
  if (range.blocks == 0 || !range.high) return;
  for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
    if ((range.blocks >> axis & 1) == 0 || use.axes[axis].covers) continue;
    const std::string grid = std::string("gridDim.") + kAxes[axis];
    for (const auto& [names, factor] : range.high->terms()) note_shared_covers(axis, grid, names);
    if (use.axes[axis].covers) continue;
    for (const auto& [names, factor] : range.high->terms()) {
      const auto found = std::ranges::find(names, grid);
      if (found == names.end() || factor <= 0) continue;
      Bound covers = Polynomial(factor);
      for (const std::string& name : names) {
        if (name.starts_with("gridDim.") || is_parameter(name)) continue;
        covers = algebra.product(covers, Polynomial(name));
      }
      // Blocks of rows that have a number of columns each: y * 32 * width.
      if (covers &&
          std::ranges::none_of(names, [&](const auto& name) { return is_parameter(name); }))
        use.axes[axis].covers = covers;
    }
  }
}

// (blockIdx.x * blockDim.x + threadIdx.x) / 32: several threads have one row.
void WalkState::note_shared_covers(std::size_t axis, const std::string& grid,
                                   const Polynomial::Product& names) {
  const auto parts = names.size() == 1 ? algebra.parts(names[0]) : std::nullopt;
  if (!parts) return;
  for (const auto& [of, factor] : parts->first.terms()) {
    if (std::ranges::find(of, grid) == of.end()) continue;
    Bound covers = Polynomial(factor);
    for (const std::string& name : of)
      if (name != grid) covers = algebra.product(covers, Polynomial(name));
    covers = algebra.quotient(covers, parts->second);
    if (covers) use.axes[axis].covers = covers;
  }
}

bool WalkState::is_parameter(const std::string& name) const {
  const auto same = [&](const KernelParameter& each) { return each.name == name; };
  return std::ranges::any_of(kernel.parameters, same);
}

}  // namespace fa_tune::scaffold
