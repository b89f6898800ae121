#include "engine/source/named_files.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "engine/source/identifier_substitution.hpp"
#include "engine/source/include_flattening.hpp"
#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::source {
namespace {

// Directives that read a file.
constexpr std::array<std::string_view, 4> kReaders = {"include", "include_next", "import", "embed"};
// What begins a directive: as itself, as a digraph, as a trigraph.
constexpr std::array<std::string_view, 3> kMarks = {"#", "%:", "?\?="};

// Blanks between the words of a directive; other control characters are none to NVRTC.
bool is_blank(char c) { return c != '\n' && (static_cast<unsigned char>(c) <= ' ' || c == 0x7f); }

// A line that ends with a backslash goes on in the next. NVRTC takes no blanks between the two;
// what is joined too many cannot hide a directive, for a mark stays one.
std::string spliced(const std::string& text) {
  constexpr std::string_view kTrigraph = "?\?/";
  std::string made;
  made.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t width = text[i] == '\\' ? 1 : text.compare(i, 3, kTrigraph) == 0 ? 3 : 0;
    std::size_t end = i + width;
    while (width > 0 && end < text.size() && is_blank(text[end])) ++end;
    if (width > 0 && end < text.size() && text[end] == '\n')
      i = end;
    else
      made += text[i];
  }
  return made;
}

std::size_t behind_blanks(std::string_view text, std::size_t at) {
  for (;;) {
    while (at < text.size() && is_blank(text[at])) ++at;
    if (text.substr(at, 2) != "/*") return at;
    at = std::min(text.find("*/", at + 2), text.size() - 2) + 2;
  }
}

// To the end of the line, which a comment takes to a later one. Comments become a blank.
std::string rest_of_line(std::string_view text, std::size_t at) {
  std::string rest;
  while (at < text.size() && text[at] != '\n') {
    if (text.substr(at, 2) == "/*") {
      at = std::min(text.find("*/", at + 2), text.size() - 2) + 2;
      rest += ' ';
    } else if (text.substr(at, 2) == "//") {
      break;
    } else {
      rest += text[at++];
    }
  }
  return rest;
}

struct Directive {
  std::string word;  // "include", with what a compiler would make a letter of
  std::string rest;
  bool seems_comment = false;  // within /* */, unless a string looks like their beginning
};

// A text of nothing but comments' ends and marks would be looked at once for each of them, and
// macros once for each condition. How often a text may be looked at for either.
constexpr std::size_t kMostLooks = 4;
constexpr std::size_t kMostReached = 64;

// What may be one: a mark with nothing but blanks and comments before it on its line. What a
// comment that began on an earlier line holds looks like text, and ends with its mark. Nothing
// where looking at them would take too long.
std::optional<std::vector<Directive>> directives(std::string_view text) {
  std::vector<Directive> found;
  bool begins = true, commented = false;
  std::size_t looked = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto is_here = [&](std::string_view mark) { return text.substr(at).starts_with(mark); };
    if (text[at] == '\n' || text[at] == '\r') {
      begins = true;
    } else if (is_here("*/")) {
      begins = true;
      commented = false;
      ++at;
    } else if (const auto mark = std::ranges::find_if(kMarks, is_here);
               begins && mark != kMarks.end()) {
      const std::size_t begin = behind_blanks(text, at + mark->size());
      std::size_t end = begin;
      while (end < text.size() && (continues_word(text[end]) || text[end] == '\\')) ++end;
      found.push_back(
          {std::string(text.substr(begin, end - begin)), rest_of_line(text, end), commented});
      looked += end - at + found.back().rest.size();
      if (looked > kMostLooks * text.size()) return std::nullopt;
      begins = false;
    } else if (!is_blank(text[at])) {
      begins = false;
      commented |= is_here("/*");
    }
  }
  return found;
}

bool leads_out(std::string_view path) {
  return path.starts_with('/') || path.starts_with('~') || path.starts_with('\\') ||
         path.find("..") != path.npos;
}

// A header's name in plain letters, in the quotes that it stands in. A file of one's own that was
// left in a comment does no harm: nothing is looked for where the source lies.
bool is_own(char open, std::string_view path, bool seems_comment) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_./+-").contains(static_cast<char>(c));
  };
  return !path.empty() && !leads_out(path) && std::ranges::all_of(path, plain) &&
         (open == '<' || seems_comment || is_library_header(path));
}

bool holds_path(std::string_view text) { return text.contains('/') || text.contains(".."); }

class Check {
 public:
  Check(const std::string& source, std::string name)
      : text_(spliced(source)), name_(std::move(name)) {}

  void run() {
    if (text_.find('\0') != text_.npos) refuse("its source holds a zero byte");
    const auto all = directives(text_);
    if (!all) refuse("its source has too many comments about directives to be looked at");
    for (const Directive& directive : *all) look_at(directive);
    for (const Directive& directive : *all)
      if (directive.word == "if" || directive.word == "elif") look_at_pastes(directive.rest);
    look_at_words();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw UserError(name_ + ": " + what); }

