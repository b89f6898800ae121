#include "engine/scaffold/kernel_walk.hpp"

#include <algorithm>
#include <bit>

namespace fa_tune::scaffold {
namespace {

// More than a kernel that people wrote has.
constexpr std::size_t kMostUses = 2000;
constexpr std::size_t kLongestIndex = 150;  // tokens
constexpr std::size_t kMostWork = 1'000'000;
constexpr int kMostComparisons = 16;  // of one condition

// Of what not all numbers have one.
bool is_hard(const std::string& word) {
  static const std::set<std::string> hard = {"sqrtf",  "sqrt",   "rsqrtf", "rsqrt", "logf",
                                             "log",    "log2f",  "powf",   "pow",   "__logf",
                                             "log10f", "__powf", "acosf",  "asinf", "erfinvf"};
  return hard.contains(word);
}

// A bit beside those of the axes: a loop begins where a buffer says.
constexpr unsigned kOfBuffer = 8;

bool is_assignment(const Token& token) {
  static const std::set<std::string> known = {
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
  return known.contains(token.text);
}

class Walk {
 public:
  Walk(const SourceText& source, const KernelText& kernel, const std::set<std::string>& exact,
       const std::map<std::string, Polynomial>& known, Algebra& algebra)
      : source_(source), kernel_(kernel), tokens_(source.tokens()), algebra_(algebra) {
    for (const std::string& name : exact) scope_.variables[name] = exactly(Polynomial(name));
    for (const auto& [name, number] : source.numbers)
      if (!exact.contains(name)) scope_.variables[name] = exactly(Polynomial(number));
    for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
      const std::string name = kAxes[axis];
      for (const char* whole : {"blockDim.", "gridDim."}) {
        const auto found = known.find(whole + name);
        scope_.variables[whole + name] =
            exactly(found == known.end() ? Polynomial(whole + name) : found->second);
      }
      for (const auto& [one, all] :
           {std::pair{"threadIdx.", "blockDim."}, std::pair{"blockIdx.", "gridDim."}}) {
        IndexRange range;
        range.low = Polynomial();
        range.high = algebra_.sum(scope_.variables[all + name].high, Polynomial(1), -1);
        (one == std::string("threadIdx.") ? range.threads : range.blocks) = 1U << axis;
        scope_.variables[one + name] = range;
      }
    }
    for (const KernelParameter& parameter : kernel.parameters)
      if (parameter.pointer) add_buffer(parameter.name, parameter.inner, lanes_of(parameter.type));
    for (const ConstantVariable& variable : source.constants) {
      std::vector<Part> inner = variable.sizes;
      if (!inner.empty()) inner.erase(inner.begin());
      add_buffer(variable.name, inner, lanes_of(variable.type));
    }
  }

  KernelUse run() {
    for (const Token& each : tokens_) use_.has_hard_math |= is_hard(each.text);
    scan(kernel_.body);
    return std::move(use_);
  }

 private:
  struct Pointer {
    std::string buffer;  // a parameter's; of shared memory its own
    IndexRange offset;
    std::int64_t scale = 1;  // elements of the buffer in one of the pointer's
  };

  void add_buffer(const std::string& name, const std::vector<Part>& inner, int lanes) {
    pointers_[name] = {name, exactly(Polynomial()), 1};
    inner_[name] = inner;
    lanes_[name] = lanes;
    scope_.buffers[name] = name;
    use_.buffers[name];
  }

  const Token& token(std::size_t at) const {
    static const Token none;
    return at < tokens_.size() ? tokens_[at] : none;
  }

  // Whether so many tokens may be looked at again: a stranger's text must not take long.
  bool afford(std::size_t tokens) {
    work_ += tokens;
    return work_ < kMostWork;
  }

  IndexRange evaluate(Part part) {
    if (part.end > part.begin + kLongestIndex || !afford(part.end - part.begin)) return {};
    const IndexRange made = IndexReader(tokens_, scope_, algebra_).read(part);
    note_covers(made);
    return made;
  }

  // The end of an expression that begins at `at`.
  std::size_t expression_end(std::size_t at, std::size_t end) const {
    int depth = 0;
    end = std::min(end, at + kLongestPart);
    for (; at < end; ++at) {
      const std::string& text = tokens_[at].text;
      if (text == "(" || text == "[" || text == "{") ++depth;
      if (text == ")" || text == "]" || text == "}") {
        if (depth-- == 0) return at;
      }
      if (depth == 0 && (text == ";" || text == ",")) return at;
    }
    return end;
  }

  // What one block covers of an axis is what blockIdx is multiplied by; sizes that stand there too
  // are strides of rows.
  void note_covers(const IndexRange& range) {
    if (range.blocks == 0 || !range.high) return;
    for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
      if ((range.blocks >> axis & 1) == 0 || use_.axes[axis].covers) continue;
      const std::string grid = std::string("gridDim.") + kAxes[axis];
      for (const auto& [names, factor] : range.high->terms()) note_shared_covers(axis, grid, names);
      if (use_.axes[axis].covers) continue;
      for (const auto& [names, factor] : range.high->terms()) {
        const auto found = std::ranges::find(names, grid);
        if (found == names.end() || factor <= 0) continue;
        Bound covers = Polynomial(factor);
        for (const std::string& name : names) {
          if (name.starts_with("gridDim.") || is_size(name)) continue;
          covers = algebra_.product(covers, Polynomial(name));
        }
        // Blocks of rows that have a number of columns each: y * 32 * width.
        if (covers && std::ranges::none_of(names, [&](const auto& name) { return is_size(name); }))
          use_.axes[axis].covers = covers;
      }
    }
  }

