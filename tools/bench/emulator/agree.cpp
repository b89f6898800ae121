// Do two devices give the same verdicts and the same outputs for the same random variants?
//
//   bench_agree SPACE DEVICE OTHER COUNT SEED [OUT.json]
//   bench_agree l4.yaml cuda:0 emulator:h100 50 1 agree.json
//
// Each variant is gated on the quick suite of its problem on both devices; then both run every case
// of that suite and their outputs are held against each other, in units of what the gate allows.

#include <cmath>
#include <ctime>
#include <set>

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/device/local/open.hpp"
#include "engine/gate/arguments.hpp"
#include "engine/gate/gate.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/half.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::bench {
namespace {

using Bits = std::vector<std::uint16_t>;

// The first output of one launch on fresh buffers; the message if there is none.
std::expected<Bits, std::string> output_of(device::Device& device, const gate::BoundKernel& kernel,
                                           const problem::Instance& instance) {
  std::vector<device::BufferHandle> buffers;
  std::size_t output = 0;
  for (const problem::Tensor& tensor : instance.tensors) {
    const std::size_t bytes = static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type);
    if (tensor.role == problem::Role::output) output = buffers.size();
    buffers.push_back(device.allocate(bytes));
    const auto content = tensor.role == problem::Role::input
                             ? tensor.bytes
                             : std::vector<std::byte>(bytes, std::byte{0xff});
    if (!device.write(buffers.back(), 0, content)) return std::unexpected("write failed");
  }
  if (!kernel.workspaces.empty()) return std::unexpected("it has workspaces of its own");
  const auto launch = gate::make_launch(device, kernel, instance, [&](std::size_t i) {
    return gate::Place{buffers[i], 0};
  });
  if (!launch) return std::unexpected(launch.error().message);
  const auto done = device.launch(*launch);
  Bits bits(static_cast<std::size_t>(instance.tensors[output].elements()));
  if (done && !device.read(buffers[output], 0, std::as_writable_bytes(std::span(bits))))
    return std::unexpected("read failed");
  for (const device::BufferHandle buffer : buffers) device.release(buffer);
  if (!done) return std::unexpected(done.error().message);
  return bits;
}

struct Side {
  Side(const tuner::TuningTask& task, const std::string& name)
      : device(device::open_device(name, task.target, find_root())),
        compiler(kernel::open_nvrtc()),
        pool(*compiler, 2) {}

  std::unique_ptr<device::Device> device;
  std::unique_ptr<kernel::Compiler> compiler;
  kernel::CompilePool pool;
};

struct Difference {
  std::uint64_t elements = 0;
  std::uint64_t identical = 0;
  double worst = 0;  // |a - b| over what the gate allows between one of them and the truth
};

void compare(const Bits& a, const Bits& b, const problem::Expectation& truth, bool bf16,
             Difference& into) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    ++into.elements;
    into.identical += a[i] == b[i];
    const double x = bf16 ? from_bf16(a[i]) : from_f16(a[i]);
    const double y = bf16 ? from_bf16(b[i]) : from_f16(b[i]);
    const double ratio = a[i] == b[i] ? 0 : std::abs(x - y) / truth.bound[i];
    into.worst = std::isnan(ratio) ? INFINITY : std::max(into.worst, ratio);
  }
}

int agree(const std::string& space, const std::string& one, const std::string& other, int count,
          std::uint64_t seed, const std::string& out) {
  const tuner::TuningTask task =
      tuner::open_task(space::load_space_file(space, find_root()), find_root());
  const bool bf16 = task.problem->shape().at("dtype") == Value(std::string("bf16"));
  Side sides[2] = {{task, one}, {task, other}};
  gate::TruthCache truth(*task.problem);
  const auto cases =
      gate::gate_cases(problem::find_suite(*task.problem, problem::SuiteName::quick).value(),
                       derive_seed(seed, "agree"));
  Random random(derive_seed(seed, "variants"));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::set<std::string> seen;
  int same = 0;
  Difference total;
  while (static_cast<int>(seen.size()) < count) {
    const Config config = task.space.sample(random);
    if (!seen.insert(config.to_json()).second) continue;
    gate::Verdict verdicts[2];
    Difference difference;
    std::vector<Bits> outputs[2];
    for (int s = 0; s < 2; ++s) {
      const auto variant = tuner::make_variant(task, config, sides[s].pool, *sides[s].device);
      verdicts[s] = gate::Gate(*sides[s].device, truth).check(variant->binder(), cases);
      for (const gate::GateCase& each : cases) {
        const auto bound = variant->bind(each.shape);
        if (!bound) continue;
        const auto bits = output_of(*sides[s].device, *bound, truth.get(each)->instance);
        if (bits) outputs[s].push_back(*bits);
      }
    }
    const bool both = outputs[0].size() == cases.size() && outputs[1].size() == cases.size();
    for (std::size_t i = 0; both && i < cases.size(); ++i)
      compare(outputs[0][i], outputs[1][i], truth.get(cases[i])->expectations.front(), bf16,
              difference);
    same += verdicts[0].finding == verdicts[1].finding;
    total.elements += difference.elements;
    total.identical += difference.identical;
    total.worst = std::max(total.worst, difference.worst);
    rows.push_back({{"config", nlohmann::ordered_json::parse(config.to_json())},
                    {"verdicts", {verdicts[0].finding, verdicts[1].finding}},
                    {"worst_ratio_to_truth", {verdicts[0].worst_ratio, verdicts[1].worst_ratio}},
                    {"elements", difference.elements},
                    {"identical", difference.identical},
                    {"worst_difference_over_bound", difference.worst}});
  }
  const nlohmann::ordered_json result = {
      {"space", space},
      {"devices", {sides[0].device->info().name, sides[1].device->info().name}},
      {"compiler", sides[0].compiler->version()},
      {"driver", sides[0].device->info().driver},
      {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
      {"seed", seed},
      {"variants", count},
      {"same_verdict", same},
      {"elements", total.elements},
      {"identical_share",
       static_cast<double>(total.identical) / static_cast<double>(total.elements)},
      {"worst_difference_over_bound", total.worst},
      {"rows", rows}};
  if (!out.empty()) write_file(out, result.dump(1) + "\n");
  fmt::print(
      "{} and {}: same verdict for {} of {} variants; {:.4f}% of {} output elements identical; "
      "largest\n"
      "difference {:.3f} of what the gate allows\n",
      sides[0].device->info().name, sides[1].device->info().name, same, count,
      100.0 * static_cast<double>(total.identical) / static_cast<double>(total.elements),
      total.elements, total.worst);
  return same == count && total.worst <= 1 ? 0 : 1;
}

}  // namespace
}  // namespace fa_tune::bench

int main(int argc, char** argv) {
  if (argc < 6) {
    fmt::print(stderr, "usage: bench_agree SPACE DEVICE OTHER COUNT SEED [OUT.json]\n");
    return 2;
  }
  try {
    return fa_tune::bench::agree(argv[1], argv[2], argv[3], std::stoi(argv[4]),
                                 std::stoull(argv[5]), argc > 6 ? argv[6] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_agree: {}\n", error.what());
    return 3;
  }
}