  void look_at(const Directive& directive) {
    if (directive.word.contains('\\')) refuse("its source writes a directive with an escape");
    if (std::ranges::find(kReaders, directive.word) != kReaders.end())
      require_header(directive.rest, behind_blanks(directive.rest, 0), directive.seems_comment);
    look_at_asked(directive);
    if (directive.word != "define") return;
    const auto name = next_word(directive.rest, 0);
    if (!name) return;
    const std::string body = directive.rest.substr(name->end());
    macros_[std::string(name->text)] += " " + body;
    path_in_macros_ |= holds_path(body);
  }

  // What stands at `at` must be a header's name; returns the place behind it.
  std::size_t require_header(std::string_view text, std::size_t at, bool seems_comment) const {
    const char open = at < text.size() ? text[at] : '\0';
    if (open == '\0') return at;  // nothing is named, which is an error of its own
    if (open != '"' && open != '<')
      refuse("its source includes what a macro says: name the file itself");
    const std::size_t close = text.find(open == '"' ? '"' : '>', at + 1);
    const std::string_view path = text.substr(at + 1, std::min(close, text.size()) - at - 1);
    if (!is_own(open, path, seems_comment) || close == text.npos) refuse_path(path);
    return close + 1;
  }

  [[noreturn]] void refuse_path(std::string_view path) const {
    refuse("its source names the file " + quote_text(path) + ", which is none of its own");
  }

  // __has_include and its like: called with a header's name, or asked for whether they are known.
  void look_at_asked(const Directive& directive) const {
    const std::string_view rest = directive.rest;
    const bool defines = directive.word == "ifdef" || directive.word == "ifndef";
    std::string_view before;
    for (auto word = next_word(rest, 0); word; word = next_word(rest, word->end())) {
      const bool asks =
          word->text.starts_with("__has_include") || word->text.starts_with("__has_embed");
      const std::size_t open = behind_blanks(rest, word->end());
      if (asks && rest.substr(open, 1) == "(")
        require_header(rest, behind_blanks(rest, open + 1), false);
      else if (asks && !defines && before != "defined")
        refuse("its source gives " + std::string(word->text) + " another name: call it itself");
      before = word->text;
    }
  }

  // A name that is pasted together may be __has_include, and what it asks for may come in pieces.
  void look_at_pastes(const std::string& condition) {
    std::set<std::string> reached;
    std::vector<std::string> open = {condition};
    bool pastes = false;
    while (!open.empty()) {
      const std::string text = std::move(open.back());
      open.pop_back();
      looked_ += text.size();
      if (looked_ > kMostReached * text_.size())
        refuse("its source has too many conditions on macros");
      for (const std::string_view mark : {"##", "%:%:", "?\?=?\?="}) pastes |= text.contains(mark);
      for (auto word = next_word(text, 0); word; word = next_word(text, word->end())) {
        const std::string name(word->text);
        const auto macro = macros_.find(name);
        const bool called =
            std::string_view(text).substr(behind_blanks(text, word->end())).starts_with('(');
        if (macro == macros_.end())
          pastes |= called && name != "defined" && !name.starts_with("__has_");
        else if (reached.insert(name).second)
          open.push_back(macro->second);
      }
    }
    if (pastes && (holds_path(condition) || path_in_macros_))
      refuse(
          "an #if of its source calls what pastes words, and could ask for any file: write "
          "the #if without macros that paste, or those with '/' or '..' as functions");
  }

  // The same words elsewhere: of a module's import, or in what an assembler is given.
  void look_at_words() const {
    constexpr std::size_t kLongestPath = 4096;
    const std::string_view text = text_;
    for (const std::string_view reader : {"include", "import", "embed", "incbin"})
      for (std::size_t at = text.find(reader); at != text.npos; at = text.find(reader, at + 1)) {
        std::size_t operand = at + reader.size();
        while (operand < text.size() && continues_word(text[operand])) ++operand;
        while (operand < text.size() && is_blank(text[operand])) ++operand;
        if (text.substr(operand, 2) == "\\\"") ++operand;
        const char open = operand < text.size() ? text[operand] : '\0';
        if (open != '"' && open != '<') continue;
        std::string_view path = text.substr(operand + 1, kLongestPath);
        path = path.substr(0, path.find_first_of(open == '"' ? "\"\n" : ">\n"));
        while (!path.empty() && is_blank(path[0])) path.remove_prefix(1);
        if (leads_out(path)) refuse_path(path);
      }
  }

  std::string text_;
  std::string name_;
  std::map<std::string, std::string> macros_;  // all that each is ever defined as
  bool path_in_macros_ = false;
  std::size_t looked_ = 0;
};

}  // namespace

void refuse_foreign_files(const std::string& source, const std::string& name) {
  Check(source, name).run();
}

bool is_kernel_name(const std::string& text) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_:<>, ").contains(static_cast<char>(c));
  };
  const std::size_t bracket = text.find('<');
  const bool instance = bracket != std::string::npos && text.ends_with('>');
  return is_identifier(text.substr(0, std::min(text.find(':'), bracket))) &&
         std::ranges::all_of(text, fits) && (bracket != std::string::npos) == instance;
}

}  // namespace fa_tune::source
