#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/expression/node.hpp"
#include "engine/space/space.hpp"

// Private to engine/space.
namespace fa_tune::space {

// The position of a value among a parameter's values.
std::optional<Gene> digit_of(const Parameter& parameter, const Value& value);

// A space with its names turned into slots of an array of cells: constants, then parameters, then
// derived values. A config is tried one parameter (one level) after another; as soon as the last
// value that a constraint mentions is there, the constraint is tried.
class SpacePlan {
 public:
  // An expression with the slots of its names.
  struct Compiled {
    const expression::Expression* expression = nullptr;
    std::vector<std::uint32_t> slots;
  };
  struct Step {
    Compiled compiled;
    const std::string* only_for = nullptr;   // nullptr for all templates
    const Constraint* constraint = nullptr;  // nullptr for a derived value
    std::uint32_t target = 0;                // the slot of a derived value
  };
  struct Level {
    std::uint32_t slot = 0;
    std::vector<expression::Cell> values;
    std::optional<Compiled> when;
    std::vector<Step> steps;  // in the order they must run
  };
  using Cells = std::vector<expression::Cell>;

  // Takes parts that were checked and ordered (space_parts.hpp).
  explicit SpacePlan(SpaceParts parts);
  SpacePlan(const SpacePlan&) = delete;  // cells and steps point into parts_
  SpacePlan& operator=(const SpacePlan&) = delete;

  const SpaceParts& parts() const { return parts_; }
  const std::vector<Level>& levels() const { return levels_; }

  // Cells with the constants set; `refusal` gets the constraint that refuses them, if one does.
  Cells start(const Step** refusal) const;
  // Whether a level's parameter exists, the levels before it being set.
  bool is_active(const Level& level, const Cells& cells) const;
  // Computes what the level's value completes; the step that refuses it, or nullptr.
  const Step* run(const Level& level, Cells& cells) const;

  // Whether a config is valid: its digits or, in one line, why not. With `complete`, what has one
  // value alone may be left out.
  std::expected<Genome, std::string> check(const Config& config, bool complete) const;
  // The digits of the values alone, in no way checked; nothing where a name or value is unknown.
  std::optional<Genome> digits_of(const Config& config) const;
  // Throws the error of a step, or of the `when` of a parameter, that fails for a config of which
  // perhaps only the first genes are set, the others being inactive.
  [[noreturn]] void fail(const Step& step, const Genome& genome) const;
  [[noreturn]] void fail_when(std::size_t parameter, const Genome& genome) const;
  // Whether some of the constraints hold for a genome; throws where one fails.
  bool holds(const Genome& genome, std::span<const Step* const> constraints) const;

  // The parameters that share a constraint, a derived value or a `when` with a parameter (not
  // itself), by position, ascending.
  const std::vector<std::size_t>& linked(std::size_t parameter) const { return links_[parameter]; }
  // Derived values by name, for any values of the parameters.
  Constants derived(const Config& config) const;

 private:
  Compiled compile(const expression::Expression& expression) const;
  void assign_slots();
  void place_steps();
  Cells cells_of(const Genome& genome, std::size_t levels, const Step* until) const;
  bool applies(const Step& step, const Cells& cells) const;
  void clear_other_templates(const Level& level, Cells& cells) const;
  void derive(const Step& step, Cells& cells) const;
  bool refuses(const Step& step, const Cells& cells) const;
  const Step* run(const std::vector<Step>& steps, Cells& cells) const;
  std::string describe_refusal(const Step& step, const Cells& cells) const;
  std::optional<std::string> odd_name(const Config& config) const;

  SpaceParts parts_;
  std::map<std::string, std::uint32_t> slots_;
  std::optional<std::uint32_t> template_slot_;
  std::vector<std::uint32_t> slots_of_one_template_;  // derived values with an only_for
  std::vector<Step> constant_steps_;
  std::vector<Level> levels_;
  std::vector<std::vector<std::size_t>> links_;
};

// Throw the UserError of a space without one valid config: by the constants alone, or with the
// constraint that refuses most.
[[noreturn]] void refuse_all(const Constraint& constraint);
[[noreturn]] void refuse_empty(const SpacePlan& plan);

}  // namespace fa_tune::space
