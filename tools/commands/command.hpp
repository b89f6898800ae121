#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace fa_tune {

// What the command line asked for; its result is the exit code: 0 done, 1 the work was done and
// nothing passed, 130 interrupted. Exceptions become 2 and 3 in main.
using Action = std::function<int()>;

// Each adds one subcommand to `app` and, when that is chosen, sets `action`. One file a subcommand.
void add_evolve(CLI::App& app, Action& action);
void add_best(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_portfolio(CLI::App& app, Action& action);
void add_lineage(CLI::App& app, Action& action);
void add_insights(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_ablate(CLI::App& app, Action& action);
void add_finals(CLI::App& app, Action& action);
void add_profile(CLI::App& app, Action& action);
void add_profiled(CLI::App& app, Action& action);
void add_gate(CLI::App& app, Action& action);
void add_space(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_emulate(CLI::App& app, Action& action);
void add_db(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_worker(CLI::App& app, Action& action);

}  // namespace fa_tune
