#include "engine/scaffold/pointer_uses.hpp"

#include <algorithm>

namespace fa_tune::scaffold {

// The widest expression around a name that is still a pointer: of *(x + i), ((float4*)x)[i].
Part PointerUses::pointer_around(std::size_t at, Part part) {
  std::size_t open = at, close = at + 1;
  while (open > part.begin && walk_.tokens[open - 1].is("(") && !walk_.token(open - 2).is_word()) {
    const std::size_t end = past_near_bracket(walk_.tokens, open - 1, part.end);
    if (!pointers_.value({open - 1, end})) break;
    open -= 1;
    close = end;
  }
  std::size_t cast = open;
  if (open > part.begin && walk_.tokens[open - 1].is(")")) {
    // (float4*)x within brackets of its own
    std::size_t back = open - 1;
    while (back > part.begin && !walk_.tokens[back].is("(")) --back;
    cast = back;
  } else if (open > part.begin && walk_.tokens[open - 1].is("(") && walk_.token(open - 2).is(">")) {
    std::size_t back = open - 2;
    while (back > part.begin && !walk_.tokens[back].is("reinterpret_cast") && open - back < 12)
      --back;
    if (walk_.tokens[back].is("reinterpret_cast")) cast = back;
  }
  if (cast != open) {
    std::size_t begin = cast, end = part.end;
    if (cast > part.begin && walk_.tokens[cast - 1].is("(")) {
      begin = cast - 1;
      end = past_near_bracket(walk_.tokens, begin, part.end);
    } else if (walk_.tokens[cast].is("reinterpret_cast")) {
      const std::size_t list = past_near_bracket(walk_.tokens, cast + 1, part.end);
      end = list < part.end ? past_near_bracket(walk_.tokens, list, part.end) : part.end;
    }
    if (const auto value = pointers_.value({begin, end})) {
      open = begin;
      close = end;
    }
  }
  return {open, close};
}

void PointerUses::take(std::size_t at, Part part) {
  const std::string& name = walk_.tokens[at].text;
  if (at > 0 && (walk_.tokens[at - 1].is(".") || walk_.tokens[at - 1].is("->"))) return;
  if (shared_.is_tile(name)) return shared_.use_tile(at, part);
  if (shared_.is_dynamic(name) && walk_.token(at + 1).is("[")) {
    std::size_t past = 0;
    const IndexRange range = pointers_.index(name, at + 1, part.end, &past);
    if (walk_.use.shared_extents.size() < kMostUses)
      walk_.use.shared_extents.push_back(walk_.algebra.sum(range.high, Polynomial(1)));
    return;
  }
  // ((float4*)x)[i] is looked at from its bracket.
  const Pointer* found = pointers_.find(name);
  if (found == nullptr) return;
  Pointer pointer = *found;
  BufferUse& buffer = walk_.use.buffers[pointer.buffer];
  if (buffer.extents.size() > kMostUses || !walk_.afford(kLongestIndex)) return;
  std::size_t past = at + 1, first = at;
  std::optional<IndexRange> range;
  if (walk_.token(past).is("[")) {
    range = pointers_.index(pointer.buffer, past, part.end, &past);
    range = pointers_.added(pointer.offset, *range, pointer.scale);
  } else {
    const Part around = pointer_around(at, part);
    const auto value = pointers_.value(around);
    first = around.begin;
    past = around.end;
    if (value && walk_.token(past).is("[")) {
      const IndexRange more = pointers_.index(value->buffer, past, part.end, &past);
      range = pointers_.added(value->offset, more, value->scale);
      pointer.scale = value->scale;
    } else if (value && first > part.begin && walk_.tokens[first - 1].is("*") &&
               !(first > 1 &&
                 (walk_.tokens[first - 2].is_word() || walk_.tokens[first - 2].is(")")) &&
                 !walk_.tokens[first - 2].is("return"))) {
      range = value->offset;
    } else if (value) {
      const Part rest{at, walk_.expression_end(at, part.end)};
      const auto whole = pointers_.value(rest);
      const bool defines = first > part.begin &&
                           (walk_.tokens[first - 1].is("=") || is_assignment(walk_.token(past)));
      if (defines || is_assignment(walk_.token(past))) return;
      if (whole) range = whole->offset;
      pass_on(at, part, buffer, range.value_or(value->offset), pointer.scale);
      return;
    } else {
      return;
    }
  }
  // & in front: an atomic's, a cast's or another pointer's.
  if (walk_.token(past).is(")") && first >= part.begin + 2 && walk_.tokens[first - 1].is("(") &&
      walk_.tokens[first - 2].is("&")) {
    pass_on(first - 2, part, buffer, *range, pointer.scale, pointer.buffer);
    return;
  }
  if (first > part.begin && walk_.tokens[first - 1].is("&") && walk_.token(first - 2).is("(")) {
    pass_on(first - 1, part, buffer, *range, pointer.scale);
    return;
  }
  if (first > part.begin && walk_.tokens[first - 1].is("&") &&
      (walk_.token(first - 2).is("=") || walk_.token(first - 2).is(","))) {
    if (walk_.token(first - 2).is("=")) return;
    pass_on(first - 1, part, buffer, *range, pointer.scale);
    return;
  }
  while (walk_.token(past).is(".") || walk_.token(past).is("->")) past += 2;
  const Token& next = walk_.token(past);
  const bool changes = is_assignment(next) || next.is("++") || next.is("--") ||
                       walk_.token(first - 1).is("++") || walk_.token(first - 1).is("--");
  if (changes) buffer.written = true;
  // A part of a vector that is written leaves the others.
  if (!changes || !next.is("=")) buffer.read = true;
  note_use(pointer.buffer, *range, pointer.scale);
}

// A pointer that is an argument of a function.
void PointerUses::pass_on(std::size_t at, Part part, BufferUse& buffer, const IndexRange& range,
                          std::int64_t scale, const std::string& named) {
  std::size_t open = at;
  int depth = 0;
  for (; open > part.begin && at - open < kLongestPart; --open) {
    const Token& before = walk_.tokens[open - 1];
    if (before.is(")") || before.is("]")) ++depth;
    if ((before.is("(") || before.is("[")) && depth-- == 0) break;
    if (before.is(";") || before.is("{") || before.is("}")) return;
  }
  if (open < 2) return;
  const Token& function = walk_.tokens[open - 2];
  const std::string name = function.is_word() ? function.text : "";
  const std::string of = walk_.scope.buffers.contains(walk_.tokens[at].text)
                             ? walk_.tokens[at].text
                             : walk_.token(at + 1).text;
  const Pointer* pointer = pointers_.find(of);
  const std::string buffer_name = !named.empty()       ? named
                                  : pointer == nullptr ? of
                                                       : pointer->buffer;
  if (name.starts_with("atomic")) {
    buffer.read = buffer.written = buffer.atomic = true;
    note_use(buffer_name, range, scale);
  } else if (name.starts_with("__ld") || name.empty()) {
    buffer.read = true;
    note_use(buffer_name, range, scale);
  } else if (name.starts_with("__st")) {
    buffer.written = true;
    note_use(buffer_name, range, scale);
  } else {
    buffer.passed_on = true;
    buffer.read = true;
    const auto same = [&](const KernelParameter& each) { return each.name == buffer_name; };
    const auto of_kernel = std::ranges::find_if(walk_.kernel.parameters, same);
    if (of_kernel != walk_.kernel.parameters.end() && !of_kernel->constant) buffer.written = true;
  }
}

void PointerUses::note_use(const std::string& name, const IndexRange& range, std::int64_t scale) {
  BufferUse& buffer = walk_.use.buffers[name];
  walk_.note_covers(range);
  buffer.extents.push_back(walk_.algebra.sum(range.high, Polynomial(scale)));
  buffer.by.push_back(range.loaded);
  if (!range.loaded.empty() && !range.high) walk_.use.buffers[range.loaded].index_of.insert(name);
  if (range.high) buffer.indices.push_back(*range.high);
}

}  // namespace fa_tune::scaffold
