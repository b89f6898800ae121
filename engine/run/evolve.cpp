#include "engine/run/evolve.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/fault_point.hpp"
#include "engine/base/random.hpp"
#include "engine/gate/gate.hpp"
#include "engine/report/insights.hpp"
#include "engine/run/finals.hpp"
#include "engine/run/proposer.hpp"
#include "engine/run/survive.hpp"
#include "engine/run/trial.hpp"
#include "engine/search/strategy.hpp"

namespace fa_tune {
namespace {

// Trials asked for at once: compiled side by side, told together. Fixed, and kept with a run,
// because the strategy's answers depend on it and must not depend on the machine.
constexpr int kGeneration = 16;

// So many kernels in a row that ended the process they ran in: then it is not the kernels.
constexpr int kMostDeathsInARow = 8;
// Where kernels run in the engine's own process: a trial under way so often when that died is
// refused without another try.
constexpr int kMostAttempts = 2;

// {"BLOCK_M":[64,32]}: what a child changed; null where a gene was or is absent.
std::string changed_genes(const Config& parent, const Config& child) {
  nlohmann::ordered_json genes = nlohmann::ordered_json::object();
  const auto json = [](const Value* value) {
    return value == nullptr ? nlohmann::ordered_json()
                            : nlohmann::ordered_json::parse(to_json(*value));
  };
  for (const auto& [name, value] : parent.settings()) {
    const Value* now = child.find(name);
    if (now == nullptr || *now != value) genes[name] = {json(&value), json(now)};
  }
  for (const auto& [name, value] : child.settings())
    if (parent.find(name) == nullptr) genes[name] = {json(nullptr), json(&value)};
  return genes.dump();
}

RunRow describe_run(const Project& project, const Device& device, const Compiler& compiler,
                    const EvolveOptions& options) {
  RunRow run;
  run.space = project.file.name;
  run.space_hash = project.space.hash();
  run.space_text = project.file.text;
  run.problem = project.problem->kind();
  run.shape_json = to_json(project.problem->shape());
  run.device = device.info().id;
  run.device_name = device.info().name;
  run.arch = device.info().arch;
  run.target = project.target.name;
  run.time_kind = to_text(device.info().times);
  run.driver = device.info().driver;
  run.compiler = compiler.version();
  run.strategy = options.strategy;
  run.seed = options.seed;
  nlohmann::ordered_json json = {{"generation", kGeneration}};
  if (options.trials) json["trials"] = *options.trials;
  if (options.seconds) json["seconds"] = *options.seconds;
  if (options.proposer) json["proposer"] = {{"share", options.proposer->share}};
  if (!options.earlier.empty()) json["earlier"] = nlohmann::json::parse(to_json(options.earlier));
  run.options_json = json.dump();
  return run;
}

void require_same(const std::string& what, const std::string& stored, const std::string& now) {
  if (stored != now)
    throw UserError(fmt::format("the run cannot be resumed: its {} was '{}', now it is '{}'", what,
                                stored.substr(0, 60), now.substr(0, 60)));
}

// The share that a run's proposer had; nothing if it had none.
std::optional<double> proposer_share(const RunRow& run) {
  const auto options = nlohmann::json::parse(run.options_json);
  if (!options.contains("proposer")) return std::nullopt;
  return options["proposer"].at("share").get<double>();
}

// Everything one call of evolve() holds.
class Evolution {
 public:
  Evolution(const Project& project, Device& device, Compiler& compiler, Store& store,
            const EvolveOptions& options, EvolveListener& listener, const std::atomic<bool>& stop)
      : project_(project),
        device_(device),
        compiler_(compiler),
        store_(store),
        options_(options),
        listener_(listener),
        stop_(stop),
        pool_(compiler, options.jobs),
        truth_(*project.problem) {}

  EvolveResult run() {
    begin();
    const TrialSeeds seeds{derive_seed(seed_, "gate"), derive_seed(seed_, "timing")};
    TrialRunner runner(project_, device_, pool_, truth_, seeds);
    const auto strategy =
        make_strategy(strategy_, {.space = project_.space,
                                  .seed = seed_,
                                  .earlier = load_earlier(store_, project_, earlier_)});
    search(runner, *strategy);
    fault_point("search_over");
    if (proposer_) proposer_->end(result_.interrupted ? "interrupted" : "the search is over");
    if (!result_.interrupted && !given_up())
      result_.interrupted = !run_finals(project_, device_, pool_, store_, result_.run, seed_,
                                        options_.final_suites, listener_, stop_);
    result_.device_lost = device_.lost();
    fault_point("finals_over");
    store_.record_insights(
        result_.run, insight_rows(insights_of(store_, result_.run), to_text(device_.info().times)));
    const bool done = !result_.interrupted && !given_up();
    store_.set_run_state(result_.run, done ? "done" : "interrupted");
    return result_;
  }

