#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/export/any_size.hpp"
#include "engine/tuner/portfolio/kernel_costs.hpp"
#include "engine/tuner/portfolio/portfolio.hpp"

namespace fa_tune::tuner {

class Packager;

// Kernels for shapes that nobody tuned: what each takes is learned from the times of a portfolio's
// field, few of them are chosen that together are never far behind, and each is for any sizes.
// Members of a shape that are compiled in (D, a mask) are categories; a kernel is compiled for each
// category that a tuned shape has.
class DispatchLearner {
 public:
  // Kernels are chosen for the field's shapes and for this many others within their range, which the
  // seed draws.
  static constexpr std::size_t kUntimedShapes = 240;
  // Throws UserError where a problem's kernels are made for one shape.
  DispatchLearner(PortfolioField& field, std::uint64_t seed);

  // Among all kernels of the field that are for any sizes. Throws UserError where a shape has none.
  void learn();
  // Gates what was learned at other sizes of each category, each once; where a kernel fails it
  // serves no shape of that category, which is told, and then learn() is to be called again.
  // Returns whether all passed.
  bool gate(device::Device& device, kernel::CompilePool& pool);

  const LearnedDispatch& learned() const { return learned_; }
  // The trial of each choice, and of those that are asked for a shape, the chosen one first.
  std::vector<std::int64_t> trials() const;
  std::vector<std::int64_t> preferred(const problem::Problem& problem) const;

  // What serves no shape of a category: "trial 7 does not serve D=128: ...".
  const std::vector<std::string>& refusals() const { return refusals_; }
  // Adds each kernel for each category, in the order in which they are asked. They must have been
  // gated.
  void add_to(Packager& packager, const db::Store& store) const;

 private:
  struct Category {
    Constants members;
    std::vector<std::size_t> shapes;  // of the field
  };
  // Of the members of a shape that are no sizes.
  static Constants members_of(const problem::Problem& problem);
  void take_untimed(std::uint64_t seed);
  void take_formulas(std::size_t kernel, std::size_t category);
  std::string described(const Category& category) const;
  void refuse(std::size_t kernel, std::size_t category, const std::string& why);
  bool gate(std::size_t kernel, std::size_t category, device::Device& device,
            kernel::CompilePool& pool);

  PortfolioField& field_;
  std::vector<std::size_t> shapes_;  // of the field: those of the training set
  TrainingSet training_;
  std::vector<Category> categories_;
  std::map<std::pair<std::size_t, std::size_t>, exports::AnySize> any_size_;  // kernel, category
  std::set<std::pair<std::size_t, std::size_t>> gated_;
  std::vector<std::string> refusals_;
  LearnedDispatch learned_;
};

}  // namespace fa_tune::tuner
