#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/log.hpp"
#include "engine/base/random.hpp"
#include "engine/gate/timed_launch.hpp"
#include "engine/measure/process_series.hpp"
#include "engine/measure/sampler.hpp"
#include "engine/measure/timing.hpp"
#include "engine/run/clocked.hpp"
#include "engine/run/contender.hpp"
#include "engine/worker/open.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/options.hpp"
#include "tools/commands/reference.hpp"

namespace fa_tune {
namespace {

using Json = nlohmann::ordered_json;

struct BenchArguments {
  std::string a;
  std::string b;
  std::string db = "fa.db";
  std::optional<std::string> space;
  std::string device = "auto";
  std::string format = "text";
  std::optional<std::uint64_t> seed;
  int processes = ProcessSeries::kProcesses;
  std::string l2 = "warm";
};

// B beside A.
struct Outcome {
  Estimate a_us;
  Estimate b_us;
  std::string a_detail;  // how its samples were taken, as JSON
  std::string b_detail;
  RaceRatio ratio;  // B's time over A's
  int processes = 0;
  int blocks = 0;
  int void_blocks = 0;
};

// Right, and timed by itself with the proof that it works under the clock; else a person's error.
Estimate admit(const Contender& contender, const Binder& bind, Device& device, TruthCache& truth,
               Clocked& clocked, std::uint64_t seed) {
  const Verdict gated =
      Gate(device, truth).check(bind, trial_cases(contender.problem(), seed, TimedShape::none));
  if (!gated.right())
    throw UserError(contender.name() + " is not right: " + to_text(gated.finding) + ": " +
                    gated.message + " (" + gated.where + ")");
  const auto bound = bind(contender.problem().shape());
  if (!bound) throw UserError(contender.name() + ": " + bound.error());
  const auto timed = clocked.time(*bound, Effort::screen);
  if (!timed)
    throw UserError(contender.name() + " could not be timed: " + timed.error().finding + ": " +
                    timed.error().message);
  return timed->time_us;
}

Outcome compare(Contender& a, Contender& b, Device& device, Compiler& compiler, CompilePool& pool,
                const BenchArguments& arguments, std::uint64_t seed) {
  const Problem& problem = a.problem();
  TruthCache truth(problem);
  Clocked clocked(problem, a.target(), device, truth, derive_seed(seed, "time"),
                  Clocked::Proof::where_measured);
  const Binder bind_a = a.on(device, compiler, pool);
  const Binder bind_b = b.on(device, compiler, pool);
  Outcome outcome;
  outcome.a_us = admit(a, bind_a, device, truth, clocked, seed);
  outcome.b_us = admit(b, bind_b, device, truth, clocked, seed);
  if (device.info().times == TimeKind::predicted) {
    const double ratio = outcome.b_us.median / outcome.a_us.median;
    outcome.ratio = {ratio, ratio, ratio};
    return outcome;
  }
  const Instance inputs =
      problem.make(problem.shape(), Inputs::normal, derive_seed(seed, "race inputs"));
  ProcessSeries series(2);
  for (int i = 0; i < arguments.processes; ++i) {
    if (!device.renew()) throw MachineError(device.info().id + ": lost");
    const TimedLaunch launch_a(device, *bind_a(problem.shape()), inputs);
    const TimedLaunch launch_b(launch_a, *bind_b(problem.shape()), inputs);
    const auto options =
        ProcessSeries::options(derive_seed(seed, "race", static_cast<std::uint64_t>(i)));
    const auto raced = race_launches(device, {launch_a.launch(), launch_b.launch()}, options,
                                     arguments.l2 == "cold" ? L2::cold : L2::warm);
    if (!raced) throw MachineError("the race ended: " + raced.error().fault.message);
    series.add({0, 1}, *raced);
  }
  if (series.processes() < std::min(arguments.processes, ProcessSeries::kFewest))
    throw MachineError("the clock moved by more than 2% within most blocks: the GPU is not idle");
  const LaunchRace raced = series.result({0, 1});
  const RaceResult& result = raced.result;
  outcome.a_us = result.standings[0].time_us;
  outcome.b_us = result.standings[1].time_us;
  outcome.a_detail = detail_json_of(raced.timings[0]);
  outcome.b_detail = detail_json_of(raced.timings[1]);
  outcome.ratio = result.standings[1].to_baseline;
  outcome.processes = series.processes();
  outcome.blocks = result.blocks;
  outcome.void_blocks = result.void_blocks;
  return outcome;
}

void print(const Outcome& outcome, const Contender& a, const Contender& b, const DeviceInfo& device,
           std::uint64_t seed, bool as_json) {
  const auto& ratio = outcome.ratio;
  const std::string kind = to_text(device.times);
  if (as_json) {
    const auto side = [](const Contender& contender, const Estimate& us,
                         const std::string& detail) {
      Json json{{"name", contender.name()},
                {"time_us", {{"median", us.median}, {"low", us.low}, {"high", us.high}}}};
      if (!detail.empty()) json["detail"] = Json::parse(detail);
      return json;
    };
    fmt::print("{}\n",
               Json{{"device", device.name},
                    {"kind", kind},
                    {"seed", seed},
                    {"a", side(a, outcome.a_us, outcome.a_detail)},
                    {"b", side(b, outcome.b_us, outcome.b_detail)},
                    {"ratio", {{"median", ratio.ratio}, {"low", ratio.low}, {"high", ratio.high}}},
                    {"processes", outcome.processes},
                    {"blocks", outcome.blocks},
                    {"void_blocks", outcome.void_blocks},
                    {"verdict", verdict_text(ratio)}}
                   .dump(2));
    return;
  }
  for (const auto& [contender, us] : {std::pair(&a, &outcome.a_us), {&b, &outcome.b_us}})
    fmt::print("{}: {:.2f} us {}\n", contender->name(), us->median, kind);
  const std::string against = b.name() + " against " + a.name();
  if (device.times == TimeKind::predicted) {
    fmt::print("{}: {}, {:.4f} of its time as the model predicts; nothing was measured\n", against,
               verdict_text(ratio), ratio.ratio);
  } else {
    fmt::print("{}: {}, {:.4f} of its time [{:.4f}, {:.4f}] in {} processes, {} blocks, {} void\n",
               against, verdict_text(ratio), ratio.ratio, ratio.low, ratio.high, outcome.processes,
               outcome.blocks, outcome.void_blocks);
  }
}

int bench(const BenchArguments& arguments) {
  const ContenderPlaces places{require_root(), arguments.db, arguments.space};
  // Before the contenders, because their kernels are unloaded from it at the end.
  std::unique_ptr<Device> device;
  std::unique_ptr<Compiler> compiler;
  std::optional<CompilePool> pool;
  const auto a = open_contender(arguments.a, places);
  const auto b = open_contender(arguments.b, places);
  if (a->problem().kind() != b->problem().kind() || a->problem().shape() != b->problem().shape())
    throw UserError(fmt::format("{} and {} solve different problems: {}, and {}", a->name(),
                                b->name(), a->problem().describe(a->problem().shape()),
                                b->problem().describe(b->problem().shape())));
  device = open_device_in_worker(arguments.device, a->target(), places.root);
  compiler = open_compiler();
  for (Contender* each : {a.get(), b.get()})
    each->use_reference(reference_beside(*device, *compiler, each->target(), places.root));
  pool.emplace(*compiler, default_jobs());
  const std::uint64_t seed = arguments.seed ? *arguments.seed : std::random_device{}();
  if (arguments.l2 == "cold" && device->info().times == TimeKind::predicted)
    throw UserError(
        "--l2 cold: " + device->info().name +
        " predicts, and its model knows a warm cache alone; leave the option out or name "
        "a GPU with --device");
  log_info("on {} ({}), seed {}", device->info().id, device->info().name, seed);
  const Outcome outcome = compare(*a, *b, *device, *compiler, *pool, arguments, seed);
  print(outcome, *a, *b, device->info(), seed, arguments.format == "json");
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("bench", "race two kernels: is B faster than A, slower, or a tie?");
  auto arguments = std::make_shared<BenchArguments>();
  const std::string forms =
      "an exported .cu file, a trial's ID, RUN:NUMBER, or a preset of --space";
  command->add_option("A", arguments->a, forms)->required();
  command->add_option("B", arguments->b, "the same")->required();
  command->add_option("--db", arguments->db, "database of the trials")->capture_default_str();
  command->add_option("--space", arguments->space, "the space whose presets are meant");
  command->add_option("--device", arguments->device, "auto, cuda:N, or emulator:PROFILE")
      ->capture_default_str();
  command
      ->add_option("--processes", arguments->processes,
                   "the race is held in so many, one after the other: places in memory differ")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  command
      ->add_option("--l2", arguments->l2, "what the cache holds when a launch begins: warm or cold")
      ->check(CLI::IsMember({"warm", "cold"}))
      ->capture_default_str();
  command->add_option("--format", arguments->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  add_seed(*command, arguments->seed, "of inputs and of the race; fresh if not given");
  command->callback([arguments, &action] { action = [arguments] { return bench(*arguments); }; });
}

}  // namespace fa_tune
