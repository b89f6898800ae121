#include "engine/search/evolve/bandit.hpp"

#include <algorithm>
#include <numeric>

namespace fa_tune {
namespace {

// A gain counts half after some 70 more trials.
constexpr double kFade = 0.99;
constexpr double kFloor = 0.4;  // what is shared out evenly

}  // namespace

void Bandit::tell(std::size_t arm, double log_gain, double cost_s) {
  for (double& gain : gain_) gain *= kFade;
  for (double& cost : cost_) cost *= kFade;
  gain_[arm] += std::max(log_gain, 0.0);
  cost_[arm] += std::max(cost_s, 0.0);
}

std::vector<double> Bandit::shares() const {
  const auto arms = static_cast<double>(gain_.size());
  const double spent = std::accumulate(cost_.begin(), cost_.end(), 0.0);
  std::vector<double> rates(gain_.size(), 0);
  // An arm is judged as if it had also had an even share of all that was spent: few children say
  // little.
  for (std::size_t arm = 0; arm < rates.size(); ++arm)
    if (spent > 0) rates[arm] = gain_[arm] / (cost_[arm] + spent / arms);
  const double total = std::accumulate(rates.begin(), rates.end(), 0.0);
  for (double& rate : rates)
    rate = total > 0 ? kFloor / arms + (1 - kFloor) * rate / total : 1 / arms;
  return rates;
}

}  // namespace fa_tune
