#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <ranges>

#include "engine/search/archive.hpp"
#include "engine/search/evolve/niches.hpp"
#include "engine/search/evolve/operators.hpp"
#include "engine/search/evolve/population.hpp"
#include "engine/search/evolve/spread.hpp"
#include "engine/search/evolve/twins.hpp"
#include "engine/search/strategy_spec.hpp"
#include "engine/search/surrogate/candidate_pool.hpp"
#include "engine/search/surrogate/surrogate.hpp"

namespace fa_tune::search {
namespace {

// Trials before the first child, presets among them: enough for a first model.
constexpr std::size_t kStart = 8;
// Configs taken over from earlier runs.
constexpr std::size_t kTransfers = 4;
// Children by each operator, besides all neighbours of the parents, from which the surrogate
// chooses. That a bandit gives operators shares by what they brought was tried: no better with the
// surrogate, worse without (tools/bench/results/search).
constexpr int kChildrenEach = 50;
// Steps up from the best candidate to its best neighbour and so on.
constexpr int kClimb = 4;
// Proposals of one batch that are looked for in this way; the others take one step.
constexpr std::size_t kClimbers = 16;
constexpr int kAttempts = 40;
// With niches every second proposal is theirs.
constexpr std::size_t kTurnOfNiches = 2;
// Random configs drawn for one that is likely to pass.
constexpr int kDraws = 32;
// Where others are under way, of this number of random configs the one is tried that is least like
// those asked before, as long as fewer than kSpreadTrials were asked: the first models know nothing
// else. With one under way they are few, and better random (tools/bench/results/search).
constexpr int kSpreadDraws = 16;
constexpr std::size_t kSpreadTrials = 64;
// Of the trials under way, those asked for last from which the model is to learn nothing more, and
// proposals from one pool: where thousands are under way, time grows with the square of these.
constexpr std::size_t kMostBelieved = 128;
constexpr std::size_t kMostOfPool = 128;
// That predict what candidates promise, beside the thread that asks.
constexpr std::size_t kHelpers = 3;

// EvoEngineer's loop (arXiv 2510.03760) over genomes. What guides a proposal:
//   free     the task alone: children of the parents, each operator as often as another
//   insight  with insights from all trials: of many children the surrogate chooses the one that
//            promises most
//   full     with earlier good solutions too: several parents, and what earlier runs found
// Elites are never lost: the archive holds them.
class Evolve : public Strategy {
 public:
  Evolve(const SearchTask& task, StrategySpec& spec)
      : space_(task.space),
        archive_(task.space),
        operators_(task.space),
        spread_(task.space),
        twins_(task.space),
        random_(derive_seed(task.seed, "evolve")) {
    const std::string information = spec.choose("information", {"full", "insight", "free"});
    const bool full = information == "full";
    population_ = make_population(full ? spec.choose("population", {"elite", "single", "islands"})
                                       : spec.choose("population", {"single", "elite", "islands"}),
                                  archive_);
    if (spec.choose("presets", {"on", "off"}) == "on")
      for (const space::Preset& preset : space_.presets())
        start_.push_back({space_.genome(preset.config), "preset", {}});
    const std::vector<PriorTrials> none;
    const auto& earlier = full && spec.choose("warm", {"on", "off"}) == "on" ? task.earlier : none;
    for (space::Genome& genome : configs_to_transfer(space_, earlier, kTransfers)) {
      start_.push_back({std::move(genome), "transfer", {}});
      ++trials_before_children_;
    }
    if (const auto genes = spec.text("niches")) niches_ = Niches(space_, *genes);
    if (information != "free") {
      const bool feasibility = spec.choose("feasibility", {"on", "off"}) == "on";
      surrogate_ = std::make_unique<Surrogate>(space_, earlier, feasibility, task.seed);
    }
  }

  std::string name() const override { return "evolve"; }

  std::vector<Proposal> ask(int n) override {
    std::vector<Proposal> proposals;
    std::optional<CandidatePool> pool;
    while (static_cast<int>(proposals.size()) < n && !archive_.exhausted()) {
      // Where thousands are under way a proposal is to take its time from none of them.
      if (proposals.size() % kMostOfPool == 0) pool.reset();
      climb_ = proposals.size() < kClimbers ? kClimb : 1;
      population_->next_turn();
      auto found = next(pool);
      if (!found) break;
      Candidate& candidate = *found;
      claim(candidate.genome);
      ++asked_;
      origins_[candidate.genome] = {candidate.operation, candidate.parents};
      proposals.push_back({space_.config(candidate.genome), std::move(candidate.operation),
                           std::move(candidate.parents)});
    }
    return proposals;
  }

