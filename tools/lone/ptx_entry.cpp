#include "tools/lone/ptx_entry.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::lone {
namespace {

constexpr std::string_view kPartOfWord =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%.";

// The words and marks of a text, without comments and strings.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  // Empty at the end.
  std::string_view next() {
    for (;;) {
      const std::size_t begin = rest_.find_first_not_of(" \t\r\n");
      if (begin == std::string_view::npos) return {};
      rest_.remove_prefix(begin);
      if (rest_.starts_with("//")) {
        drop_through("\n", 2);
      } else if (rest_.starts_with("/*")) {
        drop_through("*/", 2);
      } else if (rest_.starts_with("\"")) {
        drop_through("\"", 1);
      } else {
        break;
      }
    }
    const std::size_t end = std::min(rest_.find_first_not_of(kPartOfWord), rest_.size());
    const std::string_view word = rest_.substr(0, std::max<std::size_t>(end, 1));
    rest_.remove_prefix(word.size());
    return word;
  }

 private:
  void drop_through(std::string_view mark, std::size_t from) {
    const std::size_t end = rest_.find(mark, from);
    rest_ = end == std::string_view::npos ? "" : rest_.substr(end + mark.size());
  }

  std::string_view rest_;
};

// "128" or "16, 8, 1"; `word` becomes what follows.
Dim3 sizes(Words& words, std::string_view& word) {
  std::uint32_t size[3] = {1, 1, 1};
  for (std::uint32_t& each : size) {
    std::from_chars(word.data(), word.data() + word.size(), each);
    word = words.next();
    if (word != ",") break;
    word = words.next();
  }
  return {size[0], size[1], size[2]};
}

}  // namespace

std::vector<PtxEntry> entries_of(std::string_view ptx) {
  std::vector<PtxEntry> entries;
  Words words(ptx);
  for (std::string_view word = words.next(); !word.empty();) {
    if (word == ".entry") {
      entries.push_back({std::string(words.next()), {}, {}});
      word = words.next();
      continue;
    }
    const bool block = word == ".reqntid";
    const bool cluster = word == ".reqnctapercluster";
    word = words.next();
    if (entries.empty()) continue;
    if (block) entries.back().block = sizes(words, word);
    if (cluster) entries.back().cluster = sizes(words, word);
  }
  return entries;
}

PtxEntry choose_entry(const std::string& ptx, const std::string& name, const std::string& file) {
  const std::vector<PtxEntry> entries = entries_of(ptx);
  std::string names;
  for (const PtxEntry& entry : entries) {
    if (entry.name == name || (name.empty() && entries.size() == 1)) return entry;
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  // The loader says what is wrong with it.
  if (!name.empty()) return {name, {}, {}};
  throw UserError(file + (entries.empty() ? ": holds no .entry function"
                                          : ": --kernel says which of its kernels is run: " +
                                                quote_text(names)));
}

}  // namespace fa_tune::lone
