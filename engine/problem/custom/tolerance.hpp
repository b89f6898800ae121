#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/problem/custom/spec.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::problem {

// How the elements of a tensor move.
enum class Move {
  each,  // each by a share of its own
  alike  // all by the same share: what hangs on the largest element of a row cannot escape
};

// How far from the truth of a custom problem an element may be, where the space says nothing: it is
// measured.
//
// Two things are noise that no kernel can be blamed for, and each is drawn several times, as one
// draw may by luck be near 0 (of a sum there is one, of a row of a softmax its maximum's, which all
// of the row share):
// - rounding: what the reference as it is written is off by from itself in double on the same
//   inputs; once on the case's own, and again on some whose low bits are drawn anew;
// - moves: what lies between the reference in double on the inputs and on ones that are the same to
//   a float (draw.hpp for both). Correct kernels may be exact for such inputs, with another exp.
// The noise of an element is the root of the mean square of its rounding, and of its moves, and of
// the half unit in the last place by which the output's own type rounds, together. As a few draws
// of one element say little, it is no less than that of its neighbours: its own piece of 32
// elements, as they lie in memory, and the pieces before and behind that; or, where rows are of 2
// to 32 elements and there are at least 16, of its column in the rows about, if that is less: a
// column of small results has small bounds beside one of large ones.
//
// A kernel that adds in another order, or contracts other products, errs as much as that but
// elsewhere; one that is wrong errs by a share of the values themselves. So an element may be off
// by 16 times its noise, and all together by 4 times (their root mean square, relative to the
// bounds and to the values) where there are many that have nothing to do with each other; how many
// is told by how much the draws differ, and of one result it is 16 times again. To f32 and bf16 may
// come what a kernel gains by taking numbers below the normal ones for 0.
//
// What is not known is how a kernel adds that is less careful than the reference: where that keeps
// sums in double, or in pairs, one that adds thousands of floats one after another fails.
// A space states a `tolerance` then, or a plainer reference.
class Noise {
 public:
  // `exact`: the reference in double.
  Noise(const Tensor& output, std::vector<double> exact);

  // A run in the output's type, and what it would be in double, both on the same inputs. Whatever
  // is in double comes as its bytes.
  void add_rounding(std::span<const std::byte> run, std::span<const std::byte> in_double);
  void add_rounding(std::span<const std::byte> run) {
    add_rounding(run, std::as_bytes(std::span(exact_)));
  }
  // A run in double on inputs that were moved.
  void add_move(std::span<const std::byte> near, Move how);

  // After at least one of each.
  Expectation expectation() &&;

 private:
  struct Kind {
    std::vector<double> squares;               // of each element, summed over the draws
    std::vector<std::vector<double>> sampled;  // of a draw, errors of some elements
    int draws = 0;

    // Errors are one run less another. Every `stride`th one is kept, none if `stride` is 0.
    void add(std::size_t stride, DType type, std::span<const std::byte> run,
             std::span<const std::byte> in_double);
  };

  // How many times the noise the root mean square of all errors may be; `bounds` may be empty.
  double factor_of_all(std::span<const double> bounds) const;

  const Tensor& output_;
  std::vector<double> exact_;
  std::size_t stride_;  // of the elements that are sampled
  Kind rounding_, moved_;
};

// How often each is drawn, by what a run costs and how many results share their noise.
struct NoiseDraws {
  int roundings = 1;
  int moves = 1;

  static NoiseDraws of(const Instance& instance);
};

// As the space says: absolute + relative |exact|, of a complex number for both of its parts.
Expectation stated_expectation(const Tensor& output, std::vector<double> exact,
                               const Tolerance& tolerance);

// Integers have no noise.
Expectation equal_expectation(const Tensor& output, std::vector<std::byte> bytes);

}  // namespace fa_tune::problem
