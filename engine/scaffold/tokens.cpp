#include "engine/scaffold/tokens.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>

#include "engine/source/identifier_substitution.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::scaffold {
namespace {

constexpr std::size_t kMostTokens = 400'000;
constexpr int kDeepestMacro = 12;

constexpr std::array<std::string_view, 23> kSigns = {
    "<<=", ">>=", "...", "&&", "||", "==", "!=", "<=", ">=", "+=", "-=", "*=",
    "/=",  "%=",  "&=",  "|=", "^=", "++", "--", "->", "::", "<<", ">>"};

void tokens_of(std::string_view text, int line, Tokens& into) {
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\\') {
      line += c == '\n' ? 1 : 0;
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    Token::Kind kind = Token::Kind::sign;
    if (source::continues_word(c)) {
      const bool is_number = std::isdigit(static_cast<unsigned char>(c)) != 0;
      const auto goes_on = [&](char next) {
        if (source::continues_word(next)) return true;
        return is_number && (next == '.' || next == '\'');
      };
      while (end < text.size() && goes_on(text[end])) ++end;
      kind = is_number ? Token::Kind::number : Token::Kind::word;
    } else if (c == '.' && end < text.size() &&
               std::isdigit(static_cast<unsigned char>(text[end])) != 0) {
      while (end < text.size() && source::continues_word(text[end])) ++end;
      kind = Token::Kind::number;
    } else {
      for (const std::string_view sign : kSigns)
        if (text.substr(at, sign.size()) == sign) {
          end = at + sign.size();
          break;
        }
    }
    into.push_back({kind, std::string(text.substr(at, end - at)), line});
    at = end;
  }
}

struct Macro {
  bool has_parameters = false;
  std::vector<std::string> parameters;
  Tokens body;
};

class Preprocessor {
 public:
  explicit Preprocessor(std::string_view text) : text_(source::without_quotes(text)) {}

  SourceTokens run() {
    int line = 1;
    for (std::size_t begin = 0; begin < text_.size();) {
      std::size_t end = std::min(text_.find('\n', begin), text_.size());
      const int first = line;
      while (end < text_.size() && end > begin && text_[end - 1] == '\\') {
        end = std::min(text_.find('\n', end + 1), text_.size());
        ++line;
      }
      const std::string_view here = std::string_view(text_).substr(begin, end - begin);
      const std::size_t mark = source::skip_blanks(here, 0);
      if (mark < here.size() && here[mark] == '#') {
        flush();
        directive(here.substr(mark + 1), first);
      } else if (active()) {
        tokens_of(here, first, pending_);
        // Arguments of a macro may go on in the next line; a paragraph is enough.
        if (here.size() == mark) flush();
      }
      ++line;
      begin = end + 1;
    }
    flush();
    return std::move(found_);
  }

 private:
  bool active() const {
    return std::ranges::all_of(branches_, [](const Branch& branch) { return branch.on; });
  }

  void flush() {
    expand(pending_, found_.tokens, 0);
    pending_.clear();
  }

  void directive(std::string_view text, int line) {
    Tokens words;
    tokens_of(text, line, words);
    if (words.empty()) return;
    const std::string& what = words[0].text;
    if (what.starts_with("if")) {
      const bool holds = active() && condition(words);
      branches_.push_back(
          {holds, holds, what == "ifndef" && words.size() > 1 ? words[1].text : std::string()});
    } else if (branches_.empty() ? false : what == "else" || what.starts_with("elif")) {
      Branch& branch = branches_.back();
      branch.on = !branch.taken && (what == "else" || condition(words));
      branch.taken |= branch.on;
      branch.unless.clear();
    } else if (what == "endif") {
      if (!branches_.empty()) branches_.pop_back();
    } else if (active() && what == "define" && words.size() > 1) {
      define(text, words, line);
    } else if (active() && what == "undef" && words.size() > 1) {
      macros_.erase(words[1].text);
      found_.open.erase(words[1].text);
    } else if (active() && what == "pragma" && words.size() > 2 && words[1].is("unroll")) {
      unroll(words);
    }
  }

