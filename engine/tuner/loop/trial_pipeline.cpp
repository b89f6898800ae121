#include "engine/tuner/loop/trial_pipeline.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/util/stopwatch.hpp"

namespace fa_tune::tuner {
namespace {

// Trials handed out for each slot, so that none waits while the engine asks or writes.
constexpr std::size_t kAhead = 4;
// That render and plan what was added, beside the queue's owner.
constexpr std::size_t kHelpers = 3;

void fail_deadly(db::TrialRow& row, const Rejection& charge) {
  row.stage = "launch";
  fail(row, charge);
  row.screen_time.reset();
}

}  // namespace

TrialPipeline::TrialPipeline(PipelineParts parts, std::int64_t run, bool warm, TrialSeeds seeds)
    : parts_(std::move(parts)),
      run_(run),
      warm_(warm),
      seeds_(seeds),
      compile_stage_(parts_.task, parts_.first, parts_.pool,
                     cases_of_trials(*parts_.task.problem, parts_.first, seeds)),
      helpers_(kHelpers),
      executor_({}, parts_.queue) {}

void TrialPipeline::add_device(device::Device& device) {
  device_names_.push_back(parts_.roster.add(device));
  devices_.push_back(&device);
  auto stages = make_device_stages(parts_.task, device, parts_.pool, parts_.truth, seeds_);
  {
    const std::lock_guard lock(stages_mutex_);
    stages_.push_back(std::move(stages));
  }
  executor_.add(device);
}

DeviceStages& TrialPipeline::stages_of(std::size_t slot) {
  const std::lock_guard lock(stages_mutex_);
  return *stages_[slot];
}

std::vector<device::Device*> TrialPipeline::usable() const {
  std::vector<device::Device*> usable;
  for (std::size_t slot = 0; slot < devices_.size(); ++slot)
    if (executor_.alive(slot)) usable.push_back(devices_[slot]);
  return usable;
}

TrialPipeline::Entry& TrialPipeline::append(search::Proposal proposal) {
  Entry& entry = entries_.emplace_back();
  entry.number = ++added_;
  entry.proposal = std::move(proposal);
  db::TrialRow& row = entry.trial.row;
  row.run = run_;
  row.number = static_cast<std::int64_t>(entry.number);
  row.operation = entry.proposal.operation;
  return entry;
}

void TrialPipeline::add(search::Proposal proposal) {
  to_prepare_.push_back(&append(std::move(proposal)));
}

// A deque's elements stay where they are.
void TrialPipeline::prepare_added() {
  std::erase_if(to_prepare_, [this](Entry* entry) { return !parts_.may_begin(entry->number); });
  std::vector<const Config*> configs;
  for (const Entry* entry : to_prepare_) configs.push_back(&entry->proposal.config);
  auto variants = compile_stage_.prepare(configs, helpers_);
  for (std::size_t i = 0; i < variants.size(); ++i)
    to_prepare_[i]->variant = std::move(variants[i]);
  to_prepare_.clear();
}

void TrialPipeline::add_recorded(search::Proposal proposal, const db::TrialRow& row) {
  append(std::move(proposal)).recorded = &row;
}

bool TrialPipeline::has_room() const {
  // Where kernels run in the engine's own process, only what runs may have been attempted.
  const bool apart = parts_.first.apart();
  return executor_.under_way() + begun_.size() < executor_.alive() * (apart ? kAhead : 1);
}

bool TrialPipeline::waits_for_compiler() const {
  return executor_.alive() > 0 && in_turn_ < entries_.size() &&
         parts_.may_begin(entries_[in_turn_].number);
}

bool TrialPipeline::advance() {
  if (!to_prepare_.empty()) prepare_added();
  return take_turn() || begin_early();
}

bool TrialPipeline::take_turn() {
  if (in_turn_ == entries_.size()) return false;
  Entry& entry = entries_[in_turn_];
  if (entry.recorded != nullptr) {
    compile_stage_.remember(*entry.recorded);
    entry.turn = Turn::over;
  } else {
    if (executor_.alive() == 0 || !parts_.may_begin(entry.number)) return false;
    if (!entry.begun() && (!has_room() || !entry.variant->ready())) return false;
    pass_in_turn(entry);
  }
  ++in_turn_;
  return true;
}

void TrialPipeline::pass_in_turn(Entry& entry) {
  const bool begun = entry.begun();
  if (begun) entry.trial = entry.compiled;
  db::TrialRow& row = entry.trial.row;
  const bool passed = begun ? compile_stage_.pass_in_turn(entry.trial)
                            : compile_stage_.pass(*entry.variant, entry.trial);
  const auto known = passed ? known_as_deadly(row) : std::nullopt;
  if (known) fail_deadly(row, *known);
  if (!passed || known) {
    entry.turn = Turn::over;
    entry.charged.reset();
    return;
  }
  entry.turn = Turn::passed;
  if (begun) return;
  entry.compiled = entry.trial;
  const auto charge = CrashPolicy::left_under_way(begin(entry) - 1);
  if (!charge || parts_.first.apart()) return;
  begun_.pop_back();
  entry.on_device = OnDevice::not_yet;
  entry.turn = Turn::over;
  fail_deadly(row, *charge);
  entry.charged = true;
}

// What is ready, of those behind one that is still being compiled, where a device would wait. The
// next call goes on behind it, as hundreds may not be ready, until none is left to look at.
bool TrialPipeline::begin_early() {
  std::size_t place = std::max(in_turn_ + 1, std::exchange(look_from_, 0));
  if (!has_room() || !parts_.first.apart()) return false;
  for (; place < entries_.size(); ++place) {
    Entry& entry = entries_[place];
    if (entry.recorded != nullptr || !parts_.may_begin(entry.number)) return false;
    if (entry.on_device != OnDevice::not_yet || !entry.variant->ready()) continue;
    FinishedTrial trial = entry.trial;
    if (!compile_stage_.passes_so_far(*entry.variant, trial) || known_as_deadly(trial.row)) {
      entry.on_device = OnDevice::refused;
      continue;
    }
    entry.compiled = std::move(trial);
    begin(entry);
    look_from_ = place + 1;
    return true;
  }
  return false;
}

std::optional<Rejection> TrialPipeline::known_as_deadly(const db::TrialRow& row) {
  const ScopedSeconds scope(store_s_);
  const auto known = parts_.store.deadly_trial(run_, row.source_hash, warm_);
  if (!known) return std::nullopt;
  return Rejection{known->finding, fmt::format("as in trial {}: {}", known->id, known->message)};
}

// Returns how many attempts there now are. It is submitted when this one is on disk.
int TrialPipeline::begin(Entry& entry) {
  const db::TrialRow& row = entry.compiled.row;
  entry.on_device = OnDevice::under_way;
  begun_.push_back(&entry);
  const ScopedSeconds scope(store_s_);
  return parts_.store.record_attempt(run_, row.number, row.config_json);
}

void TrialPipeline::submit_begun() {
  for (Entry* entry : std::exchange(begun_, {})) executor_.submit(job(*entry));
}

DeviceExecutor::Job TrialPipeline::job(Entry& entry) {
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

void TrialPipeline::on_gated(Entry& entry, std::size_t slot, Attempt ended) {
  if (ended.lost_because) parts_.roster.lose(*devices_[slot], *ended.lost_because);
  if (entry.turn == Turn::over) {
    entry.on_device = OnDevice::ended;
    return;
  }
  if (crashes_.tries_again(entry.number, ended, slot)) {
    // Of a kernel that was under way when the last device was lost nothing is known.
    if (executor_.alive() == 0 && !parts_.more_devices) return;
    const ScopedSeconds scope(store_s_);
    parts_.store.record_attempt(run_, entry.compiled.row.number, entry.compiled.row.config_json);
    executor_.resubmit(job(entry), slot);
    return;
  }
  // It is not recorded: a resumed run tries it again.
  if (entry.interrupted) {
    entry.on_device = OnDevice::not_yet;
    return;
  }
  entry.charged = ended.charge.has_value();
  if (ended.charge) {
    entry.gated = entry.compiled;
    fail_deadly(entry.gated.row, *ended.charge);
  } else if (const auto bad = crashes_.survived(entry.number, slot); bad && executor_.alive() > 1) {
    retire(*bad, slot);
  }
  entry.gated.row.device = device_names_[slot];
  entry.variant.reset();
  entry.on_device = OnDevice::ended;
}

// `other`: a slot that has borne what ended processes there.
void TrialPipeline::retire(std::size_t slot, std::size_t other) {
  const std::string why =
      fmt::format("{} kernels in a row ended their process there, and not on {}",
                  CrashPolicy::kMostFalseDeaths, device_names_[other]);
  log_warning("{} is set aside: {}", device_names_[slot], why);
  executor_.retire(slot);
  parts_.roster.retire(*devices_[slot], why);
}

std::optional<EndedTrial> TrialPipeline::take_ended() {
  if (entries_.empty() || !entries_.front().has_ended()) return std::nullopt;
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  --in_turn_;
  if (look_from_ > 0) --look_from_;
  EndedTrial ended{entry.number, std::move(entry.proposal), {}, {}};
  if (entry.recorded != nullptr) return ended;
  if (entry.turn == Turn::passed) entry.trial = std::move(entry.gated);
  if (entry.charged) ended.trouble = crashes_.settled(*entry.charged, entry.trial.row.message);
  ended.trial = std::move(entry.trial);
  return ended;
}

}  // namespace fa_tune::tuner
