#include "tools/commands/command.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sched.h>

#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/worker/open.hpp"

namespace fa_tune::commands {
namespace {

std::atomic<bool> was_stop_asked{false};

void on_interrupt(int signal) {
  was_stop_asked = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void heed_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

const std::atomic<bool>& stop_asked() { return was_stop_asked; }

Budget parse_budget(const std::string& text) {
  const auto wrong = [&text] {
    return UserError("--budget '" + text +
                     "': expected a number of trials (200) or a time (90s, 10m, 2h)");
  };
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  constexpr std::int64_t kMost = 100'000'000;
  if (error != std::errc() || number <= 0 || number > kMost) throw wrong();
  const std::string unit(rest, text.data() + text.size());
  Budget budget;
  if (unit.empty())
    budget.trials = static_cast<int>(number);
  else if (unit == "s" || unit == "m" || unit == "h")
    budget.seconds = static_cast<double>(number) * (unit == "s" ? 1 : unit == "m" ? 60 : 3600);
  else
    throw wrong();
  return budget;
}

void add_price(CLI::App& command, std::optional<double>& price) {
  command
      .add_option("--price", price,
                  "what a GPU hour costs, in any money: says what the run's search did")
      ->check([](const std::string& text) -> std::string {
        double number = -1;
        const char* const end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, number);
        if (error == std::errc() && rest == end && number >= 0) return {};
        return "expected a number from 0 on, found '" + text + "'";
      });
}

void add_seed(CLI::App& command, std::optional<std::uint64_t>& seed, const std::string& help) {
  const auto wrong = [](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && rest == end) return {};
    return "expected a whole number from 0 to 18446744073709551615, found '" + text + "'";
  };
  command.add_option("--seed", seed, help)->check(wrong);
}

void add_db_option(CLI::App& command, std::string& db, const std::string& help) {
  command.add_option("--db", db, help)->type_name("FILE")->capture_default_str();
}

void add_trial_option(CLI::App& command, std::int64_t& trial) {
  command.add_option("trial", trial, "the trial's number, as `best` lists it")->required();
}

void add_device_option(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "auto, cuda:N, or emulator:PROFILE")
      ->type_name("DEVICE")
      ->capture_default_str();
}

void add_format_option(CLI::App& command, std::string& format,
                       const std::vector<std::string>& forms) {
  const std::vector<std::string> first(forms.begin(), forms.end() - 1);
  command
      .add_option("--format", format, fmt::format("{} or {}", fmt::join(first, ", "), forms.back()))
      ->check(CLI::IsMember(forms))
      ->capture_default_str();
}

std::filesystem::path require_root() {
  const auto root = find_root();
  if (root.empty())
    throw MachineError(
        "the folders kernel_templates and search_spaces were not found above this program or the "
        "current folder: set FA_TUNE_ROOT to the project's folder");
  return root;
}

std::unique_ptr<kernel::Compiler> open_compiler() {
  return with_kernel_cache(worker::open_nvrtc_in_worker());
}

std::unique_ptr<kernel::Compiler> with_kernel_cache(std::shared_ptr<kernel::Compiler> compiler) {
  return kernel::with_cache(std::move(compiler), cache_folder() / "kernels");
}

int default_jobs() {
  // A job of a cluster is often given a part of its machine.
  cpu_set_t own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof own, &own) == 0) return std::max(1, CPU_COUNT(&own));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

db::RunRow require_run(const db::Store& store, const std::string& db,
                       std::optional<std::int64_t> run) {
  if (run) {
    if (auto row = store.run(*run)) return *row;
    throw UserError(fmt::format("{}: there is no run {}", db, *run));
  }
  const auto runs = store.runs();
  if (runs.empty()) throw UserError(db + ": has no runs yet; 'fa-tune evolve' makes one");
  return runs.front();
}

std::int64_t trial_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stop != text.data() + text.size() || number < 1)
    throw UserError("'" + text + "' names no kernel: write a trial's ID or an exported .cu file");
  return number;
}

}  // namespace fa_tune::commands
