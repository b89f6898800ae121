#include "engine/report/lineage.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/report/rows.hpp"
#include "engine/report/table.hpp"
#include "engine/report/words.hpp"

namespace fa_tune {
namespace {

std::string changes_text(const std::vector<ParentRow>& parents) {
  if (parents.empty()) return "-";
  std::string text = genes_text(parents.front().genes_json);
  for (std::size_t i = 1; i < parents.size(); ++i)
    text +=
        fmt::format("; against trial {}: {}", parents[i].parent, genes_text(parents[i].genes_json));
  return text;
}

}  // namespace

std::vector<LineageStep> main_line(const Store& store, std::int64_t trial) {
  std::vector<LineageStep> steps;
  for (std::int64_t id = trial; id != 0;) {
    steps.push_back({require_trial(store, id).trial, store.parents(id)});
    const auto& parents = steps.back().parents;
    id = parents.empty() ? 0 : parents.front().parent;
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

std::string lineage_text(const Store& store, std::int64_t trial) {
  const RunRow run = require_trial(store, trial).run;
  const auto steps = main_line(store, trial);
  Table table({{"trial", Align::right},
               {"number", Align::right},
               {"operator"},
               {"outcome"},
               {run.time_kind + " us", Align::right},
               {"gain", Align::right},
               {"genes changed", Align::wrap}});
  std::optional<double> parent_us;
  for (const auto& [row, parents] : steps) {
    table.add({std::to_string(row.id), std::to_string(row.number), row.operation,
               row.outcome + " (" + row.stage + ")", time_text(row.time_us),
               gain_text(parent_us, row.time_us), changes_text(parents)});
    parent_us = row.time_us;
  }
  std::string text;
  const std::string title =
      fmt::format("Lineage of trial {}, run {}. {}", trial, run.id, context_text(run));
  for (const std::string& line : wrap_words(title, kPageWidth)) text += line + '\n';
  text += '\n' + table.text();
  const TrialRow &first = steps.front().trial, &last = steps.back().trial;
  if (steps.size() > 1 && first.time_us && last.time_us)
    text += fmt::format("\nFrom {} to {} us in {} step{}: gain {}, {} times.\n",
                        time_text(first.time_us), time_text(last.time_us), steps.size() - 1,
                        steps.size() == 2 ? "" : "s", gain_text(first.time_us, last.time_us),
                        run.time_kind);
  return text;
}

}  // namespace fa_tune
