#include "engine/tuner/portfolio/portfolio.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "engine/measure/statistics.hpp"
#include "engine/report/rows.hpp"
#include "engine/space_file/space_settings.hpp"
#include "engine/tuner/finals/final_race.hpp"
#include "engine/tuner/portfolio/candidates.hpp"
#include "engine/tuner/portfolio/drawn_shapes.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/compile_stage.hpp"
#include "engine/tuner/trial/gate_and_screen.hpp"
#include "engine/tuner/trial/trial.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

// Enough to learn from, and some minutes of a GPU.
constexpr std::size_t kDrawnShapes = 96;

TuningTask project_of(const db::RunRow& run, const std::filesystem::path& root,
                      const std::string& changes = "") {
  space::SpaceFile file = stored_space(run);
  std::vector<std::string> list;
  std::istringstream stream(changes);
  for (std::string change; std::getline(stream, change, ',');) list.push_back(change);
  return open_task(list.empty() ? std::move(file) : space::with_settings(file, list), root);
}

// What several screens say together.
db::ScreenTime joined(const std::vector<db::ScreenTime>& screens) {
  std::vector<double> us;
  Interval all = screens.front().us;
  for (const auto& [each] : screens) {
    us.push_back(each.value);
    all.low = std::min(all.low, each.low);
    all.high = std::max(all.high, each.high);
  }
  all.value = measure::median(us);
  return {all};
}

}  // namespace

PortfolioField::PortfolioField(const db::Store& store, const Wishes& wishes,
                               const std::filesystem::path& root)
    : root_(root) {
  db::TrialFilter filter = wishes.filter;
  filter.limit = -1;
  const std::vector<db::TrialRow> trials = store.best(filter);
  std::set<std::int64_t, std::greater<>> runs;
  for (const db::TrialRow& trial : trials) runs.insert(trial.run);
  if (runs.empty()) throw UserError("no trial that passed answers to this");
  run_ = *store.run(*runs.begin());
  for (const std::int64_t id : runs) {
    const db::RunRow run = *store.run(id);
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
  const std::size_t drawn = wishes.drawn.value_or(run_.time_kind == "measured" ? kDrawnShapes : 0);
  each_drawn(drawn, wishes.seed,
             [&](space::SpaceFile file) { take_shape(open_task(std::move(file), root), true); });
  take_recorded(store, wishes);
  rule_out();
}

TuningTask PortfolioField::task_at(const std::string& changes) const {
  return project_of(run_, root_, changes);
}

void PortfolioField::each_drawn(std::size_t count, std::uint64_t seed,
                                const std::function<void(space::SpaceFile)>& take) const {
  const problem::SizeFormulas formulas = shapes_.front().task.problem->size_formulas();
  std::vector<Constants> known;
  for (const PortfolioShape& shape : shapes_)
    if (!shape.drawn) known.push_back(shape.task.problem->complete(shape.task.problem->shape()));
  for (const DrawnShape& drawn : drawn_shapes(known, formulas.sizes, count, seed)) {
    std::vector<std::string> changes;
    for (const auto& [name, value] : drawn.sizes)
      changes.push_back(formulas.setting + name + "=" + to_text(value));
    try {
      take(space::with_settings(shapes_[drawn.like].task.file, changes));
    } catch (const UserError& error) {  // sizes that the problem does not take together
      log_info("{}", error.what());
    }
  }
}

std::optional<std::size_t> PortfolioField::place_of(const Constants& shape) const {
  const auto found = std::ranges::find_if(
      shapes_, [&](const PortfolioShape& each) { return each.task.problem->shape() == shape; });
  if (found == shapes_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - shapes_.begin());
}

std::optional<std::size_t> PortfolioField::place_of(const Config& config) const {
  const auto found = std::ranges::find(kernels_, config, &PortfolioKernel::config);
  if (found == kernels_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kernels_.begin());
}

void PortfolioField::take_shape(TuningTask task, bool drawn) {
  if (place_of(task.problem->shape())) return;
  const std::string described = task.problem->describe(task.problem->shape());
  shapes_.push_back({std::move(task), described, drawn});
}

void PortfolioField::take_recorded(const db::Store& store, const Wishes& wishes) {
  db::TrialFilter filter = wishes.filter;
  filter.limit = -1;
  const std::vector<db::TrialRow> trials = store.best(filter);
  std::map<std::int64_t, std::size_t> shape_of_run;
  const auto shape_of = [&](std::int64_t run) {
    const auto [at, fresh] = shape_of_run.emplace(run, 0);
    if (fresh) at->second = place_of(project_of(*store.run(run), root_).problem->shape()).value();
    return at->second;
  };
  std::vector<std::vector<const db::TrialRow*>> by_shape(shapes_.size());
  for (const db::TrialRow& trial : trials) by_shape[shape_of(trial.run)].push_back(&trial);
  for (std::size_t shape = 0; shape < shapes_.size(); ++shape)
    take_candidates(shapes_[shape].task, by_shape[shape], wishes.candidates);
  times_.assign(kernels_.size(), std::vector<PortfolioTime>(shapes_.size()));
  raced_.assign(shapes_.size(), false);
  if (wishes.all_anew) return;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<db::ScreenTime>>
      screens;  // kernel, shape
  for (const db::TrialRow& trial : trials) {
    const auto kernel = place_of(Config::from_json(trial.config_json));
    if (!kernel) continue;
    const std::size_t shape = shape_of(trial.run);
    const double mhz = shapes_[shape].task.target.clock_mhz;
    if (const auto screen = screen_of(trial, mhz)) screens[{*kernel, shape}].push_back(*screen);
  }
  for (const auto& [pair, those] : screens)
    times_[pair.first][pair.second] = {PortfolioTime::From::recorded, joined(those), {}};
}

void PortfolioField::take_candidates(const TuningTask& task,
                                     const std::vector<const db::TrialRow*>& trials,
                                     std::size_t count) {
  for (const db::TrialRow* trial : candidates_in_order(task, trials)) {
    if (count == 0) return;
    const Config config = Config::from_json(trial->config_json);
    if (place_of(config)) continue;
    kernels_.push_back({trial->id, config});
    --count;
  }
}

// What the space of a shape does not allow.
void PortfolioField::rule_out() {
  for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel)
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
      PortfolioTime& time = times_[kernel][shape];
      if (time.from != PortfolioTime::From::nothing) continue;
      if (shapes_[shape].task.space.why_invalid(kernels_[kernel].config))
        time.from = PortfolioTime::From::recorded;
    }
}