  void tell(const Evaluation& told) override {
    const space::Genome genome = space_.genome(told.config);
    const auto origin = origins_.extract(genome);
    if (const auto found = std::ranges::find(untold_, genome); found != untold_.end())
      untold_.erase(found);
    archive_.tell(told);
    const bool passed = told.passed && told.time_us;
    if (passed || told.twin != 0) twins_.tell(genome, told.number, told.twin);
    if (surrogate_) surrogate_->tell(genome, passed ? told.time_us : std::nullopt);
    if (!passed) return;
    const Member member{told.number, genome, *told.time_us};
    niches_.tell(member);
    population_->tell(member,
                      origin.empty() ? std::vector<std::uint64_t>{} : origin.mapped().parents);
  }

  void take(const Config& config) override { claim(space_.genome(config)); }

 private:
  struct Origin {
    std::string operation;
    std::vector<std::uint64_t> parents;
  };

  void claim(const space::Genome& genome) {
    archive_.claim(genome);
    niches_.take(genome);
    twins_.take(genome);
    untold_.push_back(genome);
    if (spread_.taken() < kSpreadTrials) spread_.take(genome);
  }

  std::optional<Candidate> next(std::optional<CandidatePool>& pool) {
    while (next_start_ < start_.size()) {
      const Candidate& candidate = start_[next_start_++];
      if (!archive_.claimed(candidate.genome)) return candidate;
    }
    if (asked_ >= trials_before_children_ && !archive_.ranked().empty()) {
      if (!niches_.none() && asked_ % kTurnOfNiches == 0)
        if (auto child = child_of_niche(pool)) return child;
      auto child = surrogate_ ? most_promising(pool) : free_child();
      // Where next to nothing passes, too little may have passed for a model of times by now. What
      // is near a config that passed is likelier to pass than what is drawn, but every fourth is.
      if (!child && asked_ % 4 != 0) child = free_child();
      if (child) return child;
    }
    const bool unlike = !untold_.empty() && spread_.taken() < kSpreadTrials;
    auto genome = unlike ? unlike_random() : likely_random();
    if (!genome) return std::nullopt;
    return Candidate{std::move(*genome), "random", {}};
  }

  std::optional<space::Genome> unlike_random() {
    std::optional<space::Genome> chosen;
    double most = 0;
    for (int draw = 0; draw < kSpreadDraws; ++draw) {
      auto genome = likely_random();
      if (!genome) break;
      const double distance = spread_.nearest(*genome);
      if (chosen && distance <= most) continue;
      most = distance;
      chosen = std::move(genome);
    }
    return chosen;
  }

  // Drawn with the chance of passing: where most configs fail, it takes long to find the
  // first that pass otherwise. The likeliest of many would all be alike.
  std::optional<space::Genome> likely_random() {
    auto genome = archive_.random_unclaimed(random_);
    if (!surrogate_ || !surrogate_->doubtful()) return genome;
    surrogate_->update();
    for (int draw = 1; draw < kDraws && genome; ++draw) {
      if (random_.uniform() < surrogate_->chance(surrogate_->site(*genome))) break;
      genome = archive_.random_unclaimed(random_);
    }
    return genome;
  }

  bool worth_trying(const space::Genome& genome) const {
    return !archive_.claimed(genome) && !twins_.likely(genome);
  }

  std::optional<Candidate> free_child() {
    const auto parents = population_->parents();
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Candidate child = operators_.child(random_.below(kOperatorNames.size()), parents, random_);
      if (worth_trying(child.genome)) return child;
    }
    return std::nullopt;
  }

