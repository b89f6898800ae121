#include "engine/space/space.hpp"

#include <filesystem>
#include <utility>

#include <fmt/core.h>

#include "engine/community/t1/t1_file.hpp"
#include "engine/community/t1/t1_space.hpp"
#include "engine/scaffold/space_schema.hpp"
#include "engine/space_file/space_file.hpp"
#include "engine/space_file/space_settings.hpp"
#include "engine/tuner/task/task_check.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"
#include "engine/util/random.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/session.hpp"

namespace fa_tune::commands {
namespace {

struct SpaceArguments {
  std::string space;
  std::string device = "auto";
  std::vector<std::string> settings;
  int count = 1;
  std::optional<std::uint64_t> seed;
};

tuner::TuningTask open_yaml(const std::filesystem::path& path, const SpaceArguments& arguments) {
  const auto root = require_root();
  const auto file =
      space::with_settings(space::load_space_file(path.string(), root), arguments.settings);
  return tuner::open_task(for_device(file, arguments.device, root), root);
}

// A T1 file has one size.
void refuse_settings(const SpaceArguments& arguments) {
  if (!arguments.settings.empty())
    throw UserError("--set: is of spaces in YAML, and " + arguments.space + " is a T1 file");
}

// The space alone, of either kind of file. A T1 file needs nothing of ours beside it.
space::Space open(const SpaceArguments& arguments) {
  const auto path = space::find_space_file(arguments.space, find_root());
  const std::string text = read_file(path, kYamlFile);
  if (!community::looks_like_t1(text)) return open_yaml(path, arguments).space;
  refuse_settings(arguments);
  return space::Space::build(community::parse_t1(text, path).parts);
}

void print_counts(const space::Space& space) {
  const space::SpaceParts& parts = space.parts();
  fmt::print("  parameters  {}, {} constraints, {} presets\n", parts.parameters.size(),
             parts.constraints.size(), parts.presets.size());
  fmt::print("  configs     {} valid of {:.6g}\n", space.count(), space.cartesian());
}

// The first error ends the command: what is wrong behind it may come of it.
void tell(const tuner::TaskFindings& findings) {
  for (const std::string& line : findings.warnings) log_warning("{}", line);
  if (!findings.errors.empty()) throw UserError(findings.errors.front());
}

// A T1 file's space may be of use without its kernel, to count and to replay; with it all is looked
// at that a search would refuse.
int check_t1(const std::string& text, const std::filesystem::path& path) {
  const community::T1File file = community::parse_t1(text, path);
  const bool has_kernel =
      !file.kernel_file.empty() &&
      std::filesystem::is_regular_file(std::filesystem::absolute(path).parent_path() /
                                       std::filesystem::path(file.kernel_file));
  if (has_kernel) {
    source::SourceMaps lines;
    space::SpaceFile space =
        space::parse_space_file(community::t1_as_space(text, path, {.reference = "self"}, &lines),
                                path.string() + " (as a space)");
    space.source_lines = std::move(lines);
    const tuner::TuningTask task = tuner::open_task(space, require_root());
    tell(tuner::check_sources(task));
    tell(tuner::check_launches(task));
  }
  fmt::print("{}: good, a T1 file\n", path.string());
  if (!file.benchmark.empty()) fmt::print("  benchmark   {}\n", file.benchmark);
  if (!file.kernel_name.empty())
    fmt::print("  kernel      {} in {}{}\n", file.kernel_name, file.kernel_file,
               has_kernel ? "" : ", which is not there: configs can be counted, not searched");
  else
    fmt::print("  kernel      none: configs can be counted, not searched\n");
  print_counts(space::Space::build(file.parts));
  return 0;
}

int check(const SpaceArguments& arguments) {
  const auto path = space::find_space_file(arguments.space, find_root());
  const std::string text = read_file(path, kYamlFile);
  if (community::looks_like_t1(text)) {
    refuse_settings(arguments);
    return check_t1(text, path);
  }
  const tuner::TuningTask task = open_yaml(path, arguments);
  tell(tuner::check_sources(task));
  tell(tuner::check_launches(task));
  fmt::print("{}: good\n", task.file.path.string());
  fmt::print("  problem     {} {}\n", task.problem->kind(),
             task.problem->describe(task.problem->shape()));
  fmt::print("  target      {} ({})\n", task.target.title, task.target.arch);
  print_counts(task.space);
  for (const std::string& line : task.idle_parameters()) log_warning("{}", line);
  return 0;
}

int schema(const SpaceArguments&) {
  fmt::print("{}", scaffold::space_schema());
  return 0;
}

int count(const SpaceArguments& arguments) {
  fmt::print("{}\n", open(arguments).count());
  return 0;
}

int sample(const SpaceArguments& arguments) {
  const space::Space space = open(arguments);
  Random random(derive_seed(arguments.seed.value_or(1), "space sample"));
  for (int i = 0; i < arguments.count; ++i) fmt::print("{}\n", space.sample(random).to_json());
  return 0;
}

}  // namespace

void add_space(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("space", "look at a search space");
  command->require_subcommand(1);
  auto arguments = std::make_shared<SpaceArguments>();
  const auto add = [&](const char* name, const char* help, int (*run)(const SpaceArguments&)) {
    auto* sub = command->add_subcommand(name, help);
    sub->add_option("space", arguments->space,
                    "space file or T1 file, as a path or a name in search_spaces")
        ->type_name("SPACE")
        ->required();
    sub->add_option("--device", arguments->device, "for a space whose target is auto: which")
        ->type_name("DEVICE")
        ->capture_default_str();
    sub->add_option("--set", arguments->settings,
                    "another problem than the file's, as in --set sizes.n=1000; not of T1 files");
    act(*sub, action, arguments, run);
    return sub;
  };
  act(*command->add_subcommand("schema", "print the JSON Schema of its YAML, for editors"), action,
      arguments, schema);
  add("check", "say whether it is good, and what it holds", check);
  add("count", "print the number of valid configs", count);
  auto* sampler =
      add("sample", "print valid configs drawn at random, one JSON object a line", sample);
  sampler->add_option("-n,--count", arguments->count, "how many")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  add_seed(*sampler, arguments->seed, "of the draw, 1 if not given");
}

}  // namespace fa_tune::commands
