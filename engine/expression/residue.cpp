#include "engine/expression/residue.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/expression/node.hpp"
#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::expression {

struct Residue::Node {
  Operation operation = Operation::literal;
  Value value;       // of a literal
  std::string name;  // of what is known later
  std::vector<ComparisonOperator> comparisons;
  std::vector<Residue> children;
};

class ResidueMaker {
 public:
  ResidueMaker(const Expression& expression, const Residue::Names& names)
      : expression_(expression), names_(names) {}

  Residue make(const Expression::Node& node) const {
    if (node.python) fail(node, "this is Python, of which no formula is made");
    if (node.operation == Operation::literal) return Residue::of(node.literal.value());
    if (node.operation == Operation::name) return named(node);
    std::vector<Residue> children;
    std::vector<Cell> cells;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const bool needed = i == 0 || counts(node.operation, i, children[0]);
      children.push_back(needed ? make(*node.children[i]) : children[0]);
      const Value* value = children.back().value();
      cells.push_back(value == nullptr ? Cell() : Cell::of(*value));
    }
    if (const auto cell = evaluate_node(expression_, node, cells))
      return Residue::of(cell->value());
    if (std::ranges::all_of(cells, &Cell::exists)) fail(node, "this has no value");
    return combined(node, std::move(children));
  }

  static Residue combine(Residue::Type type, Operation operation, std::vector<Residue> children,
                         std::vector<ComparisonOperator> comparisons = {}) {
    return {type, std::make_shared<const Residue::Node>(Residue::Node{
                      operation, {}, {}, std::move(comparisons), std::move(children)})};
  }

 private:
  // Whether a child counts, given the first: what does not may fail.
  static bool counts(Operation operation, std::size_t child, const Residue& first) {
    const bool* flag = first.value() == nullptr ? nullptr : std::get_if<bool>(first.value());
    if (flag == nullptr || child == 0) return true;
    if (operation == Operation::logical_and) return *flag;
    if (operation == Operation::logical_or) return !*flag;
    return operation != Operation::choose || *flag == (child == 1);
  }

  Residue named(const Expression::Node& node) const {
    const std::string& name = expression_.names()[node.name];
    if (auto found = names_(name)) return *std::move(found);
    fail(node, quote_text(name) + " has no value");
  }

  Residue combined(const Expression::Node& node, std::vector<Residue> children) const {
    const auto require = [&](Residue::Type type, std::size_t from = 0) {
      for (std::size_t i = from; i < children.size(); ++i)
        if (children[i].type_ != type) fail(*node.children[i], "this is of another type");
    };
    const auto require_alike = [&](std::size_t from) {
      if (children[from].type_ == Residue::Type::text)
        fail(*node.children[from], "a formula has no text");
      require(children[from].type_, from);
    };
    Residue::Type type = Residue::Type::boolean;
    switch (node.operation) {
      case Operation::logical_and:
      case Operation::logical_or:
        require(Residue::Type::boolean);
        // The first is known, and leaves it to the second.
        if (children[0].value() != nullptr) return children[1];
        break;
      case Operation::logical_not:
        require(Residue::Type::boolean);
        break;
      case Operation::choose:
        if (const Value* condition = children[0].value())
          if (const bool* flag = std::get_if<bool>(condition)) return children[*flag ? 1 : 2];
        if (children[0].type_ != Residue::Type::boolean)
          fail(*node.children[0], "this is of another type");
        require_alike(1);
        type = children[1].type_;
        break;
      case Operation::compare:
        require_alike(0);
        for (const ComparisonOperator each : node.comparisons)
          if (each != ComparisonOperator::equal && each != ComparisonOperator::unequal)
            require(Residue::Type::integer);
        break;
      case Operation::in:
      case Operation::not_in:
        require_alike(0);
        break;
      default:
        require(Residue::Type::integer);
        type = Residue::Type::integer;
    }
    return combine(type, node.operation, std::move(children), node.comparisons);
  }

  [[noreturn]] void fail(const Expression::Node& node, const std::string& message) const {
    throw UserError(prefix(expression_.mark_at(node.offset)) + message + " in " +
                    quote_text(expression_.text()));
  }

  const Expression& expression_;
  const Residue::Names& names_;
};

