#include "engine/source/ptx_statements.hpp"

#include <algorithm>
#include <cctype>
#include <span>
#include <utility>

namespace fa_tune::source {
namespace {

using Words = std::span<const std::string_view>;

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

// Words and single marks; comments and what is quoted are left out. A word that begins with a point
// is a directive and ends before the next point: ".visible.global" are two.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      i += std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/", 2);
      i += end == rest.npos ? rest.size() : end + 2;
    } else if (rest[0] == '"') {
      const std::size_t end = rest.find_first_of("\"\n", 1);
      i += end == rest.npos ? rest.size() : end + 1;
    } else if (is_word_character(rest[0])) {
      std::size_t length = 1;
      for (;;) {
        const std::string_view more = rest.substr(length);
        const bool directive = rest[0] == '.' && more.starts_with('.');
        if (more.starts_with("::"))  // ".shared::cta"
          length += 2;
        else if (!more.empty() && is_word_character(more[0]) && !directive)
          ++length;
        else
          break;
      }
      words.push_back(rest.substr(0, length));
      i += length;
    } else {
      if (std::isspace(static_cast<unsigned char>(rest[0])) == 0)
        words.push_back(rest.substr(0, 1));
      ++i;
    }
  }
  return words;
}

bool is_mark(std::string_view word) { return !is_word_character(word[0]); }
bool is_name(std::string_view word) {
  return !is_mark(word) && word[0] != '.' && std::isdigit(static_cast<unsigned char>(word[0])) == 0;
}

// `i` is at an opening mark: one behind that which closes it.
std::size_t behind_closing(Words words, std::size_t i) {
  int depth = 0;
  for (; i < words.size(); ++i) {
    if (words[i] == "{" || words[i] == "(" || words[i] == "[") ++depth;
    if ((words[i] == "}" || words[i] == ")" || words[i] == "]") && --depth == 0) return i + 1;
  }
  return i;
}

class Reader {
 public:
  explicit Reader(std::string_view ptx) : words_(words_of(ptx)) {}

  PtxText read() {
    find_variables();
    find_functions();
    return std::move(text_);
  }

 private:
  // Every state space that stands by itself declares something, but for what a parameter points to.
  void find_variables() {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const bool constant = words_[i] == ".const";
      if ((!constant && words_[i] != ".global") || (i > 0 && words_[i - 1] == ".ptr")) continue;
      ++i;
      while (i < words_.size() && words_[i] != ";") i = declarator(i, constant);
    }
  }

  // One name with its type before and its data behind it; the place behind all that.
  std::size_t declarator(std::size_t i, bool constant) {
    const Words words = words_;
    while (i < words.size() && words[i] != ";" && !is_name(words[i]))
      i = words[i] == "(" ? behind_closing(words, i) : i + 1;
    if (i == words.size() || words[i] == ";") return i;
    PtxVariable variable{words[i], constant, {}};
    for (++i; i < words.size() && words[i] != ";" && words[i] != ",";) {
      const bool group = words[i] == "{" || words[i] == "(" || words[i] == "[";
      const std::size_t end = group ? behind_closing(words, i) : i + 1;
      for (; i < end; ++i)
        if (is_name(words[i])) variable.initial.push_back(words[i]);
    }
    text_.variables.push_back(std::move(variable));
    return i;
  }

  void find_functions() {
    int depth = 0;
    std::size_t begin = 0;  // of the statement
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const Words statement = Words(words_).subspan(begin, i - begin);
      const bool empty = statement.empty();
      if (words_[i] == "{" && (empty || is_head(statement))) {
        if (depth++ == 0) text_.functions.emplace_back();
        begin = i + 1;
      } else if (words_[i] == "{") {
        i = behind_closing(words_, i) - 1;
      } else if (words_[i] == "}" || words_[i] == ";") {
        if (depth > 0) add(statement);
        if (words_[i] == "}" && depth > 0) --depth;
        begin = i + 1;
      } else if (words_[i] == ":" && statement.size() == 1) {
        begin = i + 1;  // a label
      }
    }
  }

  static bool is_head(Words statement) {
    return std::ranges::any_of(
        statement, [](std::string_view word) { return word == ".entry" || word == ".func"; });
  }

  void add(Words words) {
    // These end with their line and not with a semicolon: an instruction may follow.
    if (!words.empty() && (words[0] == ".loc" || words[0] == ".file"))
      while (!words.empty() && !is_name(words[0]) && words[0] != "@") words = words.subspan(1);
    if (!words.empty() && words[0] == "@")  // a guard
      words = words.subspan(std::min(
          words.size(), words.size() > 1 && words[1] == "!" ? std::size_t{3} : std::size_t{2}));
    if (words.empty() || !is_name(words[0])) return;
    PtxInstruction instruction;
    std::string_view name = words[0];
    for (std::size_t point = 0; point != name.npos;) {
      const std::size_t next = name.find('.', point);
      const std::string_view part = name.substr(point, next == name.npos ? next : next - point);
      if (point == 0)
        instruction.opcode = part;
      else
        instruction.suffixes.push_back(part);
      point = next == name.npos ? next : next + 1;
    }
    PtxOperand operand;
    int depth = 0;
    for (const std::string_view word : words.subspan(1)) {
      if (word == "{" || word == "(" || word == "[") ++depth;
      if (word == "}" || word == ")" || word == "]") --depth;
      if (word == "[") operand.is_address = true;
      if (word == "," && depth == 0)
        instruction.operands.push_back(std::exchange(operand, {}));
      else if (is_name(word))
        operand.words.push_back(word[0] == '%' ? word.substr(0, word.find('.')) : word);
    }
    instruction.operands.push_back(std::move(operand));
    text_.functions.back().instructions.push_back(std::move(instruction));
  }

  std::vector<std::string_view> words_;
  PtxText text_;
};

}  // namespace

PtxText read_ptx(std::string_view ptx) { return Reader(ptx).read(); }

}  // namespace fa_tune::source