  // (blockIdx.x * blockDim.x + threadIdx.x) / 32: several threads have one row.
  void note_shared_covers(std::size_t axis, const std::string& grid,
                          const Polynomial::Product& names) {
    const auto parts = names.size() == 1 ? algebra_.parts(names[0]) : std::nullopt;
    if (!parts) return;
    for (const auto& [of, factor] : parts->first.terms()) {
      if (std::ranges::find(of, grid) == of.end()) continue;
      Bound covers = Polynomial(factor);
      for (const std::string& name : of)
        if (name != grid) covers = algebra_.product(covers, Polynomial(name));
      covers = algebra_.quotient(covers, parts->second);
      if (covers) use_.axes[axis].covers = covers;
    }
  }

  bool is_size(const std::string& name) const {
    const auto same = [&](const KernelParameter& each) { return each.name == name; };
    return std::ranges::any_of(kernel_.parameters, same);
  }

  // `depth`: how many heads of loops it is within.
  void scan(Part part, int depth = 0) {
    for (std::size_t at = part.begin; at < part.end; ++at) {
      const Token& here = tokens_[at];
      while (!narrowed_.empty() && at >= narrowed_.back().end) {
        scope_.variables[narrowed_.back().name] = narrowed_.back().before;
        narrowed_.pop_back();
      }
      if (here.is("?")) guard({condition_begin(at, part.begin), at}, false, false);
      if (here.is_word()) {
        use_.words.insert(here.text);
        note_word(at);
      }
      if (here.is("for") && token(at + 1).is("(")) {
        const std::size_t past = past_near_bracket(tokens_, at + 1, part.end);
        const auto parts = split(tokens_, {at + 2, past - 1}, ";");
        if (parts.size() == 3 && depth < 4) {
          scan(parts[0], depth + 1);
          guard(parts[1], false, true);
          scan(parts[1], depth + 1);
          loop_step(parts[2]);
          scan_step(parts[2]);
          at = past - 1;
        }
        continue;
      }
      if ((here.is("if") || here.is("while")) && token(at + 1).is("(")) {
        const std::size_t past = past_near_bracket(tokens_, at + 1, part.end);
        std::size_t next = past;
        while (token(next).is("{")) ++next;
        const bool leaves =
            here.is("if") &&
            (token(next).is("return") || token(next).is("continue") || token(next).is("break"));
        within_ = leaves || here.is("while") ? 0 : statement_end(past, part.end);
        guard({at + 2, past - 1}, leaves, here.is("while"));
        within_ = 0;
        continue;
      }
      if (here.is("__shared__")) {
        take_shared(at, part.end);
        continue;
      }
      if (is_assignment(here) && at > part.begin && tokens_[at - 1].is_word())
        assign(at, part.end, here.text);
      if ((here.is("++") || here.is("--")) && tokens_[at - 1].is_word())
        change(tokens_[at - 1].text);
      if (here.is_word()) use_pointer(at, part);
    }
  }

  std::size_t statement_end(std::size_t at, std::size_t end) const {
    if (token(at).is("{")) return past_bracket(tokens_, at, end);
    return expression_end(at, end);
  }

