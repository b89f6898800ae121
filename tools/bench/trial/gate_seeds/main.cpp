// How often the gate is wrong about kernels of few outputs, of which bounds are hardest to measure.
//
//   bench_gate_seeds [SEEDS] [KERNEL]   JSON to standard output; 200 seeds if not said
//
// For each seed each kernel is gated as a trial of a search on the emulator is, with inputs of that
// seed: correct ways of writing it down must pass, wrong ones must not. An error of one unit in the
// last place beyond the bound is not a kernel's: it is put into one element of the expected result,
// and compared. Exit code 1 if a correct one failed, or a hundredth of the wrong ones of a kind
// passed. table.py prints the README's table.

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/device/local/open.hpp"
#include "engine/gate/compare.hpp"
#include "engine/gate/reference_run.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/file.hpp"
#include "engine/util/random.hpp"
#include "engine/util/stopwatch.hpp"
#include "tools/bench/trial/gate_seeds/kernels.hpp"

namespace {

using namespace fa_tune;
using Json = nlohmann::ordered_json;

struct Tally {
  int tried = 0;
  int refused = 0;
  std::map<std::string, int> findings;
  std::string last;  // why the last one was refused, or that it was not

  void add(bool is_refused, const std::string& finding, const std::string& text) {
    ++tried;
    refused += is_refused ? 1 : 0;
    ++findings[finding];
    if (is_refused) last = text;
  }
  Json json() const {
    return {{"tried", tried}, {"refused", refused}, {"findings", findings}, {"last", last}};
  }
};

// The number behind the bound, away from zero, in the bits of its type.
void step_beyond(DType type, double exact, double bound, std::byte* element) {
  const std::size_t size = size_of(type);
  put_number(type, exact + std::copysign(bound, exact), element);
  while (std::abs(get_number(type, element) - exact) <= bound) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, element, size);
    ++bits;
    std::memcpy(element, &bits, size);
  }
}

// Whether an output that is right but for one element, which is off by a unit in the last place
// more than it may be, is refused.
bool refuses_step(const problem::Tensor& output, const problem::Expectation& expected,
                  Random& random) {
  const std::size_t size = size_of(output.type);
  const auto count = static_cast<std::size_t>(output.elements());
  const std::size_t chosen = random.below(count);
  std::vector<std::byte> bytes = expected.equal;
  if (!bytes.empty()) {
    std::byte* element = bytes.data() + chosen * size;
    put_integer(output.type, get_integer(output.type, element) + 1, element);
  } else {
    bytes.resize(count * size);
    for (std::size_t i = 0; i < count; ++i)
      put_number(output.type, expected.exact[i], bytes.data() + i * size);
    step_beyond(output.type, expected.exact[chosen], expected.bound[chosen],
                bytes.data() + chosen * size);
  }
  return gate::compare(output, bytes, expected).finding != gate::Finding::kPassed;
}

// null: it does not count.
Json right_of(gate_seeds::Kind kind) {
  if (kind == gate_seeds::Kind::unsure) return nullptr;
  return kind == gate_seeds::Kind::right;
}

class Bench {
 public:
  Bench() : compiler_(kernel::with_cache(kernel::open_nvrtc(), cache_folder())) {}

  const std::string& compiler() const { return version_; }

