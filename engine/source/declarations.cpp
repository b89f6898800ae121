#include "engine/source/declarations.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "engine/source/identifier_substitution.hpp"

namespace fa_tune::source {
namespace {

// How far a parameter list is followed: a text of nothing but their beginnings must not take long.
constexpr std::size_t kLongestList = 4096;

// Of types that have a template argument as textures have them: `texture<float, 2>`, and not
// `texture < width`.
bool is_element_type(std::string_view name) {
  if (name.ends_with('1') || name.ends_with('2') || name.ends_with('3') || name.ends_with('4'))
    name.remove_suffix(1);
  constexpr std::string_view kTypes[] = {
      "char",      "uchar", "short",  "ushort", "int",    "uint", "long",   "ulong",   "longlong",
      "ulonglong", "float", "double", "half",   "__half", "void", "signed", "unsigned"};
  return std::ranges::find(kTypes, name) != std::end(kTypes);
}

// Whether the word is a texture's or a surface's: a type, or a function that reads or writes one.
bool names_texture(std::string_view text, const SourceWord& word) {
  constexpr std::string_view kTypes[] = {"cudaTextureObject_t", "cudaSurfaceObject_t",
                                         "CUtexObject", "CUsurfObject"};
  if (std::ranges::find(kTypes, word.text) != std::end(kTypes)) return true;
  const std::size_t open = skip_blanks(text, word.end());
  if (open >= text.size()) return false;
  if (word.text == "texture" || word.text == "surface") {
    const std::size_t behind = skip_blanks(text, open + 1);
    if (text[open] != '<' || behind >= text.size() || !continues_word(text[behind])) return false;
    const auto type = next_word(text, behind);
    return type && type->begin == behind && is_element_type(type->text);
  }
  for (const std::string_view root :
       {"tex1D", "tex2D", "tex3D", "texCubemap", "surf1D", "surf2D", "surf3D", "surfCubemap"})
    if (word.text.starts_with(root)) return text[open] == '(' || text[open] == '<';
  return false;
}

// What of a text, without its comments, wants more than a kernel and its arguments.
void find_uses(std::string_view text, Declarations& found) {
  int line = 1, depth = 0;
  std::optional<Use> grid;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view here = text.substr(begin, end - begin);
    const std::size_t mark = skip_blanks(here, 0);
    const auto first = next_word(here, 0);
    if (mark < here.size() && here[mark] == '#' && first) {
      if (first->text.starts_with("if")) ++depth;
      if (first->text == "endif") --depth;
    }
    const std::string_view so_far = text.substr(0, end);
    for (auto word = next_word(so_far, begin); word; word = next_word(so_far, word->end())) {
      const Use use{std::string(word->text), line, static_cast<int>(word->begin - begin) + 1,
                    depth > 0};
      // A call may go on in the next line.
      if (names_texture(text, *word) &&
          (!found.texture || (found.texture->conditional && !use.conditional)))
        found.texture = use;
      if (!grid && (word->text == "this_grid" || word->text == "grid_group")) grid = use;
      if (grid && !found.grid_sync && word->text == "sync") found.grid_sync = grid;
    }
    begin = end + 1;
  }
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(without_quotes(text)), as_written_(text) {}

