#include "engine/tuner/loop/search_loop.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "engine/tuner/loop/device_wait.hpp"
#include "engine/tuner/loop/proposer.hpp"
#include "engine/tuner/loop/run_options.hpp"
#include "engine/util/fault_point.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

// How often a wait says how the devices stand.
constexpr std::chrono::milliseconds kTellLook{1000};

}  // namespace

SearchLoop::SearchLoop(const SearchParts& parts, std::int64_t run, BatchPolicy policy,
                       std::uint64_t seed)
    : parts_(parts),
      policy_(policy),
      log_(parts.task, parts.store, run),
      compilers_before_s_(
          parts.options.compilers != nullptr ? parts.options.compilers->presence().seconds : 0),
      seconds_before_(log_.seconds_before()),
      pipeline_({.task = parts.task,
                 .first = *parts.devices.front(),
                 .queue = parts.queue,
                 .pool = parts.pool,
                 .truth = parts.truth,
                 .store = parts.store,
                 .roster = parts.roster,
                 .may_begin = [this](std::uint64_t number) { return may_begin(number); },
                 .more_devices = parts.supply != nullptr},
                run, is_warm(*parts.store.run(run)), TrialSeeds::of(seed)),
      strategy_(parts.strategy, parts.queue) {
  for (device::Device* device : parts.devices) pipeline_.add_device(*device);
}

void SearchLoop::take_arrived() {
  if (parts_.supply == nullptr) return;
  for (device::Device* device : parts_.supply->take_arrived()) pipeline_.add_device(*device);
}

// Where none is left. False if there is none to be had.
bool SearchLoop::wait_for_device() {
  if (parts_.supply == nullptr) return false;
  const auto came = wait_for_devices(*parts_.supply, parts_.queue, parts_.listener, parts_.stop);
  for (device::Device* device : came) pipeline_.add_device(*device);
  // It may be lost again by now, and another on its way.
  return !came.empty();
}

bool SearchLoop::has_more() const {
  return within_budget(static_cast<std::uint64_t>(counts().trials) + 1) &&
         !(used_up_ && pipeline_.empty());
}