  void unroll(const Tokens& words) {
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (!words[i].is_word()) continue;
      const auto closed = found_.closed.find(words[i].text);
      if (closed != found_.closed.end())
        closed->second.uses.push_back(words[i].line);
      else
        add(found_.unrolls, words[i]);
    }
  }

  bool is_known(const std::string& name) const {
    return macros_.contains(name) || found_.open.contains(name) || name == "__CUDACC__" ||
           name == "__CUDA_ARCH__" || name == "__cplusplus";
  }

  bool condition(const Tokens& words) const {
    const std::string& what = words[0].text;
    if (words.size() < 2) return true;
    if (what == "ifdef") return is_known(words[1].text);
    if (what == "ifndef") return !is_known(words[1].text);
    // defined(A) || !defined B, or a number.
    bool all = true, any = false, simple = true;
    bool is_or = false;
    for (std::size_t i = 1; i < words.size(); ++i) {
      bool negated = false;
      while (i < words.size() && (words[i].is("!") || words[i].is("("))) {
        negated ^= words[i].is("!");
        ++i;
      }
      bool value = true;
      if (i < words.size() && words[i].is("defined")) {
        i += i + 1 < words.size() && words[i + 1].is("(") ? 2 : 1;
        value = i < words.size() && is_known(words[i].text);
      } else if (const auto number =
                     i < words.size() ? whole_number(words[i].text) : std::nullopt) {
        value = *number != 0;
      } else {
        simple = false;
      }
      ++i;
      while (i < words.size() && words[i].is(")")) ++i;
      all = all && value != negated;
      any = any || value != negated;
      if (i >= words.size()) break;
      if (!words[i].is("||") && !words[i].is("&&")) simple = false;
      is_or |= words[i].is("||");
    }
    return !simple || (is_or ? any : all);
  }

  void define(std::string_view text, const Tokens& words, int line) {
    const std::string& name = words[1].text;
    Macro macro;
    std::size_t body = 2;
    // A list of parameters begins right behind the name.
    const std::size_t at = text.find(name, text.find("define") + 6) + name.size();
    if (at < text.size() && text[at] == '(') {
      macro.has_parameters = true;
      for (body = 3; body < words.size() && !words[body].is(")"); ++body)
        if (words[body].is_word()) macro.parameters.push_back(words[body].text);
      ++body;
    }
    macro.body.assign(words.begin() + static_cast<std::ptrdiff_t>(std::min(body, words.size())),
                      words.end());
    const std::optional<std::int64_t> number = macro.has_parameters ? std::nullopt : value(macro);
    const bool is_open =
        std::ranges::any_of(branches_, [&](const Branch& branch) { return branch.unless == name; });
    if (number) {
      const bool is_bool = macro.body[0].is("true") || macro.body[0].is("false");
      if (is_open) {
        found_.open.try_emplace(name, OpenMacro{*number, is_bool, line});
        return;
      }
      found_.closed.try_emplace(name, OpenMacro{*number, is_bool, line});
    }
    macros_[name] = std::move(macro);
  }

  static std::optional<std::int64_t> value(const Macro& macro) {
    Part part{0, macro.body.size()};
    while (part.end - part.begin >= 3 && macro.body[part.begin].is("(") &&
           macro.body[part.end - 1].is(")"))
      part = {part.begin + 1, part.end - 1};
    if (part.end - part.begin != 1) return std::nullopt;
    const Token& only = macro.body[part.begin];
    if (only.is("true") || only.is("false")) return only.is("true") ? 1 : 0;
    return whole_number(only.text);
  }

  void add(Tokens& into, const Token& token) {
    if (into.size() >= kMostTokens || ++work_ > 4 * kMostTokens)
      throw UserError("the source is too long to be read for a space, or its macros make it so");
    into.push_back(token);
  }

  void expand(const Tokens& from, Tokens& into, int depth) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Token& token = from[i];
      const auto found = token.is_word() ? macros_.find(token.text) : macros_.end();
      if (found == macros_.end() || depth >= kDeepestMacro || within_.contains(token.text)) {
        add(into, token);
        continue;
      }
      const Macro& macro = found->second;
      if (const auto closed = found_.closed.find(token.text); closed != found_.closed.end())
        closed->second.uses.push_back(token.line);
      Tokens body;
      if (!macro.has_parameters) {
        for (Token each : macro.body) {
          each.line = token.line;
          add(body, each);
        }
      } else {
        if (i + 1 >= from.size() || !from[i + 1].is("(")) {
          add(into, token);
          continue;
        }
        const std::size_t past = past_bracket(from, i + 1, std::min(from.size(), i + kLongestPart));
        const auto arguments = split(from, {i + 2, past > i + 2 ? past - 1 : i + 2}, ",");
        for (const Token& each : macro.body) {
          const auto which = std::ranges::find(macro.parameters, each.text);
          const auto index = static_cast<std::size_t>(which - macro.parameters.begin());
          if (each.is_word() && index < arguments.size())
            for (std::size_t k = arguments[index].begin; k < arguments[index].end; ++k)
              add(body, from[k]);
          else
            add(body, {each.kind, each.text, token.line});
        }
        i = past - 1;
      }
      const auto [self, fresh] = within_.insert(token.text);
      expand(body, into, depth + 1);
      if (fresh) within_.erase(self);
    }
  }

  struct Branch {
    bool on = true, taken = true;
    std::string unless;  // NAME of #ifndef NAME
  };
  std::string text_;
  std::vector<Branch> branches_;
  std::map<std::string, Macro> macros_;
  std::set<std::string> within_;  // macros that are being expanded
  Tokens pending_;
  SourceTokens found_;
  std::size_t work_ = 0;
};

}  // namespace

