#include "engine/tuner/loop/search_loop.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "engine/tuner/loop/device_wait.hpp"
#include "engine/tuner/loop/proposer.hpp"
#include "engine/tuner/loop/run_options.hpp"
#include "engine/util/fault_point.hpp"
#include "engine/util/log.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

// Trials handed out for each slot, so that none waits while the engine asks or writes.
constexpr std::size_t kAhead = 4;

// How often a wait says how the devices stand.
constexpr std::chrono::milliseconds kTellLook{1000};

void fail_deadly(db::TrialRow& row, const Rejection& charge) {
  row.stage = "launch";
  fail(row, charge);
  row.screen_time.reset();
}

// Adds the time until it goes.
class Adding {
 public:
  explicit Adding(double& seconds) : seconds_(seconds) {}
  ~Adding() { seconds_ += watch_.milliseconds() / 1000; }
  Adding(const Adding&) = delete;
  Adding& operator=(const Adding&) = delete;

 private:
  double& seconds_;
  Stopwatch watch_;
};

}  // namespace

SearchLoop::SearchLoop(const SearchParts& parts, std::int64_t run, BatchPolicy policy,
                       std::uint64_t seed)
    : parts_(parts),
      run_(run),
      warm_(is_warm(*parts.store.run(run))),
      policy_(policy),
      log_(parts.task, parts.store, run),
      compilers_before_s_(
          parts.options.compilers != nullptr ? parts.options.compilers->presence().seconds : 0),
      seconds_before_(log_.seconds_before()),
      compile_stage_(
          parts.task, *parts.devices.front(), parts.pool,
          cases_of_trials(*parts.task.problem, *parts.devices.front(), TrialSeeds::of(seed))),
      seeds_(TrialSeeds::of(seed)),
      executor_({}, parts.queue),
      strategy_(parts.strategy, parts.queue) {
  for (device::Device* device : parts.devices) add_device(*device);
}

void SearchLoop::add_device(device::Device& device) {
  device_names_.push_back(parts_.roster.add(device));
  devices_.push_back(&device);
  auto stages = make_device_stages(parts_.task, device, parts_.pool, parts_.truth, seeds_);
  {
    const std::lock_guard lock(stages_mutex_);
    stages_.push_back(std::move(stages));
  }
  breakdown_.devices = device_names_;
  executor_.add(device);
}

DeviceStages& SearchLoop::stages_of(std::size_t slot) {
  const std::lock_guard lock(stages_mutex_);
  return *stages_[slot];
}

void SearchLoop::take_arrived() {
  if (parts_.supply == nullptr) return;
  for (device::Device* device : parts_.supply->take_arrived()) add_device(*device);
}

// Where none is left. False if there is none to be had.
bool SearchLoop::wait_for_device() {
  if (parts_.supply == nullptr) return false;
  const auto came = wait_for_devices(*parts_.supply, parts_.queue, parts_.listener, parts_.stop);
  for (device::Device* device : came) add_device(*device);
  // It may be lost again by now, and another on its way.
  return !came.empty();
}

bool SearchLoop::has_more() const {
  return within_budget(static_cast<std::uint64_t>(counts().trials) + 1) &&
         !(used_up_ && entries_.empty());
}

void SearchLoop::run() {
  for (;;) {
    take_arrived();
    while (advance()) {
    }
    if (parts_.stop) executor_.cancel_waiting();
    const bool awaits_compiler =
        !ending() && compiled_ < entries_.size() && within_budget(entries_[compiled_].number);
    if (!trouble_.empty()) break;
    if (executor_.alive() == 0) {
      if (!has_more() || !wait_for_device()) break;
      continue;
    }
    if (executor_.under_way() == 0 && !awaits_compiler && !strategy_.busy()) break;
    parts_.listener.on_wait(executor_.under_way() > 0 ? "the device"
                            : awaits_compiler         ? "compilers"
                                                      : "the strategy");
    parts_.queue.run_pending(kTellLook);
  }
  // What was compiled ahead and is not needed is not to keep the finals waiting.
  parts_.pool.cancel_waiting();
  executor_.stop();
  strategy_.wait();
  // What was left there is about this loop, which may be gone when the next one looks.
  parts_.queue.drop();
  interrupted_ = parts_.stop && has_more();
  breakdown_.wall_s = watch_.milliseconds() / 1000;
  breakdown_.jobs = parts_.options.jobs;
  breakdown_.compilers_s = breakdown_.jobs * breakdown_.wall_s;
  if (parts_.options.compilers != nullptr) {
    const auto [most, seconds] = parts_.options.compilers->presence();
    breakdown_.jobs = most;
    breakdown_.compilers_s = seconds - compilers_before_s_;
  }
}

