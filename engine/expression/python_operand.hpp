#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/expression/lexer.hpp"
#include "engine/expression/node.hpp"

// Private to engine/space: what the parser of the Python dialect handles while it reads.
namespace fa_tune::expression {

using PythonChild = std::unique_ptr<const Expression::Node>;

// A scalar, as a node, or a list of them. Lists exist while text is read, and nowhere else.
struct PythonOperand {
  PythonChild node;  // nullptr for a list
  std::vector<PythonChild> items;
  std::size_t offset = 0;     // of its first character
  bool is_generator = false;  // a list whose items are asked for one after another

  bool is_list() const { return node == nullptr; }
};

// Makes nodes, and puts values in the place of those that are known already. Counts what is made:
// text of some characters may ask for a great deal.
class PythonNodes {
 public:
  explicit PythonNodes(const Expression& expression) : expression_(expression) {}

  // Throws ExpressionError: too deep, too much.
  PythonChild make(Operation operation, std::size_t offset, std::vector<PythonChild> children,
                   std::vector<ComparisonOperator> comparisons = {});
  PythonChild literal(const Cell& cell, std::size_t offset);
  PythonChild name(std::size_t position, std::size_t offset);
  PythonChild copy(const Expression::Node& from);
  // Whether a node gives true or false, whatever its names stand for.
  static bool is_boolean(const Expression::Node& node);
  // The same as true or false.
  PythonChild truth(PythonChild node);
  // One more step of work; throws ExpressionError where there were too many.
  void work(std::size_t offset);

 private:
  const Expression& expression_;
  std::size_t worked_ = 0;
};

// Whether a node is known without any name; its value is `literal` then.
inline bool is_known(const Expression::Node& node) { return node.operation == Operation::literal; }

// A call of one of the functions that the dialect knows. Throws ExpressionError.
PythonOperand call_python(PythonNodes& nodes, const Token& function,
                          std::vector<PythonOperand> arguments);
bool is_python_function(const std::string& name);
const std::vector<std::string>& python_functions();

}  // namespace fa_tune::expression
