#include "engine/scaffold/kernel_text.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "engine/model/dtype.hpp"
#include "engine/scaffold/value_lists.hpp"
#include "engine/source/type_names.hpp"

namespace fa_tune::scaffold {
namespace {

constexpr std::size_t kMostOpen = 64;     // names that a text leaves open
constexpr std::int64_t kUsualUnroll = 4;  // where nobody says how often a loop is unrolled

constexpr std::array<std::string_view, 16> kQualifiers = {
    "const",    "volatile", "restrict", "__restrict__",   "__restrict",        "struct",
    "typename", "static",   "inline",   "register",       "__grid_constant__", "__device__",
    "__host__", "extern",   "class",    "__forceinline__"};

bool is_qualifier(const std::string& word) {
  return std::ranges::find(kQualifiers, word) != kQualifiers.end();
}

// "unsigned long long" of "long unsigned long int".
std::string ordered(const std::vector<std::string>& words) {
  const auto times = [&](std::string_view word) { return std::ranges::count(words, word); };
  const bool has_size = times("long") + times("short") + times("char") > 0;
  const bool has_sign = times("unsigned") + times("signed") > 0;
  const auto counted = times("long") + times("short") + times("char") + times("unsigned") +
                       times("signed") + times("int");
  if ((!has_size && !has_sign) || counted != std::ssize(words)) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
    return all;
  }
  std::string name = times("unsigned") > 0 ? "unsigned" : "";
  if (times("signed") > 0 && times("char") > 0) name = "signed";
  const auto add = [&](const char* word) { name += (name.empty() ? "" : " ") + std::string(word); };
  if (times("char") > 0) add("char");
  if (times("short") > 0) add("short");
  for (auto i = times("long"); i > 0; --i) add("long");
  return name.empty() ? "int" : name;
}

class Reader {
 public:
  explicit Reader(std::string_view text) {
    found_.source = tokenize(text);
    end_ = tokens().size();
  }

  SourceText read() {
    for (std::size_t at = 0; at < end_; ++at) {
      const Token& token = tokens()[at];
      if (token.is("namespace") && at + 2 < end_ && tokens()[at + 2].is("{")) {
        scopes_.push_back(tokens()[at + 1].text);
        at += 2;
      } else if (token.is("{")) {
        scopes_.emplace_back();
      } else if (token.is("}")) {
        if (!scopes_.empty()) scopes_.pop_back();
      } else if (token.is("template") && at + 1 < end_ && tokens()[at + 1].is("<")) {
        const std::size_t past = past_near_bracket(tokens(), at + 1, end_);
        list_ = {at + 2, past - 1};
        at = past - 1;
      } else if (token.is(";")) {
        list_ = {};
      } else if (token.is("typedef") || token.is("using")) {
        take_alias(at, token.is("using"));
      } else if (token.is("constexpr") || token.is("const")) {
        take_number(at);
      } else if (token.is("__constant__")) {
        take_constant(at);
      } else if (token.is("__global__")) {
        at = take_kernel(at) - 1;
        list_ = {};
      }
    }
    for (const KernelText& kernel : found_.kernels) take_missing(kernel);
    return std::move(found_);
  }

 private:
  const Tokens& tokens() const { return found_.source.tokens; }

  // typedef float real; using real = float;
  void take_alias(std::size_t at, bool is_using) {
    std::size_t end = at;
    while (end < end_ && end < at + 64 && !tokens()[end].is(";") && !tokens()[end].is("{")) ++end;
    if (end == at + 64) return;
    if (end >= end_ || end - at < 3) return;
    std::vector<std::string> words;
    const std::size_t from = is_using ? at + 3 : at + 1, to = is_using ? end : end - 1;
    if (is_using && !tokens()[at + 2].is("=")) return;
    for (std::size_t i = from; i < to; ++i) {
      if (!tokens()[i].is_word()) return;
      words.push_back(tokens()[i].text);
    }
    aliases_[tokens()[is_using ? at + 1 : end - 1].text] = words;
  }

