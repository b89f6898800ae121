#include "tools/commands/portfolio_dispatch.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/export/text.hpp"
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

std::int64_t trial_of(const tuner::PortfolioField& field, const tuner::Dispatch& dispatch,
                      std::size_t choice) {
  return field.kernels()[dispatch.kernels()[choice]].trial;
}

std::string outside_text(const exports::DispatchTree& tree) {
  std::string text;
  for (const auto& [size, least, most] : tree.ranges)
    text += fmt::format("{}{} {}..{}", text.empty() ? "" : ", ", size, least, most);
  return text;
}

}  // namespace

Json dispatch_report_json(const tuner::PortfolioField& field, const tuner::Dispatch& dispatch) {
  const tuner::LearnedTree& learned = dispatch.learned();
  std::vector<Json> trials;
  for (std::size_t choice = 0; choice < dispatch.kernels().size(); ++choice)
    trials.emplace_back(trial_of(field, dispatch, choice));
  Json json = exports::dispatch_json(learned.tree, trials);
  json["robust"] = Json::array();
  for (const std::size_t choice : learned.tree.robust) json["robust"].push_back(trials[choice]);
  json["leaves"] = learned.tree.leaves();
  json["regret"] = summary_json(dispatch.regrets());
  json["left_out"] = Json::array();
  for (std::size_t i = 0; i < learned.left_out.size(); ++i) {
    Json row{{"leaves", i + 1}};
    row.update(summary_json(learned.left_out[i]));
    json["left_out"].push_back(row);
  }
  json["refused"] = dispatch.refusals();
  return json;
}

std::string dispatch_report_text(const tuner::PortfolioField& field,
                                 const tuner::Dispatch& dispatch) {
  const exports::DispatchTree& tree = dispatch.learned().tree;
  std::vector<std::string> trials;
  for (std::size_t choice = 0; choice < dispatch.kernels().size(); ++choice)
    trials.push_back(fmt::format("trial {}", trial_of(field, dispatch, choice)));
  std::string text = fmt::format(
      "\nA decision tree chooses among them for other sizes; outside of {} it is {}:\n\n{}\n"
      "Regret, which is time over the best of a shape:\n",
      outside_text(tree), trials.at(tree.robust.at(0)), exports::dispatch_text(tree, trials));
  report::Table table({{"", report::Align::left},
                       {"leaves", report::Align::right},
                       {"median", report::Align::right},
                       {"95%", report::Align::right},
                       {"worst", report::Align::right}});
  const auto add = [&](const std::string& of, std::size_t leaves,
                       const std::vector<double>& regrets) {
    std::vector<std::string> cells = summary_cells(regrets);
    table.add({of, std::to_string(leaves), cells[0], cells[1], cells[2]});
  };
  add("at the shapes it learned from", tree.leaves(), dispatch.regrets());
  const std::vector<std::vector<double>>& left_out = dispatch.learned().left_out;
  for (std::size_t i = 0; i < left_out.size(); ++i)
    add(i + 1 == tree.leaves() ? "at shapes left out, chosen" : "at shapes left out", i + 1,
        left_out[i]);
  text += table.text();
  for (const std::string& refusal : dispatch.refusals()) text += refusal + "\n";
  return text;
}

void export_dispatch(const tuner::Dispatch& dispatch, const std::string& db,
                     const std::string& form, const std::string& out) {
  const auto compiler = open_compiler();
  tuner::Packager packager(*compiler, BinaryKind::cubin, require_root(), FA_TUNE_VERSION);
  const db::Store store(db, db::Store::Mode::read);
  dispatch.add_to(packager, store);
  exports::Package package = packager.package();
  package.name = exports::identifier(std::filesystem::path(out).stem().string());
  package.dispatch = dispatch.learned().tree;
  write_file(out, form == "header" ? exports::cxx_header(package) : exports::torch_module(package));
  log_info("{} kernels, and a tree of {} leaves that chooses among them, are in {}",
           package.calls.size(), package.dispatch->leaves(), out);
}

}  // namespace fa_tune::commands
