#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/export/any_size.hpp"
#include "engine/tuner/portfolio/decision_tree.hpp"
#include "engine/tuner/portfolio/portfolio.hpp"

namespace fa_tune::tuner {

class Packager;

// A portfolio for shapes that nobody tuned: which of its kernels serves which shape is learned from
// their times, and each is for any sizes. Members of a shape that are compiled in (D, a mask) are
// categories; a kernel is compiled for each category that a tuned shape has.
class Dispatch {
 public:
  // Throws UserError where a problem's kernels are made for one shape.
  explicit Dispatch(PortfolioField& field);

  // Gates a kernel at other sizes of each category, once; where it fails it serves no shape of that
  // category, which is told and excluded from the field. Returns whether all passed.
  bool gate(const std::vector<std::size_t>& kernels, device::Device& device,
            kernel::CompilePool& pool);

  // Among these kernels of the field.
  void learn(const std::vector<std::size_t>& kernels);
  // Of the field; a choice of the tree is a place here.
  const std::vector<std::size_t>& kernels() const { return kernels_; }
  const LearnedTree& learned() const { return learned_; }
  // Of the tree at each shape, though it knows them.
  std::vector<double> regrets() const;

  // What did not pass the gate: "trial 7 does not serve D=128: ...".
  const std::vector<std::string>& refusals() const { return refusals_; }
  // Adds each kernel for each category, as the tree prefers them. They must have been gated.
  void add_to(Packager& packager, const db::Store& store) const;

 private:
  struct Category {
    Constants members;
    std::vector<std::size_t> shapes;
  };
  std::string described(const Category& category) const;
  bool serves(std::size_t kernel, const Category& category) const;
  bool gate(std::size_t kernel, std::size_t category, device::Device& device,
            kernel::CompilePool& pool);

  PortfolioField& field_;
  std::vector<Constants> shapes_;  // complete
  std::vector<std::string> sizes_, differing_;
  std::vector<std::vector<std::string>> products_;
  std::vector<Category> categories_;
  std::map<std::pair<std::size_t, std::size_t>, exports::AnySize> gated_;  // kernel, category
  std::vector<std::string> refusals_;
  std::vector<std::size_t> kernels_;
  LearnedTree learned_;
};

}  // namespace fa_tune::tuner
