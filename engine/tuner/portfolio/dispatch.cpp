#include "engine/tuner/portfolio/dispatch.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/tuner/task/any_size.hpp"
#include "engine/tuner/task/packaging.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"

namespace fa_tune::tuner {
namespace {

// All that is known of a shape: what is at its default, and numbers that a complete one leaves out.
Constants all_of(const problem::Problem& problem) {
  Constants all = problem.complete(problem.shape());
  all.insert(problem.shape().begin(), problem.shape().end());
  return all;
}

}  // namespace

Dispatch::Dispatch(PortfolioField& field) : field_(field) {
  const problem::SizeFormulas formulas = field.shapes().front().task.problem->size_formulas();
  sizes_ = formulas.sizes;
  for (const std::string& size : sizes_) products_.push_back({size});
  products_.insert(products_.end(), formulas.products.begin(), formulas.products.end());
  std::map<std::string, std::set<Value>> values;
  for (std::size_t i = 0; i < field.shapes().size(); ++i) {
    const problem::Problem& problem = *field.shapes()[i].task.problem;
    const problem::SizeFormulas of_shape = problem.size_formulas();
    shapes_.push_back(all_of(problem));
    Constants members = shapes_.back();
    for (const std::string& size : of_shape.sizes) members.erase(size);
    for (const auto& [name, value] : of_shape.follows) members.erase(name);
    for (const auto& [name, value] : members) values[name].insert(value);
    auto known = std::ranges::find(categories_, members, &Category::members);
    if (known == categories_.end())
      known = categories_.insert(known, {.members = members, .shapes = {}});
    known->shapes.push_back(i);
  }
  for (const auto& [name, all] : values)
    if (all.size() > 1) differing_.push_back(name);
}

std::string Dispatch::described(const Category& category) const {
  std::vector<std::string> parts;
  for (const std::string& name : differing_)
    parts.push_back(name + "=" + to_text(category.members.at(name)));
  return parts.empty() ? "other sizes" : fmt::format("{}", fmt::join(parts, " "));
}

bool Dispatch::serves(std::size_t kernel, const Category& category) const {
  return std::ranges::any_of(
      category.shapes, [&](std::size_t shape) { return field_.regret(kernel, shape).has_value(); });
}

bool Dispatch::gate(std::size_t kernel, std::size_t category, device::Device& device,
                    kernel::CompilePool& pool) {
  const Category& of = categories_[category];
  if (gated_.contains({kernel, category}) || !serves(kernel, of)) return true;
  const PortfolioKernel& chosen = field_.kernels()[kernel];
  const TuningTask& task = field_.shapes()[of.shapes.front()].task;
  try {
    exports::AnySize any = any_size(task.template_of(chosen.config), *task.problem, task.target,
                                    task.file, chosen.config);
    const auto variant = make_variant(task, chosen.config, pool, device);
    gate_any_size(*task.problem, variant->binder(), device,
                  static_cast<std::uint64_t>(chosen.trial), any);
    log_info("trial {} passed on {} at {} too", chosen.trial, device.info().id, any.gated);
    gated_.emplace(std::pair(kernel, category), std::move(any));
    return true;
  } catch (const UserError& error) {
    refusals_.push_back(
        fmt::format("trial {} does not serve {}: {}", chosen.trial, described(of), error.what()));
    log_warning("{}", refusals_.back());
  }
  for (const std::size_t shape : of.shapes) field_.exclude(kernel, shape);
  return false;
}

bool Dispatch::gate(const std::vector<std::size_t>& kernels, device::Device& device,
                    kernel::CompilePool& pool) {
  bool all = true;
  for (const std::size_t kernel : kernels)
    for (std::size_t category = 0; category < categories_.size(); ++category)
      all = gate(kernel, category, device, pool) && all;
  return all;
}

void Dispatch::learn(const std::vector<std::size_t>& kernels) {
  kernels_ = kernels;
  TrainingSet training{.shapes = shapes_,
                       .regret = {},
                       .sizes = sizes_,
                       .products = products_,
                       .categories = differing_};
  for (const std::size_t kernel : kernels_) {
    auto& row = training.regret.emplace_back();
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape)
      row.push_back(field_.regret(kernel, shape));
  }
  learned_ = learn_tree(training);
}

std::vector<double> Dispatch::regrets() const {
  std::vector<double> all;
  for (std::size_t shape = 0; shape < shapes_.size(); ++shape)
    for (const std::size_t choice : learned_.tree.preferred(shapes_[shape]))
      if (const auto regret = field_.regret(kernels_[choice], shape)) {
        all.push_back(*regret);
        break;
      }
  return all;
}

void Dispatch::add_to(Packager& packager, const db::Store& store) const {
  for (const std::size_t choice : learned_.tree.robust)
    for (std::size_t category = 0; category < categories_.size(); ++category) {
      const auto found = gated_.find({kernels_[choice], category});
      if (found == gated_.end()) continue;
      const std::size_t shape = categories_[category].shapes.front();
      packager.add_trial(store, field_.kernels()[kernels_[choice]].trial,
                         field_.shapes()[shape].task.problem->shape(), found->second, choice);
    }
}

}  // namespace fa_tune::tuner
