// What races make of clocks with known truth: how often they see a winner where there is none, and
// how often they find a difference of 2%, over 1,000 seeds each. First a race in one process, whose
// clock alone is bad; then one whose kernels moreover take 0.5% more or less by where they lie in
// that process; then the series of races in six such processes that finals and `bench` hold.
// Prints tables; as JSON with --json.

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string_view>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "tests/engine/measure/synthetic_clock.hpp"

using namespace fa_tune;

namespace {

constexpr int kSeeds = 1000;
constexpr double kUs = 20;
constexpr double kFaster = 0.98;

struct Score {
  int winners = 0;    // of the same kernel twice
  int found = 0;      // that the other is 2% faster
  int wrong = 0;      // that it is slower
  int covered = 0;    // the interval holds the true ratio
  double blocks = 0;  // until 2% were told, the mean
  int most_blocks = 0;
  int void_blocks = 0;
};

using Hold =
    std::function<RaceResult(const test::Vice&, const std::vector<double>&, std::uint64_t)>;

struct Question {
  const char* name;
  Hold hold;
};

const Question kQuestions[] = {
    {"one process", [](const test::Vice& vice, const std::vector<double>& truth,
                       std::uint64_t seed) { return test::race_on(vice, truth, seed); }},
    {"one process, places",
     [](const test::Vice& vice, const std::vector<double>& truth, std::uint64_t seed) {
       Random places(derive_seed(seed, "places"));
       return test::race_on(vice, test::placed(truth, places), seed);
     }},
    {"six processes, places",
     [](const test::Vice& vice, const std::vector<double>& truth, std::uint64_t seed) {
       return test::series_on(vice, truth, seed);
     }},
};

Score score(const Hold& hold, const test::Vice& vice) {
  Score sum;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const auto number = static_cast<std::uint64_t>(seed);
    sum.winners += hold(vice, {kUs, kUs}, number).tied_first().size() != 2;
    const RaceResult result = hold(vice, {kUs, kFaster * kUs}, 1'000'000 + number);
    const RaceRatio& ratio = result.standings[1].to_baseline;
    sum.found += ratio.faster();
    sum.wrong += ratio.slower();
    sum.covered += ratio.low <= kFaster && kFaster <= ratio.high;
    sum.blocks += static_cast<double>(result.blocks) / kSeeds;
    sum.most_blocks = std::max(sum.most_blocks, result.blocks);
    sum.void_blocks += result.void_blocks;
  }
  return sum;
}

double percent(int count) { return 100.0 * count / kSeeds; }

}  // namespace

int main(int count, char** words) {
  const bool as_json = count > 1 && std::string_view(words[1]) == "--json";
  auto rows = nlohmann::ordered_json::array();
  for (const Question& question : kQuestions) {
    if (!as_json)
      fmt::print(
          "{}: {} seeds a row; 2%: the second kernel takes 0.98 of the first one's time\n\n"
          "{:<12} {:>13} {:>9} {:>9} {:>11} {:>16} {:>6}\n",
          question.name, kSeeds, "clock", "false winner", "2% found", "2% wrong", "2% covered",
          "blocks mean/most", "void");
    for (const test::Vice& vice : test::kVices) {
      const Score sum = score(question.hold, vice);
      rows.push_back({{"question", question.name},
                      {"clock", vice.name},
                      {"seeds", kSeeds},
                      {"false_winners", sum.winners},
                      {"found_2_percent", sum.found},
                      {"wrong_2_percent", sum.wrong},
                      {"interval_covers", sum.covered},
                      {"blocks_mean", sum.blocks},
                      {"blocks_most", sum.most_blocks},
                      {"void_blocks", sum.void_blocks}});
      if (as_json) continue;
      fmt::print("{:<12} {:>12.1f}% {:>8.1f}% {:>8.1f}% {:>10.1f}% {:>10.1f} / {:<3} {:>6}\n",
                 vice.name, percent(sum.winners), percent(sum.found), percent(sum.wrong),
                 percent(sum.covered), sum.blocks, sum.most_blocks, sum.void_blocks);
      std::fflush(stdout);
    }
    if (!as_json) fmt::print("\n");
  }
  if (as_json) fmt::print("{}\n", rows.dump(1));
  return 0;
}
