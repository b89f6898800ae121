#include "tools/commands/portfolio_dispatch.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/export/text.hpp"
#include "engine/report/json.hpp"
#include "engine/report/table.hpp"
#include "engine/tuner/task/packaging.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

using Json = nlohmann::ordered_json;

// Of times over the best: 1 is the best.
struct RegretSummary {
  double median = 1, p95 = 1, worst = 1;
};

// `regrets` are logarithms, at least one. The nearest rank, so that each is that of a shape.
RegretSummary summary_of(std::vector<double> regrets) {
  std::ranges::sort(regrets);
  const auto at = [&](double share) {
    const double rank = std::ceil(share * static_cast<double>(regrets.size()));
    return std::exp(regrets[static_cast<std::size_t>(std::max(rank, 1.0)) - 1]);
  };
  return {at(0.5), at(0.95), at(1)};
}

Json summary_json(const std::vector<double>& regrets) {
  const RegretSummary summary = summary_of(regrets);
  return {{"median", summary.median}, {"p95", summary.p95}, {"worst", summary.worst}};
}

std::vector<std::string> summary_cells(const std::vector<double>& regrets) {
  const RegretSummary summary = summary_of(regrets);
  std::vector<std::string> cells;
  for (const double each : {summary.median, summary.p95, summary.worst})
    cells.push_back(fmt::format("{:+.1f}%", (each - 1) * 100));
  return cells;
}

std::string outside_text(const exports::Dispatch& dispatch) {
  std::string text;
  for (const auto& [size, least, most] : dispatch.ranges)
    text += fmt::format("{}{} {}..{}", text.empty() ? "" : ", ", size, least, most);
  return text;
}

std::string category_text(const Constants& category) {
  std::string text;
  for (const auto& [name, value] : category)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, to_text(value));
  return text.empty() ? "all" : text;
}

}  // namespace

Json dispatch_report_json(const tuner::PortfolioField& field,
                          const tuner::DispatchLearner& dispatch,
                          const std::vector<std::string>& choose_at) {
  const tuner::LearnedDispatch& learned = dispatch.learned();
  std::vector<Json> trials;
  for (const std::int64_t trial : dispatch.trials()) trials.emplace_back(trial);
  Json json = exports::dispatch_json(learned.dispatch, trials);
  json["robust"] = Json::array();
  for (const std::size_t choice : learned.dispatch.robust) json["robust"].push_back(trials[choice]);
  json["kernels"] = Json::array();
  for (const std::size_t kernel : learned.kernels)
    json["kernels"].push_back(
        {{"trial", field.kernels()[kernel].trial}, {"config", field.kernels()[kernel].config}});
  json["regret"] = summary_json(learned.regrets);
  if (!learned.left_out.empty()) json["left_out"] = summary_json(learned.left_out);
  json["refused"] = dispatch.refusals();
  for (const std::string& changes : choose_at) {
    const tuner::TuningTask task = field.task_at(changes);
    const problem::Problem& problem = *task.problem;
    json["chosen"].push_back({{"shape", problem.shape()}, {"trials", dispatch.preferred(problem)}});
  }
  return json;
}

std::string dispatch_report_text(const tuner::PortfolioField& field,
                                 const tuner::DispatchLearner& dispatch,
                                 const std::vector<std::string>& choose_at) {
  const tuner::LearnedDispatch& learned = dispatch.learned();
  const std::vector<std::int64_t> trials = dispatch.trials();
  std::string text = fmt::format(
      "\nFor other sizes {} kernels are chosen among, by the time that each is predicted to take: "
      "fixed, a\nstep's for each step of its longest queue of tiles, and what blocks of an SM "
      "take from each other\nfor each step of the busiest. Outside of {} it is trial {}.\n\n",
      trials.size(), outside_text(learned.dispatch), trials.at(learned.dispatch.robust.at(0)));
  report::Table costs({{"trial", report::Align::right},
                       {"shapes", report::Align::left},
                       {"fixed us", report::Align::right},
                       {"us a step", report::Align::right},
                       {"shared", report::Align::right},
                       {"steps a tile beside its own", report::Align::right},
                       {"at once", report::Align::right}});
  for (const exports::KernelCost& cost : learned.dispatch.costs)
    costs.add({std::to_string(trials[cost.choice]), category_text(cost.category),
               fmt::format("{:.3g}", cost.fixed_us), fmt::format("{:.3g}", cost.step_us),
               fmt::format("{:.3g}", cost.shared_step_us),
               fmt::format("{:.3g}", static_cast<double>(cost.overhead) / 16),
               std::to_string(cost.slots)});
  text += costs.text() + "\nRegret, which is time over the best of a shape:\n";
  report::Table regrets({{"", report::Align::left},
                         {"median", report::Align::right},
                         {"95%", report::Align::right},
                         {"worst", report::Align::right}});
  const auto add = [&](const std::string& of, const std::vector<double>& all) {
    if (all.empty()) return;
    std::vector<std::string> cells = summary_cells(all);
    regrets.add({fmt::format("at {} {}", all.size(), of), cells[0], cells[1], cells[2]});
  };
  add("shapes that it knows", learned.regrets);
  add("shapes by one that does not know them", learned.left_out);
  text += regrets.text();
  for (const std::string& refusal : dispatch.refusals()) text += refusal + "\n";
  for (const std::string& changes : choose_at) {
    const tuner::TuningTask task = field.task_at(changes);
    const problem::Problem& problem = *task.problem;
    text += fmt::format("{}: trial {}\n", problem.describe(problem.shape()),
                        dispatch.preferred(problem).at(0));
  }
  return text;
}

void export_dispatch(const tuner::DispatchLearner& dispatch, const std::string& db,
                     const std::string& form, const std::string& out) {
  const auto compiler = open_compiler();
  tuner::Packager packager(*compiler, BinaryKind::cubin, require_root(), FA_TUNE_VERSION);
  const db::Store store(db, db::Store::Mode::read);
  dispatch.add_to(packager, store);
  exports::Package package = packager.package();
  package.name = exports::identifier(std::filesystem::path(out).stem().string());
  package.dispatch = dispatch.learned().dispatch;
  write_file(out, form == "header" ? exports::cxx_header(package) : exports::torch_module(package));
  log_info("{} kernels, and what chooses among them, are in {}", package.calls.size(), out);
}

}  // namespace fa_tune::commands
