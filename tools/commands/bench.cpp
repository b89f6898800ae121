#include <memory>
#include <optional>
#include <random>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/report/text_format.hpp"
#include "engine/tuner/comparison/kernel_comparison.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/session.hpp"

namespace fa_tune::commands {
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
  int processes = measure::ProcessSeries::kProcesses;
  std::string l2 = "warm";
};

void print(const tuner::KernelComparison& outcome, const tuner::KernelUnderTest& a,
           const tuner::KernelUnderTest& b, const device::DeviceInfo& device, std::uint64_t seed,
           bool as_json) {
  const auto& ratio = outcome.ratio;
  const std::string kind = to_text(device.times);
  if (as_json) {
    const auto side = [](const tuner::KernelUnderTest& tested, const Interval& us,
                         const std::string& detail) {
      Json json{{"name", tested.name()}, {"time_us", report::interval_json(us)}};
      if (!detail.empty()) json["detail"] = Json::parse(detail);
      return json;
    };
    fmt::print("{}\n", Json{{"device", device.name},
                            {"kind", kind},
                            {"seed", seed},
                            {"a", side(a, outcome.a_us, outcome.a_detail)},
                            {"b", side(b, outcome.b_us, outcome.b_detail)},
                            {"ratio", report::interval_json(ratio)},
                            {"processes", outcome.processes},
                            {"blocks", outcome.blocks},
                            {"void_blocks", outcome.void_blocks},
                            {"verdict", measure::verdict_text(ratio)}}
                           .dump(2));
    return;
  }
  for (const auto& [tested, us] : {std::pair(&a, &outcome.a_us), {&b, &outcome.b_us}})
    fmt::print("{}: {:.2f} us {}\n", tested->name(), us->value, kind);
  const std::string against = b.name() + " against " + a.name();
  if (device.times == device::TimeKind::predicted) {
    fmt::print("{}: {}, {:.4f} of its time as the model predicts; nothing was measured\n", against,
               measure::verdict_text(ratio), ratio.value);
  } else {
    fmt::print("{}: {}, {:.4f} of its time [{:.4f}, {:.4f}] in {} processes, {} blocks, {} void\n",
               against, measure::verdict_text(ratio), ratio.value, ratio.low, ratio.high,
               outcome.processes, outcome.blocks, outcome.void_blocks);
  }
}

int bench(const BenchArguments& arguments) {
  const tuner::KernelPlaces places{require_root(), arguments.db, arguments.space};
  // Before the kernels under test, because their kernels are unloaded from it at the end.
  std::optional<Session> session;
  const auto a = tuner::open_kernel(arguments.a, places);
  const auto b = tuner::open_kernel(arguments.b, places);
  if (a->problem().kind() != b->problem().kind() || a->problem().shape() != b->problem().shape())
    throw UserError(fmt::format("{} and {} solve different problems: {}, and {}", a->name(),
                                b->name(), a->problem().describe(a->problem().shape()),
                                b->problem().describe(b->problem().shape())));
  session.emplace(arguments.device, a->target(), places.root);
  for (tuner::KernelUnderTest* each : {a.get(), b.get()})
    each->use_reference(session->reference(each->target()));
  const device::DeviceInfo& device = session->device().info();
  const std::uint64_t seed = arguments.seed ? *arguments.seed : std::random_device{}();
  if (arguments.l2 == "cold" && device.times == device::TimeKind::predicted)
    throw UserError(
        "--l2 cold: " + device.name +
        " predicts, and its model knows a warm cache alone; leave the option out or name "
        "a GPU with --device");
  log_info("on {} ({}), seed {}", device.id, device.name, seed);
  const auto outcome =
      tuner::compare_kernels(*a, *b, session->device(), session->compiler(), session->pool(),
                             {.processes = arguments.processes,
                              .l2 = arguments.l2 == "cold" ? device::L2::cold : device::L2::warm,
                              .seed = seed});
  if (!outcome) throw UserError(outcome.error().rejection.message);
  print(*outcome, *a, *b, device, seed, arguments.format == "json");
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("bench", "race two kernels: is B faster than A, slower, or a tie?");
  auto arguments = std::make_shared<BenchArguments>();
  const std::string forms =
      "an exported .cu file, a trial's ID, RUN:NUMBER, or a preset of --space";
  command->add_option("A", arguments->a, forms)->type_name("FILE")->required();
  command->add_option("B", arguments->b, "the same")->type_name("FILE")->required();
  add_db_option(*command, arguments->db, "database of the trials");
  command->add_option("--space", arguments->space, "the space whose presets are meant")
      ->type_name("SPACE");
  add_device_option(*command, arguments->device);
  command
      ->add_option("--processes", arguments->processes,
                   "how many processes hold the race, one after the other: places in memory differ")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  command
      ->add_option("--l2", arguments->l2, "what the cache holds when a launch begins: warm or cold")
      ->check(CLI::IsMember({"warm", "cold"}))
      ->capture_default_str();
  add_format_option(*command, arguments->format, {"text", "json"});
  add_seed(*command, arguments->seed, "of inputs and of the race; fresh if not given");
  act(*command, action, arguments, bench);
}

}  // namespace fa_tune::commands
