#include "engine/measure/race.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/random.hpp"

namespace fa_tune {
namespace {

// A block's logarithms of times over its baseline's; not there (NaN) for who was out.
using Row = std::vector<double>;

struct Block {
  Row ratios;
  double before = 0, after = 0;  // its baseline's times, in microseconds

  double drift() const { return std::abs(std::log(after / before)); }
  double baseline() const { return (std::log(before) + std::log(after)) / 2; }
};

class Race {
 public:
  Race(std::size_t count, const RaceClock& clock, const RaceOptions& options)
      : count_(count),
        clock_(clock),
        options_(options),
        order_(derive_seed(options.seed, "order")) {
    constexpr RaceRatio unknown{1, 0, std::numeric_limits<double>::infinity()};
    result_.standings.assign(count, {.to_baseline = unknown, .to_winner = unknown});
    for (std::size_t i = 0; i < count; ++i) alive_.push_back(i);
    // Looks after fewest, 2 x fewest, ... and a last one.
    int looks = 1;
    for (int blocks = options.fewest_blocks; blocks < options.most_blocks; blocks *= 2) ++looks;
    confidence_ = 1 - (1 - options.confidence) / looks / static_cast<double>(count - 1);
  }

  std::expected<RaceResult, Fault> run() {
    const auto fewest = static_cast<std::size_t>(options_.fewest_blocks);
    std::size_t next_look = fewest, good = 0;
    while (result_.blocks < options_.most_blocks && !result_.settled) {
      if (auto done = run_block(); !done) return std::unexpected(done.error());
      good = count_good();
      if (good < next_look) continue;
      look();
      next_look *= 2;
    }
    // Too few good blocks say nothing at all.
    if (!result_.settled && good >= fewest) look();
    for (std::size_t i = 0; i < count_; ++i) stand(i);
    result_.void_blocks = result_.blocks - static_cast<int>(good);
    for (const Block& block : blocks_) result_.good.push_back(is_good(block));
    return std::move(result_);
  }

 private:
  std::expected<void, Fault> run_block() {
    const int number = result_.blocks++;
    std::vector<std::size_t> order(alive_.begin() + 1, alive_.end());
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[order_.below(i)]);
    Block block{Row(count_, std::nan(""))};
    const auto before = clock_(0, number);
    if (!before) return std::unexpected(before.error());
    for (const std::size_t contestant : order) {
      const auto us = clock_(contestant, number);
      if (!us) return std::unexpected(us.error());
      block.ratios[contestant] = std::log(*us);
    }
    const auto after = clock_(0, number);
    if (!after) return std::unexpected(after.error());
    block.before = *before;
    block.after = *after;
    for (double& value : block.ratios) value -= block.baseline();
    block.ratios[0] = 0;
    blocks_.push_back(std::move(block));
    return {};
  }

  bool is_good(const Block& block) const { return block.drift() <= most_drift_; }

  // Draws the line anew.
  std::size_t count_good() {
    const auto count = [this] {
      return static_cast<std::size_t>(
          std::ranges::count_if(blocks_, [this](const Block& each) { return is_good(each); }));
    };
    most_drift_ = options_.most_drift;
    const std::size_t still = count();
    if (blocks_.size() < static_cast<std::size_t>(options_.fewest_blocks) ||
        3 * still >= 2 * blocks_.size())
      return still;
    std::vector<double> drifts;
    for (const Block& each : blocks_) drifts.push_back(each.drift());
    most_drift_ = std::min(options_.restless * median(drifts), options_.most_drift_ever);
    return count();
  }

  void stand(std::size_t contestant) {
    RaceStanding& standing = result_.standings[contestant];
    std::vector<double> times;
    for (const Block& block : blocks_) {
      if (!is_good(block) || std::isnan(block.ratios[contestant])) continue;
      ++standing.blocks;
      if (contestant == 0)
        times.insert(times.end(), {block.before, block.after});
      else
        times.push_back(std::exp(block.ratios[contestant] + block.baseline()));
    }
    standing.time_us =
        estimate(times, derive_seed(options_.seed, "times", contestant), options_.resamples);
  }

  // Of one contestant's time over another's, from the blocks that had both.
  RaceRatio compare(std::size_t one, std::size_t other) const {
    if (one == other) return {};
    std::vector<double> differences;
    for (const Block& block : blocks_) {
      const double difference = block.ratios[one] - block.ratios[other];
      if (is_good(block) && !std::isnan(difference)) differences.push_back(difference);
    }
    const std::uint64_t seed = derive_seed(options_.seed, "bootstrap", one * count_ + other);
    const Estimate log_ratio = estimate(differences, seed, options_.resamples, confidence_);
    return {std::exp(log_ratio.median), std::exp(log_ratio.low), std::exp(log_ratio.high)};
  }

  void look() {
    for (const std::size_t i : alive_) result_.standings[i].to_baseline = compare(i, 0);
    result_.winner = *std::ranges::min_element(
        alive_, {}, [&](std::size_t i) { return result_.standings[i].to_baseline.ratio; });
    result_.settled = true;
    std::vector<std::size_t> still = {0};
    for (const std::size_t i : alive_) {
      RaceStanding& standing = result_.standings[i];
      standing.to_winner = compare(i, result_.winner);
      const bool near =
          standing.to_winner.high - standing.to_winner.low <= 2 * options_.tie_half_width;
      if (standing.to_winner.tied() && !near) result_.settled = false;
      standing.eliminated = i != 0 && standing.to_winner.slower();
      if (i != 0 && !standing.eliminated) still.push_back(i);
    }
    alive_ = std::move(still);
  }

  std::size_t count_;
  const RaceClock& clock_;
  const RaceOptions& options_;
  Random order_;
  double confidence_;
  std::vector<std::size_t> alive_;  // the baseline first
  std::vector<Block> blocks_;
  double most_drift_ = 0;  // of a good block, as it now is
  RaceResult result_;
};

}  // namespace

std::string verdict_text(const RaceRatio& ratio) {
  if (ratio.tied()) return "tie";
  return ratio.faster() ? "faster" : "slower";
}

std::optional<double> known_bound(double bound) {
  return std::isfinite(bound) ? std::optional(bound) : std::nullopt;
}

std::vector<std::size_t> RaceResult::tied_first() const {
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < standings.size(); ++i)
    if (!standings[i].eliminated && !standings[i].to_winner.slower()) first.push_back(i);
  return first;
}

std::expected<RaceResult, Fault> race(std::size_t count, const RaceClock& clock,
                                      const RaceOptions& options) {
  return Race(count, clock, options).run();
}

}  // namespace fa_tune
