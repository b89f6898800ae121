#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/report/text_format.hpp"
#include "engine/tuner/comparison/baseline.hpp"
#include "engine/tuner/comparison/kernel_comparison.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/session.hpp"

namespace fa_tune::commands {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct CheckArguments {
  std::vector<std::string> files;
  std::string baseline;
  bool write = false;
  std::string device = "auto";
  double allow_percent = 1;
  int processes = measure::ProcessSeries::kProcesses;
  std::string format = "text";
  std::optional<std::uint64_t> seed;
};

// Two texts of one kernel raced, and what was found of the second.
struct Meeting {
  std::expected<tuner::KernelComparison, RejectedContestant> compare_kernels;
  KernelResources resources;
  device::DeviceInfo device;
  std::string compiler;
};

Meeting meet(const std::string& file, const std::string& before, const std::string& now,
             const CheckArguments& arguments, std::uint64_t seed) {
  const fs::path root = require_root();
  // Before the kernels under test, because their kernels are unloaded from it at the end.
  std::optional<Session> session;
  const auto a = tuner::kernel_of_export(file + " of the baseline", before, root);
  const auto b = tuner::kernel_of_export(file, now, root);
  if (a->problem().kind() != b->problem().kind() || a->problem().shape() != b->problem().shape())
    throw UserError(file + ": solves another problem than in the baseline: " +
                    b->problem().describe(b->problem().shape()) + ", not " +
                    a->problem().describe(a->problem().shape()));
  session.emplace(arguments.device, a->target(), root);
  for (tuner::KernelUnderTest* each : {a.get(), b.get()})
    each->use_reference(session->reference(each->target()));
  auto met = tuner::compare_kernels(
      *a, *b, session->device(), session->compiler(), session->pool(),
      {.processes = arguments.processes, .l2 = device::L2::warm, .seed = seed});
  return {std::move(met), b->resources(), session->device().info(), session->compiler().version()};
}

int write_baseline(const CheckArguments& arguments, std::uint64_t seed) {
  const fs::path path = arguments.baseline;
  std::vector<std::string> files = arguments.files;
  if (files.empty())  // those that it is of already
    for (const tuner::BaselineKernel& kernel :
         tuner::parse_baseline(read_file(path, kJsonFile), path).kernels)
      files.push_back((path.parent_path() / kernel.file).string());
  tuner::Baseline baseline;
  for (const std::string& file : files) {
    const std::string text = read_file(file, kExportedFile);
    const Meeting meeting = meet(file, text, text, arguments, seed);
    if (!meeting.compare_kernels)
      throw UserError(meeting.compare_kernels.error().rejection.message);
    baseline.device = meeting.device.name;
    baseline.time_kind = to_text(meeting.device.times);
    baseline.compiler = meeting.compiler;
    const fs::path from = fs::absolute(path).parent_path();
    baseline.kernels.push_back({fs::absolute(file).lexically_relative(from).string(), text,
                                meeting.compare_kernels->a_us, meeting.resources});
    log_info("{}: {:.2f} us {}", file, meeting.compare_kernels->a_us.value, baseline.time_kind);
  }
  write_file(path, to_json(baseline));
  log_info("{}: {} {}, on {}", path.string(), files.size(),
           files.size() == 1 ? "kernel" : "kernels", baseline.device);
  return 0;
}

// What has become worse than the baseline: each a word for JSON and a sentence for a person.
using Findings = std::vector<std::pair<std::string, std::string>>;

Findings regressions(const tuner::BaselineKernel& then, const Meeting& now, double allow) {
  Findings found;
  if (!now.compare_kernels) return {{"wrong", now.compare_kernels.error().rejection.message}};
  const Interval& ratio = now.compare_kernels->ratio;
  if (ratio.low > 1 + allow)
    found.emplace_back("time", fmt::format("takes {:.4f} of the baseline's time", ratio.value));
  const auto grown = [&found](const char* word, const char* unit, int before, int after) {
    if (before >= 0 && after > before)
      found.emplace_back(word, fmt::format("{} {}, the baseline {}", after, unit, before));
  };
  grown("registers", "registers a thread", then.resources.registers, now.resources.registers);
  grown("spills", "bytes spilled a thread", then.resources.spill_store_bytes,
        now.resources.spill_store_bytes);
  return found;
}

Json row_of(const tuner::BaselineKernel& then, const Meeting& now, const Findings& found) {
  Json row{{"file", then.file}, {"regressions", Json::array()}};
  for (const auto& [word, sentence] : found)
    row["regressions"].push_back({{"what", word}, {"message", sentence}});
  row["time_us"] = now.compare_kernels ? report::interval_json(now.compare_kernels->b_us) : Json();
  row["baseline_us"] =
      now.compare_kernels ? report::interval_json(now.compare_kernels->a_us) : Json();
  row["baseline_us_then"] = report::interval_json(then.time_us);
  row["ratio"] = now.compare_kernels ? report::interval_json(now.compare_kernels->ratio) : Json();
  row["registers"] = now.resources.registers;
  row["registers_then"] = then.resources.registers;
  row["spill_bytes"] = now.resources.spill_store_bytes;
  row["spill_bytes_then"] = then.resources.spill_store_bytes;
  return row;
}

void print_row(const tuner::BaselineKernel& then, const Meeting& now, const Findings& found) {
  std::vector<std::string> words;
  for (const auto& [word, sentence] : found) words.push_back(sentence);
  fmt::print("{}: {}", then.file, found.empty() ? "ok" : "REGRESSED");
  if (!words.empty()) fmt::print(": {}", fmt::join(words, "; "));
  if (now.compare_kernels) {
    const tuner::KernelComparison& compare_kernels = *now.compare_kernels;
    fmt::print("\n  {:.2f} us {}, the baseline {:.2f} us now and {:.2f} us then: ratio {:.4f}",
               compare_kernels.b_us.value, to_text(now.device.times), compare_kernels.a_us.value,
               then.time_us.value, compare_kernels.ratio.value);
    if (now.device.times == device::TimeKind::measured)
      fmt::print(" [{:.4f}, {:.4f}] in {} processes", compare_kernels.ratio.low,
                 compare_kernels.ratio.high, compare_kernels.processes);
  }
  fmt::print("\n");
}

void refuse_other_machine(const tuner::Baseline& baseline, const Meeting& meeting,
                          const std::string& path) {
  if (meeting.device.name != baseline.device)
    throw UserError(fmt::format("{} was measured on {}, this is {}: write one for this machine",
                                path, baseline.device, meeting.device.name));
}

int check(const CheckArguments& arguments) {
  const std::uint64_t seed = arguments.seed ? *arguments.seed : std::random_device{}();
  if (arguments.write) return write_baseline(arguments, seed);
  if (!arguments.files.empty())
    throw UserError("check: the baseline names its files; KERNEL.cu goes with --write");
  const fs::path path = arguments.baseline;
  const tuner::Baseline baseline = tuner::parse_baseline(read_file(path, kJsonFile), path);
  Json rows = Json::array();
  int regressed = 0;
  for (const tuner::BaselineKernel& then : baseline.kernels) {
    const std::string file = (path.parent_path() / then.file).string();
    const Meeting now = meet(file, then.text, read_file(file, kExportedFile), arguments, seed);
    refuse_other_machine(baseline, now, path.string());
    if (now.compiler != baseline.compiler)
      log_info("{}: compiled by {}, the baseline by {}", file, now.compiler, baseline.compiler);
    if (!now.compare_kernels && now.compare_kernels.error().contestant == 0)
      throw UserError(now.compare_kernels.error().rejection.message +
                      "; nothing can be held against it: write the baseline anew");
    const Findings found = regressions(then, now, arguments.allow_percent / 100);
    if (!found.empty()) ++regressed;
    if (arguments.format == "json")
      rows.push_back(row_of(then, now, found));
    else
      print_row(then, now, found);
  }
  if (arguments.format == "json")
    fmt::print("{}\n", Json{{"baseline", path.string()},
                            {"device", baseline.device},
                            {"kind", baseline.time_kind},
                            {"seed", seed},
                            {"allow_percent", arguments.allow_percent},
                            {"passed", regressed == 0},
                            {"kernels", rows}}
                           .dump(2));
  return regressed == 0 ? 0 : 1;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "check", "guard kernels in CI: are they as correct, fast and lean as a baseline says?");
  auto arguments = std::make_shared<CheckArguments>();
  command
      ->add_option("KERNEL", arguments->files,
                   "with --write: exported .cu files; those of the baseline if not given")
      ->type_name("FILE");
  command->add_option("--baseline", arguments->baseline, "a JSON file, kept beside the kernels")
      ->type_name("FILE")
      ->required();
  command->add_flag("--write", arguments->write, "measure now and write the baseline");
  add_device_option(*command, arguments->device);
  command
      ->add_option("--allow", arguments->allow_percent,
                   "percent by which a kernel may be slower, for certain, before it counts")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  command
      ->add_option("--processes", arguments->processes,
                   "how many processes hold each race, one after the other")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  add_format_option(*command, arguments->format, {"text", "json"});
  add_seed(*command, arguments->seed, "of inputs and of the races; fresh if not given");
  act(*command, action, arguments, check);
}

}  // namespace fa_tune::commands
