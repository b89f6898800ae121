#include "engine/scaffold/kernel_walk.hpp"

#include <algorithm>

#include "engine/scaffold/guards.hpp"
#include "engine/scaffold/pointer_uses.hpp"
#include "engine/scaffold/pointers.hpp"
#include "engine/scaffold/shared_memory.hpp"
#include "engine/scaffold/walk_state.hpp"

namespace fa_tune::scaffold {
namespace {

// Functions that some numbers have no result of.
bool is_hard(const std::string& word) {
  static const std::set<std::string> hard = {"sqrtf",  "sqrt",   "rsqrtf", "rsqrt", "logf",
                                             "log",    "log2f",  "powf",   "pow",   "__logf",
                                             "log10f", "__powf", "acosf",  "asinf", "erfinvf"};
  return hard.contains(word);
}

// Goes over a kernel's statements in the order of the text. Loops are gone over once.
class StatementWalk {
 public:
  explicit StatementWalk(WalkState& walk)
      : walk_(walk),
        guards_(walk),
        pointers_(walk),
        shared_(walk),
        uses_(walk, pointers_, shared_) {}

  void run() {
    for (const Token& each : walk_.tokens) walk_.use.has_hard_math |= is_hard(each.text);
    scan(walk_.kernel.body);
  }

 private:
  // `depth`: how many heads of loops it is within.
  void scan(Part part, int depth = 0) {
    for (std::size_t at = part.begin; at < part.end; ++at) {
      const Token& here = walk_.tokens[at];
      guards_.come_to(at);
      if (here.is("?")) guards_.take({.condition = {condition_begin(at, part.begin), at}});
      if (here.is_word()) {
        walk_.use.words.insert(here.text);
        note_word(at);
      }
      if (here.is("for") && walk_.token(at + 1).is("(")) {
        const std::size_t past = past_near_bracket(walk_.tokens, at + 1, part.end);
        const auto parts = split(walk_.tokens, {at + 2, past - 1}, ";");
        if (parts.size() == 3 && depth < 4) {
          scan(parts[0], depth + 1);
          guards_.take({.condition = parts[1], .loops = true});
          scan(parts[1], depth + 1);
          guards_.loop_step(parts[2]);
          scan_step(parts[2]);
          at = past - 1;
        }
        continue;
      }
      if ((here.is("if") || here.is("while")) && walk_.token(at + 1).is("(")) {
        const std::size_t past = past_near_bracket(walk_.tokens, at + 1, part.end);
        std::size_t next = past;
        while (walk_.token(next).is("{")) ++next;
        const bool leaves =
            here.is("if") && (walk_.token(next).is("return") || walk_.token(next).is("continue") ||
                              walk_.token(next).is("break"));
        const bool loops = here.is("while");
        guards_.take({.condition = {at + 2, past - 1},
                      .leaves = leaves,
                      .loops = loops,
                      .within = leaves || loops ? 0 : statement_end(past, part.end)});
        continue;
      }
      if (here.is("__shared__")) {
        shared_.declare(at, part.end);
        continue;
      }
      if (is_assignment(here) && at > part.begin && walk_.tokens[at - 1].is_word())
        assign(at, part.end, here.text);
      if ((here.is("++") || here.is("--")) && walk_.tokens[at - 1].is_word())
        guards_.change(walk_.tokens[at - 1].text);
      if (here.is_word()) uses_.take(at, part);
    }
  }

  std::size_t statement_end(std::size_t at, std::size_t end) const {
    if (walk_.token(at).is("{")) return past_bracket(walk_.tokens, at, end);
    return walk_.expression_end(at, end);
  }

  // Where the condition before a question mark begins.
  std::size_t condition_begin(std::size_t at, std::size_t begin) const {
    int depth = 0;
    begin = std::max(begin, at - std::min(at, kLongestPart));
    for (; at > begin; --at) {
      const Token& before = walk_.tokens[at - 1];
      if (before.is(")") || before.is("]")) ++depth;
      if ((before.is("(") || before.is("[")) && depth-- == 0) break;
      if (depth == 0 && (before.is(";") || before.is(",") || before.is("{") || before.is("}") ||
                         before.is("return") || is_assignment(before)))
        break;
    }
    return at;
  }

  void note_word(std::size_t at) {
    const std::string& word = walk_.tokens[at].text;
    for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
      if (!walk_.token(at + 1).is(".") || !walk_.token(at + 2).is(kAxes[axis])) continue;
      if (word == "blockIdx") walk_.use.axes[axis].block = true;
      if (word == "threadIdx") walk_.use.axes[axis].thread = true;
      if (word == "blockDim") walk_.use.axes[axis].block_size = true;
    }
    static const std::set<std::string> packed = {
        "half2", "__half2", "__nv_bfloat162", "nv_bfloat162", "__hfma2", "__hadd2", "__hmul2"};
    walk_.use.has_packed |= packed.contains(word);
  }

  // name = value, at the sign.
  void assign(std::size_t at, std::size_t end, const std::string& sign) {
    const std::string& name = walk_.tokens[at - 1].text;
    if (at >= 2 && (walk_.tokens[at - 2].is(".") || walk_.tokens[at - 2].is("->"))) return;
    const Part value{at + 1, walk_.expression_end(at + 1, end)};
    if (pointers_.find(name) != nullptr && sign != "=") {
      pointers_.advance(name, at, value);
      return;
    }
    if (sign != "=") {
      guards_.change(name);
      return;
    }
    if (const auto pointer = pointers_.value(value)) {
      pointers_.assign(name, *pointer);
      return;
    }
    // A float that was read from a buffer is no index.
    const IndexRange range = walk_.evaluate(value);
    const auto known = walk_.scope.variables.find(name);
    if (known == walk_.scope.variables.end() || !known->second.exact || !walk_.is_parameter(name))
      walk_.scope.variables[name] = range;
    guards_.forget(name);
  }

  void scan_step(Part step) {
    for (std::size_t at = step.begin; at < step.end; ++at)
      if (walk_.tokens[at].is_word()) walk_.use.words.insert(walk_.tokens[at].text);
  }

  WalkState& walk_;
  Guards guards_;
  Pointers pointers_;
  SharedMemory shared_;
  PointerUses uses_;
};

}  // namespace

KernelUse walk_kernel(const SourceText& source, const KernelText& kernel,
                      const std::set<std::string>& exact,
                      const std::map<std::string, Polynomial>& known, Algebra& algebra) {
  WalkState walk(source, kernel, exact, known, algebra);
  StatementWalk(walk).run();
  return std::move(walk.use);
}

}  // namespace fa_tune::scaffold
