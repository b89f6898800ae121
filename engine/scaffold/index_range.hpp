#pragma once

#include <map>
#include <string>

#include "engine/scaffold/algebra.hpp"
#include "engine/scaffold/kernel_text.hpp"

namespace fa_tune::scaffold {

// The least and the largest value of an integer expression, as far as the text tells.
struct IndexRange {
  Bound low, high;
  bool exact = false;    // both are the same
  std::string loaded;    // the buffer that it was read from
  unsigned threads = 0;  // bits of the axes whose threadIdx it depends on
  unsigned blocks = 0;   // of blockIdx
};

// What names stand for while a kernel is gone through.
struct IndexScope {
  std::map<std::string, IndexRange> variables;  // "n", "i", "threadIdx.x"
  std::map<std::string, std::string> buffers;   // a pointer's name, and its kernel parameter's
};

// Reads integer expressions of a kernel. What is no such expression has no bounds.
class IndexReader {
 public:
  IndexReader(const Tokens& tokens, const IndexScope& scope, Algebra& algebra)
      : tokens_(tokens), scope_(scope), algebra_(algebra) {}

  IndexRange read(Part part);
  // "threadIdx.x" or a word that stands at `at`, and how many tokens it takes.
  static std::pair<std::string, std::size_t> name_at(const Tokens& tokens, std::size_t at);

 private:
  IndexRange binary(int least, int depth);
  IndexRange unary(int depth);
  IndexRange primary(int depth);
  IndexRange call(const std::string& name, int depth);
  IndexRange combine(const std::string& sign, const IndexRange& a, const IndexRange& b);
  bool is_cast(std::size_t open, std::size_t past) const;
  bool at_end() const { return at_ >= end_; }
  const Token& here() const { return tokens_[at_]; }

  const Tokens& tokens_;
  const IndexScope& scope_;
  Algebra& algebra_;
  std::size_t at_ = 0, end_ = 0;
};

IndexRange exactly(const Polynomial& number);

}  // namespace fa_tune::scaffold