  // constexpr int N = 16;
  void take_number(std::size_t at) {
    const std::size_t most = std::min(end_, at + 16);
    while (at < most && tokens()[at].is_word()) ++at;
    if (at + 2 >= end_ || at == 0 || !tokens()[at].is("=") || !tokens()[at + 2].is(";")) return;
    if (const auto number = whole_number(tokens()[at + 1].text))
      found_.numbers[tokens()[at - 1].text] = *number;
  }

  // The type that words name, aliases followed.
  std::pair<std::string, bool> type_of(std::vector<std::string> words) const {
    for (int depth = 0; depth < 8; ++depth) {
      std::vector<std::string> next;
      bool changed = false;
      for (const std::string& word : words) {
        const auto alias = aliases_.find(word);
        if (is_qualifier(word)) continue;
        if (alias == aliases_.end()) {
          next.push_back(word);
          continue;
        }
        changed = true;
        next.insert(next.end(), alias->second.begin(), alias->second.end());
        if (next.size() > 16) break;
      }
      words = std::move(next);
      if (!changed) break;
    }
    if (words.size() > 1 && words[0] == "std") words.erase(words.begin());
    const std::string name = ordered(words);
    const auto known = known_type(name);
    return {known.value_or(name), known.has_value()};
  }

  KernelParameter parameter(Part part, std::size_t index) {
    KernelParameter made;
    made.line = tokens()[part.begin].line;
    std::size_t end = part.begin;
    int angles = 0;
    for (; end < part.end && !tokens()[end].is("="); ++end) {
    }
    std::vector<std::string> words;
    std::vector<Part> sizes;
    bool grouped = false, constant = false, deep = false;
    for (std::size_t at = part.begin; at < end; ++at) {
      const Token& token = tokens()[at];
      if (token.is("<")) ++angles;
      if (token.is(">")) --angles;
      if (token.is("*") || token.is("&")) {
        deep = deep || (made.pointer && token.is("*"));
        made.pointer = true;
        made.constant = constant;
      } else if (token.is("[")) {
        const std::size_t past = past_near_bracket(tokens(), at, end);
        sizes.push_back({at + 1, past - 1});
        at = past - 1;
      } else if (token.is("(")) {
        grouped = true;
      } else if (token.is_word() || angles > 0 || token.is(">")) {
        if (token.is("const")) constant = true;
        if (!is_qualifier(token.text)) words.push_back(token.text);
      }
    }
    // float (*a)[N] has a size behind the first already.
    if (!sizes.empty() && !grouped) {
      made.pointer = true;
      made.constant = constant;
      sizes.erase(sizes.begin());
    }
    made.inner = sizes;
    if (words.size() > 1 && !known_type(ordered(words))) made.name = words.back(), words.pop_back();
    if (made.name.empty()) made.name = "arg" + std::to_string(index);
    std::tie(made.type, made.known) = type_of(words);
    if (deep) {
      made.type = ordered(words) + "**";
      made.known = false;
    }
    return made;
  }

  std::vector<TemplateParameter> template_parameters() {
    std::vector<TemplateParameter> all;
    for (const Part& part : split(tokens(), list_, ",")) {
      if (part.empty()) continue;
      TemplateParameter made;
      std::vector<std::string> words;
      std::size_t at = part.begin;
      for (; at < part.end && !tokens()[at].is("="); ++at)
        if (tokens()[at].is_word()) words.push_back(tokens()[at].text);
      if (words.size() < 2) continue;
      made.name = words.back();
      words.pop_back();
      made.is_type = words[0] == "typename" || words[0] == "class";
      made.is_bool = words[0] == "bool";
      if (at + 1 < part.end) {
        const Token& value = tokens()[at + 1];
        if (made.is_type)
          for (std::size_t i = at + 1; i < part.end; ++i)
            made.type_otherwise += (made.type_otherwise.empty() ? "" : " ") + tokens()[i].text;
        else
          made.otherwise = value.is("true") ? 1 : value.is("false") ? 0 : whole_number(value.text);
      }
      if (made.is_type) {
        const std::string type = made.type_otherwise.empty() ? "float" : made.type_otherwise;
        made.type_otherwise = type;
        aliases_[made.name] = {type};
      }
      all.push_back(std::move(made));
    }
    return all;
  }