  // Where the condition before a question mark begins.
  std::size_t condition_begin(std::size_t at, std::size_t begin) const {
    int depth = 0;
    begin = std::max(begin, at - std::min(at, kLongestPart));
    for (; at > begin; --at) {
      const Token& before = tokens_[at - 1];
      if (before.is(")") || before.is("]")) ++depth;
      if ((before.is("(") || before.is("[")) && depth-- == 0) break;
      if (depth == 0 && (before.is(";") || before.is(",") || before.is("{") || before.is("}") ||
                         before.is("return") || is_assignment(before)))
        break;
    }
    return at;
  }

  void note_word(std::size_t at) {
    const std::string& word = tokens_[at].text;
    for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
      if (!token(at + 1).is(".") || !token(at + 2).is(kAxes[axis])) continue;
      if (word == "blockIdx") use_.axes[axis].block = true;
      if (word == "threadIdx") use_.axes[axis].thread = true;
      if (word == "blockDim") use_.axes[axis].block_size = true;
    }
    static const std::set<std::string> packed = {
        "half2", "__half2", "__nv_bfloat162", "nv_bfloat162", "__hfma2", "__hadd2", "__hmul2"};
    use_.has_packed |= packed.contains(word);
  }

  // name = value, at the sign.
  void assign(std::size_t at, std::size_t end, const std::string& sign) {
    const std::string& name = tokens_[at - 1].text;
    if (at >= 2 && (tokens_[at - 2].is(".") || tokens_[at - 2].is("->"))) return;
    const Part value{at + 1, expression_end(at + 1, end)};
    if (pointers_.contains(name) && is_assignment(tokens_[at]) && sign != "=") {
      Pointer& pointer = pointers_[name];
      if (sign == "+=") {
        const IndexRange more = evaluate(value);
        const IndexRange by = exactly(Polynomial(pointer.scale));
        // In a loop it goes on from there.
        pointer.offset.high =
            algebra_.sum(pointer.offset.high, algebra_.product(more.high, by.high));
        if (loop_depth(at) > 0 && more.blocks == 0) pointer.offset = {};
      } else {
        pointer.offset = {};
      }
      return;
    }
    if (sign != "=") {
      change(name);
      return;
    }
    if (const auto pointer = pointer_value(value)) {
      pointers_[name] = *pointer;
      inner_[name] = inner_[pointer->buffer];
      scope_.buffers[name] = pointer->buffer;
      return;
    }
    // A float that was read from a buffer is no index.
    const IndexRange range = evaluate(value);
    const auto known = scope_.variables.find(name);
    if (known == scope_.variables.end() || !known->second.exact || !is_size(name))
      scope_.variables[name] = range;
    bounded_.erase(name);
  }

  // How many loops are open around a token: found by who stands before it.
  int loop_depth(std::size_t at) const {
    int depth = 0;
    std::vector<bool> open;
    for (std::size_t i = kernel_.body.begin; i < at; ++i) {
      if (tokens_[i].is("{")) {
        bool loop = i > 0 && (tokens_[i - 1].is("do"));
        if (i > 0 && tokens_[i - 1].is(")")) {
          int brackets = 0;
          std::size_t back = i - 1;
          for (;; --back) {
            if (tokens_[back].is(")")) ++brackets;
            if (tokens_[back].is("(") && --brackets == 0) break;
            if (back == kernel_.body.begin) break;
          }
          loop = back > 0 && (tokens_[back - 1].is("for") || tokens_[back - 1].is("while"));
        }
        open.push_back(loop);
        depth += loop ? 1 : 0;
      } else if (tokens_[i].is("}") && !open.empty()) {
        depth -= open.back() ? 1 : 0;
        open.pop_back();
      }
      if (i - kernel_.body.begin > kMostUses * 4) return depth;
    }
    return depth;
  }

  // A variable that grows: only a guard says how far.
  void change(const std::string& name) {
    const auto found = scope_.variables.find(name);
    if (found == scope_.variables.end() || bounded_.contains(name)) return;
    if (found->second.exact && is_size(name)) return;
    found->second.high.reset();
    found->second.exact = false;
  }

  // i += blockDim.x, i += TILE of a loop.
  void loop_step(Part step) {
    for (std::size_t at = step.begin; at < step.end; ++at) {
      if (!tokens_[at].is("+=") || !token(at - 1).is_word()) continue;
      const auto variable = scope_.variables.find(tokens_[at - 1].text);
      const IndexRange by =
          IndexReader(tokens_, scope_, algebra_).read({at + 1, expression_end(at + 1, step.end)});
      if (variable == scope_.variables.end() || !by.exact || !by.high) continue;
      IndexRange& range = variable->second;
      if (started_[variable->first] == 0 && range.blocks == 0 && range.high)
        if (const Bound end = algebra_.sum(range.high, Polynomial(1))) {
          use_.steps.emplace_back(*by.high, *end);
          range.high = algebra_.sum(end, by.high, -1);
        }
      for (std::size_t axis = 0; axis < kAxes.size(); ++axis)
        if ((started_[variable->first] >> axis & 1) != 0)
          use_.axes[axis].strides.push_back(*by.high);
    }
  }

