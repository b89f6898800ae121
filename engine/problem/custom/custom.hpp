#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/problem/custom/spec.hpp"
#include "engine/problem/custom/tolerance.hpp"
#include "engine/problem/problem.hpp"
#include "engine/problem/reference.hpp"

namespace fa_tune::problem {

// What a space describes itself (spec.hpp): a user's own kernel, held against a plain one of his.
// A kernel takes what is listed under `arguments`, and is told what is under `defines`. Suites:
// `quick`, which is all sizes but the timed ones (those, where there are no others), and `mission`.
class CustomProblem final : public Problem {
 public:
  // Throws UserError if a size or a scalar does not fit at any of the spec's sizes.
  explicit CustomProblem(CustomSpec spec);

  std::string kind() const override { return "custom"; }
  const Constants& shape() const override { return spec_.sizes[0]; }
  std::string describe(const Constants& shape) const override;
  std::vector<Suite> suites() const override;
  std::vector<Constants> hidden_shapes(std::uint64_t seed) const override;
  std::vector<std::pair<std::string, std::string>> defines(const Constants& shape) const override;
  SizeFormulas size_formulas() const override { return formulas_of(spec_); }
  Instance make(const Constants& shape, Inputs inputs, std::uint64_t seed) const override;
  Instance outline(const Constants& shape) const override;
  // Of every element, whatever the truth asked for: the reference gives them all. Throws
  // std::logic_error if nobody has given a runner.
  std::vector<Expectation> expect(const Instance& instance, Truth truth) const override;
  std::vector<std::pair<std::string, std::string>> argument_notes(
      const Constants& shape) const override;
  std::vector<std::string> argument_names() const override;
  std::vector<std::string> notes() const override;
  std::vector<std::string> constant_names() const override;
  double flop(const Constants& shape) const override;
  double bytes(const Constants& shape) const override;
  const kernel::Template* plain_kernel() const override {
    return spec_.reference ? &*spec_.reference : nullptr;
  }
  bool reads_files() const override { return !spec_.arrays.empty(); }
  bool wants_reference() const override { return spec_.reference.has_value(); }
  void locate(const source::SourceMaps& lines) override;
  void use_reference(std::shared_ptr<ReferenceRunner> runner) override {
    runner_ = std::move(runner);
  }

 private:
  bool largest_meets_few_kinds() const;
  ReferenceCall call(const Constants& shape) const;
  std::vector<Expectation> expected_in_files(const Instance& instance) const;
  // By the same call in double and on other inputs (tolerance.hpp). `trusted`: what it left in each
  // output as it is written.
  std::vector<Expectation> measured_by(ReferenceCall call, const Instance& instance,
                                       const std::vector<std::vector<std::byte>>& trusted) const;
  // Adds to each what other inputs give. `wide`: the instance in double.
  void draw_noise(const ReferenceCall& call, const ReferenceCall& in_double,
                  const Instance& instance, Instance& wide,
                  std::vector<std::optional<Noise>>& noises) const;

  CustomSpec spec_;
  std::shared_ptr<ReferenceRunner> runner_;
};

// From a space's text, and what is to be changed of its timed sizes ("sizes.n" -> 1000). `where`
// is put before messages: a place in the file of that text.
std::unique_ptr<Problem> make_custom_problem(
    const std::vector<std::pair<std::string, Value>>& settings, const std::string& where);

}  // namespace fa_tune::problem
