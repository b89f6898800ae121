#include "engine/scaffold/shared_memory.hpp"

namespace fa_tune::scaffold {

void SharedMemory::declare(std::size_t at, std::size_t end) {
  const bool is_extern = at > 0 && walk_.tokens[at - 1].is("extern");
  std::vector<std::string> words;
  std::size_t i = at + 1;
  for (; i < end && !walk_.tokens[i].is(";") && !walk_.tokens[i].is("["); ++i) {
    if (walk_.tokens[i].is("("))
      i = past_near_bracket(walk_.tokens, i, end) - 1;
    else if (walk_.tokens[i].is_word() && !walk_.tokens[i].text.starts_with("__"))
      words.push_back(walk_.tokens[i].text);
  }
  if (i >= end || !walk_.tokens[i].is("[") || words.empty()) return;
  const std::string name = words.back();
  words.pop_back();
  std::string type;
  for (const std::string& word : words)
    if (word != "volatile") type += (type.empty() ? "" : " ") + word;
  if (is_extern) {
    walk_.use.dynamic_shared = known_type(type).value_or("f32");
    dynamic_ = name;
    return;
  }
  std::vector<Bound>& sizes = tiles_[name];
  while (i < end && walk_.tokens[i].is("[")) {
    const std::size_t past = past_near_bracket(walk_.tokens, i, end);
    const IndexRange size = walk_.evaluate({i + 1, past - 1});
    sizes.push_back(size.exact ? size.high : Bound());
    i = past;
  }
}

void SharedMemory::use_tile(std::size_t at, Part part) {
  const std::vector<Bound>& sizes = tiles_.at(walk_.tokens[at].text);
  std::size_t next = at + 1;
  for (std::size_t level = 0; level < sizes.size() && walk_.token(next).is("["); ++level) {
    const std::size_t past = past_near_bracket(walk_.tokens, next, part.end);
    const IndexRange range = walk_.evaluate({next + 1, past - 1});
    next = past;
    if (range.threads == 0 || !sizes[level] || !range.high) continue;
    for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
      const Bound all = walk_.algebra.sum(range.high, Polynomial(1));
      if (!all || !all->names(std::string("blockDim.") + kAxes[axis])) continue;
      if (*all == Polynomial(std::string("blockDim.") + kAxes[axis]) && !walk_.use.axes[axis].tile)
        walk_.use.axes[axis].tile = sizes[level];
    }
  }
}

}  // namespace fa_tune::scaffold