void PortfolioField::take_known(const Config& config, const Constants& shape,
                                std::optional<double> us) {
  const auto kernel = place_of(config), at = place_of(shape);
  if (!kernel || !at) return;
  PortfolioTime& time = times_[*kernel][*at];
  if (time.from != PortfolioTime::From::nothing) return;
  time.from = PortfolioTime::From::recorded;
  if (us) time.time = db::ScreenTime{Interval{*us, *us, *us}};
}

std::size_t PortfolioField::missing() const {
  std::size_t count = 0;
  for (const auto& row : times_)
    count += static_cast<std::size_t>(
        std::ranges::count(row, PortfolioTime::From::nothing, &PortfolioTime::from));
  return count;
}

std::size_t PortfolioField::measure_at(std::size_t shape, device::Device& device,
                                       kernel::CompilePool& pool, std::uint64_t seed) {
  const TuningTask& task = shapes_[shape].task;
  std::vector<std::size_t> wanted;
  for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel)
    if (times_[kernel][shape].from == PortfolioTime::From::nothing) wanted.push_back(kernel);
  if (wanted.empty()) return 0;
  gate::TruthCache truth(*task.problem);
  const TrialSeeds seeds{derive_seed(seed, "gate", shape), derive_seed(seed, "time", shape)};
  GateAndScreen gate_and_screen(task, device, truth, seeds);
  // All are compiled while the first are timed. A stage anew for each, so that one with the code of
  // another is timed and not a duplicate.
  std::deque<std::pair<CompileStage, std::unique_ptr<Variant>>> compiled;
  for (const std::size_t kernel : wanted) {
    auto& [stage, variant] = compiled.emplace_back(
        CompileStage(task, device, pool, cases_of_trials(*task.problem, device, seeds)), nullptr);
    variant = stage.prepare(kernels_[kernel].config);
  }
  std::size_t timed = 0;
  for (const std::size_t kernel : wanted) {
    FinishedTrial trial;
    if (auto& [stage, variant] = compiled.front(); stage.pass(*variant, trial)) {
      if (shapes_[shape].drawn)
        gate_and_screen.screen(*variant, trial);
      else
        gate_and_screen.run(*variant, trial);
    }
    compiled.pop_front();
    if (device.lost()) throw MachineError(device.info().id + ": the device was lost");
    PortfolioTime& time = times_[kernel][shape];
    time.from = PortfolioTime::From::now;
    if (trial.row.outcome == Outcome::passed) {
      time.time = screen_of(trial.row, task.target.clock_mhz);
      ++timed;
    }
  }
  return timed;
}

