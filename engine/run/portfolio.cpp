#include "engine/run/portfolio.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/core.h>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "engine/measure/statistics.hpp"
#include "engine/measure/timing.hpp"
#include "engine/run/trial.hpp"
#include "engine/space/space_settings.hpp"

namespace fa_tune {
namespace {

Project project_of(const RunRow& run, const std::filesystem::path& root,
                   const std::string& changes = "") {
  SpaceFile file = stored_space(run);
  std::vector<std::string> list;
  std::istringstream stream(changes);
  for (std::string change; std::getline(stream, change, ',');) list.push_back(change);
  return open_project(list.empty() ? std::move(file) : with_settings(file, list), root);
}

FinalTime at_clock(double us, double low_us, double high_us, const std::string& detail_json,
                   double mhz) {
  const double factor = us_at_clock(us, detail_json, mhz) / us;
  return {us * factor, low_us * factor, high_us * factor};
}

std::optional<FinalTime> screen_of(const Store& store, const TrialRow& trial, double mhz) {
  for (const TimeRow& time : store.times(trial.id))
    if (time.phase == "screen")
      return at_clock(time.us, time.low_us.value_or(time.us), time.high_us.value_or(time.us),
                      trial.detail_json, mhz);
  return std::nullopt;
}

// What several screens say together.
FinalTime joined(const std::vector<FinalTime>& screens) {
  std::vector<double> us;
  FinalTime all = screens.front();
  for (const FinalTime& each : screens) {
    us.push_back(each.us);
    all.low_us = std::min(all.low_us, each.low_us);
    all.high_us = std::max(all.high_us, each.high_us);
  }
  all.us = median(us);
  return all;
}

}  // namespace

PortfolioField::PortfolioField(const Store& store, const Wishes& wishes,
                               const std::filesystem::path& root)
    : root_(root) {
  TrialFilter filter = wishes.filter;
  filter.limit = -1;
  const std::vector<TrialRow> trials = store.best(filter);
  std::set<std::int64_t, std::greater<>> runs;
  for (const TrialRow& trial : trials) runs.insert(trial.run);
  if (runs.empty()) throw UserError("no trial that passed answers to this");
  run_ = *store.run(*runs.begin());
  for (const std::int64_t id : runs) {
    const RunRow run = *store.run(id);
    if (run.device_name != run_.device_name)
      throw UserError(fmt::format("trials of {} and of {} are here: name one with --device",
                                  run.device_name, run_.device_name));
    if (run.problem != run_.problem)
      throw UserError(
          fmt::format("trials of the problems {} and {} are here: name a space with "
                      "--space",
                      run.problem, run_.problem));
    take_shape(project_of(run, root));
  }
  for (const std::string& changes : wishes.shapes) take_shape(project_of(run_, root, changes));
  take_recorded(store, wishes);
  rule_out();
}

void PortfolioField::take_shape(Project project) {
  const auto known = std::ranges::find_if(shapes_, [&](const PortfolioShape& shape) {
    return shape.project.problem->shape() == project.problem->shape();
  });
  if (known != shapes_.end()) return;
  const std::string described = project.problem->describe(project.problem->shape());
  shapes_.push_back({std::move(project), described});
}

void PortfolioField::take_recorded(const Store& store, const Wishes& wishes) {
  TrialFilter filter = wishes.filter;
  filter.limit = -1;
  std::vector<std::size_t> taken(shapes_.size(), 0);
  const std::vector<TrialRow> trials = store.best(filter);
  std::map<std::int64_t, std::size_t> shape_of_run;
  const auto shape_of = [&](std::int64_t run) {
    const auto [at, fresh] = shape_of_run.emplace(run, 0);
    if (fresh) {
      const Constants shape = project_of(*store.run(run), root_).problem->shape();
      while (shapes_[at->second].project.problem->shape() != shape) ++at->second;
    }
    return at->second;
  };
  // The best first: the first so many of a shape are its candidates.
  for (const TrialRow& trial : trials) {
    const std::size_t shape = shape_of(trial.run);
    const Config config = Config::from_json(trial.config_json);
    if (taken[shape] >= wishes.candidates ||
        std::ranges::find(kernels_, config, &PortfolioKernel::config) != kernels_.end())
      continue;
    ++taken[shape];
    kernels_.push_back({trial.id, config});
  }
  times_.assign(kernels_.size(), std::vector<PortfolioTime>(shapes_.size()));
  if (wishes.all_anew) return;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<FinalTime>> screens;  // kernel, shape
  for (const TrialRow& trial : trials) {
    const auto kernel =
        std::ranges::find(kernels_, Config::from_json(trial.config_json), &PortfolioKernel::config);
    if (kernel == kernels_.end()) continue;
    const std::size_t shape = shape_of(trial.run);
    const double mhz = shapes_[shape].project.target.clock_mhz;
    if (const auto screen = screen_of(store, trial, mhz))
      screens[{static_cast<std::size_t>(kernel - kernels_.begin()), shape}].push_back(*screen);
  }
  for (const auto& [pair, those] : screens)
    times_[pair.first][pair.second] = {PortfolioTime::From::recorded, joined(those), ""};
}

// What the space of a shape does not allow.
void PortfolioField::rule_out() {
  for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel)
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
      PortfolioTime& time = times_[kernel][shape];
      if (time.from != PortfolioTime::From::nothing) continue;
      if (const auto why = shapes_[shape].project.space.why_invalid(kernels_[kernel].config))
        time = {PortfolioTime::From::recorded, std::nullopt, *why};
    }
}

