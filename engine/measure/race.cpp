#include "engine/measure/race.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/random.hpp"

namespace fa_tune {
namespace {

// Logarithms of times over the block's baseline, a row a good block; not there (NaN) for who was
// out.
using Row = std::vector<double>;

class Race {
 public:
  Race(std::size_t count, const RaceClock& clock, const RaceOptions& options)
      : count_(count),
        clock_(clock),
        options_(options),
        order_(derive_seed(options.seed, "order")) {
    constexpr RaceRatio unknown{1, 0, std::numeric_limits<double>::infinity()};
    result_.standings.assign(count, {.to_baseline = unknown, .to_winner = unknown});
    times_.resize(count);
    for (std::size_t i = 0; i < count; ++i) alive_.push_back(i);
    // Looks after fewest, 2 x fewest, ... and a last one.
    int looks = 1;
    for (int blocks = options.fewest_blocks; blocks < options.most_blocks; blocks *= 2) ++looks;
    confidence_ = 1 - (1 - options.confidence) / looks / static_cast<double>(count - 1);
  }

  std::expected<RaceResult, Fault> run() {
    std::size_t next_look = static_cast<std::size_t>(options_.fewest_blocks);
    while (result_.blocks < options_.most_blocks && !result_.settled) {
      if (auto done = run_block(); !done) return std::unexpected(done.error());
      if (rows_.size() < next_look) continue;
      look();
      next_look *= 2;
    }
    // Too few good blocks say nothing at all.
    if (!result_.settled && rows_.size() >= static_cast<std::size_t>(options_.fewest_blocks))
      look();
    for (std::size_t i = 0; i < count_; ++i) {
      result_.standings[i].blocks = static_cast<int>(
          std::ranges::count_if(rows_, [i](const Row& row) { return !std::isnan(row[i]); }));
      result_.standings[i].time_us =
          estimate(times_[i], derive_seed(options_.seed, "times", i), options_.resamples);
    }
    return std::move(result_);
  }

 private:
  std::expected<void, Fault> run_block() {
    const int block = result_.blocks++;
    result_.good.push_back(false);
    std::vector<std::size_t> order(alive_.begin() + 1, alive_.end());
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[order_.below(i)]);
    Row row(count_, std::nan(""));
    const auto before = clock_(0, block);
    if (!before) return std::unexpected(before.error());
    for (const std::size_t contestant : order) {
      const auto us = clock_(contestant, block);
      if (!us) return std::unexpected(us.error());
      row[contestant] = std::log(*us);
    }
    const auto after = clock_(0, block);
    if (!after) return std::unexpected(after.error());
    const double drift = std::log(*after / *before);
    if (!(std::abs(drift) <= options_.most_drift)) {
      ++result_.void_blocks;
      return {};
    }
    result_.good.back() = true;
    times_[0].insert(times_[0].end(), {*before, *after});
    for (const std::size_t contestant : order)
      times_[contestant].push_back(std::exp(row[contestant]));
    const double baseline = (std::log(*before) + std::log(*after)) / 2;
    for (double& value : row) value -= baseline;
    row[0] = 0;
    rows_.push_back(std::move(row));
    return {};
  }

  // Of one contestant's time over another's, from the blocks that had both.
  RaceRatio compare(std::size_t one, std::size_t other) const {
    if (one == other) return {};
    std::vector<double> differences;
    for (const Row& row : rows_)
      if (!std::isnan(row[one]) && !std::isnan(row[other]))
        differences.push_back(row[one] - row[other]);
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
  std::vector<Row> rows_;
  std::vector<std::vector<double>> times_;  // in microseconds, of good blocks, by contestant
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