  void scan_step(Part step) {
    for (std::size_t at = step.begin; at < step.end; ++at)
      if (tokens_[at].is_word()) use_.words.insert(tokens_[at].text);
  }

  // Comparisons of a name with what it must stay below.
  void guard(Part part, bool leaves, bool loops) {
    int left_over = kMostComparisons;
    for (std::size_t at = part.begin; at < part.end && left_over > 0; ++at) {
      const std::string& sign = tokens_[at].text;
      if (sign != "<" && sign != "<=" && sign != ">" && sign != ">=" && sign != "!=") continue;
      if (!afford(kLongestIndex)) return;
      --left_over;
      std::size_t begin = at, end = at + 1;
      const auto ends = [&](std::size_t i) {
        const Token& token = tokens_[i];
        return token.is("&&") || token.is("||") || token.is("!") || token.is(",") ||
               token.is("?") || token.is(";");
      };
      for (int depth = 0; begin > part.begin; --begin) {
        const Token& before = tokens_[begin - 1];
        if (before.is(")") || before.is("]")) ++depth;
        if ((before.is("(") || before.is("[")) && depth-- == 0) break;
        if (depth == 0 && ends(begin - 1)) break;
      }
      for (int depth = 0; end < part.end; ++end) {
        if (tokens_[end].is("(") || tokens_[end].is("[")) ++depth;
        if ((tokens_[end].is(")") || tokens_[end].is("]")) && depth-- == 0) break;
        if (depth == 0 && ends(end)) break;
      }
      const Part left{begin, at}, right{at + 1, end};
      if (sign == "!=") continue;
      if (sign.starts_with("<"))
        compare(left, right, sign == "<=", leaves, loops);
      else
        compare(right, left, sign == ">=", leaves, loops);
    }
  }

  // The one variable that an expression is, or is with a number beside it.
  std::optional<std::pair<std::string, Part>> variable_of(Part part) const {
    while (part.end - part.begin > 2 && tokens_[part.begin].is("(") &&
           past_near_bracket(tokens_, part.begin, part.end) == part.end)
      part = {part.begin + 1, part.end - 1};
    if (part.empty() || !tokens_[part.begin].is_word()) return std::nullopt;
    const auto [name, count] = IndexReader::name_at(tokens_, part.begin);
    const std::size_t behind = part.begin + count;
    if (!scope_.variables.contains(name)) return std::nullopt;
    if (behind == part.end) return std::pair(name, Part{part.end, part.end});
    if (!tokens_[behind].is("+")) return std::nullopt;
    return std::pair(name, Part{behind + 1, part.end});
  }

  // small < large
  void compare(Part small, Part large, bool or_equal, bool leaves, bool loops) {
    const IndexRange end = evaluate(large);
    if (!leaves) {
      if (const auto variable = variable_of(small))
        bound(variable->first, variable->second, end, or_equal, loops);
      // 0 < x: the first ones are left out.
      const auto first = variable_of(large);
      if (first && !is_size(first->first) && scope_.variables[first->first].blocks != 0)
        note_edge(small, or_equal);
      return;
    }
    // if (n <= i) return;
    const auto variable = variable_of(large);
    if (variable) bound(variable->first, variable->second, evaluate(small), !or_equal, loops);
    const auto low = variable_of(small);
    if (low && !is_size(low->first) && scope_.variables[low->first].blocks != 0)
      note_edge(large, !or_equal);
  }

  void note_edge(Part part, bool or_equal) {
    const IndexRange first = evaluate(part);
    const std::optional<std::int64_t> number =
        first.exact && first.high ? first.high->number() : std::nullopt;
    const bool is_start = number && (or_equal ? *number <= 0 : *number < 0);
    if (first.exact && !is_start) use_.leaves_edge = true;
  }

