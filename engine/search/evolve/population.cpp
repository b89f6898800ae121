#include "engine/search/evolve/population.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace fa_tune::search {
namespace {

// Further down there is little that the best have not got.
constexpr std::size_t kElites = 6;
constexpr std::size_t kIslands = 4;
// Tells after which an island passes its fastest on to the next one.
constexpr std::size_t kMigration = 40;

class Elite : public Population {
 public:
  Elite(const Archive& archive, std::size_t most) : archive_(archive), most_(most) {}

  void tell(const Member& /*member*/, const std::vector<std::uint64_t>& /*parents*/) override {}

  std::vector<Member> parents() const override {
    const auto& ranked = archive_.ranked();
    const auto count = static_cast<std::ptrdiff_t>(std::min(most_, ranked.size()));
    return {ranked.begin(), ranked.begin() + count};
  }

 private:
  const Archive& archive_;
  std::size_t most_;
};

class Islands : public Population {
 public:
  void tell(const Member& member, const std::vector<std::uint64_t>& parents) override {
    const auto parent = parents.empty() ? home_.end() : home_.find(parents.front());
    const std::size_t island = parent == home_.end() ? member.number % kIslands : parent->second;
    home_[member.number] = island;
    settle(island, member);
    if (++told_ % kMigration == 0) migrate();
  }

  std::vector<Member> parents() const override {
    for (std::size_t step = 0; step < kIslands; ++step) {
      const auto& island = islands_[(turn_ + step) % kIslands];
      if (!island.empty()) return island;
    }
    return {};
  }

  void next_turn() override { ++turn_; }

 private:
  void settle(std::size_t at, const Member& member) {
    auto& island = islands_[at];
    if (std::ranges::find(island, member.number, &Member::number) != island.end()) return;
    const auto place = std::ranges::upper_bound(island, member.time_us, {}, &Member::time_us);
    island.insert(place, member);
    if (island.size() > kElites) island.pop_back();
  }

  void migrate() {
    std::vector<Member> travellers;
    for (const auto& island : islands_) travellers.push_back(island.empty() ? Member{} : island[0]);
    for (std::size_t i = 0; i < kIslands; ++i)
      if (travellers[i].number != 0) settle((i + 1) % kIslands, travellers[i]);
  }

  std::array<std::vector<Member>, kIslands> islands_;
  std::unordered_map<std::uint64_t, std::size_t> home_;  // of a trial
  std::size_t told_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<Population> make_population(const std::string& kind, const Archive& archive) {
  if (kind == "islands") return std::make_unique<Islands>();
  return std::make_unique<Elite>(archive, kind == "single" ? 1 : kElites);
}

const Member& choose_by_rank(const std::vector<Member>& parents, Random& random) {
  const auto weight = [n = parents.size()](std::size_t rank) {
    return 1.0 / static_cast<double>(rank + 1 + n);
  };
  double total = 0;
  for (std::size_t rank = 0; rank < parents.size(); ++rank) total += weight(rank);
  double draw = random.uniform() * total;
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    draw -= weight(rank);
    if (draw < 0) return parents[rank];
  }
  return parents.back();
}

}  // namespace fa_tune::search