Residue Residue::of(Value value) {
  const Type type = std::holds_alternative<std::int64_t>(value) ? Type::integer
                    : std::holds_alternative<bool>(value)       ? Type::boolean
                                                                : Type::text;
  return {type,
          std::make_shared<const Node>(Node{Operation::literal, std::move(value), {}, {}, {}})};
}

Residue Residue::later(const std::string& name) {
  return {Type::integer, std::make_shared<const Node>(Node{Operation::name, {}, name, {}, {}})};
}

Residue Residue::of_text(const std::string& text) {
  return of(Expression::parse(text),
            [](const std::string& name) { return std::optional(later(name)); });
}

Residue Residue::of(const Expression& expression, const Names& names) {
  return ResidueMaker(expression, names).make(expression.root());
}

Residue operator*(const Residue& a, const Residue& b) {
  if (const Value* one = a.value(); one != nullptr && *one == Value(std::int64_t{1})) return b;
  if (const Value* one = b.value(); one != nullptr && *one == Value(std::int64_t{1})) return a;
  return ResidueMaker::combine(Residue::Type::integer, Operation::multiply, {a, b});
}

Residue operator/(const Residue& a, std::int64_t divisor) {
  if (divisor == 1) return a;
  return ResidueMaker::combine(Residue::Type::integer, Operation::divide,
                               {a, Residue::of(divisor)});
}

Residue Residue::equal(const Residue& a, const Residue& b) {
  return ResidueMaker::combine(Type::boolean, Operation::compare, {a, b},
                               {ComparisonOperator::equal});
}

const Value* Residue::value() const {
  return node_->operation == Operation::literal ? &node_->value : nullptr;
}

std::set<std::string> Residue::names() const {
  std::set<std::string> all;
  if (node_->operation == Operation::name) all.insert(node_->name);
  for (const Residue& child : node_->children) all.merge(child.names());
  return all;
}

// How tightly a text holds together: one that is looser than its place asks for is put in
// parentheses.
class ResidueText {
 public:
  ResidueText(Language language, const std::function<std::string(const std::string&)>& name)
      : language_(language), name_(name) {}

  std::string text(const Residue& residue) const { return made(residue).text; }

 private:
  enum class Level : std::uint8_t {
    choice,
    any_of,
    all_of,
    negation,
    comparison,
    sum,
    product,
    atom
  };
  struct Made {
    std::string text;
    Level level;
  };
  using Children = std::vector<Residue>;

  bool cxx() const { return language_ == Language::cxx; }
  bool python() const { return language_ == Language::python; }

  std::string at(const Residue& residue, Level least) const {
    Made inner = made(residue);
    return inner.level < least ? "(" + inner.text + ")" : std::move(inner.text);
  }

  Made infix(const Children& of, const char* symbol, Level level, Level left, Level right) const {
    return {at(of[0], left) + symbol + at(of[1], right), level};
  }

  Made call(const std::string& function, const Children& of, const char* open = "(",
            const char* close = ")") const {
    std::vector<std::string> arguments;
    for (const Residue& each : of) arguments.push_back(at(each, Level::choice));
    return {fmt::format("{}{}{}{}", function, open, fmt::join(arguments, ", "), close),
            Level::atom};
  }

  Made literal(const Value& value) const {
    if (const bool* flag = std::get_if<bool>(&value)) {
      if (cxx()) return {*flag ? "Number(1)" : "Number(0)", Level::atom};
      if (python()) return {*flag ? "True" : "False", Level::atom};
      return {*flag ? "true" : "false", Level::atom};
    }
    const std::int64_t number = std::get<std::int64_t>(value);
    // Its magnitude is no number of 64 bits.
    if (number == INT64_MIN) return {"-9223372036854775807 - 1", Level::sum};
    return {std::to_string(number), number < 0 ? Level::sum : Level::atom};
  }

  static const char* symbol(ComparisonOperator comparison) {
    switch (comparison) {
      case ComparisonOperator::equal:
        return " == ";
      case ComparisonOperator::unequal:
        return " != ";
      case ComparisonOperator::less:
        return " < ";
      case ComparisonOperator::less_equal:
        return " <= ";
      case ComparisonOperator::greater:
        return " > ";
      case ComparisonOperator::greater_equal:
        break;
    }
    return " >= ";
  }