  void bound(const std::string& name, Part beside, const IndexRange& end, bool or_equal,
             bool loops) {
    IndexRange& variable = scope_.variables[name];
    if (is_size(name) && variable.exact) return;
    // for (j = rows[i]; j < rows[i + 1]; ...): they are offsets into what j is an index of.
    if (loops && !end.loaded.empty() && end.loaded == variable.loaded) {
      BufferUse& buffer = use_.buffers[end.loaded];
      if (!buffer.offsets_to) buffer.offsets_to = "nnz";
      // It does not begin at a number.
      started_[name] = kOfBuffer;
      variable = {.low = Polynomial(),
                  .high = algebra_.sum(Polynomial("nnz"), Polynomial(1), -1),
                  .loaded = {},
                  .threads = variable.threads,
                  .blocks = 0};
      bounded_.insert(name);
      return;
    }
    if (!end.high) return;
    Bound most = or_equal ? end.high : algebra_.sum(end.high, Polynomial(1), -1);
    // Of i + k < n the blocks still cover n.
    const Bound last = most;
    if (!beside.empty()) most = algebra_.sum(most, evaluate(beside).high, -1);
    if (!most) return;
    for (const std::string& each : algebra_.names(*most)) use_.in_bounds.insert(each);
    if (loops) started_[name] |= variable.threads;
    bool has_grid = false;
    if (variable.high)
      for (const std::string& each : algebra_.names(*variable.high))
        has_grid |= each.starts_with("gridDim.");
    if (variable.blocks != 0 && end.exact) note_extent(variable, *last);
    if (loops && variable.low && variable.exact) variable.low = variable.high;
    // What is bounded otherwise is so within the braces alone.
    const bool narrows = !loops && !has_grid && variable.high && within_ != 0;
    if (narrows && narrowed_.size() < kMostUses &&
        (narrowed_.empty() || within_ <= narrowed_.back().end))
      narrowed_.push_back({within_, name, variable});
    if (loops || has_grid || !variable.high || narrows) {
      variable.high = most;
      variable.exact = false;
      if (!variable.low) variable.low = Polynomial();
    }
    bounded_.insert(name);
  }

