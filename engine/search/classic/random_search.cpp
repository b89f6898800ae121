#include "engine/search/archive.hpp"
#include "engine/search/strategy_spec.hpp"

namespace fa_tune::search {
namespace {

// Presets first, so that every strategy starts from the same baseline; then uniform without
// repetition.
class RandomSearch : public Strategy {
 public:
  explicit RandomSearch(const SearchTask& task)
      : space_(task.space),
        archive_(task.space),
        random_(derive_seed(task.seed, "random search")) {}

  std::string name() const override { return "random"; }
  bool learns() const override { return false; }

  std::vector<Proposal> ask(int n) override {
    std::vector<Proposal> proposals;
    const auto& presets = space_.presets();
    while (static_cast<int>(proposals.size()) < n && next_preset_ < presets.size()) {
      const Config& config = presets[next_preset_++].config;
      if (archive_.claim(config)) proposals.push_back({config, "preset", {}});
    }
    while (static_cast<int>(proposals.size()) < n) {
      const auto genome = archive_.random_unclaimed(random_);
      if (!genome) break;
      archive_.claim(*genome);
      proposals.push_back({space_.config(*genome), "random", {}});
    }
    return proposals;
  }

  void tell(const Evaluation& told) override { archive_.tell(told); }
  void take(const Config& config) override { archive_.claim(config); }

 private:
  const space::Space& space_;
  Archive archive_;
  Random random_;
  std::size_t next_preset_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_random_search(const SearchTask& task, StrategySpec& /*spec*/) {
  return std::make_unique<RandomSearch>(task);
}

}  // namespace fa_tune::search
