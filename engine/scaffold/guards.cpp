#include "engine/scaffold/guards.hpp"

#include <bit>

namespace fa_tune::scaffold {

namespace {

constexpr int kMostComparisons = 16;  // of one condition

// A bit beside those of the axes: a loop begins where a buffer says.
constexpr unsigned kOfBuffer = 8;

}  // namespace

void Guards::come_to(std::size_t at) {
  while (!narrowed_.empty() && at >= narrowed_.back().end) {
    walk_.scope.variables[narrowed_.back().name] = narrowed_.back().before;
    narrowed_.pop_back();
  }
}

void Guards::change(const std::string& name) {
  const auto found = walk_.scope.variables.find(name);
  if (found == walk_.scope.variables.end() || bounded_.contains(name)) return;
  if (found->second.exact && walk_.is_parameter(name)) return;
  found->second.high.reset();
  found->second.exact = false;
}

void Guards::loop_step(Part step) {
  for (std::size_t at = step.begin; at < step.end; ++at) {
    if (!walk_.tokens[at].is("+=") || !walk_.token(at - 1).is_word()) continue;
    const auto variable = walk_.scope.variables.find(walk_.tokens[at - 1].text);
    const IndexRange by = IndexReader(walk_.tokens, walk_.scope, walk_.algebra)
                              .read({at + 1, walk_.expression_end(at + 1, step.end)});
    if (variable == walk_.scope.variables.end() || !by.exact || !by.high) continue;
    IndexRange& range = variable->second;
    if (started_[variable->first] == 0 && range.blocks == 0 && range.high)
      if (const Bound end = walk_.algebra.sum(range.high, Polynomial(1))) {
        walk_.use.steps.emplace_back(*by.high, *end);
        range.high = walk_.algebra.sum(end, by.high, -1);
      }
    for (std::size_t axis = 0; axis < kAxes.size(); ++axis)
      if ((started_[variable->first] >> axis & 1) != 0)
        walk_.use.axes[axis].strides.push_back(*by.high);
  }
}

void Guards::take(const Guard& guard) {
  const Part part = guard.condition;
  int left_over = kMostComparisons;
  for (std::size_t at = part.begin; at < part.end && left_over > 0; ++at) {
    const std::string& sign = walk_.tokens[at].text;
    if (sign != "<" && sign != "<=" && sign != ">" && sign != ">=" && sign != "!=") continue;
    if (!walk_.afford(kLongestIndex)) return;
    --left_over;
    std::size_t begin = at, end = at + 1;
    const auto ends = [&](std::size_t i) {
      const Token& token = walk_.tokens[i];
      return token.is("&&") || token.is("||") || token.is("!") || token.is(",") || token.is("?") ||
             token.is(";");
    };
    for (int depth = 0; begin > part.begin; --begin) {
      const Token& before = walk_.tokens[begin - 1];
      if (before.is(")") || before.is("]")) ++depth;
      if ((before.is("(") || before.is("[")) && depth-- == 0) break;
      if (depth == 0 && ends(begin - 1)) break;
    }
    for (int depth = 0; end < part.end; ++end) {
      if (walk_.tokens[end].is("(") || walk_.tokens[end].is("[")) ++depth;
      if ((walk_.tokens[end].is(")") || walk_.tokens[end].is("]")) && depth-- == 0) break;
      if (depth == 0 && ends(end)) break;
    }
    const Part left{begin, at}, right{at + 1, end};
    if (sign == "!=") continue;
    if (sign.starts_with("<"))
      compare(left, right, sign == "<=", guard);
    else
      compare(right, left, sign == ">=", guard);
  }
}

// The one variable that an expression is, or is with a number beside it.
std::optional<std::pair<std::string, Part>> Guards::variable_of(Part part) const {
  while (part.end - part.begin > 2 && walk_.tokens[part.begin].is("(") &&
         past_near_bracket(walk_.tokens, part.begin, part.end) == part.end)
    part = {part.begin + 1, part.end - 1};
  if (part.empty() || !walk_.tokens[part.begin].is_word()) return std::nullopt;
  const auto [name, count] = IndexReader::name_at(walk_.tokens, part.begin);
  const std::size_t behind = part.begin + count;
  if (!walk_.scope.variables.contains(name)) return std::nullopt;
  if (behind == part.end) return std::pair(name, Part{part.end, part.end});
  if (!walk_.tokens[behind].is("+")) return std::nullopt;
  return std::pair(name, Part{behind + 1, part.end});
}

// small < large
void Guards::compare(Part small, Part large, bool or_equal, const Guard& guard) {
  const IndexRange end = walk_.evaluate(large);
  if (!guard.leaves) {
    if (const auto variable = variable_of(small))
      bound(variable->first, variable->second, end, or_equal, guard);
    // 0 < x: the first ones are left out.
    const auto first = variable_of(large);
    if (first && !walk_.is_parameter(first->first) &&
        walk_.scope.variables[first->first].blocks != 0)
      note_edge(small, or_equal);
    return;
  }
  // if (n <= i) return;
  const auto variable = variable_of(large);
  if (variable) bound(variable->first, variable->second, walk_.evaluate(small), !or_equal, guard);
  const auto low = variable_of(small);
  if (low && !walk_.is_parameter(low->first) && walk_.scope.variables[low->first].blocks != 0)
    note_edge(large, !or_equal);
}

void Guards::note_edge(Part part, bool or_equal) {
  const IndexRange first = walk_.evaluate(part);
  const std::optional<std::int64_t> number =
      first.exact && first.high ? first.high->number() : std::nullopt;
  const bool is_start = number && (or_equal ? *number <= 0 : *number < 0);
  if (first.exact && !is_start) walk_.use.leaves_edge = true;
}

void Guards::bound(const std::string& name, Part beside, const IndexRange& end, bool or_equal,
                   const Guard& guard) {
  IndexRange& variable = walk_.scope.variables[name];
  if (walk_.is_parameter(name) && variable.exact) return;
  // for (j = rows[i]; j < rows[i + 1]; ...): they are offsets into what j is an index of.
  if (guard.loops && !end.loaded.empty() && end.loaded == variable.loaded) {
    BufferUse& buffer = walk_.use.buffers[end.loaded];
    if (!buffer.offsets_to) buffer.offsets_to = "nnz";
    // It does not begin at a number.
    started_[name] = kOfBuffer;
    variable = {.low = Polynomial(),
                .high = walk_.algebra.sum(Polynomial("nnz"), Polynomial(1), -1),
                .loaded = {},
                .threads = variable.threads,
                .blocks = 0};
    bounded_.insert(name);
    return;
  }
  if (!end.high) return;
  Bound most = or_equal ? end.high : walk_.algebra.sum(end.high, Polynomial(1), -1);
  // Of i + k < n the blocks still cover n.
  const Bound last = most;
  if (!beside.empty()) most = walk_.algebra.sum(most, walk_.evaluate(beside).high, -1);
  if (!most) return;
  for (const std::string& each : walk_.algebra.names(*most)) walk_.use.in_bounds.insert(each);
  if (guard.loops) started_[name] |= variable.threads;
  bool has_grid = false;
  if (variable.high)
    for (const std::string& each : walk_.algebra.names(*variable.high))
      has_grid |= each.starts_with("gridDim.");
  if (variable.blocks != 0 && end.exact) note_extent(variable, *last);
  if (guard.loops && variable.low && variable.exact) variable.low = variable.high;
  // What is bounded otherwise is so within the braces alone.
  const bool narrows = !guard.loops && !has_grid && variable.high && guard.within != 0;
  if (narrows && narrowed_.size() < kMostUses &&
      (narrowed_.empty() || guard.within <= narrowed_.back().end))
    narrowed_.push_back({guard.within, name, variable});
  if (guard.loops || has_grid || !variable.high || narrows) {
    variable.high = most;
    variable.exact = false;
    if (!variable.low) variable.low = Polynomial();
  }
  bounded_.insert(name);
}

void Guards::note_extent(const IndexRange& variable, const Polynomial& most) {
  if (!variable.high) return;
  const Bound all = walk_.algebra.sum(most, Polynomial(1));
  for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
    const bool within = (variable.blocks >> axis & 1) != 0;
    if (within && std::has_single_bit(variable.blocks) && all && !walk_.use.axes[axis].extent)
      walk_.use.axes[axis].extent = *all;
  }
  // blockIdx.y * gridDim.x + blockIdx.x: one long row.
  if (!std::has_single_bit(variable.blocks) && all) {
    for (std::size_t axis = 0; axis < kAxes.size(); ++axis)
      if ((variable.blocks >> axis & 1) != 0 && !walk_.use.axes[axis].extent)
        walk_.use.axes[axis].extent =
            axis == static_cast<std::size_t>(std::countr_zero(variable.blocks)) ? *all
                                                                                : Polynomial(1);
  }
}

}  // namespace fa_tune::scaffold