  void note_extent(const IndexRange& variable, const Polynomial& most) {
    if (!variable.high) return;
    const Bound all = algebra_.sum(most, Polynomial(1));
    for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
      const bool within = (variable.blocks >> axis & 1) != 0;
      if (within && std::has_single_bit(variable.blocks) && all && !use_.axes[axis].extent)
        use_.axes[axis].extent = *all;
    }
    // blockIdx.y * gridDim.x + blockIdx.x: one long row.
    if (!std::has_single_bit(variable.blocks) && all) {
      for (std::size_t axis = 0; axis < kAxes.size(); ++axis)
        if ((variable.blocks >> axis & 1) != 0 && !use_.axes[axis].extent)
          use_.axes[axis].extent =
              axis == static_cast<std::size_t>(std::countr_zero(variable.blocks)) ? *all
                                                                                  : Polynomial(1);
    }
  }

  void take_shared(std::size_t at, std::size_t end) {
    const bool is_extern = at > 0 && tokens_[at - 1].is("extern");
    std::vector<std::string> words;
    std::size_t i = at + 1;
    for (; i < end && !tokens_[i].is(";") && !tokens_[i].is("["); ++i) {
      if (tokens_[i].is("("))
        i = past_near_bracket(tokens_, i, end) - 1;
      else if (tokens_[i].is_word() && !tokens_[i].text.starts_with("__"))
        words.push_back(tokens_[i].text);
    }
    if (i >= end || !tokens_[i].is("[") || words.empty()) return;
    const std::string name = words.back();
    words.pop_back();
    std::string type;
    for (const std::string& word : words)
      if (word != "volatile") type += (type.empty() ? "" : " ") + word;
    if (is_extern) {
      use_.dynamic_shared = known_type(type).value_or("f32");
      shared_ = name;
      return;
    }
    std::vector<Bound>& sizes = tiles_[name];
    while (i < end && tokens_[i].is("[")) {
      const std::size_t past = past_near_bracket(tokens_, i, end);
      const IndexRange size = evaluate({i + 1, past - 1});
      sizes.push_back(size.exact ? size.high : Bound());
      i = past;
    }
  }

  // What a pointer is set to: x + i, &x[i], (float4*)(x + i).
  std::optional<Pointer> pointer_value(Part part, int depth = 0) {
    if (part.empty() || depth > 8 || !afford(part.end - part.begin)) return std::nullopt;
    if (tokens_[part.begin].is("(") && past_near_bracket(tokens_, part.begin, part.end) == part.end)
      return pointer_value({part.begin + 1, part.end - 1}, depth + 1);
    // A cast: of what is behind it, in other elements.
    std::size_t behind = 0;
    Part type{};
    if (tokens_[part.begin].is("reinterpret_cast") || tokens_[part.begin].is("static_cast") ||
        tokens_[part.begin].is("const_cast")) {
      if (!token(part.begin + 1).is("<")) return std::nullopt;
      behind = past_near_bracket(tokens_, part.begin + 1, part.end);
      type = {part.begin + 2, behind - 1};
    } else if (tokens_[part.begin].is("(")) {
      behind = past_near_bracket(tokens_, part.begin, part.end);
      type = {part.begin + 1, behind - 1};
      if (type.empty() || !tokens_[type.end - 1].is("*")) return std::nullopt;
    }
    if (behind != 0) {
      auto inner = pointer_value({behind, part.end}, depth + 1);
      if (!inner) return std::nullopt;
      std::string words;
      for (std::size_t i = type.begin; i < type.end; ++i)
        if (tokens_[i].is_word() && !tokens_[i].is("const") && !tokens_[i].is("volatile"))
          words += (words.empty() ? "" : " ") + tokens_[i].text;
      const auto known = known_type(words);
      const int own = lanes_[inner->buffer];
      if (known && own > 0) inner->scale = std::max(1, lanes_of(*known) / own);
      return inner;
    }
    const bool is_address = tokens_[part.begin].is("&");
    const std::size_t at = part.begin + (is_address ? 1 : 0);
    if (at >= part.end || !tokens_[at].is_word()) return std::nullopt;
    const auto found = pointers_.find(tokens_[at].text);
    if (found == pointers_.end()) return std::nullopt;
    Pointer made = found->second;
    IndexRange more = exactly(Polynomial());
    if (is_address) {
      if (!token(at + 1).is("[")) return std::nullopt;
      std::size_t past = 0;
      more = index(made.buffer, at + 1, part.end, &past);
      if (past != part.end) return std::nullopt;
    } else if (at + 1 < part.end) {
      if (!tokens_[at + 1].is("+")) return std::nullopt;
      more = evaluate({at + 2, part.end});
    }
    made.offset = added(made.offset, more, made.scale);
    return made;
  }

  // What all products of a bound have in common: the length of the rows that it counts.
  static std::optional<Polynomial> row_of(const Polynomial& bound) {
    std::optional<Polynomial::Product> common;
    for (const auto& [names, factor] : bound.terms()) {
      Polynomial::Product both;
      if (common) std::ranges::set_intersection(*common, names, std::back_inserter(both));
      common = common ? both : names;
    }
    if (!common || common->size() != 1) return std::nullopt;
    return Polynomial(common->front());
  }

  IndexRange added(const IndexRange& offset, IndexRange index, std::int64_t scale) {
    // An index that was read, into a row.
    if (!index.high && !index.loaded.empty() && offset.high)
      if (const auto row = row_of(*offset.high)) {
        index.high = algebra_.sum(row, Polynomial(1), -1);
        use_.buffers[index.loaded].below = row;
      }
    IndexRange made = offset;
    made.low = Polynomial();
    made.high = algebra_.sum(offset.high, algebra_.product(index.high, Polynomial(scale)));
    made.exact = offset.exact && index.exact && index.high && index.high->number() == 0;
    if (made.exact) made.low = made.high;
    if (!index.loaded.empty()) made.loaded = index.loaded;
    made.threads |= index.threads;
    made.blocks |= index.blocks;
    return made;
  }

  // a[i][j] of an array of rows; `past` is behind it.
  IndexRange index(const std::string& buffer, std::size_t at, std::size_t end, std::size_t* past) {
    IndexRange all;
    const std::vector<Part> inner = inner_[buffer];
    for (std::size_t level = 0; at < end && tokens_[at].is("["); ++level) {
      const std::size_t behind = past_near_bracket(tokens_, at, end);
      const IndexRange each = evaluate({at + 1, behind - 1});
      if (level == 0) {
        all = each;
      } else if (level <= inner.size()) {
        const IndexRange size = evaluate(inner[level - 1]);
        all.high = algebra_.sum(algebra_.product(all.high, size.high), each.high);
        all.threads |= each.threads;
        all.blocks |= each.blocks;
        if (all.loaded.empty()) all.loaded = each.loaded;
      }
      at = behind;
    }
    *past = at;
    return all;
  }

  void use_pointer(std::size_t at, Part part) {
    const std::string& name = tokens_[at].text;
    if (at > 0 && (tokens_[at - 1].is(".") || tokens_[at - 1].is("->"))) return;
    if (const auto tile = tiles_.find(name); tile != tiles_.end())
      return use_tile(at, part, tile->second);
    if (name == shared_ && token(at + 1).is("[")) {
      std::size_t past = 0;
      const IndexRange range = index(name, at + 1, part.end, &past);
      if (use_.shared_extents.size() < kMostUses)
        use_.shared_extents.push_back(algebra_.sum(range.high, Polynomial(1)));
      return;
    }
    // ((float4*)x)[i] is looked at from its bracket.
    const auto found = pointers_.find(name);
    if (found == pointers_.end()) return;
    Pointer pointer = found->second;
    BufferUse& buffer = use_.buffers[pointer.buffer];
    if (buffer.extents.size() > kMostUses || !afford(kLongestIndex)) return;
    std::size_t past = at + 1, first = at;
    std::optional<IndexRange> range;
    if (token(past).is("[")) {
      range = index(pointer.buffer, past, part.end, &past);
      range = added(pointer.offset, *range, pointer.scale);
    } else {
      // The widest brackets around it that are a pointer: *(x + i), ((float4*)x)[i].
      std::size_t open = at, close = at + 1;
      while (open > part.begin && tokens_[open - 1].is("(") && !token(open - 2).is_word()) {
        const std::size_t end = past_near_bracket(tokens_, open - 1, part.end);
        if (!pointer_value({open - 1, end})) break;
        open -= 1;
        close = end;
      }
      std::size_t cast = open;
      if (open > part.begin && tokens_[open - 1].is(")")) {
        // (float4*)x within brackets of its own
        std::size_t back = open - 1;
        while (back > part.begin && !tokens_[back].is("(")) --back;
        cast = back;
      } else if (open > part.begin && tokens_[open - 1].is("(") && token(open - 2).is(">")) {
        std::size_t back = open - 2;
        while (back > part.begin && !tokens_[back].is("reinterpret_cast") && open - back < 12)
          --back;
        if (tokens_[back].is("reinterpret_cast")) cast = back;
      }
      if (cast != open) {
        std::size_t begin = cast, end = part.end;
        if (cast > part.begin && tokens_[cast - 1].is("(")) {
          begin = cast - 1;
          end = past_near_bracket(tokens_, begin, part.end);
        } else if (tokens_[cast].is("reinterpret_cast")) {
          const std::size_t list = past_near_bracket(tokens_, cast + 1, part.end);
          end = list < part.end ? past_near_bracket(tokens_, list, part.end) : part.end;
        }
        if (const auto value = pointer_value({begin, end})) {
          open = begin;
          close = end;
        }
      }
      const auto value = pointer_value({open, close});
      first = open;
      past = close;
      if (value && token(past).is("[")) {
        const IndexRange more = index(value->buffer, past, part.end, &past);
        range = added(value->offset, more, value->scale);
        pointer.scale = value->scale;
      } else if (value && open > part.begin && tokens_[open - 1].is("*") &&
                 !(open > 1 && (tokens_[open - 2].is_word() || tokens_[open - 2].is(")")) &&
                   !tokens_[open - 2].is("return"))) {
        range = value->offset;
      } else if (value) {
        const Part rest{at, expression_end(at, part.end)};
        const auto whole = pointer_value(rest);
        const bool defines =
            first > part.begin && (tokens_[first - 1].is("=") || is_assignment(token(past)));
        if (defines || is_assignment(token(past))) return;
        if (whole) range = whole->offset;
        pass_on(at, part, buffer, range.value_or(value->offset), pointer.scale);
        return;
      } else {
        return;
      }
    }
    // & in front: an atomic's, a cast's or another pointer's.
    if (token(past).is(")") && first >= part.begin + 2 && tokens_[first - 1].is("(") &&
        tokens_[first - 2].is("&")) {
      pass_on(first - 2, part, buffer, *range, pointer.scale, pointer.buffer);
      return;
    }
    if (first > part.begin && tokens_[first - 1].is("&") && token(first - 2).is("(")) {
      pass_on(first - 1, part, buffer, *range, pointer.scale);
      return;
    }
    if (first > part.begin && tokens_[first - 1].is("&") &&
        (token(first - 2).is("=") || token(first - 2).is(","))) {
      if (token(first - 2).is("=")) return;
      pass_on(first - 1, part, buffer, *range, pointer.scale);
      return;
    }
    bool member = false;
    while (token(past).is(".") || token(past).is("->")) {
      past += 2;
      member = true;
    }
    const Token& next = token(past);
    const bool changes = is_assignment(next) || next.is("++") || next.is("--") ||
                         token(first - 1).is("++") || token(first - 1).is("--");
    if (changes) buffer.written = true;
    // A part of a vector that is written leaves the others.
    if (!changes || !next.is("=")) buffer.read = true;
    (void)member;
    note_use(pointer.buffer, *range, pointer.scale);
  }

  // A pointer that is an argument of a function.
  void pass_on(std::size_t at, Part part, BufferUse& buffer, const IndexRange& range,
               std::int64_t scale, const std::string& named = "") {
    std::size_t open = at;
    int depth = 0;
    for (; open > part.begin && at - open < kLongestPart; --open) {
      const Token& before = tokens_[open - 1];
      if (before.is(")") || before.is("]")) ++depth;
      if ((before.is("(") || before.is("[")) && depth-- == 0) break;
      if (before.is(";") || before.is("{") || before.is("}")) return;
    }
    if (open < 2) return;
    const Token& function = tokens_[open - 2];
    const std::string name = function.is_word() ? function.text : "";
    const std::string of =
        scope_.buffers.contains(tokens_[at].text) ? tokens_[at].text : token(at + 1).text;
    const auto pointer = pointers_.find(of);
    const std::string buffer_name = !named.empty()               ? named
                                    : pointer == pointers_.end() ? of
                                                                 : pointer->second.buffer;
    if (name.starts_with("atomic")) {
      buffer.read = buffer.written = buffer.atomic = true;
      note_use(buffer_name, range, scale);
    } else if (name.starts_with("__ld") || name == "") {
      buffer.read = true;
      note_use(buffer_name, range, scale);
    } else if (name.starts_with("__st")) {
      buffer.written = true;
      note_use(buffer_name, range, scale);
    } else {
      buffer.passed_on = true;
      buffer.read = true;
      const auto same = [&](const KernelParameter& each) { return each.name == buffer_name; };
      const auto of_kernel = std::ranges::find_if(kernel_.parameters, same);
      if (of_kernel != kernel_.parameters.end() && !of_kernel->constant) buffer.written = true;
    }
  }

  void note_use(const std::string& name, const IndexRange& range, std::int64_t scale) {
    BufferUse& buffer = use_.buffers[name];
    note_covers(range);
    buffer.extents.push_back(algebra_.sum(range.high, Polynomial(scale)));
    buffer.by.push_back(range.loaded);
    if (!range.loaded.empty() && !range.high) use_.buffers[range.loaded].index_of.insert(name);
    if (range.high) buffer.indices.push_back(*range.high);
  }

  // An array of shared memory of a fixed size: threads that index it are not more.
  void use_tile(std::size_t at, Part part, const std::vector<Bound>& sizes) {
    std::size_t next = at + 1;
    for (std::size_t level = 0; level < sizes.size() && token(next).is("["); ++level) {
      const std::size_t past = past_near_bracket(tokens_, next, part.end);
      const IndexRange range = evaluate({next + 1, past - 1});
      next = past;
      if (range.threads == 0 || !sizes[level] || !range.high) continue;
      for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
        const Bound all = algebra_.sum(range.high, Polynomial(1));
        if (!all || !all->names(std::string("blockDim.") + kAxes[axis])) continue;
        if (*all == Polynomial(std::string("blockDim.") + kAxes[axis]) && !use_.axes[axis].tile)
          use_.axes[axis].tile = sizes[level];
      }
    }
  }

  const SourceText& source_;
  const KernelText& kernel_;
  const Tokens& tokens_;
  Algebra& algebra_;
  IndexScope scope_;
  std::map<std::string, Pointer> pointers_;
  std::map<std::string, std::vector<Part>> inner_;
  std::map<std::string, int> lanes_;
  std::map<std::string, std::vector<Bound>> tiles_;  // static shared memory, its sizes
  std::string shared_;                               // extern __shared__
  std::set<std::string> bounded_;
  struct Narrowed {
    std::size_t end;
    std::string name;
    IndexRange before;
  };
  std::vector<Narrowed> narrowed_;  // by an `if`, until its end
  std::size_t work_ = 0;
  std::size_t within_ = 0;  // the end of the `if` that is looked at
  std::map<std::string, unsigned> started_;
  KernelUse use_;
};

}  // namespace

KernelUse walk_kernel(const SourceText& source, const KernelText& kernel,
                      const std::set<std::string>& exact,
                      const std::map<std::string, Polynomial>& known, Algebra& algebra) {
  return Walk(source, kernel, exact, known, algebra).run();
}

}  // namespace fa_tune::scaffold
