#include "engine/search/evolve/transfer.hpp"

#include <algorithm>

namespace fa_tune {
namespace {

// Valid genomes of a run's trials that passed, fastest first.
std::vector<Genome> fastest(const Space& space, const PriorTrials& run) {
  std::vector<const Evaluation*> passed;
  for (const Evaluation& told : run.trials)
    if (told.passed && told.time_us && space.index_of(told.config)) passed.push_back(&told);
  std::ranges::stable_sort(passed, {}, [](const Evaluation* told) { return *told->time_us; });
  std::vector<Genome> genomes;
  for (const Evaluation* told : passed) genomes.push_back(space.genome(told->config));
  return genomes;
}

bool alike(const Genome& a, const Genome& b) {
  int different = 0;
  for (std::size_t gene = 0; gene < a.size(); ++gene) different += a[gene] != b[gene];
  return different < 2;
}

}  // namespace

std::vector<Genome> configs_to_transfer(const Space& space, const std::vector<PriorTrials>& earlier,
                                        std::size_t most) {
  std::vector<std::vector<Genome>> runs;
  for (const PriorTrials& run : earlier) runs.push_back(fastest(space, run));
  std::vector<std::size_t> next(runs.size(), 0);
  std::vector<Genome> chosen;
  for (bool more = true; more && chosen.size() < most;) {
    more = false;
    for (std::size_t run = 0; run < runs.size() && chosen.size() < most; ++run) {
      const auto known = [&](const Genome& genome) {
        return std::ranges::any_of(chosen, [&](const Genome& one) { return alike(one, genome); });
      };
      while (next[run] < runs[run].size() && known(runs[run][next[run]])) ++next[run];
      if (next[run] == runs[run].size()) continue;
      chosen.push_back(runs[run][next[run]]);
      more = true;
    }
  }
  return chosen;
}

}  // namespace fa_tune