 private:
  void begin() {
    const RunRow now = describe_run(project_, device_, compiler_, options_);
    strategy_ = options_.strategy;
    seed_ = options_.seed;
    earlier_ = options_.earlier;
    auto proposer = options_.proposer;
    if (!options_.resume) {
      result_.run = store_.begin_run(now);
      if (proposer) open_proposer(*proposer);
      return;
    }
    const auto stored = store_.run(*options_.resume);
    if (!stored)
      throw UserError(
          fmt::format("there is no run {} to resume in this database", *options_.resume));
    require_same("space, with its templates and device facts,", stored->space_hash, now.space_hash);
    require_same("device", stored->device_name, now.device_name);
    require_same("compiler", stored->compiler, now.compiler);
    const auto share = proposer_share(*stored);
    if (share.has_value() != proposer.has_value())
      throw UserError(
          share
              ? "the run had an outside proposer: give --proposer again, a command is never taken "
                "from a database"
              : "the run has no outside proposer, and none can join it now: leave out --proposer");
    store_.hold_run(stored->id);
    result_.run = stored->id;
    strategy_ = stored->strategy;
    seed_ = stored->seed;
    earlier_ = earlier_of(*stored);
    for (TrialRow& trial : store_.trials(stored->id))
      stored_.emplace(static_cast<std::uint64_t>(trial.number), std::move(trial));
    if (proposer) {
      proposer->share = *share;
      open_proposer(*proposer);
    }
    fault_point("run_resumed");
    store_.set_run_state(result_.run, "running");
  }

  void open_proposer(const ProposerOptions& options) {
    transcript_ = std::make_unique<StoredTranscript>(store_, result_.run);
    proposer_ = std::make_unique<ProposerArm>(
        project_.space,
        brief_proposer(project_, device_.info(), seed_, options_.trials, options_.seconds), options,
        *transcript_, transcript_->decisions(), &stop_);
  }

  std::vector<Proposal> ask(Strategy& strategy) {
    if (!proposer_) return strategy.ask(kGeneration);
    std::optional<int> trials;
    std::optional<double> seconds;
    if (options_.trials) trials = *options_.trials - result_.tally.trials;
    if (options_.seconds) seconds = *options_.seconds - result_.tally.seconds;
    return proposer_->ask(strategy, kGeneration, budget_json(trials, seconds));
  }

  bool budget_left() const {
    if (options_.trials && result_.tally.trials >= *options_.trials) return false;
    return !options_.seconds || result_.tally.seconds < *options_.seconds;
  }

  void search(TrialRunner& runner, Strategy& strategy) {
    std::uint64_t number = 0;
    while (stored_.contains(number + 1) || budget_left()) {
      // Asked for in full even where the budget ends within: a run resumed with more of it must get
      // the same proposals.
      const auto proposals = ask(strategy);
      if (proposals.empty()) {
        result_.interrupted = stop_;
        return;
      }
      fault_point("generation_asked");
      std::vector<std::unique_ptr<Variant>> variants(proposals.size());
      for (std::size_t i = 0; i < proposals.size(); ++i)
        if (!stored_.contains(number + 1 + i)) variants[i] = runner.prepare(proposals[i].config);
      fault_point("generation_prepared");

      std::vector<Told> told;
      for (std::size_t i = 0; i < proposals.size(); ++i) {
        ++number;
        const auto known = stored_.find(number);
        if (known == stored_.end()) {
          if (stop_) result_.interrupted = true;
          if (stop_ || !budget_left()) return;
        }
        const auto tried = known == stored_.end()
                               ? try_one(runner, *variants[i], proposals[i], number)
                               : recall(runner, known->second, proposals[i]);
        if (!tried) return;
        const TrialRow& row = *tried;
        variants[i].reset();
        told.push_back(tell_of(row, proposals[i].config));
        if (proposer_)
          proposer_->report(report_trial(row, proposals[i].config, told.back().time_us));
        count(row, known == stored_.end());
        if (given_up()) return;
      }
      for (const Told& each : told) strategy.tell(each);
      fault_point("generation_told");
    }
  }

  bool given_up() const { return device_.lost() || !result_.trouble.empty(); }

  // Gates and times what was admitted. False if the device is lost, which says nothing of the
  // trial.
  bool judge(TrialRunner& runner, Variant& variant, FinishedTrial& trial) {
    if (const auto known = store_.deadly_trial(result_.run, trial.row.source_hash)) {
      refuse_deadly(trial.row, known->finding,
                    fmt::format("as in trial {}: {}", known->id, known->message));
      return true;
    }
    const FinishedTrial admitted = trial;
    bool charged = false;
    const Survival survival = survive(device_, [&] {
      const int attempts =
          store_.record_attempt(result_.run, trial.row.number, trial.row.config_json);
      trial = admitted;
      charged = !device_.apart() && attempts > kMostAttempts;
      if (charged)
        refuse_deadly(trial.row, "crash",
                      fmt::format("it was under way {} times when a process died", attempts - 1));
      else
        runner.judge(variant, trial);
    });
    if (survival.lost) return false;
    if (survival.death)
      refuse_deadly(trial.row, deadly_finding(*survival.death), deadly_message(*survival.death));
    deaths_in_a_row_ = survival.death || charged ? deaths_in_a_row_ + 1 : 0;
    if (deaths_in_a_row_ >= kMostDeathsInARow)
      result_.trouble = fmt::format(
          "{} kernels in a row ended the process that ran them, the last one: {}; the device or "
          "its "
          "driver cannot be trusted",
          deaths_in_a_row_, trial.row.message);
    return true;
  }

