#include "engine/space/space_plan.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "engine/space/space_parts.hpp"

namespace fa_tune::space {
namespace {

bool all_exist(const SpacePlan::Compiled& compiled, const SpacePlan::Cells& cells) {
  return std::ranges::all_of(compiled.slots,
                             [&](std::uint32_t slot) { return cells[slot].exists(); });
}

}  // namespace

SpacePlan::SpacePlan(SpaceParts parts) : parts_(std::move(parts)) {
  assign_slots();
  for (const Parameter& parameter : parts_.parameters) {
    Level level;
    level.slot = slots_.at(parameter.name);
    for (const Value& value : parameter.values) level.values.push_back(expression::Cell::of(value));
    if (parameter.when) level.when = compile(*parameter.when);
    levels_.push_back(std::move(level));
  }
  place_steps();
  links_ = linked_parameters(parts_);
}

void SpacePlan::assign_slots() {
  std::uint32_t next = 0;
  for (const auto& [name, value] : parts_.constants) slots_[name] = next++;
  for (const Parameter& parameter : parts_.parameters) slots_[parameter.name] = next++;
  for (const Derived& derived : parts_.derived)
    if (slots_.try_emplace(derived.name, next).second) ++next;
  for (const Derived& derived : parts_.derived)
    if (!derived.only_for.empty()) slots_of_one_template_.push_back(slots_.at(derived.name));
  const auto found = slots_.find(kTemplateParameter);
  if (found != slots_.end()) template_slot_ = found->second;
}

SpacePlan::Compiled SpacePlan::compile(const expression::Expression& expression) const {
  Compiled compiled{&expression, {}};
  for (const std::string& name : expression.names()) compiled.slots.push_back(slots_.at(name));
  return compiled;
}

// Puts every derived value and constraint at the earliest level where all it mentions is known;
// within a level, a constraint before derived values that it does not need, so that what it refuses
// spares their cost and their errors.
void SpacePlan::place_steps() {
  // A place: the level (0 for constants alone, then one a parameter) and, within it, how many of
  // its derived values must have run.
  using Place = std::pair<std::size_t, std::size_t>;
  struct Definition {
    const std::string* only_for;
    Place place;
  };
  std::map<std::string, Place> parameters;
  for (std::size_t i = 0; i < parts_.parameters.size(); ++i)
    parameters[parts_.parameters[i].name] = {i + 1, 0};
  std::map<std::string, std::vector<Definition>> definitions;
  const auto earliest = [&](const expression::Expression& expression, const std::string& only_for) {
    Place place{0, 0};
    if (!only_for.empty()) place = parameters.at(kTemplateParameter);
    for (const std::string& name : expression.names()) {
      if (const auto found = parameters.find(name); found != parameters.end())
        place = std::max(place, found->second);
      if (const auto found = definitions.find(name); found != definitions.end())
        for (const Definition& definition : found->second)
          if (may_meet(*definition.only_for, only_for)) place = std::max(place, definition.place);
    }
    return place;
  };
  const auto only_for = [](const std::string& name) { return name.empty() ? nullptr : &name; };

  struct Placed {
    Place place;
    bool is_constraint;
    std::size_t number;  // keeps the order in which they are written where nothing else decides
    Step step;
  };
  std::vector<Placed> steps;
  const auto place_step = [&](const Place& place, Step step) {
    steps.push_back({place, step.constraint != nullptr, steps.size(), std::move(step)});
  };
  std::vector<std::size_t> derived_of_level(parts_.parameters.size() + 1, 0);
  for (const std::size_t i : derived_order(parts_)) {
    const Derived& derived = parts_.derived[i];
    const std::size_t level = earliest(derived.expression, derived.only_for).first;
    const Place place{level, ++derived_of_level[level]};
    definitions[derived.name].push_back({&derived.only_for, place});
    place_step(place, {compile(derived.expression), only_for(derived.only_for), nullptr,
                       slots_.at(derived.name)});
  }
  for (const Constraint& constraint : parts_.constraints)
    place_step(earliest(constraint.expression, constraint.only_for),
               {compile(constraint.expression), only_for(constraint.only_for), &constraint, 0});
  std::ranges::sort(steps, {}, [](const Placed& placed) {
    return std::tuple(placed.place, placed.is_constraint, placed.number);
  });
  for (Placed& placed : steps) {
    const std::size_t level = placed.place.first;
    (level == 0 ? constant_steps_ : levels_[level - 1].steps).push_back(std::move(placed.step));
  }
}

bool SpacePlan::applies(const Step& step, const Cells& cells) const {
  if (step.only_for == nullptr) return true;
  const expression::Cell& chosen = cells[*template_slot_];
  return chosen.type == expression::Cell::Type::text && *chosen.text == *step.only_for;
}

SpacePlan::Cells SpacePlan::start(const Step** refusal) const {
  Cells cells(slots_.size());
  for (const auto& [name, value] : parts_.constants)
    cells[slots_.at(name)] = expression::Cell::of(value);
  const Step* step = run(constant_steps_, cells);
  if (refusal != nullptr) *refusal = step;
  return cells;
}

bool SpacePlan::is_active(const Level& level, const Cells& cells) const {
  if (!level.when) return true;
  return all_exist(*level.when, cells) &&
         expression::evaluate_cells_bool(*level.when->expression, cells, level.when->slots);
}

// Another template's definitions left their values behind, and no step of this one clears them.
void SpacePlan::clear_other_templates(const Level& level, Cells& cells) const {
  if (template_slot_ && level.slot == *template_slot_)
    for (const std::uint32_t slot : slots_of_one_template_) cells[slot] = expression::Cell{};
}

const SpacePlan::Step* SpacePlan::run(const Level& level, Cells& cells) const {
  clear_other_templates(level, cells);
  return run(level.steps, cells);
}

void SpacePlan::derive(const Step& step, Cells& cells) const {
  if (!applies(step, cells)) return;
  cells[step.target] =
      all_exist(step.compiled, cells)
          ? expression::evaluate_cells(*step.compiled.expression, cells, step.compiled.slots)
          : expression::Cell{};
}

const SpacePlan::Step* SpacePlan::run(const std::vector<Step>& steps, Cells& cells) const {
  for (const Step& step : steps) {
    if (step.constraint == nullptr)
      derive(step, cells);
    else if (refuses(step, cells))
      return &step;
  }
  return nullptr;
}

bool SpacePlan::refuses(const Step& step, const Cells& cells) const {
  return applies(step, cells) && all_exist(step.compiled, cells) &&
         !expression::evaluate_cells_bool(*step.compiled.expression, cells, step.compiled.slots);
}

// The cells of a genome, and of the derived values of the first levels, up to the step `until`.
SpacePlan::Cells SpacePlan::cells_of(const Genome& genome, std::size_t levels,
                                     const Step* until) const {
  Cells cells = start(nullptr);
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const Level& level = levels_[i];
    // A value without a choice is there from the start.
    const bool is_fixed = !level.when && level.values.size() == 1;
    const Gene digit = is_fixed ? Gene{0} : genome[i];
    if (digit != kInactiveGene) cells[level.slot] = level.values[digit];
  }
  for (std::size_t i = 0; i < levels; ++i)
    for (const Step& step : levels_[i].steps) {
      if (&step == until) return cells;
      if (step.constraint == nullptr) derive(step, cells);
    }
  return cells;
}

void SpacePlan::fail(const Step& step, const Genome& genome) const {
  Cells cells = cells_of(genome, levels_.size(), &step);
  if (step.constraint == nullptr)
    derive(step, cells);
  else
    (void)refuses(step, cells);
  throw std::logic_error("SpacePlan::fail: nothing fails in " + step.compiled.expression->text());
}

void SpacePlan::fail_when(std::size_t parameter, const Genome& genome) const {
  const Cells cells = cells_of(genome, parameter, nullptr);
  (void)is_active(levels_[parameter], cells);
  throw std::logic_error("SpacePlan::fail_when: nothing fails in " +
                         parts_.parameters[parameter].when->text());
}

bool SpacePlan::holds(const Genome& genome, std::span<const Step* const> constraints) const {
  const Cells cells = cells_of(genome, levels_.size(), nullptr);
  return std::ranges::none_of(constraints, [&](const Step* step) { return refuses(*step, cells); });
}

}  // namespace fa_tune::space