std::size_t PortfolioField::missing() const {
  std::size_t count = 0;
  for (const auto& row : times_)
    count += static_cast<std::size_t>(
        std::ranges::count(row, PortfolioTime::From::nothing, &PortfolioTime::from));
  return count;
}

std::size_t PortfolioField::measure(Device& device, CompilePool& pool, std::uint64_t seed) {
  std::size_t timed = 0;
  for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
    const Project& project = shapes_[shape].project;
    std::vector<std::size_t> wanted;
    for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel)
      if (times_[kernel][shape].from == PortfolioTime::From::nothing) wanted.push_back(kernel);
    if (wanted.empty()) continue;
    TruthCache truth(*project.problem);
    const TrialSeeds seeds{derive_seed(seed, "gate", shape), derive_seed(seed, "time", shape)};
    Judge judge(project, device, truth, seeds);
    for (const std::size_t kernel : wanted) {
      // Anew for each, so that one with the code of another is timed and not a duplicate.
      Admission admission(project, device, pool, cases_of_trials(project, device, seeds));
      const auto variant = admission.prepare(kernels_[kernel].config);
      FinishedTrial trial;
      if (admission.admit(*variant, trial)) judge.judge(*variant, trial);
      if (device.lost()) throw MachineError(device.info().id + ": the device was lost");
      const bool right = trial.row.outcome == "right" && trial.row.time_us.has_value();
      PortfolioTime& time = times_[kernel][shape];
      time.from = PortfolioTime::From::now;
      if (right) {
        const double us = *trial.row.time_us;
        time.time =
            at_clock(us, trial.row.time_low_us.value_or(us), trial.row.time_high_us.value_or(us),
                     trial.row.detail_json, project.target.clock_mhz);
        ++timed;
      } else {
        time.why = trial.row.finding + ": " + trial.row.message;
      }
    }
  }
  return timed;
}

std::optional<double> PortfolioField::best_us(std::size_t shape) const {
  std::optional<double> best;
  for (const auto& row : times_)
    if (const auto us = row[shape].us(); us && (!best || *us < *best)) best = us;
  return best;
}

Costs PortfolioField::costs(double within) const {
  Costs costs(kernels_.size(), std::vector<std::optional<double>>(shapes_.size()));
  for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
    const auto best = best_us(shape);
    if (!best)
      throw UserError(fmt::format("no kernel of these is right for {}: run evolve for it",
                                  shapes_[shape].described));
    for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel)
      if (const auto us = times_[kernel][shape].us(); us && *us <= *best * (1 + within))
        costs[kernel][shape] = std::log(*us / *best);
  }
  return costs;
}

}  // namespace fa_tune