  // Returns where the search goes on.
  std::size_t take_kernel(std::size_t at) {
    KernelText kernel;
    const auto aliases = aliases_;
    kernel.template_parameters = template_parameters();
    std::size_t next = at + 1;
    for (; next < std::min(end_, at + kLongestPart); ++next) {
      const Token& token = tokens()[next];
      if (token.is(";") || token.is("{") || token.is("}")) return next + 1;
      if (!token.is_word() || next + 1 >= end_ || !tokens()[next + 1].is("(")) continue;
      const std::size_t past = past_near_bracket(tokens(), next + 1, end_);
      const Part list{next + 2, past - 1};
      if (token.is("__launch_bounds__")) {
        const auto bounds = split(tokens(), list, ",");
        if (!bounds.empty() && bounds[0].end == bounds[0].begin + 1) {
          const std::string& text = tokens()[bounds[0].begin].text;
          const auto macro = found_.source.open.find(text);
          const auto named = found_.numbers.find(text);
          kernel.most_threads = named != found_.numbers.end() ? named->second : whole_number(text);
          if (macro != found_.source.open.end()) kernel.most_threads.reset();
        }
        next = past - 1;
      } else if (token.text.starts_with("__") || token.is("alignas")) {
        next = past - 1;
      } else {
        for (const std::string& scope : scopes_)
          if (!scope.empty()) kernel.name += scope + "::";
        kernel.name += token.text;
        kernel.line = token.line;
        std::size_t index = 0;
        for (const Part& part : split(tokens(), list, ","))
          if (!part.empty() && !(part.end == part.begin + 1 && tokens()[part.begin].is("void")))
            kernel.parameters.push_back(parameter(part, index++));
        aliases_ = aliases;
        if (past >= end_ || !tokens()[past].is("{")) return past;
        const std::size_t close = past_bracket(tokens(), past, end_);
        kernel.body = {past + 1, std::max(past + 1, close - 1)};
        const auto same = [&](const KernelText& other) { return other.name == kernel.name; };
        if (std::ranges::none_of(found_.kernels, same)) found_.kernels.push_back(std::move(kernel));
        return close;
      }
    }
    return next;
  }

  // Names that nothing declares and that are computed with: a tuner is to #define them, as in
  // Kernel Tuner's kernels (block_size_x).
  void take_missing(const KernelText& kernel) {
    if (declared_.empty()) find_declared();
    for (std::size_t at = kernel.body.begin; at < kernel.body.end; ++at) {
      const Token& token = tokens()[at];
      if (!token.is_word() || declared_.contains(token.text) || token.text.starts_with("__") ||
          found_.source.open.contains(token.text) || known_type(token.text))
        continue;
      const auto beside = [&](const Token& other) {
        static const std::set<std::string> signs = {"+", "-", "*", "/", "%", "<",  "<=", ">", ">=",
                                                    "[", "(", ")", "]", ";", "==", ",",  "=", "+="};
        return signs.contains(other.text);
      };
      if (at + 1 >= end_ || !beside(tokens()[at - 1]) || !beside(tokens()[at + 1]) ||
          tokens()[at + 1].is("(") || tokens()[at + 1].is("["))
        continue;
      leave_open(token, usual_value(token.text));
    }
    const int last = tokens()[std::min(kernel.body.end, end_ - 1)].line;
    for (const Token& token : found_.source.unrolls)
      if (token.line >= kernel.line && token.line <= last && !declared_.contains(token.text) &&
          !found_.source.open.contains(token.text))
        leave_open(token, kUsualUnroll);
  }

  void leave_open(const Token& token, std::int64_t usual) {
    if (found_.source.open.size() >= kMostOpen) return;
    found_.source.open[token.text] = {.number = usual, .line = token.line, .missing = true};
  }

