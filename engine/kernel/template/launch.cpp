#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "engine/kernel/template/template.hpp"
#include "engine/source/identifier_substitution.hpp"
#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::kernel {

DerivedScope::DerivedScope(const Config& config, const Constants& constants,
                           const Constants& optional, const std::vector<space::Derived>& derived)
    : config_(config), constants_(constants), optional_(optional) {
  const auto has_value = [this](const std::string& name) { return find(name) != nullptr; };
  for (const space::Derived& value : derived)
    if (std::ranges::all_of(value.expression.names(), has_value))
      values_.insert_or_assign(value.name, value.expression.evaluate(lookup()));
}

const Value* DerivedScope::find(const std::string& name) const {
  // Before the config: a parameter of another template may go by the same name.
  if (const auto at = values_.find(name); at != values_.end()) return &at->second;
  if (const Value* value = config_.find(name)) return value;
  for (const Constants* all : {&constants_, &optional_})
    if (const auto at = all->find(name); at != all->end()) return &at->second;
  return nullptr;
}

namespace {

// Limits that hold on every GPU since compute capability 5.0 (CUDA C++ programming guide,
// "Technical specifications per compute capability"); a device's own, tighter ones are the device's
// to check.
struct Limits {
  std::int64_t x, y, z, product;
};
constexpr Limits kGrid = {2147483647, 65535, 65535, INT64_MAX};
constexpr Limits kBlock = {1024, 1024, 64, 1024};
constexpr Limits kCluster = {16, 16, 16, 16};
constexpr std::int64_t kMaxShared = std::int64_t{1} << 31;

struct Subject {
  const Config& config;
  const expression::Expression::Scope& scope;
};

std::int64_t evaluate(const expression::Expression& expression, std::string_view what,
                      std::int64_t least, std::int64_t most, const Subject& subject) {
  const std::int64_t value = expression.evaluate_integer(subject.scope);
  if (value < least || value > most)
    throw UserError(fmt::format("{}{} is {} = {}, expected {} to {}, for the config {}",
                                prefix(expression.mark()), what, expression.text(), value, least,
                                most, subject.config.to_json()));
  return value;
}

Dim3 evaluate(const std::vector<expression::Expression>& sizes, const std::string& what,
              const Limits& limits, const Subject& subject) {
  const std::int64_t most[3] = {limits.x, limits.y, limits.z};
  const char* const axes[3] = {".x", ".y", ".z"};
  std::int64_t size[3] = {1, 1, 1};
  for (std::size_t i = 0; i < sizes.size(); ++i)
    size[i] = evaluate(sizes[i], what + axes[i], 1, most[i], subject);
  const Dim3 dims = {static_cast<std::uint32_t>(size[0]), static_cast<std::uint32_t>(size[1]),
                     static_cast<std::uint32_t>(size[2])};
  if (dims.count() > static_cast<std::uint64_t>(limits.product))
    throw UserError(fmt::format("{}{} is {} x {} x {} = {}, expected at most {}, for the config {}",
                                prefix(sizes.front().mark()), what, size[0], size[1], size[2],
                                dims.count(), limits.product, subject.config.to_json()));
  return dims;
}

constexpr std::int64_t kMostInBox = 256;  // CUDA driver API, cuTensorMapEncodeTiled
// Elements. More than a GPU's memory; sizes in bytes stay far from overflow.
constexpr std::int64_t kMostInWorkspace = std::int64_t{1} << 40;

LaunchConfig geometry(const auto& kernel, const Subject& subject) {
  const auto& [grid, block, cluster, shared] =
      std::tie(kernel.grid, kernel.block, kernel.cluster, kernel.shared);
  LaunchConfig launch;
  launch.grid = evaluate(grid, "grid", kGrid, subject);
  launch.block = evaluate(block, "block", kBlock, subject);
  launch.cluster = evaluate(cluster, "cluster", kCluster, subject);
  if (launch.grid.x % launch.cluster.x != 0 || launch.grid.y % launch.cluster.y != 0 ||
      launch.grid.z % launch.cluster.z != 0)
    throw UserError(
        fmt::format("{}cluster does not divide the grid {} x {} x {}, for the config {}",
                    prefix(cluster.front().mark()), launch.grid.x, launch.grid.y, launch.grid.z,
                    subject.config.to_json()));
  if (!shared.empty())
    launch.dynamic_shared_bytes =
        static_cast<std::uint32_t>(evaluate(shared.front(), "shared", 0, kMaxShared, subject));
  if (!kernel.cooperative.empty())
    launch.cooperative = kernel.cooperative.front().evaluate_bool(subject.scope);
  if (!kernel.programmatic.empty())
    launch.programmatic = kernel.programmatic.front().evaluate_bool(subject.scope);
  return launch;
}

PlannedKernel plan_kernel(const auto& kernel, const Subject& subject) {
  PlannedKernel planned{0, geometry(kernel, subject), {}, {}};
  for (const auto& argument : kernel.arguments)
    if (!argument.when || argument.when->evaluate_bool(subject.scope))
      planned.arguments.push_back(argument.name);
  for (const auto& map : kernel.maps) {
    if (std::ranges::find(planned.arguments, map.argument) == planned.arguments.end()) continue;
    MappedTensor mapped{map.argument, map.tensor, {}, map.swizzle_bytes, {}};
    for (const expression::Expression& size : map.box)
      mapped.box.push_back(static_cast<std::uint32_t>(
          evaluate(size, map.argument + "'s box", 1, kMostInBox, subject)));
    for (const auto& axis : map.axes) {
      MapAxis made{.letter = axis.letter};
      if (axis.part != 0) {
        const std::int64_t by =
            evaluate(axis.by.front(), map.argument + "'s axes", 1, INT32_MAX, subject);
        (axis.part == '%' ? made.modulo : made.divisor) = by;
      }
      mapped.axes.push_back(made);
    }
    planned.maps.push_back(std::move(mapped));
  }
  return planned;
}

}  // namespace

