#include <algorithm>

#include <fmt/core.h>

#include "engine/measure/timing.hpp"
#include "engine/report/rows.hpp"
#include "engine/report/show.hpp"
#include "engine/report/table.hpp"
#include "engine/report/text_format.hpp"

namespace fa_tune::report {
namespace {

std::string changes_text(const std::vector<db::ParentRow>& parents) {
  if (parents.empty()) return "-";
  std::string text = genes_text(parents.front().genes_json);
  for (std::size_t i = 1; i < parents.size(); ++i)
    text +=
        fmt::format("; against trial {}: {}", parents[i].parent, genes_text(parents[i].genes_json));
  return text;
}

}  // namespace

std::optional<double> screen_beside(const db::TrialRow& trial, const db::TrialRow& beside) {
  if (!trial.screen_time) return std::nullopt;
  const double us = trial.screen_time->us.value;
  if (!beside.screen_time) return us;
  return measure::us_at_clock(us, trial.detail_json,
                              measure::mhz_of(beside.screen_time->us.value, beside.detail_json));
}

std::vector<LineageStep> main_line(const db::Store& store, std::int64_t trial) {
  std::vector<LineageStep> steps;
  for (std::int64_t id = trial; id != 0;) {
    steps.push_back({require_trial(store, id).trial, store.parents(id)});
    const auto& parents = steps.back().parents;
    id = parents.empty() ? 0 : parents.front().parent;
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

std::string lineage_text(const db::Store& store, std::int64_t trial) {
  const db::RunRow run = require_trial(store, trial).run;
  const auto steps = main_line(store, trial);
  Table table({{"trial", Align::right},
               {"number", Align::right},
               {"operator"},
               {"outcome"},
               {run.time_kind == "measured" ? "screen us" : run.time_kind + " us", Align::right},
               {"gain", Align::right},
               {"genes changed", Align::wrap}});
  const db::TrialRow& last = steps.back().trial;
  std::optional<double> first_us, us;
  for (const auto& [row, parents] : steps) {
    const auto parent_us = us;
    us = screen_beside(row, last);
    if (&row == &steps.front().trial) first_us = us;
    table.add({std::to_string(row.id), std::to_string(row.number), row.operation,
               to_text(row.outcome) + " (" + row.stage + ")", time_text(us),
               gain_text(parent_us, us), changes_text(parents)});
  }
  std::string text =
      paragraph(fmt::format("Lineage of trial {}, run {}. {}", trial, run.id, context_text(run)));
  text += '\n' + table.text();
  if (steps.size() > 1 && first_us && us)
    text += fmt::format("\nFrom {} to {} us in {} step{}: gain {}, {} times.\n",
                        time_text(first_us), time_text(us), steps.size() - 1,
                        steps.size() == 2 ? "" : "s", gain_text(first_us, us), run.time_kind);
  const double mhz = us ? measure::mhz_of(*us, last.detail_json) : 0;
  if (mhz > 0)
    text +=
        fmt::format("Screens as if at {:.0f} MHz, at which trial {} had its own.\n", mhz, trial);
  if (last.final_time)
    text += fmt::format("In the finals trial {} took {} us.\n", trial,
                        time_text(last.final_time->us.value));
  return text;
}

}  // namespace fa_tune::report
