#include <algorithm>
#include <cstdio>

#include <fmt/core.h>
#include <unistd.h>

#include "engine/util/printable.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/summary.hpp"

namespace fa_tune::commands {
namespace {

// Without a terminal: a line now and then, and one for each new best.
constexpr int kEvery = 20;

double seconds_left(const tuner::EvolveOptions& options, const tuner::RunCounts& counts) {
  const double each = counts.trials > 0 ? counts.seconds / counts.trials : 0;
  double left = 1e18;
  if (options.trials) left = each * (*options.trials - counts.trials);
  if (options.seconds) left = std::min(left, *options.seconds - counts.seconds);
  return left;
}

}  // namespace

Progress::Progress(const tuner::EvolveOptions& options, std::string kind)
    : options_(options), kind_(std::move(kind)), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (width_ > 0) std::fputc('\n', stderr);
}

void Progress::on_trial(const db::TrialRow& trial, const tuner::RunCounts& counts) {
  ++fresh_;
  std::string of = options_.trials ? fmt::format("/{}", *options_.trials) : "";
  std::string line = fmt::format("[{:>4}{}] passed {}  failed {}  duplicate {}", counts.trials, of,
                                 counts.passed, counts.failed, counts.duplicate);
  bool better = false;
  if (counts.best) {
    better = best_us_ == 0 || counts.best->screen_time->us.value < best_us_;
    best_us_ = counts.best->screen_time->us.value;
    line += fmt::format("  best {:.2f} us {}", best_us_, kind_);
    const auto beside =
        counts.baseline ? std::optional(counts.baseline->screen_time->us.value) : counts.plain_us;
    if (beside && *beside > best_us_) line += fmt::format(" ({:.1f}x)", *beside / best_us_);
  }
  if (counts.seconds > 0)
    line += fmt::format("  {:.1f}/s  {} left", counts.trials / counts.seconds,
                        format_seconds(seconds_left(options_, counts)));
  (void)trial;
  show(line, better || fresh_ % kEvery == 0);
}

void Progress::on_final_step(const std::string& step, int done, int of) {
  show(fmt::format("[finals] {} {} of {}", step, done, of), done == 1 || done == of);
}

void Progress::on_final(const db::TrialRow& trial, int done, int of) {
  show(fmt::format("[final {}/{}] trial {}: {}", done, of, trial.number,
                   trial.outcome == Outcome::passed
                       ? fmt::format("{:.2f} us {}", trial.final_time->us.value, kind_)
                       : "failed: " + trial.message),
       true);
}

void Progress::show(const std::string& said, bool important) {
  const std::string line = message_line(said);
  if (terminal_) {
    const std::size_t blank = width_ > line.size() ? width_ - line.size() : 0;
    fmt::print(stderr, "\r{}{}", line, std::string(blank, ' '));
    width_ = line.size();
  } else if (important) {
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
}

}  // namespace fa_tune::commands
