#include "engine/scaffold/index_range.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace fa_tune::scaffold {
namespace {

constexpr int kDeepest = 40;

int precedence(const std::string& sign) {
  static const std::map<std::string, int, std::less<>> known = {
      {"?", 1},  {"||", 2}, {"&&", 3}, {"|", 4},  {"^", 5},  {"&", 6},  {"==", 7},
      {"!=", 7}, {"<", 8},  {">", 8},  {"<=", 8}, {">=", 8}, {"<<", 9}, {">>", 9},
      {"+", 10}, {"-", 10}, {"*", 11}, {"/", 11}, {"%", 11}};
  const auto found = known.find(sign);
  return found == known.end() ? 0 : found->second;
}

IndexRange with_sources(IndexRange made, const IndexRange& a, const IndexRange& b) {
  made.loaded = a.loaded.empty() ? b.loaded : a.loaded;
  made.threads = a.threads | b.threads;
  made.blocks = a.blocks | b.blocks;
  return made;
}

bool is_builtin(const std::string& name) {
  return name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim";
}

}  // namespace

IndexRange exactly(const Polynomial& number) {
  return {.low = number, .high = number, .exact = true, .loaded = {}};
}

std::pair<std::string, std::size_t> IndexReader::name_at(const Tokens& tokens, std::size_t at) {
  if (is_builtin(tokens[at].text) && at + 2 < tokens.size() && tokens[at + 1].is("."))
    return {tokens[at].text + "." + tokens[at + 2].text, 3};
  return {tokens[at].text, 1};
}

IndexRange IndexReader::read(Part part) {
  at_ = part.begin;
  end_ = part.end;
  if (part.empty()) return {};
  IndexRange made = binary(1, 0);
  if (!at_end()) return with_sources({}, made, {});
  return made;
}

IndexRange IndexReader::binary(int least, int depth) {
  if (depth > kDeepest) {
    at_ = end_;
    return {};
  }
  IndexRange left = unary(depth + 1);
  while (!at_end()) {
    const std::string sign = here().text;
    const int level = precedence(sign);
    if (level < least || level == 0) break;
    ++at_;
    if (sign == "?") {
      const IndexRange yes = binary(1, depth + 1);
      if (!at_end() && here().is(":")) ++at_;
      const IndexRange no = binary(1, depth + 1);
      IndexRange either = yes.high ? yes : no;
      // One that is a constant is what is taken beyond an end.
      if (yes.high && no.high && yes.high->number()) either = no;
      either.exact = false;
      left = with_sources(either, yes, no);
      continue;
    }
    left = combine(sign, left, binary(level + 1, depth + 1));
  }
  return left;
}

IndexRange IndexReader::combine(const std::string& sign, const IndexRange& a, const IndexRange& b) {
  IndexRange made;
  const Polynomial one(1);
  if (sign == "+") {
    made.low = algebra_.sum(a.low, b.low);
    made.high = algebra_.sum(a.high, b.high);
  } else if (sign == "-") {
    made.low = algebra_.sum(a.low, b.high, -1);
    made.high = algebra_.sum(a.high, b.low, -1);
  } else if (sign == "*" || sign == "<<") {
    IndexRange by = b;
    if (sign == "<<") {
      const auto places = b.exact && b.high ? b.high->number() : std::nullopt;
      by = places && *places >= 0 && *places < 40 ? exactly(Polynomial(std::int64_t{1} << *places))
                                                  : IndexRange{};
    }
    made.low = algebra_.product(a.low, by.low);
    made.high = algebra_.product(a.high, by.high);
  } else if (sign == "/" || sign == ">>") {
    IndexRange by = b;
    if (sign == ">>") {
      const auto places = b.exact && b.high ? b.high->number() : std::nullopt;
      by = places && *places >= 0 && *places < 40 ? exactly(Polynomial(std::int64_t{1} << *places))
                                                  : IndexRange{};
    }
    made.low = Polynomial();
    if (a.exact && by.exact) {
      made.high = algebra_.quotient(a.high, by.high);
      made.low = made.high;
    } else {
      // The last is one less than how many there are.
      const Bound count = algebra_.rounded_up_quotient(algebra_.sum(a.high, one), by.low);
      made.high = algebra_.sum(count, one, -1);
    }
  } else if (sign == "%") {
    made.low = Polynomial();
    made.high = algebra_.sum(b.high, one, -1);
  } else if (sign == "&") {
    made.low = Polynomial();
    made.high = b.exact ? b.high : a.exact ? a.high : Bound();
  } else if (precedence(sign) <= 8 && sign != "|" && sign != "^") {
    made.low = Polynomial();
    made.high = one;
  }
  made.exact = a.exact && b.exact && made.low && made.high && *made.low == *made.high;
  return with_sources(made, a, b);
}