// Takes steps while there are any, and writes what they record to disk together.
template <typename Step>
bool SearchLoop::together(const Step& step) {
  db::Store::Group group(parts_.store);
  bool any = false;
  while (step()) any = true;
  const Adding adding(breakdown_.store_s);
  group.commit();
  return any;
}

// All that can be done now; false if that is nothing. The devices get what was begun when it is on
// disk, and the strategy hears of what was recorded.
bool SearchLoop::advance() {
  bool any = false;
  while (ask()) any = true;
  any |= together([this] { return record(); });
  any |= together([this] { return take_compiled(); });
  for (Entry* entry : std::exchange(begun_, {})) executor_.submit(job(*entry));
  // Where no device is left nothing is asked for, and so nothing told: who waits for one and goes on
  // must come to the same. Nor is it while a generation is asked for that is to know nothing of it.
  if (!strategy_.busy() && !generations_.empty() && told_.size() == generations_.front() &&
      executor_.alive() > 0) {
    tell_generation();
    any = true;
  }
  return any;
}

bool SearchLoop::within_budget(std::uint64_t number) const {
  const auto& trials = parts_.options.trials;
  return (!trials || number <= static_cast<std::uint64_t>(*trials)) && time_left();
}

std::vector<search::Proposal> SearchLoop::ask_proposer() {
  const Adding adding(breakdown_.search_s);
  std::optional<int> trials;
  std::optional<double> left;
  if (parts_.options.trials) trials = *parts_.options.trials - static_cast<int>(asked_);
  if (parts_.options.seconds) left = *parts_.options.seconds - seconds();
  return parts_.proposer->ask(parts_.strategy, policy_.generation, budget_json(trials, left));
}

bool SearchLoop::wants_generation() const {
  const auto most = static_cast<std::size_t>(policy_.ahead) + 1;
  if (used_up_ || generations_.size() >= most) return false;
  return log_.stored(asked_ + 1) != nullptr || (!ending() && within_budget(asked_ + 1));
}

// One step towards another generation. A proposer hears of each trial as it is recorded, so nothing
// may be recorded while it is asked.
bool SearchLoop::ask() {
  if (strategy_.busy()) {
    auto asked = strategy_.take();
    if (!asked) return false;
    breakdown_.search_s += asked->seconds;
    if (asked->proposals) take_proposals(std::move(*asked->proposals));
    return true;
  }
  if (!wants_generation()) return false;
  if (parts_.proposer == nullptr)
    strategy_.begin({}, policy_.generation);
  else
    take_proposals(ask_proposer());
  return true;
}

// In full even where the budget ends within: a run resumed with more of it must get the same
// proposals.
void SearchLoop::take_proposals(std::vector<search::Proposal> proposals) {
  if (proposals.empty()) {
    used_up_ = true;
    return;
  }
  fault_point("generation_asked");
  generations_.push_back(proposals.size());
  for (search::Proposal& proposal : proposals) {
    Entry& entry = entries_.emplace_back();
    entry.number = ++asked_;
    entry.stored = log_.stored(entry.number);
    if (entry.stored == nullptr && within_budget(entry.number))
      entry.variant = compile_stage_.prepare(proposal.config);
    entry.proposal = std::move(proposal);
  }
  fault_point("generation_prepared");
}

bool SearchLoop::has_room() const {
  // Where kernels run in the engine's own process, only what runs may have been attempted.
  const bool apart = parts_.devices.front()->apart();
  return executor_.under_way() + begun_.size() < executor_.alive() * (apart ? kAhead : 1);
}

// False where nothing is ready, or nobody compiles any more.
bool SearchLoop::take_compiled() {
  try {
    return compile_next() || begin_early();
  } catch (const kernel::NoCompilerLeft& why) {
    trouble_ = why.what();
    return false;
  }
}