PlannedLaunch Template::require_plan(const Config& config, const Constants& constants) const {
  const DerivedScope values(config, constants, optional_, derived_);
  const expression::Expression::Scope scope = values.lookup();
  const Subject subject = {config, scope};
  PlannedLaunch planned;
  if (!lists_steps_) {
    PlannedKernel only = plan_kernel(first_kernel(), subject);
    planned = {only.config, std::move(only.arguments), std::move(only.maps)};
    planned.workspaces = plan_workspaces(config, scope);
    planned.scalars = plan_scalars(planned.kernels(), scope);
    return planned;
  }
  const std::vector<std::string> entries = kernels(config);
  for (const Step& step : steps_) {
    if (step.when && !step.when->evaluate_bool(scope)) continue;
    if (const auto* kernel = std::get_if<Kernel>(&step.does)) {
      PlannedKernel one = plan_kernel(*kernel, subject);
      one.entry = static_cast<std::size_t>(
          std::ranges::find(entries, instance_name(kernel->name, config)) - entries.begin());
      planned.steps.emplace_back(std::move(one));
    } else if (const auto* fill = std::get_if<PlannedFill>(&step.does)) {
      planned.steps.emplace_back(*fill);
    } else {
      planned.steps.emplace_back(std::get<PlannedCopy>(step.does));
    }
  }
  if (planned.kernels().empty())
    throw UserError(fmt::format("{}steps: no kernel is left for the config {}",
                                prefix(steps_.front().mark), config.to_json()));
  planned.workspaces = plan_workspaces(config, scope);
  planned.scalars = plan_scalars(planned.kernels(), scope);
  return planned;
}

std::vector<PlannedWorkspace> Template::plan_workspaces(
    const Config& config, const expression::Expression::Scope& scope) const {
  std::vector<PlannedWorkspace> planned;
  for (const Workspace& workspace : workspaces_) {
    PlannedWorkspace& one = planned.emplace_back(workspace.name, workspace.type);
    std::int64_t elements = 1;
    for (const expression::Expression& size : workspace.shape) {
      one.dims.push_back(
          evaluate(size, workspace.name + "'s shape", 1, kMostInWorkspace, {config, scope}));
      elements = one.dims.back() > kMostInWorkspace / elements ? kMostInWorkspace + 1
                                                               : elements * one.dims.back();
      if (elements > kMostInWorkspace)
        throw UserError(fmt::format("{}{} has more than {} elements, for the config {}",
                                    prefix(workspace.mark), workspace.name, kMostInWorkspace,
                                    config.to_json()));
    }
  }
  return planned;
}

std::vector<PlannedScalar> Template::plan_scalars(
    const std::vector<PlannedKernel>& kernels, const expression::Expression::Scope& scope) const {
  std::vector<PlannedScalar> planned;
  for (const Scalar& scalar : scalars_) {
    const auto takes_it = [&](const PlannedKernel& kernel) {
      return std::ranges::find(kernel.arguments, scalar.name) != kernel.arguments.end();
    };
    // One that nobody takes may have no value for this config.
    if (std::ranges::none_of(kernels, takes_it)) continue;
    PlannedScalar& one = planned.emplace_back(scalar.name, scalar.type);
    one.bytes.resize(size_of(scalar.type));
    expression::put_stated_number(scalar.value, scalar.type, scope, scalar.value_mark, scalar.name,
                                  one.bytes.data());
  }
  return planned;
}

std::expected<PlannedLaunch, std::string> Template::plan(const Config& config,
                                                         const Constants& constants) const {
  try {
    return require_plan(config, constants);
  } catch (const UserError& error) {
    return std::unexpected(error.what());
  }
}

bool Template::may_cooperate() const {
  return std::ranges::any_of(all_kernels(),
                             [](const Kernel* kernel) { return !kernel->cooperative.empty(); });
}

