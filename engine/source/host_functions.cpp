#include "engine/source/host_functions.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/source/identifier_substitution.hpp"

namespace fa_tune::source {
namespace {

// A function at namespace scope that has neither __global__ nor __device__.
struct HostFunction {
  std::size_t begin = 0, end = 0;
  std::string name;
};

std::vector<std::string_view> names_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (auto word = next_word(text, 0); word; word = next_word(text, word->end()))
    words.push_back(word->text);
  return words;
}

bool has(const std::vector<std::string_view>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// cudaMalloc, cudaError_t, ...
bool is_of_runtime(std::string_view word) {
  return word.starts_with("cuda") && word.size() > 4 &&
         std::isupper(static_cast<unsigned char>(word[4])) != 0;
}

struct Range {
  std::size_t begin = 0, end = 0;
};

// The preprocessor's lines, with those that they go on over.
std::vector<Range> directive_lines(std::string_view code) {
  std::vector<Range> found;
  for (std::size_t begin = 0; begin < code.size();) {
    std::size_t end = std::min(code.find('\n', begin), code.size());
    const std::size_t mark = skip_blanks(code, begin);
    if (mark < end && code[mark] == '#') {
      while (end < code.size() && code[end - 1] == '\\')
        end = std::min(code.find('\n', end + 1), code.size());
      found.push_back({begin, end});
    }
    begin = end + 1;
  }
  return found;
}

void blank(std::string& text, Range range) {
  for (std::size_t at = range.begin; at < range.end; ++at)
    if (text[at] != '\n') text[at] = ' ';
}

class HostScanner {
 public:
  // Without comments, quotes and directives.
  explicit HostScanner(std::string_view code) : code_(code) {}

  std::vector<HostFunction> scan() {
    std::size_t statement = 0;
    for (std::size_t at = 0; at < code_.size(); ++at) {
      if (code_[at] == ';' || code_[at] == '}') statement = at + 1;
      if (code_[at] != '{') continue;
      const std::string_view head = code_.substr(statement, at - statement);
      const auto words = names_of(head);
      const bool opens_scope =
          has(words, "namespace") || (words.size() == 1 && words[0] == "extern");
      if (!opens_scope) {
        const std::size_t end = past_block(at);
        take(head, words, statement, end);
        at = end - 1;
      }
      statement = at + 1;
    }
    return std::move(found_);
  }

 private:
  std::size_t past_block(std::size_t open) const {
    int depth = 0;
    for (std::size_t at = open; at < code_.size(); ++at) {
      if (code_[at] == '{') ++depth;
      if (code_[at] == '}' && --depth == 0) return at + 1;
    }
    return code_.size();
  }

  // Of a function the head ends with its parameters and has the name before them.
  void take(std::string_view head, const std::vector<std::string_view>& words, std::size_t begin,
            std::size_t end) {
    constexpr std::string_view others[] = {"__global__", "__device__", "struct",
                                           "class",      "union",      "enum"};
    const bool is_other =
        std::ranges::any_of(others, [&](std::string_view word) { return has(words, word); });
    const std::size_t last = head.find_last_not_of(" \t\r\n");
    const std::size_t open = head.find('(');
    if (is_other || open == head.npos || head[last] != ')' ||
        head.substr(0, open).find('=') != head.npos)
      return;
    const auto before = names_of(head.substr(0, open));
    if (before.size() < 2) return;  // a constructor, or a macro's use
    found_.push_back({skip_blanks_and_lines(begin), end, std::string(before.back())});
  }

  std::size_t skip_blanks_and_lines(std::size_t at) const {
    const std::size_t found = code_.find_first_not_of(" \t\r\n", at);
    return found == code_.npos ? at : found;
  }

  std::string_view code_;
  std::vector<HostFunction> found_;
};

}  // namespace

std::string without_host_functions(std::string text) {
  std::string code = without_quotes(text);
  const std::vector<Range> kept = directive_lines(code);
  for (const Range& each : kept) blank(code, each);
  const std::vector<HostFunction> functions = HostScanner(code).scan();
  // Who names a function, by its name; and who is to go, each once.
  std::unordered_map<std::string_view, std::vector<std::size_t>> named_in;
  std::vector<bool> goes(functions.size());
  std::vector<std::size_t> gone;
  const auto drop = [&](std::size_t which) {
    if (!goes[which]) gone.push_back(which);
    goes[which] = true;
  };
  for (const HostFunction& function : functions) named_in.try_emplace(function.name);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const auto& [begin, end, name] = functions[i];
    const auto body = std::string_view(code).substr(begin, end - begin);
    if (name == "main" || body.contains("<<<")) drop(i);
    for (const std::string_view word : names_of(body)) {
      if (is_of_runtime(word)) drop(i);
      if (const auto of = named_in.find(word); of != named_in.end()) of->second.push_back(i);
    }
  }
  const std::string all = text;
  for (std::size_t next = 0; next < gone.size();) {  // it grows
    const HostFunction& function = functions[gone[next++]];
    blank(text, {function.begin, function.end});
    for (const std::size_t caller : named_in.at(function.name)) drop(caller);
    named_in.at(function.name).clear();
  }
  for (const Range& each : kept)
    text.replace(each.begin, each.end - each.begin, all, each.begin, each.end - each.begin);
  return text;
}

}  // namespace fa_tune::source