SourceTokens tokenize(std::string_view text) { return Preprocessor(text).run(); }

bool SourceTokens::names(std::string_view name) const {
  const auto is_it = [&](const Token& each) { return each.is(name); };
  return std::ranges::any_of(tokens, is_it) || std::ranges::any_of(unrolls, is_it);
}

std::optional<std::int64_t> whole_number(std::string_view literal) {
  while (!literal.empty() && std::string_view("uUlLzZ").contains(literal.back()))
    literal.remove_suffix(1);
  int base = 10;
  if (literal.starts_with("0x") || literal.starts_with("0X")) {
    base = 16;
    literal.remove_prefix(2);
  }
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(literal.data(), literal.data() + literal.size(), number, base);
  if (literal.empty() || error != std::errc() || end != literal.data() + literal.size())
    return std::nullopt;
  return number;
}

std::size_t past_near_bracket(const Tokens& tokens, std::size_t open, std::size_t end) {
  return past_bracket(tokens, open, std::min(end, open + kLongestPart));
}

namespace {

// 1 where a bracket opens, -1 where one closes.
int step_of(const Token& token) {
  if (token.kind != Token::Kind::sign || token.text.size() != 1) return 0;
  const char c = token.text[0];
  if (c == '(' || c == '[' || c == '{') return 1;
  return c == ')' || c == ']' || c == '}' ? -1 : 0;
}

}  // namespace

std::size_t past_bracket(const Tokens& tokens, std::size_t open, std::size_t end) {
  const bool angles = tokens[open].is("<");
  int depth = 0;
  for (std::size_t at = open; at < end; ++at) {
    if (!angles) {
      depth += step_of(tokens[at]);
    } else {
      const std::string& text = tokens[at].text;
      depth += text == "<" ? 1 : text == ">" ? -1 : text == ">>" ? -2 : 0;
    }
    if (depth <= 0) return at + 1;
  }
  return end;
}

std::vector<Part> split(const Tokens& tokens, Part part, std::string_view separator) {
  std::vector<Part> parts;
  if (part.empty()) return parts;
  int depth = 0;
  std::size_t begin = part.begin;
  for (std::size_t at = part.begin; at < part.end; ++at) {
    depth += step_of(tokens[at]);
    if (depth != 0 || tokens[at].text != separator) continue;
    parts.push_back({begin, at});
    begin = at + 1;
  }
  parts.push_back({begin, part.end});
  return parts;
}

}  // namespace fa_tune::scaffold
