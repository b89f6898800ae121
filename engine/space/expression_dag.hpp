#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/expression/range.hpp"
#include "engine/space/key_table.hpp"
#include "engine/space/space_plan.hpp"

// Private to engine/space.
namespace fa_tune::space {

using TermId = std::uint32_t;
inline constexpr TermId kNoTerm = UINT32_MAX;

// A part of a constraint, derived value or `when`. Equal parts are one term, wherever they are
// written; names of derived values are replaced by what they stand for.
struct Term {
  enum class Kind : std::uint8_t {
    literal,    // also a parameter that always exists and has one value alone
    parameter,  // fails where the parameter does not exist
    operation,  // `node` of `expression`, its children replaced by terms
    all,        // whether all children are true; what is behind a false one does not matter
    is_text,    // whether the child is the text `literal`
    pick,       // children: condition, value, condition, value, ...; fails where no condition holds
  };

  Kind kind = Kind::literal;
  expression::Cell literal;
  std::size_t parameter = 0;
  const expression::Expression* expression = nullptr;
  const expression::Expression::Node* node = nullptr;
  std::vector<TermId> children;
};

// All that decides whether a config is valid, as terms. A term's children come before it.
class Terms {
 public:
  // What must hold of every config: a constraint, or a derived value that might fail.
  struct Check {
    const SpacePlan::Step* step = nullptr;
    TermId applies = kNoTerm;  // only where this is true; no_term: everywhere
    TermId term = kNoTerm;
    std::size_t parameter = 0;  // the last one it needs: SpacePlan tries it there
  };

  using Checks = std::vector<Check>;

  // Of a plan that outlives it. Sums and products are added up in the order in which their parts
  // become known if parameters are set in `order` (left out: that of the plan), so that what is
  // known of them is one number at any time; unless some order could overflow.
  explicit Terms(const SpacePlan& plan, const std::vector<std::size_t>& order = {});
  Terms(const Terms&) = delete;  // terms borrow its texts
  Terms& operator=(const Terms&) = delete;

  const SpacePlan& plan() const { return plan_; }
  std::size_t size() const { return terms_.size(); }
  const Term& operator[](TermId id) const { return terms_[id]; }
  // In the order in which SpacePlan takes its steps.
  const Checks& checks() const { return checks_; }
  // The term of a parameter, no_term where nothing mentions it, and whether it exists: no_term for
  // always.
  TermId value_of(std::size_t parameter) const { return values_[parameter]; }
  TermId activity(std::size_t parameter) const { return activities_[parameter]; }
  // The cell of a digit, with texts that are equal where their addresses are.
  const expression::Cell& cell(std::size_t parameter, Gene digit) const {
    return cells_[parameter][digit];
  }

  // What a sum or product is made of, if its parts may be added up in any order; else nothing.
  std::vector<TermId> parts_of(TermId id) const;
  // Parameters with a choice that a term depends on.
  std::set<std::size_t> parameters_of(TermId id) const;
  // What the term can be over all configs, where what it mentions exists.
  const expression::Range& range(TermId id) const { return ranges_[id]; }
  bool may_fail(const Check& check) const;

  // The value and the range of a term, given those of its children; an absent cell where it fails.
  // Not of parameters.
  expression::Cell compute(TermId id, std::span<const expression::Cell> values) const;
  expression::Range compute_range(TermId id, std::span<const expression::Range> ranges) const;

 private:
  void add_parameters();
  void add_checks();
  TermId add(Term term);
  TermId add_literal(const expression::Cell& cell);
  TermId add_all(const std::vector<TermId>& children);  // no_term for none
  // `only_for` names the template for which a name is looked up, nullptr for all.
  TermId expression_term(const expression::Expression& expression, const std::string* only_for);
  TermId node_term(const expression::Expression& expression,
                   const expression::Expression::Node& node, const std::string* only_for);
  // The parts of a sum or product, those of sums in a sum and products in a product too.
  void flatten(const expression::Expression& expression, const expression::Expression::Node& node,
               expression::Operation operation, const std::string* only_for,
               std::vector<TermId>& parts);
  void flatten(TermId id, expression::Operation operation, std::vector<TermId>& parts) const;
  bool any_order_is_safe(expression::Operation operation, std::span<const TermId> parts) const;
  TermId name_term(const std::string& name, const std::string* only_for);
  // Whether all names of an expression exist, and the template is the one it is for.
  TermId applies_term(const expression::Expression& expression, const std::string* only_for);
  TermId exists_term(const std::string& name, const std::string* only_for);
  TermId template_term(const std::string& name);
  // The definitions of a derived value that may count for a template.
  std::vector<const Derived*> definitions(const std::string& name,
                                          const std::string* only_for) const;
  expression::Cell intern(expression::Cell cell);
  expression::Range parameter_range(std::size_t parameter) const;
  expression::Cell compute_node(const Term& term, std::span<const expression::Cell> values) const;
  expression::Cell compute_pick(const Term& term, std::span<const expression::Cell> values) const;

  const SpacePlan& plan_;
  std::vector<Term> terms_;
  std::vector<expression::Range> ranges_;
  std::vector<std::size_t>
      known_at_;                     // a term: the place in the order of its last parameter, from 1
  std::vector<std::size_t> places_;  // a parameter: its place in the order, from 1
  KeyTable known_;
  std::set<std::string> texts_;
  std::map<std::string, std::size_t> positions_;
  std::vector<std::vector<expression::Cell>> cells_;
  std::vector<TermId> values_;
  std::vector<TermId> activities_;
  Checks checks_;
};

}  // namespace fa_tune::space
