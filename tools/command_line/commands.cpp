#include "tools/command_line/commands.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/core.h>

#include "engine/util/environment.hpp"
#include "tools/command_line/completion.hpp"
#include "tools/command_line/manual.hpp"

namespace fa_tune::command_line {
namespace {

const std::pair<const char*, std::vector<const char*>> kGroups[] = {
    {"Find a fast kernel", {"init", "evolve", "node", "finals", "space", "replay"}},
    {"See what was found", {"best", "show", "status", "lineage", "failures", "insights", "report"}},
    {"Understand a kernel", {"profile", "ablate", "emulate"}},
    {"Use a kernel", {"export", "portfolio", "verify", "bench", "check"}},
    {"Keep house", {"db", "merge", "gate", "doctor", "completion", "manual"}}};

std::vector<std::string> yaml_names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error))
    if (each->path().extension() == ".yaml") names.push_back(each->path().stem().string());
  std::ranges::sort(names);
  return names;
}

CompletionWords words_of_this_place() {
  CompletionWords words{.spaces = {}, .devices = {"auto", "cuda:0", "cuda:all"}};
  const auto root = find_root();
  if (root.empty()) return words;
  words.spaces = yaml_names(root / "search_spaces");
  for (const std::string& profile : yaml_names(root / "search_spaces" / "devices"))
    words.devices.push_back("emulator:" + profile);
  return words;
}

}  // namespace

// The order of the table is that of the help, which lists groups as it meets their first command.
void group_commands(CLI::App& app) {
  for (const auto& [group, names] : kGroups)
    for (const char* name : names) app.get_subcommand(name)->group(group);
}

void add_completion(CLI::App& app, std::function<int()>& action) {
  auto* command =
      app.add_subcommand("completion",
                         "print a script that completes command lines, as in: source <(fa-tune "
                         "completion bash)");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, &action, shell] {
    action = [&app, shell] {
      const CommandFacts program = command_tree(app);
      const CompletionWords words = words_of_this_place();
      fmt::print("{}", *shell == "bash"  ? bash_completion(program, words)
                       : *shell == "zsh" ? zsh_completion(program, words)
                                         : fish_completion(program, words));
      return 0;
    };
  });
}

void add_manual(CLI::App& app, std::function<int()>& action) {
  auto* command = app.add_subcommand(
      "manual", "print the manual page, as in: fa-tune manual > fa-tune.1; man -l fa-tune.1");
  command->callback([&app, &action] {
    action = [&app] {
      fmt::print("{}", manual_page(command_tree(app), app.version()));
      return 0;
    };
  });
}

}  // namespace fa_tune::command_line
