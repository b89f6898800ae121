#include <fmt/core.h>

#include "engine/search/classic/classic_search.hpp"
#include "engine/search/strategy_spec.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::search {
namespace {

// Every config once, in the space's own order: what a table of a whole space is recorded with. The
// order is no draw, so this is the one strategy whose seed changes nothing.
class Exhaustive : public ClassicSearch {
 public:
  explicit Exhaustive(const SearchTask& task) : ClassicSearch(task, "exhaustive") {}

  std::string name() const override { return "exhaustive"; }
  bool learns() const override { return false; }

 private:
  std::optional<Step> step() override {
    while (next_ < space().count()) {
      space::Genome genome = space().genome_at(next_++);
      if (!taken(genome)) return Step{std::move(genome), "listed", {}};
    }
    return std::nullopt;
  }

  void learn(const space::Genome& /*genome*/, const Known& /*known*/) override {}

  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const SearchTask& task, StrategySpec& /*spec*/) {
  if (!task.space.exact())
    throw UserError(fmt::format(
        "strategy 'exhaustive': the space has about {:.1e} configs, too many to go through",
        task.space.size()));
  return std::make_unique<Exhaustive>(task);
}

}  // namespace fa_tune::search