IndexRange IndexReader::unary(int depth) {
  if (at_end() || depth > kDeepest) return {};
  if (here().is("+") || here().is("++") || here().is("--")) {
    ++at_;
    return unary(depth + 1);
  }
  if (here().is("-")) {
    ++at_;
    return combine("-", exactly(Polynomial()), unary(depth + 1));
  }
  if (here().is("!") || here().is("~") || here().is("*") || here().is("&")) {
    ++at_;
    return with_sources({}, unary(depth + 1), {});
  }
  return primary(depth);
}

// Types alone between the brackets, and something behind them.
bool IndexReader::is_cast(std::size_t open, std::size_t past) const {
  if (past - open < 3 || past >= end_) return false;
  const Token& behind = tokens_[past];
  if (!behind.is("(") && behind.kind == Token::Kind::sign) return false;
  for (std::size_t i = open + 1; i + 1 < past; ++i) {
    const Token& token = tokens_[i];
    if (token.is("*") || token.is("const")) continue;
    if (!token.is_word() || scope_.variables.contains(token.text) || is_builtin(token.text) ||
        scope_.buffers.contains(token.text))
      return false;
  }
  return true;
}

IndexRange IndexReader::call(const std::string& name, int depth) {
  const std::size_t past = past_near_bracket(tokens_, at_, end_);
  const auto arguments = split(tokens_, {at_ + 1, past - 1}, ",");
  std::vector<IndexRange> values;
  const std::size_t end = end_;
  for (const Part& part : arguments) {
    at_ = part.begin;
    end_ = part.end;
    values.push_back(part.empty() ? IndexRange{} : binary(1, depth + 1));
    end_ = end;
  }
  at_ = past;
  if (values.size() == 1) {
    // int(x), (x); __ldg and the like give what cannot be known.
    static constexpr std::array kCasts = {"",      "int",     "unsigned", "size_t",
                                          "long",  "uint",    "int64_t",  "uint32_t",
                                          "short", "int32_t", "uint64_t", "abs"};
    if (std::ranges::find(kCasts, name) != kCasts.end()) return values[0];
    return with_sources({}, values[0], {});
  }
  if (values.size() != 2) return {};
  const auto& [a, b] = std::pair(values[0], values[1]);
  if (name == "min" || name == "fminf" || name == "std::min") {
    // What something is cut to is the simpler of both.
    IndexRange least =
        !a.high || (b.high && b.high->terms().size() < a.high->terms().size()) ? b : a;
    least.exact = false;
    least.low = Polynomial();
    return with_sources(least, a, b);
  }
  if (name == "max" || name == "std::max") {
    IndexRange most = !a.high || (a.high->number() && b.high) ? b : a;
    most.exact = false;
    most.low = Polynomial();
    return with_sources(most, a, b);
  }
  if (name == "__umul24" || name == "__mul24") return combine("*", a, b);
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower.find("ceil") != lower.npos || lower.find("div") != lower.npos) {
    if (!a.exact || !b.exact) return with_sources({}, a, b);
    const Bound count = algebra_.rounded_up_quotient(a.high, b.high);
    if (count) return with_sources(exactly(*count), a, b);
  }
  return with_sources({}, a, b);
}

IndexRange IndexReader::primary(int depth) {
  const Token& token = here();
  IndexRange made;
  if (token.is("(")) {
    const std::size_t past = past_near_bracket(tokens_, at_, end_);
    if (is_cast(at_, past)) {
      at_ = past;
      return unary(depth + 1);
    }
    made = call("", depth);
  } else if (token.kind == Token::Kind::number) {
    ++at_;
    if (const auto number = whole_number(token.text)) made = exactly(Polynomial(*number));
  } else if (token.is_word()) {
    const auto [name, count] = name_at(tokens_, at_);
    at_ += count;
    if (name == "static_cast" && !at_end() && here().is("<")) {
      at_ = past_near_bracket(tokens_, at_, end_);
      if (!at_end() && here().is("(")) made = call("", depth);
    } else if (!at_end() && here().is("(")) {
      made = call(name, depth);
    } else if (const auto found = scope_.variables.find(name); found != scope_.variables.end()) {
      made = found->second;
    } else if (const auto buffer = scope_.buffers.find(name); buffer != scope_.buffers.end()) {
      made.loaded = buffer->second;
    }
  } else {
    ++at_;
  }
  while (!at_end()) {
    if (here().is("[")) {
      at_ = past_near_bracket(tokens_, at_, end_);
      made = IndexRange{.low = {}, .high = {}, .loaded = made.loaded};
    } else if ((here().is(".") || here().is("->") || here().is("::")) && at_ + 1 < end_) {
      at_ += 2;
      made = IndexRange{.low = {}, .high = {}, .loaded = made.loaded};
    } else if (here().is("++") || here().is("--")) {
      ++at_;
    } else {
      break;
    }
  }
  return made;
}

}  // namespace fa_tune::scaffold
