#include "engine/tuner/profiling/profiling.hpp"

#include "engine/gate/timed_launch.hpp"
#include "engine/profiler/ncu.hpp"
#include "engine/tuner/profiling/predicted_profile.hpp"
#include "engine/tuner/trial/gate_and_time.hpp"
#include "engine/tuner/trial/validated_timing.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

// Launches before the one that is profiled: what fits in L2 is there then.
constexpr int kWarmLaunches = 3;

std::uint64_t input_seed(std::uint64_t seed) { return derive_seed(seed, "time"); }

// What was compiled before is all that it knows: the process under the profiler has no compiler.
class NoCompiler final : public kernel::Compiler {
 public:
  explicit NoCompiler(std::string version) : version_(std::move(version)) {}
  kernel::CompileOutcome compile(const kernel::CompileRequest&) override {
    throw MachineError("the kernel to profile is not among those that were compiled");
  }
  std::string version() const override { return version_; }

 private:
  std::string version_;
};

}  // namespace

std::expected<report::Profile, std::string> profile_kernel(
    std::unique_ptr<KernelUnderTest> given, std::unique_ptr<device::Device> given_device,
    std::unique_ptr<kernel::Compiler> given_compiler, const ProfilingOptions& options) {
  const TemporaryFolder scratch;
  const auto compiled = scratch.path() / "kernels";
  // In the order in which they rest on one another: the last goes first.
  const auto compiler = kernel::with_cache(std::move(given_compiler), compiled);
  auto device = std::move(given_device);
  auto tested = std::move(given);
  const device::DeviceInfo info = device->info();
  std::optional<measure::Measurement> timed;
  KernelResources resources;
  {
    kernel::CompilePool pool(*compiler, options.jobs);
    gate::TruthCache truth(tested->problem());
    ValidatedTimer timer(tested->problem(), tested->target(), *device, truth,
                         input_seed(options.seed), ValidatedTimer::Proof::where_measured);
    const gate::Binder bind = tested->on(*device, *compiler, pool);
    auto admitted = gate_and_time(*tested, bind, *device, truth, timer, options.seed);
    if (!admitted) return std::unexpected(admitted.error().message);
    timed = std::move(*admitted);
    resources = tested->resources();
    const auto bound = bind(tested->problem().shape());
    if (bound && bound->steps.size() > 1 && info.times == device::TimeKind::measured)
      return std::unexpected(
          "its launch has several steps, which Nsight Compute is not asked about so far; profile "
          "it "
          "on the emulator");
  }
  // It unloads its kernel, so it goes first; and no other process has the device from now on.
  tested.reset();
  report::Profile profile;
  if (info.times == device::TimeKind::predicted) {
    profile = predicted_profile(timed->timing, info, options.model.value());
  } else {
    device.reset();
    const auto file = scratch.path() / "kernel.cu";
    write_file(file, options.text);
    profiler::NcuRun run{.ncu = options.measured.ncu,
                         .program = options.measured.program,
                         .skipped = kWarmLaunches,
                         .deadline = options.measured.deadline,
                         .keep = options.measured.keep};
    const std::vector<std::string> words = {
        "--file",     file.string(),
        "--compiled", compiled.string(),
        "--compiler", compiler->version(),
        "--device",   info.id,
        "--root",     options.root.string(),
        "--seed",     std::to_string(options.seed),
        "--launches", std::to_string(kWarmLaunches + 1),
        "--seconds",  std::to_string(options.measured.deadline.count())};
    run.program.insert(run.program.end(), words.begin(), words.end());
    profile = profiler::profile_with_ncu(run);
    profile.device = info.id;
    profile.device_name = info.name;
    profile.driver = info.driver;
    profile.clock_us = timed->time_us.value;
  }
  if (!profile.registers && resources.registers >= 0) profile.registers = resources.registers;
  return profile;
}

void launch_for_profiler(const std::string& text, const std::filesystem::path& compiled,
                         const std::string& compiler_version, device::Device& device,
                         const std::filesystem::path& root, std::uint64_t seed, int launches) {
  const auto compiler =
      kernel::with_cache(std::make_unique<NoCompiler>(compiler_version), compiled);
  kernel::CompilePool pool(*compiler, 1);
  const auto tested = kernel_of_export("the kernel to profile", text, root);
  const problem::Problem& problem = tested->problem();
  const auto bound = tested->on(device, *compiler, pool)(problem.shape());
  if (!bound) throw MachineError(bound.error());
  const problem::Instance inputs =
      problem.make(problem.shape(), problem::Inputs::normal, input_seed(seed));
  const gate::TimedLaunch timed(device, *bound, inputs);
  if (const auto done = device.launch_exchanging(timed.launch(), launches - 1, timed.restore(),
                                                 timed.restore().copies);
      !done)
    throw MachineError("the kernel to profile: " + done.error().message);
}

}  // namespace fa_tune::tuner
