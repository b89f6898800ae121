#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/space/expression_dag.hpp"
#include "engine/space/parameter_groups.hpp"

// Private to engine/space: what a level of a group needs of the levels before it.
namespace fa_tune::space {

// A cell as one or two words of a key, which no other cell has: the type in the low bits, the value
// above them if there is room.
inline void append_cell(std::vector<std::uint64_t>& key, const expression::Cell& cell) {
  constexpr int type_bits = 4;
  constexpr std::uint64_t more = 1 << (type_bits - 1);  // the value is the next word
  const auto type = static_cast<std::uint64_t>(cell.type);
  const std::uint64_t word = cell.type == expression::Cell::Type::text
                                 ? reinterpret_cast<std::uintptr_t>(cell.text)
                                 : static_cast<std::uint64_t>(cell.number);
  if (word >> (64 - type_bits) == 0) {
    key.push_back(word << type_bits | type);
  } else {
    key.push_back(more | type);
    key.push_back(word);
  }
}

// When the terms of a group get their values. Level i sets the group's parameter i; a term is
// complete with the last of its parameters.
class LevelPlan {
 public:
  LevelPlan(const Terms& terms, const ParameterGroup& group);

  bool is_constant(TermId id) const { return complete_[id] == kConstant; }
  // Whether a term has its value before a level.
  bool is_complete(TermId id, std::size_t level) const {
    return complete_[id] == kConstant || complete_[id] < level;
  }
  // The operations that a level completes, children first.
  const std::vector<TermId>& computed(std::size_t level) const { return levels_[level].computed; }
  // The terms complete before a level that it or a later one asks for.
  const std::vector<TermId>& live(std::size_t level) const { return levels_[level].live; }
  // The terms that are not complete before a level and that some check or `when` still needs,
  // children first.
  const std::vector<TermId>& pending(std::size_t level) const { return levels_[level].pending; }
  // The checks that a level tries.
  std::span<const ParameterGroup::PlacedCheck> checks(std::size_t level) const;
  // Those that it or a later one tries.
  std::span<const ParameterGroup::PlacedCheck> checks_from(std::size_t level) const;
  // The earliest level at which a check that is known to fail may prune. It must not come before
  // any expression that could raise an error, or that error would be masked.
  std::size_t refuses_from(const ParameterGroup::PlacedCheck& placed) const {
    return refuses_from_[static_cast<std::size_t>(&placed - checks_.data())];
  }

 private:
  struct Level {
    std::vector<TermId> computed;
    std::vector<TermId> live;
    std::vector<TermId> pending;
    std::size_t first_check = 0;
  };
  static constexpr std::size_t kConstant = SIZE_MAX;
  static constexpr std::size_t kNever = SIZE_MAX - 1;  // not of this group

  void find_completion(const Terms& terms, const ParameterGroup& group);
  void find_uses(const Terms& terms, const ParameterGroup& group);
  void find_refusals(const Terms& terms, const ParameterGroup& group);

  const std::vector<ParameterGroup::PlacedCheck>& checks_;
  std::vector<std::size_t> complete_;  // the level that completes a term
  std::vector<Level> levels_;
  std::vector<std::size_t> refuses_from_;
};

// What the checks of a group still depend on before a level, given the values so far: two
// histories with the same residue have the same valid continuations. A part that is already
// decided, whatever comes, is its value alone; of a check that can no longer fail nothing is
// left.
class Residue {
 public:
  Residue(const Terms& terms, const ParameterGroup& group, const LevelPlan& plan);

  // False if a check is known to fail for all that may come.
  bool make(std::size_t level, std::span<const expression::Cell> values);
  std::span<const std::uint64_t> key() const { return key_; }

 private:
  enum class Sign : std::uint64_t { value, decided, kept, refuses };

  void find_ranges(std::size_t level, std::span<const expression::Cell> values);
  bool add_check(std::size_t level, const ParameterGroup::PlacedCheck& placed,
                 std::span<const expression::Cell> values);
  void need(TermId id, std::size_t level, std::span<const expression::Cell> values);
  void need_children(const Term& term, std::size_t level, std::span<const expression::Cell> values);
  void add_sign(Sign sign, std::size_t number) {
    key_.push_back(static_cast<std::uint64_t>(sign) | std::uint64_t{number} << 2);
  }

  const Terms& terms_;
  const ParameterGroup& group_;
  const LevelPlan& plan_;
  std::vector<expression::Range> ranges_;  // a term
  std::vector<std::uint32_t> seen_;        // a term: the last residue that it is part of
  std::uint32_t round_ = 0;
  std::vector<std::uint64_t> key_;
};

}  // namespace fa_tune::space
