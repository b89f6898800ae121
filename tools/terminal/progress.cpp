#include "tools/terminal/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>

#include <fmt/core.h>

#include "engine/report/run_overview.hpp"
#include "engine/report/text_format.hpp"
#include "engine/util/log.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::terminal {
namespace {

// Without a terminal: a line now and then, and one for each new best.
constexpr int kEvery = 20;
// As often as an eye sees.
constexpr std::chrono::milliseconds kTick{200};

using report::format_seconds;
using report::rate_text;

std::string line_of(const RunStatus& status) {
  const std::string of = status.of ? fmt::format("/{}", *status.of) : "";
  std::string line = fmt::format("[{:>4}{}] passed {}  failed {}  duplicate {}", status.trials, of,
                                 status.passed, status.failed, status.duplicate);
  if (status.best_us) {
    line += fmt::format("  best {:.2f} us {}", *status.best_us, status.kind);
    if (status.beside_us && *status.beside_us > *status.best_us)
      line += fmt::format(" ({:.1f}x)", *status.beside_us / *status.best_us);
  }
  if (status.seconds > 0)
    line += fmt::format("  {}  {} left", rate_text(status.trials, status.seconds),
                        format_seconds(status.left_s.value_or(0)));
  if (status.nodes > 0 || status.lost > 0)
    line +=
        fmt::format("  nodes {}  devices {}  lost {}", status.nodes, status.devices, status.lost);
  return line;
}

}  // namespace

Progress::Progress(const tuner::EvolveOptions& options, std::string kind,
                   const std::atomic<bool>& stop)
    : options_(options), stop_(stop), quiet_(!is_logged(LogLevel::warning)) {
  status_.of = options.trials;
  status_.kind = std::move(kind);
  if (quiet_) return;
  if (const Screen screen = Screen::of_stderr(); screen.live)
    live_ =
        std::make_unique<LiveLine>(screen, [this](std::size_t columns) { return line(columns); });
  ticker_ = std::jthread([this](const std::stop_token& ended) { tick(ended); });
}

Progress::~Progress() {
  ticker_ = {};
  tell_stop();
  // The line that stays says what the search came to.
  const std::lock_guard lock(mutex_);
  status_.step.reset();
  status_.left_s.reset();
  status_.waits_for.clear();
}

void Progress::on_wait(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (what == status_.waits_for) return;
  status_.waits_for = what;
  since_wait_ = {};
}

void Progress::on_trial(const db::TrialRow& /*trial*/, const tuner::RunCounts& counts) {
  ++fresh_;
  bool better = false;
  RunStatus now;
  {
    const std::lock_guard lock(mutex_);
    status_.trials = counts.trials;
    status_.passed = counts.passed;
    status_.failed = counts.failed;
    status_.duplicate = counts.duplicate;
    status_.seconds = counts.seconds;
    status_.left_s =
        report::seconds_left(options_.trials, options_.seconds, counts.trials, counts.seconds);
    if (counts.best) {
      const double us = counts.best->screen_time->us.value;
      better = !status_.best_us || us < *status_.best_us;
      status_.best_us = us;
    }
    if (counts.baseline) {
      status_.beside_us = counts.baseline->screen_time->us.value;
      status_.beside = "baseline";
    } else if (counts.plain_us) {
      status_.beside_us = counts.plain_us;
      status_.beside = "plain kernel";
    }
    since_trial_ = {};
    since_wait_ = {};
    now = status_;
  }
  if (live_)
    live_->draw();
  else if (better || fresh_ % kEvery == 0)
    write_line(line_of(now));
}

void Progress::on_devices(const std::vector<tuner::DeviceStanding>& devices) {
  using State = tuner::DeviceStanding::State;
  std::set<std::string> nodes;
  int there = 0;
  int lost = 0;
  for (const tuner::DeviceStanding& each : devices) {
    if (each.state == State::lost) ++lost;
    if (each.state != State::idle && each.state != State::working) continue;
    ++there;
    if (const std::size_t slash = each.device.rfind('/'); slash != std::string::npos)
      nodes.insert(each.device.substr(0, slash));
  }
  const std::lock_guard lock(mutex_);
  status_.nodes = static_cast<int>(nodes.size());
  status_.devices = there;
  status_.lost = options_.supply == nullptr ? 0 : lost;
}

void Progress::on_final_step(const std::string& step, int done, int of) {
  static const std::map<std::string, std::string> names = {
      {"checked", "emulator check"}, {"gated", "gate"}, {"raced", "race, process"}};
  {
    const std::lock_guard lock(mutex_);
    const auto name = names.find(step);
    status_.step = {name == names.end() ? step : name->second, done, of};
    status_.waits_for.clear();
    since_wait_ = {};
  }
  if (live_)
    live_->draw();
  else if (done > 0 && (done == 1 || done == of))
    write_line(fmt::format("[finals] {} {} of {}", step, done, of));
}

void Progress::on_final(const db::TrialRow& trial, int done, int of) {
  const bool passed = trial.outcome == Outcome::passed;
  if (live_ && passed) return;  // the summary comes at once, and has it
  write_line(fmt::format("[final {}/{}] trial {}: {}", done, of, trial.id,
                         passed
                             ? fmt::format("{:.2f} us {}", trial.final_time->us.value, status_.kind)
                             : "failed: " + trial.message));
}

// On a terminal it stays, above the live line.
void Progress::write_line(const std::string& text) const {
  if (quiet_) return;
  const std::string shown = message_line(text);
  if (live_) {
    live_->say(shown);
    return;
  }
  fmt::print(stderr, "{}\n", shown);
  std::fflush(stderr);
}

Line Progress::line(std::size_t columns) {
  const std::lock_guard lock(mutex_);
  RunStatus now = status_;
  now.waits_s = since_wait_.milliseconds() / 1000;
  if (now.left_s) now.left_s = std::max(0.0, *now.left_s - since_trial_.milliseconds() / 1000);
  return status_line(now, columns);
}

void Progress::tell_stop() {
  if (!stop_ || stop_told_) return;
  stop_told_ = true;
  write_line("stopping: what is under way is finished, and all is kept; once more ends it now");
}

void Progress::tick(const std::stop_token& ended) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  while (!ended.stop_requested()) {
    tell_stop();
    if (live_) live_->draw();
    over_.wait_for(lock, ended, kTick, [] { return false; });
  }
}

}  // namespace fa_tune::terminal