std::vector<const expression::Expression*> Template::launch_expressions() const {
  std::vector<const expression::Expression*> all;
  const auto add = [&all](const std::vector<expression::Expression>& some) {
    for (const expression::Expression& each : some) all.push_back(&each);
  };
  for (const Kernel* kernel : all_kernels()) {
    add(kernel->grid);
    add(kernel->block);
    add(kernel->cluster);
    add(kernel->shared);
    add(kernel->cooperative);
    add(kernel->programmatic);
    for (const Map& map : kernel->maps) {
      add(map.box);
      for (const Axis& axis : map.axes) add(axis.by);
    }
    for (const Argument& argument : kernel->arguments)
      if (argument.when) all.push_back(&*argument.when);
  }
  for (const Step& step : steps_)
    if (step.when) all.push_back(&*step.when);
  for (const Workspace& workspace : workspaces_) add(workspace.shape);
  for (const Scalar& scalar : scalars_)
    if (scalar.value.whole.formula) all.push_back(&*scalar.value.whole.formula);
  return all;
}

void Template::require_names(const std::vector<std::string>& names) const {
  const auto known = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end() || optional_.contains(name) ||
           std::ranges::find(derived_, name, &space::Derived::name) != derived_.end();
  };
  const auto require = [&](const expression::Expression& each, const char* also = "") {
    for (const std::string& name : each.names())
      if (!known(name) && name != also)
        throw UserError(
            fmt::format("{}'{}' has no value here: expected a parameter, a derived "
                        "value, or one of problem.* or device.*{}",
                        prefix(each.mark_of(name)), name, did_you_mean(name, names)));
  };
  for (const expression::Expression* each : launch_expressions()) require(*each);
  for (const Kernel* kernel : all_kernels()) {
    if (!kernel->tiles) continue;
    require(kernel->tiles->sets);
    require(kernel->tiles->of_a_set);
    require(kernel->tiles->steps, kTileNumber);
    if (kernel->tiles->together) require(*kernel->tiles->together);
  }
}

namespace {

bool mentions(const expression::Expression& expression, const std::set<std::string>& names) {
  return std::ranges::any_of(expression.names(),
                             [&](const std::string& name) { return names.contains(name); });
}

}  // namespace

std::set<std::string> Template::reached_from(const std::string& parameter) const {
  std::set<std::string> reached = {parameter};
  // Derived values stand behind those that they rest on.
  for (const space::Derived& value : derived_)
    if (mentions(value.expression, reached)) reached.insert(value.name);
  return reached;
}

std::vector<std::string> Template::division_parameters() const {
  std::vector<const expression::Expression*> division;
  for (const Kernel* kernel : all_kernels()) {
    for (const auto* sizes : {&kernel->grid, &kernel->block, &kernel->cluster})
      for (const expression::Expression& size : *sizes) division.push_back(&size);
    if (kernel->tiles)
      division.insert(division.end(),
                      {&kernel->tiles->sets, &kernel->tiles->of_a_set, &kernel->tiles->steps});
  }
  for (const Step& step : steps_)
    if (step.when) division.push_back(&*step.when);
  return parameters_behind(division);
}

std::vector<std::string> Template::block_parameters() const {
  std::vector<const expression::Expression*> blocks;
  for (const Kernel* kernel : all_kernels())
    for (const expression::Expression& size : kernel->block) blocks.push_back(&size);
  return parameters_behind(blocks);
}

std::vector<std::string> Template::parameters_behind(
    const std::vector<const expression::Expression*>& expressions) const {
  std::vector<std::string> parameters = parameters_;
  for (const auto& [name, value] : optional_) parameters.push_back(name);
  std::erase_if(parameters, [&](const std::string& parameter) {
    const std::set<std::string> reached = reached_from(parameter);
    return std::ranges::none_of(
        expressions, [&](const expression::Expression* each) { return mentions(*each, reached); });
  });
  return parameters;
}

bool Template::uses(const std::string& parameter) const {
  const std::set<std::string> reached = reached_from(parameter);
  if (std::ranges::any_of(launch_expressions(), [&](const expression::Expression* each) {
        return mentions(*each, reached);
      }))
    return true;
  if (std::ranges::any_of(options_, [&](const source::CompileOption& option) {
        return source::named_value(option) == parameter;
      }))
    return true;
  const auto names_it = [&](const std::string& text) {
    for (auto word = source::next_word(text, 0); word;
         word = source::next_word(text, word->end())) {
      const std::string name(word->text);
      const bool defined = name == parameter || std::ranges::find(defines_, name) != defines_.end();
      if (defined && reached.contains(name)) return true;
    }
    return false;
  };
  return names_it(cuda_text_) || std::ranges::any_of(all_kernels(), [&](const Kernel* kernel) {
           return names_it(kernel->name);
         });
}

}  // namespace fa_tune::kernel