  void find_declared() {
    declared_ = {"return",   "else",        "case",       "break",    "continue", "true",
                 "false",    "NULL",        "nullptr",    "warpSize", "INFINITY", "NAN",
                 "FLT_MAX",  "FLT_MIN",     "DBL_MAX",    "INT_MAX",  "INT_MIN",  "UINT_MAX",
                 "M_PI",     "FLT_EPSILON", "HUGE_VAL",   "this",     "default",  "auto",
                 "do",       "sizeof",      "void",       "DBL_MIN",  "LONG_MAX", "M_PI_2",
                 "CHAR_BIT", "EOF",         "CUDART_PI_F"};
    for (std::size_t at = 1; at < end_; ++at) {
      const Token& token = tokens()[at];
      if (!token.is_word()) continue;
      static const std::set<std::string> no_types = {"return", "else", "case", "goto", "throw"};
      const Token& before = tokens()[at - 1];
      const bool typed = before.is_word() && !no_types.contains(before.text);
      const Token& next = tokens()[std::min(at + 1, end_ - 1)];
      const bool changes = next.is("=") || next.is("++") || next.is("--") ||
                           (next.text.size() > 1 && next.text.ends_with("=") &&
                            std::string_view("+-*/%&|^<>").contains(next.text[0]) &&
                            !next.is("<=") && !next.is(">="));
      // float *x, &y; int a, b; x.y and Type::value
      const bool pointed = (before.is("*") || before.is("&")) && at >= 2 &&
                           tokens()[at - 2].is_word() &&
                           (known_type(tokens()[at - 2].text) || tokens()[at - 2].is("T"));
      const bool listed = before.is(",") && (next.is(";") || next.is("[") || next.is("="));
      if (typed || changes || pointed || listed || before.is(".") || before.is("->") ||
          before.is("::") || next.is("::") || next.is("."))
        declared_.insert(token.text);
    }
    for (const KernelText& kernel : found_.kernels) {
      for (const KernelParameter& each : kernel.parameters) declared_.insert(each.name);
      for (const TemplateParameter& each : kernel.template_parameters) declared_.insert(each.name);
    }
    for (const auto& [name, number] : found_.numbers) declared_.insert(name);
    for (const auto& [name, words] : aliases_) declared_.insert(name);
  }

  // __constant__ float weights[9];
  void take_constant(std::size_t at) {
    ConstantVariable made;
    std::vector<std::string> words;
    const std::size_t most = std::min(end_, at + 64);
    for (++at; at < most && !tokens()[at].is(";") && !tokens()[at].is("="); ++at) {
      if (tokens()[at].is("[")) {
        const std::size_t past = past_near_bracket(tokens(), at, end_);
        made.sizes.push_back({at + 1, past - 1});
        at = past - 1;
      } else if (tokens()[at].is_word() && !is_qualifier(tokens()[at].text)) {
        words.push_back(tokens()[at].text);
      } else if (!tokens()[at].is_word()) {
        return;
      }
    }
    // What has a value already is not the problem's to fill.
    if (at >= most || tokens()[at].is("=") || words.size() < 2) return;
    made.name = words.back();
    words.pop_back();
    std::tie(made.type, made.known) = type_of(words);
    found_.constants.push_back(std::move(made));
  }

  SourceText found_;
  std::size_t end_ = 0;
  Part list_;  // of the last `template`, while nothing has ended since
  std::vector<std::string> scopes_;
  std::map<std::string, std::vector<std::string>> aliases_;
  std::set<std::string> declared_;
};

std::pair<std::string_view, int> number_and_lanes(std::string_view type) {
  if (type == "complex64") return {"f32", 2};
  if (type == "complex128") return {"f64", 2};
  if (type.size() > 2 && type[type.size() - 2] == 'x' && type.back() >= '2' && type.back() <= '4')
    return {type.substr(0, type.size() - 2), type.back() - '0'};
  return {type, 1};
}

}  // namespace

SourceText read_source(std::string_view text) { return Reader(text).read(); }

std::optional<std::string> known_type(const std::string& words) {
  std::string name = source::canonical_type(words);
  const auto [number, lanes] = number_and_lanes(name);
  const auto known = number_called(number);
  if (!known || (lanes > 1 && known == DType::boolean)) return std::nullopt;
  return name;
}

std::size_t bytes_of(const std::string& type) {
  const auto [number, lanes] = number_and_lanes(type);
  const auto known = number_called(number);
  return known ? size_of(*known) * static_cast<std::size_t>(lanes) : 4;
}

bool is_floating(const std::string& type) {
  const auto known = number_called(number_and_lanes(type).first);
  return known && !is_integer(*known);
}

int lanes_of(const std::string& type) { return number_and_lanes(type).second; }

}  // namespace fa_tune::scaffold