bool SearchLoop::compile_next() {
  if (compiled_ == entries_.size()) return false;
  Entry& entry = entries_[compiled_];
  if (entry.stored != nullptr) {
    compile_stage_.remember(*entry.stored);
    entry.finished = true;
  } else {
    if (ending() || !within_budget(entry.number)) return false;
    const bool begun = entry.under_way || entry.is_gated;
    if (!begun && (!has_room() || !entry.variant->ready())) return false;
    compile_one(entry);
  }
  ++compiled_;
  return true;
}

// What is ready, of those behind one that is still being compiled, where a device would wait.
bool SearchLoop::begin_early() {
  if (ending() || !has_room() || !parts_.devices.front()->apart()) return false;
  for (std::size_t place = compiled_ + 1; place < entries_.size(); ++place) {
    Entry& entry = entries_[place];
    if (entry.stored != nullptr || !within_budget(entry.number)) return false;
    if (entry.early || !entry.variant->ready()) continue;
    entry.early = true;
    FinishedTrial trial;
    if (!compile_stage_.passes_so_far(*entry.variant, trial) || known_as_deadly(trial.row))
      continue;
    entry.compiled = std::move(trial);
    name(entry.compiled.row, entry);
    begin(entry);
    return true;
  }
  return false;
}

void SearchLoop::name(db::TrialRow& row, const Entry& entry) const {
  row.run = run_;
  row.number = static_cast<std::int64_t>(entry.number);
  row.operation = entry.proposal.operation;
}

std::optional<Rejection> SearchLoop::known_as_deadly(const db::TrialRow& row) {
  const Adding adding(breakdown_.store_s);
  const auto known = parts_.store.deadly_trial(run_, row.source_hash, warm_);
  if (!known) return std::nullopt;
  return Rejection{known->finding, fmt::format("as in trial {}: {}", known->id, known->message)};
}

// Returns how many attempts there now are. It is submitted when this one is on disk.
int SearchLoop::begin(Entry& entry) {
  const db::TrialRow& row = entry.compiled.row;
  entry.under_way = true;
  begun_.push_back(&entry);
  const Adding adding(breakdown_.store_s);
  return parts_.store.record_attempt(run_, row.number, row.config_json);
}

void SearchLoop::compile_one(Entry& entry) {
  const bool begun = entry.under_way || entry.is_gated;
  if (begun) entry.trial = entry.compiled;
  db::TrialRow& row = entry.trial.row;
  name(row, entry);
  const bool passed = begun ? compile_stage_.pass_in_turn(entry.trial)
                            : compile_stage_.pass(*entry.variant, entry.trial);
  const auto known = passed ? known_as_deadly(row) : std::nullopt;
  if (known) fail_deadly(row, *known);
  entry.finished = !passed || known;
  if (entry.finished) {
    entry.charged.reset();
    return;
  }
  entry.gate_counts = true;
  if (entry.is_gated) settle(entry);
  if (begun) return;
  entry.compiled = entry.trial;
  const auto charge = CrashPolicy::left_under_way(begin(entry) - 1);
  if (!charge || parts_.devices.front()->apart()) return;
  begun_.pop_back();
  entry.under_way = false;
  entry.finished = true;
  fail_deadly(row, *charge);
  entry.charged = true;
}

// What a slot has brought to its end, in its turn.
void SearchLoop::settle(Entry& entry) {
  entry.trial = std::move(entry.gated);
  entry.finished = true;
  entry.variant.reset();
}

// A deque's elements stay where they are.
DeviceExecutor::Job SearchLoop::job(Entry& entry) {
  const auto work = [this, &entry](device::Device& device, std::size_t slot) {
    const DeviceRoster::Work at_work(parts_.roster, device, fmt::format("trial {}", entry.number));
    FinishedTrial gated = entry.compiled;
    try {
      stages_of(slot).run(*entry.variant, gated);
    } catch (const Interrupted&) {
      entry.interrupted = true;
      return;
    }
    entry.gated = std::move(gated);
  };
  return {work, [this, &entry](std::size_t slot, Attempt ended) {
            on_gated(entry, slot, std::move(ended));
          }};
}

