#include "engine/tuner/portfolio/candidates.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "engine/report/rows.hpp"

namespace fa_tune::tuner {
namespace {

// A kernel further behind is not the fastest at other shapes either.
constexpr double kFar = 1.3;

// Which configs of a task divide the work alike, or have blocks of as many threads: theirs are equal.
class Divisions {
 public:
  explicit Divisions(const TuningTask& task) : task_(task) {}

  Constants of(const Config& config) { return values(config, names_of(config).division); }
  Constants block_of(const Config& config) { return values(config, names_of(config).block); }

 private:
  struct Names {
    std::vector<std::string> division, block;
  };

  const Names& names_of(const Config& config) {
    const kernel::Template& by = task_.template_of(config);
    const auto [at, fresh] = names_.try_emplace(by.name());
    if (fresh) at->second = {by.division_parameters(), by.block_parameters()};
    return at->second;
  }

  Constants values(const Config& config, const std::vector<std::string>& names) const {
    const kernel::Template& by = task_.template_of(config);
    Constants values{{"template", by.name()}};
    for (const std::string& name : names) {
      const Value* value = config.find(name);
      values.emplace(name, value ? *value : by.optional().at(name));
    }
    return values;
  }

  const TuningTask& task_;
  std::map<std::string, Names> names_;  // by template
};

}  // namespace

std::optional<db::ScreenTime> screen_of(const db::TrialRow& trial, double mhz) {
  const auto us = report::screen_at_clock(trial, mhz);
  if (!us) return std::nullopt;
  return db::ScreenTime{trial.screen_time->us * (*us / trial.screen_time->us.value)};
}

std::vector<const db::TrialRow*> candidates_in_order(
    const TuningTask& task, const std::vector<const db::TrialRow*>& trials) {
  Divisions divisions(task);
  std::set<Constants> taken;
  std::vector<Constants> blocks;
  std::vector<std::deque<const db::TrialRow*>> by_block;  // in the order of `blocks`
  std::vector<const db::TrialRow*> others;
  std::optional<double> best;
  for (const db::TrialRow* trial : trials) {
    const auto screen = screen_of(*trial, task.target.clock_mhz);
    if (screen && !best) best = screen->us.value;
    const Config config = Config::from_json(trial->config_json);
    if (!screen || screen->us.value > *best * kFar || !taken.insert(divisions.of(config)).second) {
      others.push_back(trial);
      continue;
    }
    const Constants block = divisions.block_of(config);
    const auto at = std::ranges::find(blocks, block) - blocks.begin();
    if (at == std::ssize(blocks)) {
      blocks.push_back(block);
      by_block.emplace_back();
    }
    by_block[static_cast<std::size_t>(at)].push_back(trial);
  }
  std::vector<const db::TrialRow*> order;
  for (bool more = true; more;) {
    more = false;
    for (auto& those : by_block) {
      if (those.empty()) continue;
      order.push_back(those.front());
      those.pop_front();
      more = true;
    }
  }
  order.insert(order.end(), others.begin(), others.end());
  return order;
}

}  // namespace fa_tune::tuner