  Json run(const gate_seeds::Kernel& kernel, int seeds) {
    const TemporaryFolder folder;
    const std::vector<gate_seeds::Way> ways = gate_seeds::ways_of(kernel);
    const gate_seeds::Files files = gate_seeds::files_of(kernel, ways);
    for (const auto& [name, text] : files.texts) write_file(folder.path() / name, text);
    write_file(folder.path() / "seeds.yaml", files.space);
    const std::string root = find_root().string();
    const tuner::TuningTask task = tuner::open_task(
        space::load_space_file((folder.path() / "seeds.yaml").string(), root), root);
    task.problem->use_reference(gate::make_reference_runner(
        [&] { return device::open_device("emulator:h100", task.target, root); },
        [&](const kernel::CompileRequest& request) { return compiler_->compile(request); }));
    const auto device = device::open_device("emulator:h100", task.target, root);
    kernel::CompilePool pool(*compiler_, 1);
    std::vector<std::unique_ptr<tuner::Variant>> variants;
    for (std::size_t i = 0; i < ways.size(); ++i)
      variants.push_back(std::make_unique<tuner::Variant>(
          task.templates[i], *task.problem,
          [&](const Constants& shape) { return task.scope(shape); },
          Config({{"template", fmt::format("w{}", i)}, {"BLOCK", std::int64_t{64}}}), pool,
          *device));
    std::vector<Tally> tallies(ways.size());
    Tally steps;
    for (int seed = 1; seed <= seeds; ++seed) {
      const std::uint64_t own = derive_seed(static_cast<std::uint64_t>(seed), kernel.name);
      gate::TruthCache truth(*task.problem);
      const auto cases = gate::trial_cases(*task.problem, own, gate::TimedShape::one);
      for (std::size_t i = 0; i < ways.size(); ++i) {
        const gate::Verdict verdict =
            gate::Gate(*device, truth).check(variants[i]->binder(), cases);
        tallies[i].add(!verdict.passed(), verdict.finding,
                       fmt::format("seed {}: {} ({})", seed, verdict.message, verdict.where));
      }
      Random random(derive_seed(own, "step"));
      for (const gate::GateCase& each : cases) {
        const auto entry = truth.get(each);
        if (!entry->lacks.empty()) continue;
        for (const problem::Tensor& tensor : entry->instance.tensors)
          if (problem::is_result(tensor.role)) {
            const bool refused = refuses_step(tensor, entry->expectation_of(tensor), random);
            steps.add(refused, refused ? "refused" : "passed", "");
          }
      }
    }
    Json json = {{"kernel", kernel.name}, {"ways", Json::array()}};
    for (std::size_t i = 0; i < ways.size(); ++i) {
      Json way = {{"way", ways[i].name}, {"right", right_of(ways[i].kind)}};
      way.update(tallies[i].json());
      json["ways"].push_back(std::move(way));
    }
    Json step = {{"way", "a unit in the last place beyond the bound"}, {"right", false}};
    step.update(steps.json());
    json["ways"].push_back(std::move(step));
    return json;
  }

 private:
  std::unique_ptr<kernel::Compiler> compiler_;
  std::string version_ = compiler_->version();
};

}  // namespace

int main(int argc, char** argv) {
  int seeds = 200;
  if (const std::string_view given = argc > 1 ? argv[1] : "200";
      std::from_chars(given.data(), given.data() + given.size(), seeds).ec != std::errc())
    seeds = 0;
  const std::string only = argc > 2 ? argv[2] : "";
  if (seeds < 1) {
    fmt::print(stderr, "bench_gate_seeds [SEEDS] [KERNEL]\n");
    return 2;
  }
  const Stopwatch watch;
  Bench bench;
  Json all = Json::array();
  bool good = true;
  for (const gate_seeds::Kernel& kernel : gate_seeds::kernels()) {
    if (!only.empty() && kernel.name != only) continue;
    const Stopwatch own;
    all.push_back(bench.run(kernel, seeds));
    fmt::print(stderr, "{:30}", kernel.name);
    for (const Json& way : all.back()["ways"]) {
      const int tried = way["tried"], refused = way["refused"];
      fmt::print(stderr, " {}/{}", refused, tried);
      if (way["right"].is_null()) continue;
      good = good && (way["right"].get<bool>() ? refused == 0 : refused * 100 >= tried * 99);
    }
    fmt::print(stderr, "  {:.1f} s\n", own.milliseconds() / 1000);
  }
  const Json told = {{"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
                     {"seeds", seeds},
                     {"device", "emulator:h100"},
                     {"compiler", bench.compiler()},
                     {"seconds", watch.milliseconds() / 1000},
                     {"kernels", all}};
  fmt::print("{}\n", told.dump(1));
  return good ? 0 : 1;
}
