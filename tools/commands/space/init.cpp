#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "engine/scaffold/scaffold.hpp"
#include "engine/source/include_flattening.hpp"
#include "engine/space_file/space_file.hpp"
#include "engine/tuner/task/task_check.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

namespace fs = std::filesystem;

struct InitArguments {
  std::string source, out, kernel;
  std::string target = "h100";
  bool force = false;
};

int times(std::string_view text, std::string_view what) {
  int count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// As a space names its source: within its own folder.
std::string name_from(const fs::path& source, const fs::path& folder) {
  const fs::path name =
      fs::weakly_canonical(source).lexically_relative(fs::weakly_canonical(folder));
  if (name.empty() || *name.begin() == "..")
    throw UserError("--out: a space lies beside its kernel or above it: " + source.string() +
                    " is not below " + folder.string());
  return name.string();
}

// What `space check` says of it. It is written all the same, to be mended.
void check(const fs::path& path) {
  try {
    const auto root = require_root();
    const tuner::TuningTask task =
        tuner::open_task(space::load_space_file(path.string(), root), root);
    for (const auto& findings : {tuner::check_sources(task), tuner::check_launches(task)}) {
      for (const std::string& line : findings.warnings) log_warning("{}", line);
      if (!findings.errors.empty()) throw UserError(findings.errors.front());
    }
  } catch (const UserError& refused) {
    log_warning("to be mended: {}", refused.what());
  }
}

int init(const InitArguments& arguments) {
  const fs::path source = arguments.source;
  std::error_code error;
  const fs::path out = arguments.out;
  if (!arguments.out.empty() && !arguments.force && fs::exists(out, error))
    throw UserError(arguments.out + ": is there already; --force writes over it");
  const fs::path own = fs::absolute(source).parent_path();
  const std::string name =
      name_from(source, arguments.out.empty() ? own : fs::absolute(out).parent_path());
  const std::string text = source::flatten_includes(source, own);
  const std::string space =
      scaffold::space_for(text, {name, "", arguments.kernel, arguments.target});
  if (arguments.out.empty()) {
    fmt::print("{}", space);
    return 0;
  }
  write_file(out, space);
  check(out);
  log_info("{}: {} guessed, {} to fill in; next: fa-tune space check {}", arguments.out,
           times(space, "# guessed:"), times(space, "# fill in:"), arguments.out);
  return 0;
}

}  // namespace

void add_init(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("init", "write a space to start from, for a kernel of yours");
  auto arguments = std::make_shared<InitArguments>();
  command->add_option("source", arguments->source, "CUDA file with the kernel")->required();
  command->add_option("--kernel", arguments->kernel, "which, where the file has several");
  command->add_option("--out", arguments->out, "space to write, else it is printed");
  command->add_option("--target", arguments->target, "profile of the GPU that it is for")
      ->capture_default_str();
  command->add_flag("--force", arguments->force, "write over a file that is there");
  act(*command, action, arguments, init);
}

}  // namespace fa_tune::commands