void SearchLoop::on_gated(Entry& entry, std::size_t slot, Attempt ended) {
  if (ended.lost_because) parts_.roster.lose(*devices_[slot], *ended.lost_because);
  // It is the twin of an earlier one, as was found out meanwhile: nothing said of it here counts.
  if (entry.finished) {
    entry.under_way = false;
    return;
  }
  if (crashes_.tries_again(entry.number, ended, slot)) {
    // Of a kernel that was under way when the last device was lost nothing is known.
    if (executor_.alive() == 0 && parts_.supply == nullptr) return;
    const Adding adding(breakdown_.store_s);
    parts_.store.record_attempt(run_, entry.compiled.row.number, entry.compiled.row.config_json);
    executor_.resubmit(job(entry), slot);
    return;
  }
  entry.under_way = false;
  // It is not recorded: a resumed run tries it again.
  if (entry.interrupted) return;
  entry.charged = ended.charge.has_value();
  if (ended.charge) {
    entry.gated = entry.compiled;
    fail_deadly(entry.gated.row, *ended.charge);
  } else if (const auto bad = crashes_.survived(entry.number, slot); bad && executor_.alive() > 1) {
    const std::string why =
        fmt::format("{} kernels in a row ended their process there, and not on {}",
                    CrashPolicy::kMostFalseDeaths, device_names_[slot]);
    log_warning("{} is set aside: {}", device_names_[*bad], why);
    executor_.retire(*bad);
    parts_.roster.retire(*devices_[*bad], why);
  }
  entry.gated.row.device = device_names_[slot];
  entry.is_gated = true;
  if (entry.gate_counts) settle(entry);
}

bool SearchLoop::record() {
  if (!trouble_.empty() || entries_.empty()) return false;
  if (!entries_.front().finished || entries_.front().under_way) return false;
  // The generation is told before more is recorded.
  if (told_.size() == generations_.front()) return false;
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  --compiled_;
  const bool fresh = entry.stored == nullptr;
  db::TrialRow row;
  if (fresh) {
    const Adding adding(breakdown_.store_s);
    entry.trial.row.at_ms = seconds() * 1000;
    if (entry.charged) trouble_ = crashes_.settled(*entry.charged, entry.trial.row.message);
    row = log_.record(std::move(entry.trial), entry.proposal);
  } else {
    row = log_.replay(entry.number, entry.proposal);
  }
  told_.push_back(log_.told(row, entry.proposal.config));
  if (parts_.proposer != nullptr)
    parts_.proposer->report(report_trial(row, entry.proposal.config, told_.back().time_us));
  if (counts().best) executor_.note_incumbent(counts().best->screen_time->us.value);
  if (fresh) {
    ++breakdown_.trials;
    breakdown_.gated += !row.device.empty();
    breakdown_.compile_s += row.compile_ms / 1000;
    breakdown_.gate_s += row.gate_ms / 1000;
    breakdown_.time_s += row.measure_ms / 1000;
    parts_.listener.on_trial(row, counts());
  }
  return true;
}

// The next one is asked for with it.
void SearchLoop::tell_generation() {
  generations_.pop_front();
  std::vector<search::Evaluation> told = std::exchange(told_, {});
  if (parts_.proposer == nullptr) {
    strategy_.begin(std::move(told),
                    wants_generation() ? std::optional(policy_.generation) : std::nullopt);
  } else {
    const Adding adding(breakdown_.search_s);
    for (const search::Evaluation& each : told) parts_.strategy.tell(each);
  }
  fault_point("generation_told");
  while (ask()) {
  }
}

std::vector<device::Device*> SearchLoop::usable() const {
  std::vector<device::Device*> usable;
  for (std::size_t slot = 0; slot < devices_.size(); ++slot)
    if (executor_.alive(slot)) usable.push_back(devices_[slot]);
  return usable;
}

Breakdown SearchLoop::breakdown() const {
  Breakdown breakdown = breakdown_;
  const ExecutorTimes times = executor_.times();
  breakdown.busy_s = times.busy_ms / 1000;
  breakdown.idle_s = times.idle_ms / 1000;
  breakdown.idle_for_engine_s = times.idle_for_engine_ms / 1000;
  return breakdown;
}

}  // namespace fa_tune::tuner
