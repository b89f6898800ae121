#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/kernel/template/template.hpp"
#include "engine/kernel/template/template_form.hpp"
#include "engine/source/named_files.hpp"
#include "engine/source/type_names.hpp"
#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

// What a template launches: one kernel, or a list of steps.

namespace fa_tune::kernel {
namespace {

// More than anybody writes by hand.
constexpr std::size_t kMostSteps = 64;

std::string kernel_name(const YamlNode& node) {
  const std::string& text = node.text("kernel");
  if (!source::is_kernel_name(text))
    node.expected("kernel",
                  "the name of a function, or of a template's instance: name<BLOCK, float>");
  return text;
}

expression::Expression expression_of(const YamlNode& node, std::string_view what) {
  return expression::Expression::parse(node.text(what), node.text_mark());
}

// One to three sizes, x first.
std::vector<expression::Expression> sizes(const YamlNode& node, std::string_view what) {
  const auto& items = node.items(what);
  if (items.empty() || items.size() > 3)
    node.expected(what, "a list of one to three sizes, x first");
  std::vector<expression::Expression> result;
  result.reserve(items.size());
  for (const YamlNode& item : items) result.push_back(expression_of(item, what));
  return result;
}

DType number_type(const YamlNode& node) {
  if (const auto type = number_called(source::canonical_type(node.text("type")))) return *type;
  node.expected("type", "one of " + type_names());
}

void require_name(const YamlEntry& entry, const char* what) {
  if (!is_identifier(entry.key))
    throw UserError(prefix(entry.key_mark) + what + ": expected a name, found " +
                    quote_text(entry.key));
}

}  // namespace

Template::Kernel Template::read_kernel(const YamlNode& node) {
  Kernel kernel;
  kernel.name = kernel_name(node.at("kernel"));
  kernel.mark = node.at("kernel").text_mark();
  kernel.arguments = read_arguments(node.at("arguments"));
  if (const YamlNode* maps = node.find("maps")) kernel.maps = read_maps(*maps, kernel.arguments);
  const YamlNode& launch = node.at("launch");
  launch.check_keys("launch", form::kLaunch);
  kernel.grid = sizes(launch.at("grid"), "grid");
  kernel.block = sizes(launch.at("block"), "block");
  if (const YamlNode* cluster = launch.find("cluster")) kernel.cluster = sizes(*cluster, "cluster");
  if (const YamlNode* shared = launch.find("shared"))
    kernel.shared.push_back(expression_of(*shared, "shared"));
  if (const YamlNode* whole = launch.find("cooperative"))
    kernel.cooperative.push_back(expression_of(*whole, "cooperative"));
  if (const YamlNode* early = launch.find("programmatic"))
    kernel.programmatic.push_back(expression_of(*early, "programmatic"));
  if (const YamlNode* tiles = launch.find("tiles")) {
    tiles->check_keys("tiles", form::kTiles);
    kernel.tiles.emplace(Kernel::Tiles{expression_of(tiles->at("sets"), "sets"),
                                       expression_of(tiles->at("of_a_set"), "of_a_set"),
                                       expression_of(tiles->at("steps"), "steps"),
                                       {}});
    if (const YamlNode* together = tiles->find("together"))
      kernel.tiles->together = expression_of(*together, "together");
  }
  return kernel;
}

Template::Step Template::read_step(const YamlNode& node) {
  Step step;
  step.mark = node.mark();
  if (const YamlNode* when = node.find("when")) step.when = expression_of(*when, "when");
  if (const YamlNode* tensor = node.find("set")) {
    node.check_keys("a step that sets", form::kSet);
    const std::int64_t value = node.at("value").integer("value");
    if (value < 0 || value > 255)
      node.at("value").expected("value", "what each byte is to be, 0 to 255");
    step.does = PlannedFill{tensor->name("set"), static_cast<std::uint8_t>(value)};
  } else if (const YamlNode* from = node.find("copy")) {
    node.check_keys("a step that copies", form::kCopy);
    step.does = PlannedCopy{from->name("copy"), node.at("to").name("to")};
  } else {
    if (node.find("kernel") == nullptr)
      node.expected("a step", "`kernel` with launch and arguments, `set` or `copy`");
    node.check_keys("a step that runs a kernel", form::kRun);
    step.does = read_kernel(node);
  }
  return step;
}

std::vector<Template::Workspace> Template::read_workspaces(const YamlNode& node) {
  std::vector<Workspace> workspaces;
  for (const YamlEntry& entry : node.entries("workspaces")) {
    require_name(entry, "workspaces");
    entry.value.check_keys("a workspace", form::kWorkspace);
    Workspace workspace{entry.key, number_type(entry.value.at("type")), {}, entry.key_mark};
    const auto& shape = entry.value.at("shape").items("shape");
    if (shape.empty()) entry.value.at("shape").expected("shape", "a list of sizes");
    for (const YamlNode& size : shape) workspace.shape.push_back(expression_of(size, "shape"));
    workspaces.push_back(std::move(workspace));
  }
  return workspaces;
}

std::vector<Template::Scalar> Template::read_scalars(const YamlNode& node) {
  std::vector<Scalar> scalars;
  for (const YamlEntry& entry : node.entries("scalars")) {
    require_name(entry, "scalars");
    entry.value.check_keys("a scalar", form::kScalar);
    const DType type = number_type(entry.value.at("type"));
    scalars.push_back({entry.key, type,
                       expression::read_stated_number(entry.value.at("value"), type, "value"),
                       entry.key_mark, entry.value.at("value").text_mark()});
  }
  return scalars;
}

void Template::read_steps(const YamlNode& root) {
  if (const YamlNode* node = root.find("workspaces")) workspaces_ = read_workspaces(*node);
  if (const YamlNode* node = root.find("scalars")) scalars_ = read_scalars(*node);
  const YamlNode* steps = root.find("steps");
  if (steps == nullptr) {
    Step only;
    only.does = read_kernel(root);
    only.mark = root.mark();
    steps_.push_back(std::move(only));
    return;
  }
  lists_steps_ = true;
  for (const char* key : {"kernel", "launch", "arguments", "maps"})
    if (const YamlNode* node = root.find(key))
      node->fail(fmt::format("{} belongs to one of the steps where there are `steps`", key));
  const auto& items = steps->items("steps");
  if (items.size() > kMostSteps) steps->fail(fmt::format("at most {} steps", kMostSteps));
  for (const YamlNode& item : items) steps_.push_back(read_step(item));
  if (all_kernels().empty()) steps->expected("steps", "a kernel among them");
}

std::vector<const Template::Kernel*> Template::all_kernels() const {
  std::vector<const Kernel*> all;
  for (const Step& step : steps_)
    if (const auto* kernel = std::get_if<Kernel>(&step.does)) all.push_back(kernel);
  return all;
}

const Template::Kernel& Template::first_kernel() const { return *all_kernels().front(); }

std::vector<std::string> Template::kernels(const Config& config) const {
  std::vector<std::string> names;
  for (const Kernel* kernel : all_kernels()) {
    const std::string name = instance_name(kernel->name, config);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

void Template::require_known(const std::vector<std::string>& names) const {
  const auto of_problem = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto is_workspace = [&](const std::string& name) {
    return std::ranges::find(workspaces_, name, &Workspace::name) != workspaces_.end();
  };
  const auto is_scalar = [&](const std::string& name) {
    return std::ranges::find(scalars_, name, &Scalar::name) != scalars_.end();
  };
  const auto known = [&](const std::string& name) {
    return of_problem(name) || is_workspace(name);
  };
  for (const Workspace& workspace : workspaces_)
    if (of_problem(workspace.name))
      throw UserError(prefix(workspace.mark) + "workspaces: '" + workspace.name +
                      "' is an argument of the problem; give the workspace another name");
  for (const Scalar& scalar : scalars_)
    if (known(scalar.name))
      throw UserError(prefix(scalar.mark) + "scalars: '" + scalar.name + "' is " +
                      (is_workspace(scalar.name) ? "one of the template's workspaces"
                                                 : "an argument of the problem") +
                      "; give the scalar another name");
  for (const Kernel* kernel : all_kernels()) {
    for (const Argument& argument : kernel->arguments)
      if (!known(argument.name) && !is_scalar(argument.name) &&
          std::ranges::find(kernel->maps, argument.name, &Map::argument) == kernel->maps.end())
        throw UserError(
            fmt::format("{}arguments: '{}' is neither an argument of the problem ({}) nor "
                        "one of the template's maps, workspaces or scalars",
                        prefix(argument.mark), argument.name, fmt::join(names, ", ")));
    for (const Map& map : kernel->maps)
      if (!known(map.tensor))
        throw UserError(fmt::format("{}tensor: '{}' is no argument of the problem, which has {}",
                                    prefix(map.mark), map.tensor, fmt::join(names, ", ")));
  }
  const auto require = [&](const Step& step, const std::string& tensor) {
    if (!known(tensor))
      throw UserError(fmt::format(
          "{}'{}' is neither an argument of the problem ({}) nor one of the template's workspaces",
          prefix(step.mark), tensor, fmt::join(names, ", ")));
  };
  for (const Step& step : steps_) {
    if (const auto* fill = std::get_if<PlannedFill>(&step.does)) require(step, fill->tensor);
    if (const auto* copy = std::get_if<PlannedCopy>(&step.does)) {
      require(step, copy->from);
      require(step, copy->to);
    }
  }
}

}  // namespace fa_tune::kernel
