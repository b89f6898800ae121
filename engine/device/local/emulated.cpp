#include "engine/device/local/emulated.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <thread>

#include <fmt/format.h>

#include "engine/device/emulator/decode/loader.hpp"
#include "engine/device/emulator/exec/grid.hpp"
#include "engine/device/emulator/prediction/not_modelled.hpp"
#include "engine/device/emulator/prediction/prediction.hpp"
#include "engine/device/emulator/target/occupancy.hpp"
#include "engine/device/emulator/timing/l1_cache.hpp"
#include "engine/device/local/emulator_buffers.hpp"
#include "engine/device/local/emulator_terms.hpp"
#include "engine/device/local/step_times.hpp"
#include "engine/device/residual_file.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::device {
namespace {

using emulator::Diagnostic;
using emulator::GlobalMemory;
using emulator::LaunchContext;
using emulator::Program;

// A CTA that has executed this many warp instructions is stuck: the longest honest ones, a serial
// loop over thousands of keys in 32 warps, stay below half of it. Some ten seconds here.
constexpr std::uint64_t kInstructionBudget = 500'000'000;
// All CTAs of a launch together, 1,000 for each beside its instructions. On one thread four minutes,
// with checks twenty; on a person's machine a part of that.
constexpr std::uint64_t kLaunchBudget = 10'000'000'000;
// How many clusters (or CTAs of their own) a prediction looks at. Blocks that take one tile after the
// other have unlike work, in groups of neighbours, and who has most is waited for. Of 128 causal shapes,
// tiles and orders of wgmma.cu on 132 SMs four clusters of two miss those with most in 4 (by up to a
// half), eight in none: counted from the order in wgmma_tile_scheduler.cuh.
constexpr std::uint64_t kSampledClusters = 8;
// Where a launch executes no more warp instructions than this, with those that products of tensor
// cores count for, all of its blocks run for a prediction too, so that those it looks at do their
// work among the others, and so that somebody can look at what they left. Some tens of
// milliseconds on one thread: with eight times as much, trials a second of the mission shape halve,
// and its finals run whole anyhow.
constexpr std::uint64_t kWholeUpTo = 1'000'000;
// What a driver gives a cooperative launch; its barrier takes 8.
constexpr std::size_t kGridWorkspaceBytes = 256;

class EmulatorDevice final : public Device {
 public:
  EmulatorDevice(const DeviceProfile& profile, int threads, std::uint64_t instructions)
      : profile_(profile), allowance_(instructions) {
    threads_ =
        threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    if (!profile_.residuals && !profile_.residuals_file.empty())
      profile_.residuals = load_residuals(profile_.residuals_file);
    info_.id = "emulator:" + profile.name;
    info_.name = std::string(kEmulated) + profile.title;
    info_.arch = profile.arch;
    info_.accepts = BinaryKind::ptx;
    info_.times = TimeKind::predicted;
    info_.sms = profile.sms;
    info_.shared_per_block = profile.shared_per_block;
    info_.checks = true;
  }

  const DeviceInfo& info() const override { return info_; }

  std::expected<KernelHandle, Fault> load(const KernelImage& image) override {
    if (image.kind != BinaryKind::ptx) {
      return refuse(FaultKind::load_failed, "the emulator takes PTX, not machine code");
    }
    std::vector<Kernel> entries;
    for (std::size_t i = 0; i < image.entries(); ++i) {
      const KernelEntry entry = image.entry(i);
      auto program = emulator::load_program(image.bytes, entry.kernel,
                                            emulator::tensor_rule_of(profile_.arch), memory_);
      if (!program) {
        forget(entries);
        return refuse(kind_of(program.error().kind), program.error().message);
      }
      if (i < image.machine_code.size())
        for (const MachineInstruction& each : image.machine_code[i])
          program->machine_code.push_back({each.low, each.high, each.ptx_line});
      entries.push_back({std::move(*program), entry.resources});
    }
    const auto handle = static_cast<KernelHandle>(++last_handle_);
    kernels_.emplace(handle, std::move(entries));
    return handle;
  }

  void unload(KernelHandle kernel) override {
    const auto found = kernels_.find(kernel);
    if (found == kernels_.end()) return;
    forget(found->second);
    kernels_.erase(found);
  }