  // Of the niche whose turn it is.
  std::optional<Candidate> child_of_niche(std::optional<CandidatePool>& pool) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Niches::Niche* niche = niches_.next(archive_.ranked().front().time_us);
      if (!niche) return std::nullopt;
      auto child = niche->fastest.empty() ? first_of(*niche)
                   : surrogate_           ? most_promising_of(*niche, pool)
                                          : free_child_of(*niche);
      if (child) return child;
      niches_.pass(*niche);
    }
    return std::nullopt;
  }

  // As good a config as there is, with the niche's genes.
  std::optional<Candidate> first_of(const Niches::Niche& niche) {
    const std::vector<Member>& ranked = archive_.ranked();
    const Member& like = ranked[std::min(niche.turns, ranked.size() - 1)];
    Candidate child{space_.nearest(niches_.moved(like.genome, niche), random_), "leap", {}};
    child.parents = {like.number};
    if (!niches_.has(niche, child.genome) || !worth_trying(child.genome)) return std::nullopt;
    return child;
  }

  std::optional<Candidate> free_child_of(const Niches::Niche& niche) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Candidate child =
          operators_.child(random_.below(kOperatorNames.size()), niche.fastest, random_);
      if (niches_.has(niche, child.genome) && worth_trying(child.genome)) return child;
    }
    return std::nullopt;
  }

  // By what it may gain on the niche's fastest.
  std::optional<Candidate> most_promising_of(const Niches::Niche& niche,
                                             std::optional<CandidatePool>& main_pool) {
    if (!surrogate_->ready()) return std::nullopt;
    if (!main_pool) begin(main_pool);
    const double best_us = niche.fastest.front().time_us;
    CandidatePool pool(*surrogate_, archive_, helpers_, surrogate_->read(best_us));
    const auto add = [&](Candidate candidate) {
      if (niches_.has(niche, candidate.genome)) offer(pool, std::move(candidate));
    };
    for (const Member& parent : niche.fastest)
      for (const space::Genome& near : operators_.around(parent.genome, random_))
        add({near, "mutate", {parent.number}});
    for (int child = 0; child < kChildrenEach; ++child)
      for (std::size_t which = 0; which < kOperatorNames.size(); ++which)
        add(operators_.child(which, niche.fastest, random_));
    // What the fastest of all have beside the niche's genes.
    for (const Member& other : population_->parents())
      add({space_.nearest(niches_.moved(other.genome, niche), random_),
           "crossover",
           {niche.fastest.front().number, other.number}});
    if (pool.empty()) return std::nullopt;
    return pool.take_best();
  }

  void offer(CandidatePool& pool, Candidate candidate) const {
    if (!twins_.likely(candidate.genome)) pool.add(std::move(candidate));
  }

  void begin(std::optional<CandidatePool>& pool) {
    surrogate_->update();
    // What is being tried is to teach something else than the next ones.
    const std::size_t count = std::min(untold_.size(), kMostBelieved);
    for (const space::Genome& genome : std::views::drop(untold_, untold_.size() - count))
      surrogate_->times().believe(surrogate_->site(genome));
    pool.emplace(*surrogate_, archive_, helpers_, surrogate_->best());
    fill(*pool);
  }

  std::optional<Candidate> most_promising(std::optional<CandidatePool>& pool) {
    if (!surrogate_->ready()) return std::nullopt;
    if (!pool) begin(pool);
    if (pool->empty()) return std::nullopt;
    for (int step = 0; step < climb_; ++step) {
      const Candidate top = pool->best();
      add_around(*pool, top.genome, top.operation, top.parents);
      if (pool->best().genome == top.genome) break;
    }
    return pool->take_best();
  }

  void fill(CandidatePool& pool) {
    const auto parents = population_->parents();
    for (const Member& parent : parents) add_around(pool, parent.genome, "mutate", {parent.number});
    for (int child = 0; child < kChildrenEach; ++child)
      for (std::size_t which = 0; which < kOperatorNames.size(); ++which)
        offer(pool, operators_.child(which, parents, random_));
  }

  void add_around(CandidatePool& pool, const space::Genome& genome, const std::string& operation,
                  const std::vector<std::uint64_t>& parents) {
    for (const space::Genome& near : operators_.around(genome, random_))
      offer(pool, {near, operation, parents});
  }

  const space::Space& space_;
  Archive archive_;
  Operators operators_;
  Spread spread_;  // of the first trials
  Twins twins_;
  Niches niches_;
  Random random_;
  std::unique_ptr<Population> population_;
  std::unique_ptr<Surrogate> surrogate_;  // null: free
  std::vector<Candidate> start_;
  std::size_t next_start_ = 0;
  // What is taken over comes on top: an earlier run may mislead, and then the rest must show it.
  std::size_t trials_before_children_ = kStart;
  std::size_t asked_ = 0;
  int climb_ = kClimb;
  space::GenomeMap<Origin> origins_;  // of what was asked and not yet told
  std::deque<space::Genome> untold_;  // that, and what others took, in order
  HelperThreads helpers_{kHelpers};
};

}  // namespace

std::unique_ptr<Strategy> make_evolve(const SearchTask& task, StrategySpec& spec) {
  return std::make_unique<Evolve>(task, spec);
}

}  // namespace fa_tune::search
