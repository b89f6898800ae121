#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/report/ablation.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

// Chooses the variants that tell what the genes of a config are worth. Where a wanted change alone
// breaks a constraint, it is made in the valid config that keeps most of the rest; where no valid
// config has it, the row is "impossible". Genes that only one of the two configs has come and go
// with others.
class AblationPlan {
 public:
  // Both configs are valid, and of one template. The task must outlive it.
  AblationPlan(const TuningTask& task, Config trial, Config baseline, std::uint64_t seed);

  // Genes that both have, with different values. The template is not one of them.
  const std::vector<std::string>& differing() const { return differing_; }
  // Genes that both have with the same value.
  const std::vector<std::string>& alike() const { return alike_; }

  report::AblationRow whole_baseline() const;
  report::AblationRow back(
      const std::vector<std::string>& genes) const;  // one or two of differing()
  report::AblationRow forward(const std::string& gene) const;
  std::vector<report::AblationRow> others(
      const std::string& gene) const;  // a row for each other value

 private:
  using Settings = std::vector<std::pair<std::string, Value>>;
  report::AblationRow changed(report::AblationKind kind, const Config& from, const Config& fill,
                              const Settings& wanted) const;

  const TuningTask& task_;
  Config trial_;
  Config baseline_;
  std::uint64_t seed_;
  std::vector<std::string> differing_;
  std::vector<std::string> alike_;
};

}  // namespace fa_tune::tuner