  // a < b <= c, which in C++ is two comparisons.
  Made compared(const Residue::Node& node) const {
    const Children& of = node.children;
    if (cxx() && node.comparisons.size() > 1) {
      std::string pairs;
      for (std::size_t i = 0; i < node.comparisons.size(); ++i)
        pairs += (i == 0 ? "" : " && ") + at(of[i], Level::sum) + symbol(node.comparisons[i]) +
                 at(of[i + 1], Level::sum);
      return {pairs, Level::all_of};
    }
    std::string chain = at(of[0], Level::sum);
    for (std::size_t i = 0; i < node.comparisons.size(); ++i)
      chain += symbol(node.comparisons[i]) + at(of[i + 1], Level::sum);
    return {chain, Level::comparison};
  }

  Made member(const Residue::Node& node) const {
    const bool negated = node.operation == Operation::not_in;
    const Children list(node.children.begin() + 1, node.children.end());
    if (cxx())
      return {(negated ? "!one_of(" : "one_of(") + at(node.children[0], Level::choice) + ", " +
                  call("", list, "{", "}").text + ")",
              Level::atom};
    if (!python())
      return {at(node.children[0], Level::sum) + (negated ? " not in " : " in ") +
                  call("", list, "[", "]").text,
              Level::comparison};
    // Python makes the whole list before it looks there: what is behind the one it finds may fail.
    std::string any;
    for (const Residue& each : list)
      any += (any.empty() ? "" : " or ") + at(node.children[0], Level::sum) +
             " == " + at(each, Level::sum);
    return {negated ? "not (" + any + ")" : any, negated ? Level::negation : Level::any_of};
  }

  Made made(const Residue& residue) const {
    const Residue::Node& node = *residue.node_;
    const Children& of = node.children;
    switch (node.operation) {
      case Operation::literal:
        return literal(node.value);
      case Operation::name:
        return {name_ ? name_(node.name) : node.name, Level::atom};
      case Operation::negate:
        return {"-" + at(of[0], Level::atom), Level::sum};
      case Operation::add:
        return infix(of, " + ", Level::sum, Level::sum, Level::product);
      case Operation::subtract:
        return infix(of, " - ", Level::sum, Level::sum, Level::product);
      case Operation::multiply:
        return infix(of, " * ", Level::product, Level::product, Level::atom);
      case Operation::divide:
        return python() ? call("_divide", of)
                        : infix(of, " / ", Level::product, Level::product, Level::atom);
      case Operation::modulo:
        return python() ? call("_remainder", of)
                        : infix(of, " % ", Level::product, Level::product, Level::atom);
      case Operation::floor_divide:
        return cxx() ? call("floor_div", of)
                     : infix(of, " // ", Level::product, Level::product, Level::atom);
      case Operation::ceil_divide:
        return call(python() ? "_ceil_div" : "ceil_div", of);
      case Operation::absolute:
        return call(cxx() ? "absolute" : "abs", of);
      case Operation::minimum:
        if (of.size() == 1) return made(of[0]);
        return cxx() ? call("least", of, "({", "})") : call("min", of);
      case Operation::maximum:
        if (of.size() == 1) return made(of[0]);
        return cxx() ? call("most", of, "({", "})") : call("max", of);
      case Operation::compare:
        return compared(node);
      case Operation::in:
      case Operation::not_in:
        return member(node);
      case Operation::logical_and:
        return infix(of, cxx() ? " && " : " and ", Level::all_of, Level::comparison,
                     Level::comparison);
      case Operation::logical_or:
        return infix(of, cxx() ? " || " : " or ", Level::any_of, Level::comparison,
                     Level::comparison);
      case Operation::logical_not:
        if (cxx()) return {"!" + at(of[0], Level::atom), Level::atom};
        return {"not " + at(of[0], Level::comparison), Level::negation};
      default:
        break;
    }
    // What is left of the native dialect: Operation::choose.
    if (cxx()) return call("choose", of);
    return {at(of[1], Level::any_of) + " if " + at(of[0], Level::any_of) + " else " +
                at(of[2], Level::any_of),
            Level::choice};
  }

  Language language_;
  const std::function<std::string(const std::string&)>& name_;
};

std::string Residue::text(Language language,
                          const std::function<std::string(const std::string&)>& name) const {
  return ResidueText(language, name).text(*this);
}

}  // namespace fa_tune::expression
