#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "engine/scaffold/kernel_walk.hpp"

namespace fa_tune::scaffold {

// Limits of what is kept and looked at: more than a kernel that people wrote has.
constexpr std::size_t kMostUses = 2000;
constexpr std::size_t kLongestIndex = 150;  // tokens

// =, += and the like.
bool is_assignment(const Token& token);

// What the parts of a walk over a kernel share: its text, what names stand for where the walk
// stands, and what it has found.
struct WalkState {
  WalkState(const SourceText& source_text, const KernelText& kernel_text,
            const std::set<std::string>& exact, const std::map<std::string, Polynomial>& known,
            Algebra& names);

  // Nothing's beyond the end.
  const Token& token(std::size_t at) const;
  // The end of an expression that begins at `at`.
  std::size_t expression_end(std::size_t at, std::size_t end) const;
  // Of the kernel.
  bool is_parameter(const std::string& name) const;

  // Whether this many tokens may be looked at again: a stranger's text must not take long.
  bool afford(std::size_t tokens_again);
  // The bounds of an index, of which it notes what blocks cover.
  IndexRange evaluate(Part part);
  // What one block covers of an axis is what blockIdx is multiplied by; sizes that stand there too
  // are strides of rows.
  void note_covers(const IndexRange& range);

  const SourceText& source;
  const KernelText& kernel;
  const Tokens& tokens;
  Algebra& algebra;
  IndexScope scope;
  KernelUse use;

 private:
  void note_shared_covers(std::size_t axis, const std::string& grid,
                          const Polynomial::Product& names);

  std::size_t work_ = 0;
};

}  // namespace fa_tune::scaffold
