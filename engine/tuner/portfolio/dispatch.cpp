#include "engine/tuner/portfolio/dispatch.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/tuner/task/any_size.hpp"
#include "engine/tuner/task/make_problem.hpp"
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

// The most of any of its kernels; a cluster that rests on sizes counts as one block.
std::int64_t blocks_of_cluster(const exports::AnySize& any) {
  std::int64_t most = 1;
  for (const kernel::KernelFormulas& kernel : any.kernels) {
    std::int64_t blocks = 1;
    for (const expression::Residue& each : kernel.cluster)
      if (const Value* value = each.value()) blocks *= std::get<std::int64_t>(*value);
    most = std::max(most, blocks);
  }
  return most;
}

}  // namespace

DispatchLearner::DispatchLearner(PortfolioField& field, std::uint64_t seed) : field_(field) {
  const problem::SizeFormulas formulas = field.shapes().front().task.problem->size_formulas();
  training_.sizes = formulas.sizes;
  training_.sms = field.shapes().front().task.target.sms;
  std::map<std::string, std::set<Value>> values;
  for (std::size_t i = 0; i < field.shapes().size(); ++i) {
    if (field.shapes()[i].drawn && !field.best_us(i)) continue;
    shapes_.push_back(i);
    const problem::Problem& problem = *field.shapes()[i].task.problem;
    training_.shapes.push_back(all_of(problem));
    const Constants members = members_of(problem);
    for (const auto& [name, value] : members) values[name].insert(value);
    auto known = std::ranges::find(categories_, members, &Category::members);
    if (known == categories_.end())
      known = categories_.insert(known, {.members = members, .shapes = {}});
    training_.category.push_back(static_cast<std::size_t>(known - categories_.begin()));
    known->shapes.push_back(i);
  }
  take_untimed(derive_seed(seed, "untimed"));
  // Only what differs is asked for.
  for (Category& category : categories_) {
    std::erase_if(category.members,
                  [&](const auto& member) { return values.at(member.first).size() < 2; });
    training_.categories.push_back(category.members);
  }
  const std::size_t kernels = field.kernels().size();
  training_.queues.assign(kernels,
                          std::vector<std::vector<exports::QueueFormulas>>(categories_.size()));
  training_.cluster.assign(kernels, std::vector<std::int64_t>(categories_.size(), 1));
  for (std::size_t kernel = 0; kernel < kernels; ++kernel)
    for (std::size_t category = 0; category < categories_.size(); ++category)
      take_formulas(kernel, category);
}

Constants DispatchLearner::members_of(const problem::Problem& problem) {
  const problem::SizeFormulas formulas = problem.size_formulas();
  Constants members = all_of(problem);
  for (const std::string& size : formulas.sizes) members.erase(size);
  for (const auto& [name, value] : formulas.follows) members.erase(name);
  return members;
}

void DispatchLearner::take_untimed(std::uint64_t seed) {
  field_.each_drawn(kUntimedShapes, seed, [&](const space::SpaceFile& file) {
    const auto problem = make_problem(file.problem_kind, file.problem_settings, "");
    const auto category = std::ranges::find(categories_, members_of(*problem), &Category::members);
    if (category != categories_.end())
      training_.untimed.push_back(
          {all_of(*problem), static_cast<std::size_t>(category - categories_.begin())});
  });
}

void DispatchLearner::take_formulas(std::size_t kernel, std::size_t category) {
  const Category& of = categories_[category];
  // Only there kernels are gated; at drawn shapes they are timed.
  const auto passed = [&](std::size_t shape) {
    return !field_.shapes()[shape].drawn && field_.time(kernel, shape).us().has_value();
  };
  if (std::ranges::none_of(of.shapes, passed)) {
    for (const std::size_t shape : of.shapes) field_.exclude(kernel, shape);
    return;
  }
  const TuningTask& task = field_.shapes()[of.shapes.front()].task;
  const Config& config = field_.kernels()[kernel].config;
  try {
    exports::AnySize any =
        any_size(task.template_of(config), *task.problem, task.target, task.file, config);
    for (const kernel::KernelFormulas& each : any.kernels)
      training_.queues[kernel][category].push_back(exports::queue_of(each, training_.sizes));
    training_.cluster[kernel][category] = blocks_of_cluster(any);
    any_size_.emplace(std::pair(kernel, category), std::move(any));
  } catch (const UserError& error) {
    refuse(kernel, category, error.what());
  }
}

