#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fa_tune::emulator {

// What the model is off by for a kernel, log(measured / simulated), as others like it say that a GPU
// has timed: kernel ridge regression with a Gaussian of the distance between features, which is the
// mean of a Gaussian process (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006,
// equation 2.23). Fitted by tools/bench/emulator/clock/residuals.
struct ResidualModel {
  // Of one feature over the kernels: what is subtracted, and divided by then.
  struct Scale {
    std::string name;
    double mean = 0;
    double deviation = 1;
  };

  // One kind of kernel, and what is still off for it: log(measured / predicted) of each, told from
  // the kernels of other draws at other shapes.
  struct Kind {
    std::string name;  // of recorded_errors.hpp
    int kernels = 0;
    int shapes = 0;
    double low = 0;  // the middle 90%
    double high = 0;
    double apart = 0;  // RecordedErrors::apart
  };

  std::string gpu;  // that timed them: "NVIDIA H200"
  std::vector<Kind> kinds;
  std::vector<Scale> scales;   // a feature
  double width = 1;            // of the Gaussian, in deviations
  double limit = 3;            // no feature counts for farther from its mean, in deviations
  double least_likeness = 0;   // that a kernel has to one of these, or nothing is known of it
  std::vector<float> points;   // kernels x features, scaled
  std::vector<float> weights;  // a kernel

  // Null for a kind that none of the kernels is of.
  const Kind* kind(std::string_view name) const;
  struct Told {
    double error = 0;  // log(measured / simulated)
    // To the kernel that it is most like: 1 with the same features, 0 far away.
    double likeness = 0;
  };
  // `features`: as many as there are scales.
  Told at(std::span<const double> features) const;
};

}  // namespace fa_tune::emulator
