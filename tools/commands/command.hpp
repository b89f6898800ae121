#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "db/store.hpp"
#include "engine/kernel/compile/compiler.hpp"

namespace fa_tune::commands {

// What the command line asked for; its result is the exit code: 0 done, 1 the work was done and
// nothing passed, 130 interrupted. Exceptions become 2 and 3 in main.
using Action = std::function<int()>;

// Each adds one subcommand to `app` and, when that is chosen, sets `action`.
void add_init(CLI::App& app, Action& action);
void add_evolve(CLI::App& app, Action& action);
void add_best(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_portfolio(CLI::App& app, Action& action);
void add_lineage(CLI::App& app, Action& action);
void add_failures(CLI::App& app, Action& action);
void add_insights(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_status(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_ablate(CLI::App& app, Action& action);
void add_finals(CLI::App& app, Action& action);
void add_profile(CLI::App& app, Action& action);
void add_profiled(CLI::App& app, Action& action);
void add_node(CLI::App& app, Action& action);
void add_gate(CLI::App& app, Action& action);
void add_space(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_emulate(CLI::App& app, Action& action);
void add_db(CLI::App& app, Action& action);
void add_merge(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_worker(CLI::App& app, Action& action);

// `run` is what a command does when it is chosen. `arguments`, which its options set, live as long.
template <typename Arguments>
void act(CLI::App& command, Action& action, const std::shared_ptr<Arguments>& arguments,
         int (*run)(const Arguments&)) {
  command.callback([=, &action] { action = [=] { return run(*arguments); }; });
}

// From this call on the first Ctrl-C or SIGTERM is heeded: stop_asked() becomes true, and the work
// ends where it can. A second one has the default effect.
void heed_interrupts();
const std::atomic<bool>& stop_asked();

// Options that several commands have.
void add_db_option(CLI::App& command, std::string& db,
                   const std::string& help = "database to read");
void add_trial_option(CLI::App& command, std::int64_t& trial);
void add_device_option(CLI::App& command, std::string& device);
// `forms`: "text or json", "table, json or csv".
void add_format_option(CLI::App& command, std::string& format,
                       const std::vector<std::string>& forms);

// What `--budget` says: "200" is trials, "90s", "10m" and "2h" are time.
struct Budget {
  std::optional<int> trials;
  std::optional<double> seconds;
};

// Throws UserError for anything else, zero included.
Budget parse_budget(const std::string& text);

// Adds --seed. CLI11 by itself takes -1, and what is too large, for the largest seed.
void add_seed(CLI::App& command, std::optional<std::uint64_t>& seed, const std::string& help);

// --price: of a GPU hour.
void add_price(CLI::App& command, std::optional<double>& price);

// The folder with templates and spaces; throws MachineError that says how to point at it.
std::filesystem::path require_root();

// NVRTC, in processes of its own, behind the cache on disk. Throws MachineError where there is none.
std::unique_ptr<kernel::Compiler> open_compiler();
// The same with another compiler.
std::unique_ptr<kernel::Compiler> with_kernel_cache(std::shared_ptr<kernel::Compiler> compiler);

// How many sources this machine compiles at a time: as many as this process has cores.
int default_jobs();

// The run of that number, or the newest one. Throws UserError where there is none.
db::RunRow require_run(const db::Store& store, const std::string& db,
                       std::optional<std::int64_t> run);

// The number of a trial from a command line. Throws UserError.
std::int64_t trial_number(const std::string& text);

}  // namespace fa_tune::commands