std::string DispatchLearner::described(const Category& category) const {
  std::vector<std::string> parts;
  for (const auto& [name, value] : category.members) parts.push_back(name + "=" + to_text(value));
  return parts.empty() ? "other sizes" : fmt::format("{}", fmt::join(parts, " "));
}

void DispatchLearner::refuse(std::size_t kernel, std::size_t category, const std::string& why) {
  refusals_.push_back(fmt::format("trial {} does not serve {}: {}", field_.kernels()[kernel].trial,
                                  described(categories_[category]), why));
  log_warning("{}", refusals_.back());
  training_.queues[kernel][category].clear();
  for (const std::size_t shape : categories_[category].shapes) field_.exclude(kernel, shape);
}

void DispatchLearner::learn() {
  training_.us.assign(field_.kernels().size(), {});
  for (std::size_t kernel = 0; kernel < field_.kernels().size(); ++kernel)
    for (const std::size_t shape : shapes_)
      training_.us[kernel].push_back(field_.time(kernel, shape).us());
  for (const std::size_t shape : shapes_)
    if (!field_.best_us(shape))
      throw UserError(fmt::format("no kernel of these serves {}: {}",
                                  field_.shapes()[shape].described,
                                  refusals_.empty() ? "run evolve for it" : refusals_.front()));
  learned_ = learn_dispatch(training_);
}

bool DispatchLearner::gate(std::size_t kernel, std::size_t category, device::Device& device,
                           kernel::CompilePool& pool) {
  const std::pair at(kernel, category);
  if (gated_.contains(at) || training_.queues[kernel][category].empty()) return true;
  const PortfolioKernel& chosen = field_.kernels()[kernel];
  const TuningTask& task = field_.shapes()[categories_[category].shapes.front()].task;
  try {
    exports::AnySize& any = any_size_.at(at);
    const auto variant = make_variant(task, chosen.config, pool, device);
    gate_any_size(*task.problem, variant->binder(), device,
                  static_cast<std::uint64_t>(chosen.trial), any);
    log_info("trial {} passed on {} at {} too", chosen.trial, device.info().id, any.gated);
    gated_.insert(at);
    return true;
  } catch (const UserError& error) {
    refuse(kernel, category, error.what());
    return false;
  }
}

bool DispatchLearner::gate(device::Device& device, kernel::CompilePool& pool) {
  bool all = true;
  for (const std::size_t kernel : learned_.kernels)
    for (std::size_t category = 0; category < categories_.size(); ++category)
      all = gate(kernel, category, device, pool) && all;
  return all;
}

std::vector<std::int64_t> DispatchLearner::trials() const {
  std::vector<std::int64_t> trials;
  for (const std::size_t kernel : learned_.kernels)
    trials.push_back(field_.kernels()[kernel].trial);
  return trials;
}

std::vector<std::int64_t> DispatchLearner::preferred(const problem::Problem& problem) const {
  std::vector<std::int64_t> order;
  for (const std::size_t choice : learned_.dispatch.preferred(all_of(problem)))
    order.push_back(trials()[choice]);
  return order;
}

void DispatchLearner::add_to(Packager& packager, const db::Store& store) const {
  for (const std::size_t choice : learned_.dispatch.robust)
    for (std::size_t category = 0; category < categories_.size(); ++category) {
      const std::pair at(learned_.kernels[choice], category);
      if (!gated_.contains(at)) continue;
      const std::size_t shape = categories_[category].shapes.front();
      packager.add_trial(store, field_.kernels()[at.first].trial,
                         field_.shapes()[shape].task.problem->shape(), any_size_.at(at), choice);
    }
}

}  // namespace fa_tune::tuner
