#include "engine/measure/race.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/measure/statistics.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::measure {
namespace {

struct Block {
  std::vector<double> log_ratios;  // over its baseline
  double drift = 0;                // of its baseline, relative
};

std::expected<Block, device::Fault> run_block(const std::vector<std::size_t>& order,
                                              const RaceClock& clock, int number) {
  Block block{std::vector<double>(order.size() + 1), 0};
  const auto before = clock(0, number);
  if (!before) return std::unexpected(before.error());
  for (const std::size_t contestant : order) {
    const auto us = clock(contestant, number);
    if (!us) return std::unexpected(us.error());
    block.log_ratios[contestant] = std::log(*us);
  }
  const auto after = clock(0, number);
  if (!after) return std::unexpected(after.error());
  block.drift = std::abs(std::log(*after / *before));
  const double baseline = (std::log(*before) + std::log(*after)) / 2;
  for (const std::size_t contestant : order) block.log_ratios[contestant] -= baseline;
  return block;
}

std::vector<bool> find_good_blocks(const std::vector<Block>& blocks, const RaceOptions& options) {
  const auto within = [&](double most_drift) {
    std::vector<bool> good;
    for (const Block& block : blocks) good.push_back(block.drift <= most_drift);
    return good;
  };
  std::vector<bool> still = within(options.most_drift);
  if (std::ssize(blocks) < options.good_blocks ||
      3 * std::ranges::count(still, true) >= 2 * std::ssize(blocks))
    return still;
  std::vector<double> drifts;
  for (const Block& block : blocks) drifts.push_back(block.drift);
  return within(std::min(options.restless * median(drifts), options.most_drift_ever));
}

double median_ratio(const std::vector<Block>& blocks, const std::vector<bool>& good,
                    std::size_t contestant) {
  std::vector<double> log_ratios;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (good[i]) log_ratios.push_back(blocks[i].log_ratios[contestant]);
  return std::exp(median(log_ratios));
}

}  // namespace

int BlockRace::good_blocks() const { return static_cast<int>(std::ranges::count(good, true)); }

std::expected<BlockRace, device::Fault> race(std::size_t count, const RaceClock& clock,
                                             const RaceOptions& options) {
  Random random(derive_seed(options.seed, "order"));
  std::vector<std::size_t> order(count - 1);
  std::iota(order.begin(), order.end(), std::size_t{1});
  std::vector<Block> blocks;
  BlockRace result;
  while (result.blocks() < options.most_blocks && result.good_blocks() < options.good_blocks) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    auto block = run_block(order, clock, result.blocks());
    if (!block) return std::unexpected(block.error());
    blocks.push_back(std::move(*block));
    result.good = find_good_blocks(blocks, options);
  }
  for (std::size_t i = 0; i < count; ++i)
    result.ratios.push_back(median_ratio(blocks, result.good, i));
  return result;
}

}  // namespace fa_tune::measure