void SearchLoop::run() {
  for (;;) {
    take_arrived();
    while (advance()) {
    }
    if (parts_.stop) pipeline_.cancel_waiting();
    if (!trouble_.empty()) break;
    if (pipeline_.devices_alive() == 0) {
      if (!has_more() || !wait_for_device()) break;
      continue;
    }
    const bool waits_for_compiler = pipeline_.waits_for_compiler();
    if (pipeline_.on_devices() == 0 && !waits_for_compiler && !strategy_.busy()) break;
    parts_.listener.on_wait(pipeline_.on_devices() > 0 ? "the device"
                            : waits_for_compiler       ? "compilers"
                                                       : "the strategy");
    parts_.queue.run_pending(kTellLook);
  }
  // What was compiled ahead and is not needed is not to keep the finals waiting.
  parts_.pool.cancel_waiting();
  pipeline_.stop();
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

// Takes steps while there are any, and writes what they record to disk together. The strategy does
// not wait for what is left of them.
template <typename Step>
bool SearchLoop::together(const Step& step) {
  db::Store::Group group(parts_.store);
  bool any = false;
  while (!strategy_.done() && step()) any = true;
  const ScopedSeconds scope(breakdown_.store_s);
  group.commit();
  return any;
}

// All that can be done now; false if that is nothing. The devices get what was begun when it is on
// disk, and the strategy hears of what was recorded.
bool SearchLoop::advance() {
  bool any = false;
  while (ask()) any = true;
  any |= together([this] { return record(); });
  any |= tell_generation();
  any |= together([this] { return take_compiled(); });
  pipeline_.submit_begun();
  return any;
}

bool SearchLoop::within_budget(std::uint64_t number) const {
  const auto& trials = parts_.options.trials;
  return (!trials || number <= static_cast<std::uint64_t>(*trials)) && time_left();
}

bool SearchLoop::may_begin(std::uint64_t number) const {
  return !parts_.stop && trouble_.empty() && within_budget(number);
}

std::vector<search::Proposal> SearchLoop::ask_proposer() {
  const ScopedSeconds scope(breakdown_.search_s);
  std::optional<int> trials;
  std::optional<double> left;
  if (parts_.options.trials) trials = *parts_.options.trials - static_cast<int>(asked_);
  if (parts_.options.seconds) left = *parts_.options.seconds - seconds();
  return parts_.proposer->ask(parts_.strategy, policy_.generation, budget_json(trials, left));
}

bool SearchLoop::wants_generation() const {
  const auto most = static_cast<std::size_t>(policy_.ahead) + 1;
  if (used_up_ || generations_.size() >= most) return false;
  return log_.stored(asked_ + 1) != nullptr ||
         (pipeline_.devices_alive() > 0 && may_begin(asked_ + 1));
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
  std::uint64_t number = asked_;
  asked_ += proposals.size();
  // The strategy goes on while these are prepared. What is still to be asked for comes first, told
  // or not: that must not depend on what is recorded by now.
  if (parts_.proposer == nullptr && !ask()) tell_generation();
  for (search::Proposal& proposal : proposals) {
    if (const db::TrialRow* stored = log_.stored(++number))
      pipeline_.add_recorded(std::move(proposal), *stored);
    else
      pipeline_.add(std::move(proposal));
  }
  fault_point("generation_prepared");
}

// False where nothing is ready, or nobody compiles any more.
bool SearchLoop::take_compiled() {
  try {
    return pipeline_.advance();
  } catch (const kernel::NoCompilerLeft& why) {
    trouble_ = why.what();
    return false;
  }
}

bool SearchLoop::record() {
  if (!trouble_.empty()) return false;
  // The generation is told before more is recorded.
  if (!generations_.empty() && told_.size() == generations_.front()) return false;
  auto ended = pipeline_.take_ended();
  if (!ended) return false;
  const bool fresh = ended->trial.has_value();
  db::TrialRow row;
  if (fresh) {
    const ScopedSeconds scope(breakdown_.store_s);
    ended->trial->row.at_ms = seconds() * 1000;
    trouble_ = ended->trouble;
    row = log_.record(std::move(*ended->trial), ended->proposal);
  } else {
    row = log_.replay(ended->number, ended->proposal);
  }
  told_.push_back(log_.told(row, ended->proposal.config));
  if (parts_.proposer != nullptr)
    parts_.proposer->report(report_trial(row, ended->proposal.config, told_.back().time_us));
  if (counts().best) pipeline_.note_incumbent(counts().best->screen_time->us.value);
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

// Tells the first generation, if all of it is recorded, and asks for the next one with it. Where no
// device is left nothing is asked for, and so nothing told: who waits for one and goes on must come
// to the same. Nor is it while a generation is asked for that is to know nothing of it.
bool SearchLoop::tell_generation() {
  if (strategy_.busy() || generations_.empty() || told_.size() < generations_.front() ||
      pipeline_.devices_alive() == 0)
    return false;
  generations_.pop_front();
  std::vector<search::Evaluation> told = std::exchange(told_, {});
  if (parts_.proposer == nullptr) {
    strategy_.begin(std::move(told),
                    wants_generation() ? std::optional(policy_.generation) : std::nullopt);
  } else {
    const ScopedSeconds scope(breakdown_.search_s);
    for (const search::Evaluation& each : told) parts_.strategy.tell(each);
  }
  fault_point("generation_told");
  return true;
}

Breakdown SearchLoop::breakdown() const {
  Breakdown breakdown = breakdown_;
  breakdown.devices = pipeline_.device_names();
  breakdown.store_s += pipeline_.store_seconds();
  const ExecutorTimes times = pipeline_.device_times();
  breakdown.busy_s = times.busy_ms / 1000;
  breakdown.idle_s = times.idle_ms / 1000;
  breakdown.idle_for_engine_s = times.idle_for_engine_ms / 1000;
  return breakdown;
}

}  // namespace fa_tune::tuner
