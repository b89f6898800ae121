#pragma once

#include <cstddef>
#include <vector>

namespace fa_tune {

// Shares of the operators by what they brought: logarithm of the gain in time for each second spent
// on their children. Old gains fade, since what helps at first is not what helps at last; no
// operator falls below a floor, so that each is tried again.
class Bandit {
 public:
  explicit Bandit(std::size_t arms) : gain_(arms, 0), cost_(arms, 0) {}

  // A child's result: log(best before / its time) where that is positive, else 0.
  void tell(std::size_t arm, double log_gain, double cost_s);
  // Sums to 1.
  std::vector<double> shares() const;

 private:
  std::vector<double> gain_;
  std::vector<double> cost_;
};

}  // namespace fa_tune
