// How many configs does a space hold, and how many of a random sample compile, and compile without
// spilling?
//
//   bench_compiles SPACE [COUNT] [SEED] [SETTING=VALUE ...]
//   bench_compiles l4.yaml 500 1 shape.D=128 causal=true
//
// Settings are those under the space's `problem`, with its other lines as they are. Needs NVRTC and
// no GPU: code is made for the target's architecture. One line of JSON goes to standard output.

#include <ctime>
#include <deque>
#include <set>

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::bench {
namespace {

Value value_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (!text.empty() && text.find_first_not_of("-0123456789") == std::string::npos)
    return std::int64_t{std::stoll(text)};
  return text;
}

void change(space::SpaceFile& file, const std::string& setting) {
  const std::size_t at = setting.find('=');
  if (at == std::string::npos)
    throw UserError("'" + setting + "': expected SETTING=VALUE, such as shape.D=128");
  const std::string name = setting.substr(0, at);
  std::erase_if(file.problem_settings, [&](const auto& given) { return given.first == name; });
  file.problem_settings.emplace_back(name, value_of(setting.substr(at + 1)));
}

struct Counts {
  int compiled = 0;
  int failed = 0;
  int without_spills = 0;
};

void count(const kernel::CompileOutcome& outcome, Counts& into) {
  if (!outcome) {
    ++into.failed;
    fmt::print(stderr, "{}\n", outcome.error().message);
    return;
  }
  ++into.compiled;
  const KernelResources& resources = outcome->image.resources;
  into.without_spills += resources.spill_store_bytes == 0 && resources.spill_load_bytes == 0;
}

int compiles(const std::string& space, int wanted, std::uint64_t seed,
             const std::vector<std::string>& settings) {
  space::SpaceFile file = space::load_space_file(space, find_root());
  for (const std::string& setting : settings) change(file, setting);
  const tuner::TuningTask task = tuner::open_task(std::move(file), find_root());
  const problem::Problem& problem = *task.problem;
  const auto defines = problem.defines(problem.shape());
  const auto compiler = kernel::open_nvrtc();
  kernel::CompilePool pool(*compiler, 2);
  Random random(derive_seed(seed, "compiles"));
  std::set<std::string> seen;
  std::deque<std::future<kernel::CompileOutcome>> pending;
  Counts counts;
  const auto settle = [&](std::size_t most) {
    for (; pending.size() > most; pending.pop_front()) count(pending.front().get(), counts);
  };
  const int total = static_cast<int>(
      std::min<std::uint64_t>(static_cast<std::uint64_t>(wanted), task.space.count()));
  while (static_cast<int>(seen.size()) < total) {
    const Config config = task.space.sample(random);
    if (!seen.insert(config.to_json()).second) continue;
    const kernel::Template& from = task.template_of(config);
    pending.push_back(pool.submit({.source = from.render(config, defines),
                                   .arch = *from.arch_on(task.target.arch),
                                   .options = {}}));
    settle(32);
  }
  settle(0);
  const nlohmann::ordered_json line = {
      {"space", task.file.name},
      {"problem", problem.describe(problem.shape())},
      {"valid", task.space.count()},
      {"sample", total},
      {"seed", seed},
      {"failed", counts.failed},
      {"without_spills", counts.without_spills},
      {"share", total > 0 ? static_cast<double>(counts.without_spills) / total : 0.0},
      {"arch", task.target.arch},
      {"compiler", compiler->version()},
      {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))}};
  fmt::print("{}\n", line.dump());
  return 0;
}

int parsed(int count, char** words) {
  if (count < 2) throw UserError("expected SPACE [COUNT] [SEED] [SETTING=VALUE ...]");
  const std::vector<std::string> given(words + 1, words + count);
  const int wanted = given.size() > 1 ? std::stoi(given[1]) : 300;
  const std::uint64_t seed = given.size() > 2 ? std::stoull(given[2]) : 1;
  return compiles(
      given[0], wanted, seed,
      given.size() > 3 ? std::vector(given.begin() + 3, given.end()) : std::vector<std::string>{});
}

}  // namespace
}  // namespace fa_tune::bench

int main(int count, char** words) {
  try {
    return fa_tune::bench::parsed(count, words);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_compiles: {}\n", error.what());
    return 2;
  }
}