  BufferHandle allocate(std::size_t bytes) override {
    const auto handle = static_cast<BufferHandle>(++last_handle_);
    buffers_.allocate(handle, bytes);
    return handle;
  }

  void release(BufferHandle buffer) override { buffers_.release(buffer); }

  std::expected<void, Fault> write(BufferHandle buffer, std::size_t offset,
                                   std::span<const std::byte> bytes) override {
    return buffers_.write(buffer, offset, bytes);
  }

  std::expected<void, Fault> read(BufferHandle buffer, std::size_t offset,
                                  std::span<std::byte> bytes) override {
    return buffers_.read(buffer, offset, bytes);
  }

  Argument address(BufferHandle buffer, std::size_t offset) override {
    const std::uint64_t address = buffers_.address_of(buffer).value() + offset;
    std::vector<std::byte> bytes(sizeof(address));
    std::memcpy(bytes.data(), &address, sizeof(address));
    return bytes;
  }

  std::expected<Argument, Fault> tensor_map(const TensorMap& map) override {
    if (auto refusal = refusal_of(map)) return refuse(FaultKind::resources, std::move(*refusal));
    if (!is_hopper(profile_)) return Device::tensor_map(map);
    const emulator::TensorMapBits bits = to_emulator(map, buffers_.address_of(map.buffer).value());
    const auto bytes = std::as_bytes(std::span(&bits, 1));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }

  std::vector<std::string> take_notes() override { return std::exchange(notes_, {}); }

  std::expected<void, Fault> launch(const Launch& launch) override {
    const std::vector<LaunchStep> steps = steps_of(launch);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto* kernel = std::get_if<KernelStep>(&steps[i]);
      const auto done =
          kernel == nullptr
              ? move_bytes(launch, steps[i])
              : run(launch, *kernel, [&](const LaunchContext& context) {
                  // The account of a checked launch is one for all its blocks.
                  return emulator::run_grid(context, launch.checks.any() ? 1 : threads_, nullptr);
                });
      if (!done) return std::unexpected(at_step(launch, i, done.error()));
    }
    return {};
  }

  std::expected<Timing, Fault> time(const Launch& launch, const TimingPlan& plan) override {
    auto times = time_steps(launch, plan, plan.complete);
    // A later step may take what blocks that did not run were to leave for an address.
    if (!times.fault.has_value() || times.whole || launch.steps.empty() || plan.complete)
      return timing_of(launch, plan, std::move(times));
    return timing_of(launch, plan, time_steps(launch, plan, true));
  }

 private:
  // One entry of an image.
  struct Kernel {
    Program program;
    KernelResources resources;
  };

  void forget(const std::vector<Kernel>& entries) {
    for (const Kernel& kernel : entries)
      for (const std::uint64_t address : kernel.program.globals) memory_.release(address);
  }

  // Of several steps: says at which one it was.
  static Fault at_step(const Launch& launch, std::size_t i, Fault fault) {
    if (!launch.steps.empty())
      fault.message =
          fmt::format("in step {} of {}: {}", i + 1, launch.steps.size(), fault.message);
    return fault;
  }

  // What running for a time has come to.
  struct TimedSteps {
    std::vector<StepTime> times;
    bool whole = true;  // every block of every step has run
    std::optional<Fault> fault = {};
  };

