#include "engine/tuner/ablation/ablation_field.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/report/rows.hpp"
#include "engine/report/text_format.hpp"
#include "engine/tuner/finals/final_race.hpp"
#include "engine/tuner/trial/crash_policy.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

// As many as finals mostly have: a block stays short beside what a clock drifts in.
constexpr std::size_t kMostInRace = 12;

void set_ratio(report::AblationRow& row, const Interval& ratio) {
  row.ratio = ratio;
  row.verdict = measure::verdict_text(ratio);
}

// "STAGES 2 -> 1: 1.054 [1.049, 1.060] slower"
std::string line_of(const report::AblationRow& row) {
  const std::string changes = report::changes_text(row.wanted);
  if (!row.ratio) return fmt::format("{}: {}", changes, row.outcome);
  std::string interval;
  if (known_end(row.ratio->low) && known_end(row.ratio->high))
    interval = fmt::format(" [{:.3f}, {:.3f}]", row.ratio->low, row.ratio->high);
  return fmt::format("{}: {:.3f}{} {}", changes, row.ratio->value, interval, row.verdict);
}

}  // namespace

AblationField::AblationField(const TuningTask& task, device::Device& device,
                             kernel::CompilePool& pool, std::uint64_t seed, Say say)
    : task_(task),
      device_(device),
      pool_(pool),
      say_(std::move(say)),
      truth_(*task.problem),
      compile_stage_(task, device, pool,
                     cases_of_trials(*task.problem, device, TrialSeeds::of(seed))),
      gate_and_screen_(task, device, truth_, TrialSeeds::of(seed)) {}

void AblationField::check(const std::vector<Config>& configs) {
  std::vector<std::pair<std::size_t, std::unique_ptr<Variant>>> begun;
  for (const Config& config : configs) {
    const auto [known, is_new] = known_.try_emplace(config.to_json(), trials_.size());
    if (!is_new) continue;
    begun.emplace_back(trials_.size(), compile_stage_.prepare(config));
    trials_.emplace_back();
    trials_.back().row.number = static_cast<std::int64_t>(trials_.size());
  }
  std::size_t done = 0;
  for (auto& [place, variant] : begun) {
    FinishedTrial& trial = trials_[place];
    if (compile_stage_.pass(*variant, trial)) {
      const Attempt ended = run_with_retry(device_, [&] { gate_and_screen_.run(*variant, trial); });
      if (ended.lost || device_.lost()) throw MachineError("the device was lost");
      if (ended.charge) fail(trial.row, *ended.charge);
    }
    const db::TrialRow& row = trial.row;
    const std::string what = row.outcome == Outcome::passed
                                 ? fmt::format("{} us {}", report::time_text(report::shown_us(row)),
                                               to_text(device_.info().times))
                             : trial.twin != 0 ? "the same machine code as one before it"
                                               : row.finding;
    say_(fmt::format("{} of {}: {}: {}", ++done, begun.size(),
                     report::settings_text(row.config_json), what));
    variant.reset();
  }
}

std::size_t AblationField::kernel(const Config& config) const {
  const std::size_t place = known_.at(config.to_json());
  const std::int64_t twin = trials_[place].twin;
  return twin == 0 ? place : static_cast<std::size_t>(twin) - 1;
}

const db::TrialRow& AblationField::row(const Config& config) const {
  return trials_[kernel(config)].row;
}

void AblationField::compare(const Config& beside, const std::vector<report::AblationRow*>& rows,
                            std::uint64_t seed) {
  raced_us_.reset();
  const double own_us = row(beside).screen_time.value().us.value;
  std::vector<report::AblationRow*> to_race;
  for (report::AblationRow* each : rows) {
    if (!each->config) continue;
    const db::TrialRow& checked = row(*each->config);
    each->outcome = to_text(checked.outcome);
    if (checked.outcome != Outcome::passed) {
      each->rejection = {checked.finding, checked.message};
      continue;
    }
    each->time_us = checked.screen_time->us.value;
    if (kernel(*each->config) == kernel(beside)) {
      each->outcome = "same";
      set_ratio(*each, {1, 1, 1});
    } else if (device_.info().times == device::TimeKind::predicted) {
      const double ratio = *each->time_us / own_us;
      set_ratio(*each, {ratio, ratio, ratio});
      each->ratio = Interval{ratio};
    } else {
      to_race.push_back(each);
    }
  }
  const std::size_t rounds = (to_race.size() + kMostInRace - 1) / kMostInRace;
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto begin = to_race.begin() + static_cast<std::ptrdiff_t>(round * kMostInRace);
    const auto end = round + 1 == rounds ? to_race.end() : begin + kMostInRace;
    const double confidence =
        1 - (1 - measure::ProcessSeries::kConfidence) / static_cast<double>(rounds);
    race(beside, {begin, end}, derive_seed(seed, "round", round), confidence);
    say_(fmt::format("race {} of {} is over", round + 1, rounds));
    // Races take minutes: who does not wait for the last one has these.
    std::for_each(begin, end,
                  [&](const report::AblationRow* each) { say_("  " + line_of(*each)); });
  }
}

void AblationField::race(const Config& beside, const std::vector<report::AblationRow*>& rows,
                         std::uint64_t seed, double confidence) {
  // Rows may share a kernel: it runs once.
  std::vector<Config> configs = {beside};
  std::map<std::size_t, std::size_t> contestants;  // by kernel
  for (const report::AblationRow* each : rows)
    if (contestants.try_emplace(kernel(*each->config), configs.size()).second)
      configs.push_back(*each->config);
  const std::atomic<bool> never = false;
  const FinalRace raced =
      race_finalists(task_, device_, pool_, configs, 0, seed, never, {.confidence = confidence});
  if (raced.lost) throw MachineError("the device was lost in a race");
  for (const auto& [contestant, rejection] : raced.failed)
    if (contestant == 0)
      throw MachineError("what the variants are compared with went wrong in the race: " +
                         rejection.message);
  for (report::AblationRow* each : rows) {
    const std::size_t contestant = contestants.at(kernel(*each->config));
    const auto failed =
        std::ranges::find(raced.failed, contestant, &RejectedContestant::contestant);
    if (failed != raced.failed.end()) {
      each->outcome = "failed";
      each->rejection = failed->rejection;
      continue;
    }
    const auto ran = std::ranges::find(raced.ran, contestant);
    if (ran == raced.ran.end()) {
      each->outcome = "unraced";
      continue;
    }
    const measure::RaceStanding& standing =
        raced.race.result.standings[static_cast<std::size_t>(ran - raced.ran.begin())];
    set_ratio(*each, standing.to_baseline);
    each->time_us = standing.time_us.value;
    each->blocks = standing.blocks;
  }
  if (!raced.ran.empty()) raced_us_ = raced.race.result.standings.front().time_us.value;
}

}  // namespace fa_tune::tuner
