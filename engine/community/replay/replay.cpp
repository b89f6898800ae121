#include "engine/community/replay/replay.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "engine/search/catalog/make_strategy.hpp"
#include "engine/search/strategy.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::community {
namespace {

constexpr double kUsPerMs = 1000;
constexpr double kMsPerS = 1000;

class Replayed {
 public:
  Replayed(const RecordedTable& table, const space::Space& space, const ReplayOptions& options,
           ReplayBudget budget)
      : table_(table), space_(space), options_(options), budget_(budget) {}

  void run(std::uint64_t seed, std::vector<search::PriorTrials> earlier) {
    const auto strategy = search::make_strategy(
        options_.strategy, search::SearchTask{space_, seed, std::move(earlier)});
    std::deque<std::vector<search::Proposal>> asked;
    bool used_up = false;
    while (!is_over()) {
      while (!used_up && asked.size() <= options_.ahead) {
        asked.push_back(strategy->ask(options_.batch));
        used_up = asked.back().empty();
      }
      for (const search::Proposal& proposal : asked.front()) {
        told_.push_back(evaluate(proposal));
        strategy->tell(told_.back());
      }
      asked.pop_front();
      if (used_up && asked.empty()) break;
    }
  }

  Trace take_trace() { return std::move(trace_); }
  search::PriorTrials take_told() { return {table_.name, std::move(told_)}; }

 private:
  bool is_over() const {
    return best_ms_ <= options_.enough_ms ||
           (elapsed_ms_ >= budget_.ms && trace_.size() >= budget_.evaluations);
  }

  search::Evaluation evaluate(const search::Proposal& proposal) {
    const TableEntry* entry = table_.find(space_.genome(proposal.config));
    search::Evaluation told;
    told.number = ++asked_;
    told.config = proposal.config;
    told.passed = entry->time_ms.has_value();
    if (entry->time_ms) {
      told.time_us = *entry->time_ms * kUsPerMs;
      best_ms_ = std::min(best_ms_, *entry->time_ms);
    }
    if (entry->samples != 0) {
      const auto [first, alone] = kernels_.try_emplace(entry->samples, told.number);
      if (!alone) told.twin = first->second;
    }
    if (visited_.insert(entry).second) {
      told.cost_s = entry->cost_ms / kMsPerS;
      elapsed_ms_ += entry->cost_ms;
      trace_.push_back({visited_.size(), elapsed_ms_, entry->time_ms});
    }
    return told;
  }

  const RecordedTable& table_;
  const space::Space& space_;
  const ReplayOptions& options_;
  ReplayBudget budget_;
  std::vector<search::Evaluation> told_;
  std::set<const TableEntry*> visited_;
  std::unordered_map<std::size_t, std::uint64_t> kernels_;  // first trials by their samples
  Trace trace_;
  double elapsed_ms_ = 0;
  double best_ms_ = std::numeric_limits<double>::infinity();
  std::uint64_t asked_ = 0;
};

Trace replay_seed(const RecordedTable& table, const space::Space& space,
                  const ReplayOptions& options, std::uint64_t seed) {
  std::vector<search::PriorTrials> earlier;
  for (const EarlierTable& before : options.earlier) {
    ReplayOptions whole = options;
    whole.enough_ms = 0;
    Replayed first(*before.table, *before.space, whole, {0, before.evaluations});
    first.run(seed, {});
    earlier.push_back(first.take_told());
  }
  Replayed replayed(table, space, options, options.budget);
  replayed.run(seed, std::move(earlier));
  return replayed.take_trace();
}

}  // namespace

std::vector<Trace> replay(const RecordedTable& table, const space::Space& space,
                          const ReplayOptions& options) {
  std::vector<Trace> traces(options.seeds);
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < traces.size(); i = next++)
        traces[i] = replay_seed(table, space, options, i + 1);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      next = traces.size();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < options.jobs; ++i) threads.emplace_back(work);
  }
  if (failure) std::rethrow_exception(failure);
  return traces;
}

}  // namespace fa_tune::community
