#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/problem/problem.hpp"

namespace fa_tune::test {

// What a problem of four numbers, without suites, has to say of itself.
class FourNumbers : public problem::Problem {
 public:
  const Constants& shape() const override { return shape_; }
  std::string describe(const Constants&) const override { return "n=4"; }
  std::vector<problem::Suite> suites() const override { return {}; }
  std::vector<std::pair<std::string, std::string>> defines(const Constants&) const override {
    return {};
  }
  double flop(const Constants&) const override { return 0; }
  double bytes(const Constants&) const override { return 0; }

 private:
  Constants shape_{{"n", std::int64_t{4}}};
};

}  // namespace fa_tune::test