  TimedSteps time_steps(const Launch& launch, const TimingPlan& plan, bool complete) {
    TimedSteps timed;
    for (const BufferChanges* changes : {&plan.restore, &plan.before_each})
      if (auto changed = make_changes(*changes); !changed) {
        timed.fault = changed.error();
        return timed;
      }
    const std::vector<LaunchStep> steps = steps_of(launch);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto* kernel = std::get_if<KernelStep>(&steps[i]);
      const auto done = kernel == nullptr ? time_move(launch, steps[i], timed)
                                          : time_kernel(launch, *kernel, complete, timed);
      if (done) continue;
      timed.fault = at_step(launch, i, done.error());
      break;
    }
    return timed;
  }

  std::expected<void, Fault> time_kernel(const Launch& launch, const KernelStep& step,
                                         bool complete, TimedSteps& timed) {
    emulator::Record record;
    const std::uint64_t clusters = to_emulator(step.config).cluster_count();
    const auto outcome = run(launch, step, [&](const LaunchContext& context) {
      emulator::Sampling sampling{
          .clusters = emulator::sample_evenly(clusters, kSampledClusters),
          .whole_up_to = complete ? std::numeric_limits<std::uint64_t>::max() : kWholeUpTo};
      if (step.config.cluster.count() == 1 &&
          emulator::reads_through_l1(*context.program, profile_))
        sampling.neighbours = emulator::neighbours_of(sampling.clusters, clusters,
                                                      static_cast<std::uint64_t>(profile_.sms));
      emulator::Sampled sampled = emulator::run_sampled(context, threads_, sampling, record);
      timed.whole = timed.whole && sampled.whole;
      return std::move(sampled.diagnostic);
    });
    if (!outcome) return outcome;
    const Kernel& kernel = kernels_.at(launch.kernel).at(step.entry);
    const double reachable = buffers_.bytes_behind(step.arguments);
    emulator::Prediction prediction =
        emulator::predict(profile_, resources_of(kernel), to_emulator(step.config), kernel.program,
                          record, reachable);
    if (std::string why = emulator::not_modelled(profile_, to_emulator(step.config), kernel.program,
                                                 record, prediction);
        !why.empty())
      return refuse(FaultKind::not_modelled, plain_name(kernel.program.kernel) + ": " + why);
    timed.times.push_back({plain_name(kernel.program.kernel), prediction.us, prediction.interval,
                           std::move(prediction.detail_json)});
    return {};
  }

  std::expected<void, Fault> time_move(const Launch& launch, const LaunchStep& step,
                                       TimedSteps& timed) {
    const auto* copy = std::get_if<BufferCopy>(&step);
    const std::size_t bytes = copy != nullptr ? 2 * copy->bytes : std::get<BufferFill>(step).bytes;
    timed.times.push_back(time_of_move(copy != nullptr ? "copy" : "set", bytes, profile_));
    return move_bytes(launch, step);
  }

  std::expected<Timing, Fault> timing_of(const Launch& launch, const TimingPlan& plan,
                                         TimedSteps timed) const {
    if (timed.fault) return std::unexpected(std::move(*timed.fault));
    Timing timing;
    timing.kind = TimeKind::predicted;
    timing.samples_us = {0};
    for (const StepTime& step : timed.times) timing.samples_us.front() += step.us;
    timing.model = profile_.name;
    const emulator::Interval90 interval = interval_of_steps(timed.times);
    timing.low_us = interval.low_us;
    timing.high_us = interval.high_us;
    timing.detail_json =
        launch.steps.empty() ? timed.times.front().detail_json : detail_of_steps(timed.times);
    timing.complete = timed.whole;
    timing.restored = !plan.restore.empty();
    return timing;
  }

  // A step that is no kernel.
  std::expected<void, Fault> move_bytes(const Launch& launch, const LaunchStep& step) {
    const auto* copy = std::get_if<BufferCopy>(&step);
    const BufferHandle to = copy != nullptr ? copy->to : std::get<BufferFill>(step).buffer;
    if (std::ranges::find(launch.read_only, to) != launch.read_only.end())
      return refuse(FaultKind::read_only, "it writes to an input");
    if (copy == nullptr) return fill({std::get<BufferFill>(step)});
    if (launch.checks.initialized && !buffers_.written(copy->from, copy->from_offset, copy->bytes))
      return refuse(FaultKind::uninitialized, "it copies memory that nobody has written");
    return make_changes({{}, {*copy}});
  }

  static emulator::KernelResources resources_of(const Kernel& kernel) {
    emulator::KernelResources resources = to_emulator(kernel.resources);
    if (resources.static_shared_bytes < 0) {
      resources.static_shared_bytes = static_cast<int>(kernel.program.static_shared_bytes);
    }
    return resources;
  }

  // Clusters that the device holds at once.
  std::uint64_t resident(const Kernel& kernel, const LaunchConfig& config) const {
    const int blocks =
        emulator::occupancy(profile_, resources_of(kernel), to_emulator(config)).blocks_per_sm;
    const std::uint64_t all = static_cast<std::uint64_t>(std::max(blocks, 1)) *
                              static_cast<std::uint64_t>(std::max(profile_.sms, 1));
    return std::max<std::uint64_t>(all / config.cluster.count(), 1);
  }

  std::expected<void, Fault> check_cooperative(const Kernel& kernel,
                                               const LaunchConfig& config) const {
    if (!config.cooperative) return {};
    const emulator::Occupancy fits =
        emulator::occupancy(profile_, resources_of(kernel), to_emulator(config));
    const std::uint64_t most = resident(kernel, config) * config.cluster.count();
    if (config.grid.count() <= most) return {};
    return refuse(FaultKind::resources,
                  too_large_to_cooperate(kernel.program.kernel, config.grid.count(), most) +
                      "; what limits it: " + fits.limited_by);
  }

  // As a driver makes it for each cooperative launch: nobody has arrived.
  std::uint64_t make_grid_workspace() {
    if (!grid_workspace_) grid_workspace_ = &memory_.allocate(kGridWorkspaceBytes);
    std::fill_n(grid_workspace_->bytes, kGridWorkspaceBytes, std::byte{0});
    return grid_workspace_->address;
  }

  // `run_blocks` is given the launch and says what went wrong.
  template <typename RunBlocks>
  std::expected<void, Fault> run(const Launch& launch, const KernelStep& step,
                                 const RunBlocks& run_blocks) {
    const auto found = kernels_.find(launch.kernel);
    if (found == kernels_.end() || step.entry >= found->second.size()) {
      return refuse(FaultKind::load_failed, "a launch of a kernel that is not loaded");
    }
    const Kernel& kernel = found->second[step.entry];
    const Program& program = kernel.program;
    if (auto checked = check_limits(profile_, program, step.config); !checked) return checked;
    const auto block = parameter_block(program, step.arguments, [this](BufferHandle buffer) {
      return buffers_.address_of(buffer);
    });
    if (!block) return std::unexpected(block.error());
    if (auto whole = check_cooperative(kernel, step.config); !whole) return whole;
    if (auto filled = buffers_.fill_constants(program, launch.constants); !filled) return filled;
    LaunchContext context;
    context.program = &program;
    context.config = to_emulator(step.config);
    context.parameters = *block;
    context.memory = &memory_;
    context.budget = kInstructionBudget;
    context.launch_budget = kLaunchBudget;
    context.resident = resident(kernel, step.config);
    context.allowance = &allowance_;
    context.interleaving = launch.schedule;
    const std::uint64_t clusters = context.config.cluster_count();
    if (std::ranges::any_of(launch.only_clusters, [&](auto each) { return each >= clusters; }))
      return refuse(FaultKind::resources, "a cluster that the grid does not have is to run");
    context.only_clusters = launch.only_clusters;
    context.checks = {launch.checks.initialized, launch.checks.races, launch.checks.sync,
                      launch.checks.unfenced_mbarriers};
    context.notes = &notes_;
    if (step.config.cooperative) context.grid_workspace = make_grid_workspace();
    // Only a checked launch keeps account of what it writes.
    if (!launch.checks.initialized) memory_.track_no_more();
    const auto lent = buffers_.addresses_of(launch.read_only);
    if (!lent) return std::unexpected(lent.error());
    for (const std::uint64_t address : *lent) memory_.lend(address);
    const std::optional<Diagnostic> diagnostic = run_blocks(context);
    for (const std::uint64_t address : *lent) memory_.take_back(address);
    if (diagnostic) return refuse(kind_of(diagnostic->kind), diagnostic->message);
    return {};
  }

  DeviceProfile profile_;
  DeviceInfo info_;
  std::atomic<std::uint64_t> allowance_;  // warp instructions that are left
  int threads_ = 1;
  GlobalMemory memory_;
  EmulatorBuffers buffers_{memory_};
  std::map<KernelHandle, std::vector<Kernel>> kernels_;
  std::uint64_t last_handle_ = 0;
  std::vector<std::string> notes_;
  const emulator::Allocation* grid_workspace_ = nullptr;
};

}  // namespace

std::unique_ptr<Device> open_emulator(const DeviceProfile& profile, int threads,
                                      std::uint64_t instructions) {
  return std::make_unique<EmulatorDevice>(profile, threads, instructions);
}

}  // namespace fa_tune::device
