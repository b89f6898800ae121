#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/expression/residue.hpp"
#include "engine/space/space.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::kernel {

// `tiles` of a manifest's launch: how many sets, how many of these take turns, the tiles of one, and
// the steps of a tile, which rest on its number, `tile`.
struct TileFormulas {
  expression::Residue sets, together, of_a_set, steps;
};
inline constexpr const char* kTileNumber = "tile";

// What PlannedLaunch has, as formulas of sizes that are known when it is launched.
struct KernelFormulas {
  std::vector<expression::Residue> grid, block, cluster;  // three each
  expression::Residue shared;
  std::optional<TileFormulas> tiles = std::nullopt;
};

struct LaunchFormulas {
  std::vector<KernelFormulas> kernels;  // as PlannedLaunch::kernels() has them
  std::vector<std::pair<std::string, std::vector<expression::Residue>>> workspaces;
  // Those whose value is a formula.
  std::vector<std::pair<std::string, expression::Residue>> scalars;
  // Conditions that must hold: what the template requires.
  std::vector<expression::Residue> required;
};

// What the names of expressions stand for where sizes are not known yet: as DerivedScope has it.
// `config` and `constants` must outlive it.
class DerivedResidues {
 public:
  // `later`: "problem.n", which formulas call n.
  DerivedResidues(const Config& config, const Constants& constants, std::vector<std::string> later);
  // Those of one template, and of all.
  void add(const std::vector<space::Derived>& derived, const std::string& template_name);
  void set(const std::string& name, expression::Residue value) {
    values_.insert_or_assign(name, std::move(value));
  }
  std::optional<expression::Residue> find(const std::string& name) const;
  expression::Residue::Names names() const {
    return [this](const std::string& name) { return find(name); };
  }
  // What is left of constraints: those that rest on what is known later.
  std::vector<expression::Residue> required(const std::vector<space::Constraint>& constraints,
                                            const std::string& template_name) const;

 private:
  bool has_values(const expression::Expression& expression) const;

  const Config& config_;
  const Constants& constants_;
  std::vector<std::string> later_;
  std::map<std::string, expression::Residue> values_;
};

}  // namespace fa_tune::kernel
