#include "engine/space/space.hpp"

#include <fmt/core.h>

#include "engine/base/random.hpp"
#include "engine/run/project.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/options.hpp"

namespace fa_tune {
namespace {

struct Arguments {
  std::string space;
  int count = 1;
  std::optional<std::uint64_t> seed;
};

Project open(const Arguments& arguments) {
  const auto root = require_root();
  return open_project(load_space_file(arguments.space, root), root);
}

int check(const Arguments& arguments) {
  const Project project = open(arguments);
  const SpaceParts& parts = project.space.parts();
  fmt::print("{}: good\n", project.file.path.string());
  fmt::print("  problem     {} {}\n", project.problem->kind(),
             project.problem->describe(project.problem->shape()));
  fmt::print("  target      {} ({})\n", project.target.title, project.target.arch);
  fmt::print("  parameters  {}, {} constraints, {} presets\n", parts.parameters.size(),
             parts.constraints.size(), parts.presets.size());
  fmt::print("  configs     {} valid of {:.6g}\n", project.space.count(),
             project.space.cartesian());
  return 0;
}

int count(const Arguments& arguments) {
  fmt::print("{}\n", open(arguments).space.count());
  return 0;
}

int sample(const Arguments& arguments) {
  const Project project = open(arguments);
  Random random(derive_seed(arguments.seed.value_or(1), "space sample"));
  for (int i = 0; i < arguments.count; ++i)
    fmt::print("{}\n", project.space.sample(random).to_json());
  return 0;
}

}  // namespace

void add_space(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("space", "look at a search space");
  command->require_subcommand(1);
  auto arguments = std::make_shared<Arguments>();
  const auto add = [&](const char* name, const char* help, int (*run)(const Arguments&)) {
    auto* sub = command->add_subcommand(name, help);
    sub->add_option("space", arguments->space, "space file, as a path or a name in search_spaces")
        ->required();
    sub->callback(
        [arguments, run, &action] { action = [arguments, run] { return run(*arguments); }; });
    return sub;
  };
  add("check", "say whether it is good, and what it holds", check);
  add("count", "print the number of valid configs", count);
  auto* sampler =
      add("sample", "print valid configs drawn at random, one JSON object a line", sample);
  sampler->add_option("-n,--count", arguments->count, "how many")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  add_seed(*sampler, arguments->seed, "of the draw, 1 if not given");
}

}  // namespace fa_tune