std::size_t PortfolioField::measure(const std::vector<device::Device*>& devices,
                                    kernel::CompilePool& pool, std::uint64_t seed,
                                    const std::function<void(std::size_t done)>& done) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // guards all below
  std::size_t timed = 0, over = 0;
  std::exception_ptr failure;
  const auto work = [&](device::Device& device) {
    try {
      for (std::size_t shape = next++; shape < shapes_.size(); shape = next++) {
        const std::size_t here = measure_at(shape, device, pool, seed);
        const std::lock_guard lock(mutex);
        timed += here;
        done(++over);
      }
    } catch (...) {
      next = shapes_.size();  // the others end after the shape that they are at
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (device::Device* device : devices) threads.emplace_back(work, std::ref(*device));
  }
  if (failure) std::rethrow_exception(failure);
  return timed;
}

void PortfolioField::race(device::Device& device, kernel::CompilePool& pool, double within,
                          std::uint64_t seed, const std::function<void(std::size_t done)>& done) {
  for (std::size_t shape = 0; shape < shapes_.size() && !shapes_[shape].drawn; ++shape) {
    const auto best = best_us(shape);
    std::vector<std::size_t> near;
    for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel)
      if (const auto us = times_[kernel][shape].us(); us && *us <= *best * (1 + within + kWander))
        near.push_back(kernel);
    std::ranges::sort(near, {}, [&](std::size_t kernel) { return *times_[kernel][shape].us(); });
    near.resize(std::min(near.size(), kMostInRace));
    if (near.size() == 1) times_[near.front()][shape].ratio = Interval{1, 1, 1};
    raced_[shape] = near.size() == 1;
    if (near.size() >= 2) {
      std::vector<Config> configs;
      for (const std::size_t kernel : near) configs.push_back(kernels_[kernel].config);
      const std::atomic<bool> stop = false;
      const FinalRace race = race_finalists(shapes_[shape].task, device, pool, configs, 0,
                                            derive_seed(seed, "portfolio race", shape), stop);
      if (race.lost) throw MachineError(device.info().id + ": the device was lost");
      for (const auto& [contestant, rejection] : race.failed) {
        log_warning("trial {} at {}: {}: {}", kernels_[near[contestant]].trial,
                    shapes_[shape].described, rejection.finding, rejection.message);
        times_[near[contestant]][shape] = {PortfolioTime::From::now, std::nullopt, {}};
      }
      for (std::size_t i = 0; i < race.ran.size(); ++i)
        times_[near[race.ran[i]]][shape].ratio = race.race.result.standings[i].to_winner;
      raced_[shape] = !race.ran.empty();
    }
    done(shape + 1);
  }
}

std::optional<double> PortfolioField::over_best(std::size_t kernel, std::size_t shape) const {
  const PortfolioTime& time = times_[kernel][shape];
  if (raced_[shape]) return time.ratio ? std::optional(time.ratio->value) : std::nullopt;
  const auto us = time.us();
  return us ? std::optional(*us / *best_us(shape)) : std::nullopt;
}

void PortfolioField::exclude(std::size_t kernel, std::size_t shape) {
  times_[kernel][shape] = {PortfolioTime::From::now, std::nullopt, {}};
  if (!raced_[shape]) return;
  std::optional<double> best;
  for (const auto& row : times_)
    if (const auto& ratio = row[shape].ratio; ratio && (!best || ratio->value < *best))
      best = ratio->value;
  raced_[shape] = best.has_value();
  for (auto& row : times_)
    if (auto& ratio = row[shape].ratio) ratio = *ratio * (1 / *best);
}

std::optional<double> PortfolioField::best_us(std::size_t shape) const {
  std::optional<double> best;
  for (const auto& row : times_)
    if (const auto us = row[shape].us(); us && (!best || *us < *best)) best = us;
  return best;
}

Costs PortfolioField::costs(double within) const {
  const auto shapes =
      static_cast<std::size_t>(std::ranges::count(shapes_, false, &PortfolioShape::drawn));
  Costs costs(kernels_.size(), std::vector<std::optional<double>>(shapes));
  for (std::size_t shape = 0; shape < shapes; ++shape) {
    if (!best_us(shape))
      throw UserError(fmt::format("no kernel of these passed for {}: run evolve for it",
                                  shapes_[shape].described));
    for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel)
      if (const auto over = over_best(kernel, shape); over && *over <= 1 + within)
        costs[kernel][shape] = std::log(*over);
  }
  return costs;
}

}  // namespace fa_tune::tuner