  static void refuse_deadly(TrialRow& row, const std::string& finding, const std::string& message) {
    row.stage = "launch";
    row.outcome = "refused";
    row.finding = finding;
    row.message = message;
    row.time_us.reset();
    row.time_low_us.reset();
    row.time_high_us.reset();
  }

  // Nothing if the device was lost before there was a verdict.
  std::optional<TrialRow> try_one(TrialRunner& runner, Variant& variant, const Proposal& proposal,
                                  std::uint64_t number) {
    FinishedTrial trial;
    trial.row.run = result_.run;
    trial.row.number = static_cast<std::int64_t>(number);
    trial.row.operation = proposal.operation;
    if (runner.admit(variant, trial) && !judge(runner, variant, trial)) return std::nullopt;
    std::vector<ParentRow> parents;
    for (std::size_t i = 0; i < proposal.parents.size(); ++i) {
      const TrialRow& parent = rows_.at(proposal.parents[i]);
      parents.push_back({0, parent.id, static_cast<int>(i),
                         changed_genes(Config::from_json(parent.config_json), proposal.config)});
    }
    std::vector<SampleRow> samples;
    if (!trial.samples_us.empty()) samples.push_back({0, "screen", trial.samples_us});
    trial.row.id = store_.record_trial(trial.row, parents, samples, trial.source_text);
    runner.remember(trial.row);
    return trial.row;
  }

  TrialRow recall(TrialRunner& runner, TrialRow row, const Proposal& proposal) {
    require_same(fmt::format("trial {}", row.number), row.config_json, proposal.config.to_json());
    runner.remember(row);
    // The search knew the screen's figure, whatever the finals said later.
    for (const TimeRow& time : store_.times(row.id))
      if (time.phase == "screen") row.time_us = time.us;
    return row;
  }

  Told tell_of(const TrialRow& row, const Config& config) {
    rows_.emplace(static_cast<std::uint64_t>(row.number), row);
    times_[row.id] = row.time_us;
    const auto time = row.duplicate_of != 0 ? times_.at(row.duplicate_of) : row.time_us;
    return {static_cast<std::uint64_t>(row.number), config, time.has_value(), time,
            (row.compile_ms + row.gate_ms + row.measure_ms) / 1000};
  }

  void count(const TrialRow& row, bool fresh) {
    Tally& tally = result_.tally;
    ++tally.trials;
    tally.right += row.outcome == "right";
    tally.refused += row.outcome == "refused";
    tally.duplicate += row.outcome == "duplicate";
    tally.seconds += (row.gate_ms + row.measure_ms + row.compile_ms / options_.jobs) / 1000;
    if (row.outcome == "right") {
      if (!tally.best || *row.time_us < *tally.best->time_us) {
        tally.best = row;
        device_.note_incumbent(*row.time_us);
      }
      const auto& presets = project_.space.parts().presets;
      if (!presets.empty() && presets.front().config.to_json() == row.config_json)
        tally.baseline = row;
    }
    if (fresh) listener_.on_trial(row, tally);
  }

  const Project& project_;
  Device& device_;
  Compiler& compiler_;
  Store& store_;
  const EvolveOptions& options_;
  EvolveListener& listener_;
  const std::atomic<bool>& stop_;
  CompilePool pool_;
  TruthCache truth_;
  std::unique_ptr<StoredTranscript> transcript_;
  std::unique_ptr<ProposerArm> proposer_;
  EvolveResult result_;
  int deaths_in_a_row_ = 0;
  std::string strategy_;
  std::uint64_t seed_ = 0;
  std::vector<EarlierChoice> earlier_;
  std::map<std::uint64_t, TrialRow> stored_;             // by number, of the run that is resumed
  std::map<std::uint64_t, TrialRow> rows_;               // by number
  std::map<std::int64_t, std::optional<double>> times_;  // by id, of the screen
};

}  // namespace

EvolveResult evolve(const Project& project, Device& device, Compiler& compiler, Store& store,
                    const EvolveOptions& options, EvolveListener& listener,
                    const std::atomic<bool>& stop) {
  return Evolution(project, device, compiler, store, options, listener, stop).run();
}

}  // namespace fa_tune