  Declarations scan() {
    find_uses(text_, found_);
    take_directives();
    int line = 1;
    std::size_t counted = 0;
    for (auto word = next_word(text_, 0); word; word = next_word(text_, word->end())) {
      line += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted),
                                          text_.begin() + static_cast<std::ptrdiff_t>(word->begin),
                                          '\n'));
      counted = word->begin;
      if (word->text == "__global__") take_kernel(word->end(), line);
      if (word->text == "template") take_template(word->end(), line);
    }
    return std::move(found_);
  }

 private:
  // Of each directive its mark alone is left in the text, with the lines that it goes on over.
  void take_directives() {
    int line = 1;
    for (std::size_t begin = 0; begin < text_.size(); ++line) {
      std::size_t end = std::min(text_.find('\n', begin), text_.size());
      std::size_t mark = begin;
      while (mark < end && (text_[mark] == ' ' || text_[mark] == '\t')) ++mark;
      if (mark == end || text_[mark] != '#') {
        begin = end + 1;
        continue;
      }
      const int first = line;
      while (end < text_.size() && end > 0 && text_[end - 1] == '\\') {
        end = std::min(text_.find('\n', end + 1), text_.size());
        ++line;
      }
      take_directive(text_.substr(mark + 1, end - mark - 1), first);
      take_include(as_written_.substr(mark + 1, end - mark - 1));
      for (std::size_t i = mark + 1; i < end; ++i)
        if (text_[i] != '\n') text_[i] = ' ';
      begin = end + 1;
    }
  }

  void take_directive(const std::string& text, int line) {
    const auto word = next_word(text, 0);
    if (!word) return;
    const auto name = next_word(text, word->end());
    if (word->text.starts_with("if"))
      branches_.emplace_back(word->text == "ifndef" && name ? name->text : "");
    else if (word->text.starts_with("el") && !branches_.empty())
      branches_.back().clear();
    else if (word->text == "endif" && !branches_.empty())
      branches_.pop_back();
    if (word->text == "define" && name) {
      if (found_.macros.try_emplace(std::string(name->text), line).second)
        found_.unless[std::string(name->text)] = branches_;
      const std::string_view body = std::string_view(text).substr(name->end());
      found_.may_hide_kernels |= body.contains("__global__") || body.contains("##");
    } else if (word->text == "undef" && name) {
      found_.undefined.emplace(name->text);
    } else if (word->text.contains("if")) {
      for (auto each = name; each; each = next_word(text, each->end()))
        found_.conditions.try_emplace(std::string(each->text), line);
    }
  }

  void take_include(std::string_view text) {
    const auto word = next_word(text, 0);
    if (!word || word->text != "include") return;
    const std::size_t open = skip_blanks(text, word->end());
    if (open >= text.size() || (text[open] != '<' && text[open] != '"')) return;
    const std::size_t close = text.find(text[open] == '<' ? '>' : '"', open + 1);
    if (close != text.npos) found_.includes.emplace(text.substr(open + 1, close - open - 1));
  }

  bool is_macro(std::string_view name) const { return found_.macros.contains(std::string(name)); }

  // Past what closes the bracket at `open`; nothing if nothing does.
  std::optional<std::size_t> past_bracket(std::size_t open, char opening, char closing) const {
    int depth = 0;
    const std::size_t most = std::min(text_.size(), open + kLongestList);
    for (std::size_t at = open; at < most; ++at) {
      if (text_[at] == opening) ++depth;
      if (text_[at] == closing && --depth == 0) return at + 1;
    }
    return std::nullopt;
  }

  // What is declared behind __global__: each word before a parenthesis that is no attribute. A
  // header's macro may be an attribute too, so that of several any may be the name.
  void take_kernel(std::size_t at, int line) {
    // Of a template where nothing ends between its list and here.
    const std::string_view between =
        std::string_view(text_).substr(behind_list_, at - std::min(at, behind_list_));
    const bool is_template = behind_list_ > 0 && between.find_first_of(";{}") == between.npos;
    const std::size_t most = std::min(text_.size(), at + kLongestList);
    while (at < most && !std::string_view(";{}").contains(text_[at])) {
      if (text_[at] == '(') {
        const auto past = past_bracket(at, '(', ')');
        if (!past) return;
        at = *past;
      } else if (!continues_word(text_[at])) {
        line += text_[at] == '\n' ? 1 : 0;
        ++at;
      } else {
        const auto word = next_word(text_, at);
        if (!word) return;
        const std::size_t open = skip_blanks(text_, word->end());
        at = word->end();
        if (open >= text_.size() || text_[open] != '(' || word->text.starts_with("__")) continue;
        if (is_macro(word->text)) {
          found_.may_hide_kernels = true;
          continue;
        }
        const auto past = past_bracket(open, '(', ')');
        if (!past) return;
        add_kernel(std::string(word->text), line, is_template,
                   text_.substr(open + 1, *past - open - 2));
        at = *past;
      }
    }
  }

  void add_kernel(std::string name, int line, bool is_template, const std::string& parameters) {
    KernelDeclaration kernel{std::move(name), line, ""};
    kernel.is_template = is_template;
    for (const char c : parameters)
      if (std::isspace(static_cast<unsigned char>(c)) == 0)
        kernel.parameters += c;
      else if (!kernel.parameters.empty() && kernel.parameters.back() != ' ')
        kernel.parameters += ' ';
    if (kernel.parameters.ends_with(' ')) kernel.parameters.pop_back();
    bool is_plain = !parameters.contains('#');
    for (auto word = next_word(parameters, 0); word; word = next_word(parameters, word->end()))
      is_plain = is_plain && !is_macro(word->text);
    if (is_plain) kernel.count = pieces(kernel.parameters).size();
    if (kernel.parameters == "void") kernel.count = 0;
    found_.kernels.push_back(std::move(kernel));
  }

  // What stands between commas that are in no brackets.
  static std::vector<std::string> pieces(std::string_view list) {
    std::vector<std::string> found;
    int angles = 0, others = 0;
    if (skip_blanks(list, 0) == list.size()) return found;
    found.emplace_back();
    for (const char c : list) {
      if (std::string_view("([{").contains(c)) ++others;
      if (std::string_view(")]}").contains(c)) --others;
      if (c == '<' && others == 0) ++angles;
      if (c == '>' && others == 0) --angles;
      if (c == ',' && angles == 0 && others == 0)
        found.emplace_back();
      else
        found.back() += c;
    }
    return found;
  }

  // Behind "template": of each parameter the last word before its default, if it is not its type.
  void take_template(std::size_t at, int line) {
    const std::size_t open = skip_blanks(text_, at);
    if (open >= text_.size() || text_[open] != '<') return;
    const std::size_t most = std::min(text_.size(), open + kLongestList);
    int angles = 0, others = 0;
    std::size_t end = open;
    for (; end < most && !std::string_view(";#").contains(text_[end]); ++end) {
      const char c = text_[end];
      if (std::string_view("([{").contains(c)) ++others;
      if (std::string_view(")]}").contains(c)) --others;
      if (c == '<' && others == 0) ++angles;
      if (c == '>' && others == 0 && --angles == 0) break;
    }
    if (angles != 0) return;
    behind_list_ = end + 1;
    for (const std::string& piece : pieces(text_.substr(open + 1, end - open - 1))) {
      std::string last;
      int words = 0;
      const std::string head = piece.substr(0, piece.find('='));
      for (auto word = next_word(head, 0); word; word = next_word(head, word->end())) {
        ++words;
        last = word->text;
      }
      if (words >= 2) {
        const auto breaks = std::count(head.begin(), head.end(), '\n');
        found_.template_parameters.try_emplace(last, line + static_cast<int>(breaks));
      }
      line += static_cast<int>(std::count(piece.begin(), piece.end(), '\n'));
    }
  }

  std::string text_;
  std::string_view as_written_;        // as long, with what is quoted: names of headers
  std::size_t behind_list_ = 0;        // of the last template
  std::vector<std::string> branches_;  // the #if that are open: NAME of #ifndef NAME, else nothing
  Declarations found_;
};

}  // namespace

Declarations declarations(std::string_view text) { return Scanner(text).scan(); }

}  // namespace fa_tune::source
