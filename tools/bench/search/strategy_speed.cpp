// What `evolve` costs a trial, told and asked as a search tells and asks it, but with nothing else:
//
//   bench_strategy_speed SPACE [GENERATION AHEAD [TRIALS [SEED]]]
//
// A line for each part of the search: milliseconds a trial, by the clock and of processors, and a
// hash of all that was asked for so far, which says whether two programs search alike. Without
// GENERATION and AHEAD it is a search with 1,536 trials under way. Times are made up: each value of
// a gene, and of each gene beside the next one, has a share in them, and one config in eight fails
// because of two values.

#include <cmath>
#include <cstdint>
#include <ctime>
#include <deque>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/search/catalog/make_strategy.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/random.hpp"
#include "engine/util/stopwatch.hpp"

namespace {

using namespace fa_tune;

// Of this many trials a line tells.
constexpr int kPart = 1000;
constexpr std::uint64_t kFailsOneIn = 8;

search::Evaluation evaluate(const space::Space& space, const Config& config, std::uint64_t number) {
  const space::Genome genome = space.genome(config);
  const auto draw = [](std::size_t gene, std::uint64_t values, const char* purpose) {
    return derive_seed(gene, purpose, values);
  };
  double log_us = 3;
  bool fails = false;
  std::uint64_t before = 0;
  for (std::size_t gene = 0; gene < genome.size(); ++gene) {
    const std::uint64_t both = before << 16 | genome[gene];
    log_us += 0.3 * Random(draw(gene, genome[gene], "value")).uniform();
    log_us += 0.2 * Random(draw(gene, both, "beside")).uniform();
    fails |= draw(gene, both, "fails") % (kFailsOneIn * genome.size()) == 0;
    before = genome[gene];
  }
  search::Evaluation told{number, config, !fails, {}, 0.5};
  if (!fails) told.time_us = std::exp(log_us);
  return told;
}

void measure(const space::Space& space, int generation, int ahead, int trials, std::uint64_t seed) {
  const auto strategy = search::make_strategy("evolve", {space, seed});
  std::deque<std::vector<search::Proposal>> asked;
  std::string all;
  double wall_ms = 0;
  std::clock_t ticks = 0;
  const auto timed = [&](const auto& work) {
    const std::clock_t begin = std::clock();
    const Stopwatch watch;
    work();
    wall_ms += watch.milliseconds();
    ticks += std::clock() - begin;
  };
  const auto ask = [&] { timed([&] { asked.push_back(strategy->ask(generation)); }); };
  for (int batch = 0; batch < ahead; ++batch) ask();
  int told = 0;
  int of_part = 0;
  fmt::print("trials   wall    cpu  asked for\n");
  while (told < trials) {
    ask();
    std::vector<search::Evaluation> news;
    for (const search::Proposal& proposal : asked.front()) {
      all = sha256(all + proposal.config.to_json() + proposal.operation);
      news.push_back(evaluate(space, proposal.config, static_cast<std::uint64_t>(++told)));
    }
    if (news.empty()) break;
    asked.pop_front();
    timed([&] {
      for (const search::Evaluation& each : news) strategy->tell(each);
    });
    of_part += static_cast<int>(news.size());
    if (of_part < kPart && told < trials) continue;
    const double cpu_ms = 1e3 * static_cast<double>(ticks) / CLOCKS_PER_SEC;
    fmt::print("{:6} {:6.3f} {:6.3f}  {:.16}\n", told, wall_ms / of_part, cpu_ms / of_part, all);
    wall_ms = 0;
    ticks = 0;
    of_part = 0;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words.size() == 2 || words.size() > 5) {
    std::cerr << "bench_strategy_speed SPACE [GENERATION AHEAD [TRIALS [SEED]]]\n";
    return 2;
  }
  try {
    const auto number = [&](std::size_t at, int otherwise) {
      return words.size() > at ? std::stoi(words[at]) : otherwise;
    };
    const tuner::TuningTask task =
        tuner::open_task(space::load_space_file(words[0], find_root()), find_root());
    measure(task.space, number(1, 96), number(2, 15), number(3, 12'000),
            static_cast<std::uint64_t>(number(4, 1)));
  } catch (const std::exception& error) {
    std::cerr << "bench_strategy_speed: " << error.what() << '\n';
    return 2;
  }
  return 0;
}
