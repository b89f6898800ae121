#include <filesystem>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/report/table.hpp"
#include "engine/tuner/self_test/self_test.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/worker/open.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/session.hpp"

namespace fa_tune::commands {
namespace {

using Json = nlohmann::ordered_json;

using Sort = tuner::SelfTestRow::Sort;

struct GateArguments {
  std::vector<std::string> spaces;
  std::string device = "auto";
  std::string format = "table";
  std::optional<std::uint64_t> seed;
  tuner::SelfTestOptions options;
};

// All that ship, in the order of their names, if none was asked for.
std::vector<space::SpaceFile> load_spaces(const std::vector<std::string>& names,
                                          const std::string& device,
                                          const std::filesystem::path& root) {
  std::set<std::string> chosen(names.begin(), names.end());
  if (chosen.empty())
    for (const auto& file : std::filesystem::directory_iterator(root / "search_spaces"))
      if (file.path().extension() == ".yaml") chosen.insert(file.path().string());
  std::vector<space::SpaceFile> spaces;
  for (const std::string& name : chosen)
    spaces.push_back(for_device(space::load_space_file(name, root), device, root));
  return spaces;
}

std::string summary(const tuner::SelfTestResult& result) {
  const int planted = result.count(Sort::fault) + result.count(Sort::cheat);
  const int killed = result.passed(Sort::fault) + result.passed(Sort::cheat);
  const int correct = result.count(Sort::twin) + result.count(Sort::variant);
  const int accepted = result.passed(Sort::twin) + result.passed(Sort::variant);
  return fmt::format(
      "killed {} of {} ({} of {} planted faults, {} of {} cheats), failed {} of {} correct kernels",
      killed, planted, result.passed(Sort::fault), result.count(Sort::fault),
      result.passed(Sort::cheat), result.count(Sort::cheat), correct - accepted, correct);
}

// Every fault and cheat; of the correct kernels only those that failed.
std::string table(const tuner::SelfTestResult& result) {
  report::Table table({{"", report::Align::left},
                       {"template", report::Align::left},
                       {"kind", report::Align::left},
                       {"finding", report::Align::left},
                       {"what", report::Align::wrap}});
  for (const tuner::SelfTestRow& row : result.rows) {
    const bool correct = row.sort == Sort::twin || row.sort == Sort::variant;
    if (correct && row.passed) continue;
    std::string what = row.name;
    if (!row.passed)
      what +=
          ": " + (row.rejection.message.empty() ? row.rejection.finding : row.rejection.message);
    table.add({correct      ? "FAILED"
               : row.passed ? "killed"
                            : "SURVIVED",
               row.template_name, correct ? to_text(row.sort) : row.kind, row.rejection.finding,
               what});
  }
  return table.text();
}

std::string json(const tuner::SelfTestResult& result, const GateArguments& arguments) {
  const auto share = [&](Sort sort) {
    return Json{{"count", result.count(sort)}, {"passed", result.passed(sort)}};
  };
  Json rows = Json::array();
  for (const tuner::SelfTestRow& row : result.rows)
    rows.push_back({{"sort", to_text(row.sort)},
                    {"space", row.space},
                    {"template", row.template_name},
                    {"name", row.name},
                    {"kind", row.kind},
                    {"finding", row.rejection.finding},
                    {"message", row.rejection.message},
                    {"seconds", row.seconds},
                    {"passed", row.passed}});
  return Json{{"device", arguments.device},   {"seed", arguments.options.seed},
              {"faults", share(Sort::fault)}, {"cheats", share(Sort::cheat)},
              {"twins", share(Sort::twin)},   {"variants", share(Sort::variant)},
              {"passed", result.passed()},    {"left_out", result.left_out},
              {"rows", std::move(rows)}}
      .dump(2);
}

int run_self_test(const GateArguments& given) {
  GateArguments arguments = given;
  const auto root = require_root();
  const auto spaces = load_spaces(arguments.spaces, arguments.device, root);
  const auto compiler = open_compiler();
  arguments.options.emulator = emulator_in_worker(root);
  if (arguments.seed) arguments.options.seed = *arguments.seed;
  const tuner::DeviceOpener open = [&](const device::DeviceProfile& target) {
    auto device = worker::open_device_in_worker(arguments.device, target, root);
    log_info("on {} ({}) for target {}", device->info().id, device->info().name, target.name);
    return device;
  };
  constexpr int kTellEvery = 20;
  const auto result = tuner::self_test(
      spaces, root, open, *compiler, default_jobs(), arguments.options,
      [](const tuner::SelfTestResult& until_now, int of) {
        const tuner::SelfTestRow& row = until_now.rows.back();
        if (!row.passed)
          log_warning("{} '{}' of {}: {}, {}", to_text(row.sort), row.name, row.template_name,
                      row.rejection.finding, row.rejection.message);
        const auto done = static_cast<int>(until_now.rows.size());
        if (done % kTellEvery == 0) log_info("[{:>4}/{}] {}", done, of, summary(until_now));
      });
  if (!result.left_out.empty())
    log_info("left out: {} faults with genes that none of these spaces has: {}",
             result.left_out.size(), fmt::join(result.left_out, "; "));
  if (arguments.format == "json") {
    fmt::print("{}\n", json(result, arguments));
  } else {
    fmt::print("{}\n{}\n", table(result), summary(result));
  }
  return result.passed() ? 0 : 1;
}

}  // namespace

void add_gate(CLI::App& app, Action& action) {
  auto* gate = app.add_subcommand("gate", "about the gate that kernels must pass");
  gate->require_subcommand(1);
  auto* command = gate->add_subcommand(
      "selftest", "prove it: planted faults and cheats must fail, correct kernels pass");
  auto arguments = std::make_shared<GateArguments>();
  command
      ->add_option("--space", arguments->spaces,
                   "spaces whose templates and configs are taken; all that ship if not given")
      ->type_name("SPACE");
  add_device_option(*command, arguments->device);
  command->add_option("--variants", arguments->options.variants, "correct kernels to draw")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command
      ->add_option("--faults", arguments->options.faults,
                   "how many of the faults and cheats, evenly spread; all if not given")
      ->check(CLI::Range(0, 1'000'000));
  add_format_option(*command, arguments->format, {"table", "json"});
  add_seed(*command, arguments->seed,
           "of inputs, hidden shapes and correct kernels; 1 if not given");
  act(*command, action, arguments, run_self_test);
}

}  // namespace fa_tune::commands
