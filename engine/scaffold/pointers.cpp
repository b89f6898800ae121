#include "engine/scaffold/pointers.hpp"

#include <algorithm>

namespace fa_tune::scaffold {

namespace {

// What all products of a bound have in common: the length of the rows that it counts.
std::optional<Polynomial> row_of(const Polynomial& bound) {
  std::optional<Polynomial::Product> common;
  for (const auto& [names, factor] : bound.terms()) {
    Polynomial::Product both;
    if (common) std::ranges::set_intersection(*common, names, std::back_inserter(both));
    common = common ? both : names;
  }
  if (!common || common->size() != 1) return std::nullopt;
  return Polynomial(common->front());
}

}  // namespace

Pointers::Pointers(WalkState& walk) : walk_(walk) {
  for (const KernelParameter& parameter : walk_.kernel.parameters)
    if (parameter.pointer) add_buffer(parameter.name, parameter.inner, lanes_of(parameter.type));
  for (const ConstantVariable& variable : walk_.source.constants) {
    std::vector<Part> inner = variable.sizes;
    if (!inner.empty()) inner.erase(inner.begin());
    add_buffer(variable.name, inner, lanes_of(variable.type));
  }
}

void Pointers::add_buffer(const std::string& name, const std::vector<Part>& inner, int lanes) {
  pointers_[name] = {name, exactly(Polynomial()), 1};
  inner_[name] = inner;
  lanes_[name] = lanes;
  walk_.scope.buffers[name] = name;
  walk_.use.buffers[name];
}

const Pointer* Pointers::find(const std::string& name) const {
  const auto found = pointers_.find(name);
  return found == pointers_.end() ? nullptr : &found->second;
}

void Pointers::assign(const std::string& name, const Pointer& pointer) {
  pointers_[name] = pointer;
  inner_[name] = inner_[pointer.buffer];
  walk_.scope.buffers[name] = pointer.buffer;
}

void Pointers::advance(const std::string& name, std::size_t at, Part value) {
  Pointer& pointer = pointers_[name];
  if (!walk_.tokens[at].is("+=")) {
    pointer.offset = {};
    return;
  }
  const IndexRange more = walk_.evaluate(value);
  const IndexRange by = exactly(Polynomial(pointer.scale));
  pointer.offset.high =
      walk_.algebra.sum(pointer.offset.high, walk_.algebra.product(more.high, by.high));
  // In a loop it goes on from there.
  if (loop_depth(at) > 0 && more.blocks == 0) pointer.offset = {};
}

// How many loops are open around a token: found by who stands before it.
int Pointers::loop_depth(std::size_t at) const {
  int depth = 0;
  std::vector<bool> open;
  for (std::size_t i = walk_.kernel.body.begin; i < at; ++i) {
    if (walk_.tokens[i].is("{")) {
      bool loop = i > 0 && (walk_.tokens[i - 1].is("do"));
      if (i > 0 && walk_.tokens[i - 1].is(")")) {
        int brackets = 0;
        std::size_t back = i - 1;
        for (;; --back) {
          if (walk_.tokens[back].is(")")) ++brackets;
          if (walk_.tokens[back].is("(") && --brackets == 0) break;
          if (back == walk_.kernel.body.begin) break;
        }
        loop = back > 0 && (walk_.tokens[back - 1].is("for") || walk_.tokens[back - 1].is("while"));
      }
      open.push_back(loop);
      depth += loop ? 1 : 0;
    } else if (walk_.tokens[i].is("}") && !open.empty()) {
      depth -= open.back() ? 1 : 0;
      open.pop_back();
    }
    if (i - walk_.kernel.body.begin > kMostUses * 4) return depth;
  }
  return depth;
}

// A variable that grows: only a guard says how far.

std::optional<Pointer> Pointers::value(Part part, int depth) {
  if (part.empty() || depth > 8 || !walk_.afford(part.end - part.begin)) return std::nullopt;
  if (walk_.tokens[part.begin].is("(") &&
      past_near_bracket(walk_.tokens, part.begin, part.end) == part.end)
    return value({part.begin + 1, part.end - 1}, depth + 1);
  // A cast: of what is behind it, in other elements.
  std::size_t behind = 0;
  Part type{};
  if (walk_.tokens[part.begin].is("reinterpret_cast") ||
      walk_.tokens[part.begin].is("static_cast") || walk_.tokens[part.begin].is("const_cast")) {
    if (!walk_.token(part.begin + 1).is("<")) return std::nullopt;
    behind = past_near_bracket(walk_.tokens, part.begin + 1, part.end);
    type = {part.begin + 2, behind - 1};
  } else if (walk_.tokens[part.begin].is("(")) {
    behind = past_near_bracket(walk_.tokens, part.begin, part.end);
    type = {part.begin + 1, behind - 1};
    if (type.empty() || !walk_.tokens[type.end - 1].is("*")) return std::nullopt;
  }
  if (behind != 0) {
    auto inner = value({behind, part.end}, depth + 1);
    if (!inner) return std::nullopt;
    std::string words;
    for (std::size_t i = type.begin; i < type.end; ++i)
      if (walk_.tokens[i].is_word() && !walk_.tokens[i].is("const") &&
          !walk_.tokens[i].is("volatile"))
        words += (words.empty() ? "" : " ") + walk_.tokens[i].text;
    const auto known = known_type(words);
    const int own = lanes_[inner->buffer];
    if (known && own > 0) inner->scale = std::max(1, lanes_of(*known) / own);
    return inner;
  }
  const bool is_address = walk_.tokens[part.begin].is("&");
  const std::size_t at = part.begin + (is_address ? 1 : 0);
  if (at >= part.end || !walk_.tokens[at].is_word()) return std::nullopt;
  const auto found = pointers_.find(walk_.tokens[at].text);
  if (found == pointers_.end()) return std::nullopt;
  Pointer made = found->second;
  IndexRange more = exactly(Polynomial());
  if (is_address) {
    if (!walk_.token(at + 1).is("[")) return std::nullopt;
    std::size_t past = 0;
    more = index(made.buffer, at + 1, part.end, &past);
    if (past != part.end) return std::nullopt;
  } else if (at + 1 < part.end) {
    if (!walk_.tokens[at + 1].is("+")) return std::nullopt;
    more = walk_.evaluate({at + 2, part.end});
  }
  made.offset = added(made.offset, more, made.scale);
  return made;
}

IndexRange Pointers::added(const IndexRange& offset, IndexRange index, std::int64_t scale) {
  // An index that was read, into a row.
  if (!index.high && !index.loaded.empty() && offset.high)
    if (const auto row = row_of(*offset.high)) {
      index.high = walk_.algebra.sum(row, Polynomial(1), -1);
      walk_.use.buffers[index.loaded].below = row;
    }
  IndexRange made = offset;
  made.low = Polynomial();
  made.high = walk_.algebra.sum(offset.high, walk_.algebra.product(index.high, Polynomial(scale)));
  made.exact = offset.exact && index.exact && index.high && index.high->number() == 0;
  if (made.exact) made.low = made.high;
  if (!index.loaded.empty()) made.loaded = index.loaded;
  made.threads |= index.threads;
  made.blocks |= index.blocks;
  return made;
}

IndexRange Pointers::index(const std::string& buffer, std::size_t at, std::size_t end,
                           std::size_t* past) {
  IndexRange all;
  const std::vector<Part> inner = inner_[buffer];
  for (std::size_t level = 0; at < end && walk_.tokens[at].is("["); ++level) {
    const std::size_t behind = past_near_bracket(walk_.tokens, at, end);
    const IndexRange each = walk_.evaluate({at + 1, behind - 1});
    if (level == 0) {
      all = each;
    } else if (level <= inner.size()) {
      const IndexRange size = walk_.evaluate(inner[level - 1]);
      all.high = walk_.algebra.sum(walk_.algebra.product(all.high, size.high), each.high);
      all.threads |= each.threads;
      all.blocks |= each.blocks;
      if (all.loaded.empty()) all.loaded = each.loaded;
    }
    at = behind;
  }
  *past = at;
  return all;
}

}  // namespace fa_tune::scaffold
