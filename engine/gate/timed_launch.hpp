#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/gate/arguments.hpp"
#include "engine/gate/device_input_cache.hpp"
#include "engine/gate/gate.hpp"
#include "engine/gate/memory_refresh.hpp"
#include "engine/gate/tensor_source.hpp"

namespace fa_tune::gate {

// A kernel with its arguments at one shape and real data, for the clock, and the proof that the
// clock timed the whole work. Otherwise a kernel that is correct in the gate and idle while it is
// timed would win every search. Outputs begin as NaN, integers as in the gate's second run, and
// tensors lie as they do in the gate. It holds the buffers; the Launch is valid as long as it
// lives. The device must outlive it.
class TimedLaunch {
 public:
  using EntryPtr = std::shared_ptr<const TruthCache::Entry>;

  // Throws UserError if an argument's name is neither a tensor nor a scalar of the instance nor a
  // map, MachineError if the device cannot be given the arguments.
  TimedLaunch(device::Device& device, const BoundKernel& kernel, const problem::Instance& instance);
  // With an input cache, large inputs come from there, also those that are exchanged. With null
  // they come from the host.
  TimedLaunch(device::Device& device, const BoundKernel& kernel, const EntryPtr& truth,
              DeviceInputCache* input_cache);
  // For another kernel with the same buffers as `beside`, which was made with the same instance.
  // Kernels that are compared to a percent must not differ in where their data lie.
  TimedLaunch(const TimedLaunch& beside, const BoundKernel& kernel,
              const problem::Instance& instance);
  ~TimedLaunch();
  TimedLaunch(const TimedLaunch&) = delete;
  TimedLaunch& operator=(const TimedLaunch&) = delete;

  const device::Launch& launch() const { return launch_; }
  // To be applied before each timed launch: restores the tensors that the launch before wrote over.
  const device::BufferChanges& restore() const { return restore_.changes; }

  // Whether the outputs, as the last launch left them, are the expected ones. Nothing if so.
  std::optional<Rejection> check(const EntryPtr& truth);
  // Exchanges all inputs for those of `other`, of the same shape, between two launches of a row
  // like those under the clock. The outputs stay: they are correct for the inputs before. The one
  // launch after the exchange must give the expected result of `other`, whose inputs stay from then
  // on. `us`: how long a launch takes, if that is known.
  std::optional<Rejection> check_exchanged(const EntryPtr& other, double us = 0);

  // Whether the inputs are still those of `inputs`: a kernel could leave notes in them. Nothing if
  // so.
  std::optional<Rejection> check_inputs(const EntryPtr& inputs) const;
  // For a time that does not depend on the launch before; see MemoryRefresh.
  MemoryRefresh refresh(const EntryPtr& inputs) const;

 private:
  std::optional<Rejection> compare_outputs(const EntryPtr& truth, const std::string& when);

  class Buffers;
  struct Restore {
    device::BufferChanges changes;
    std::vector<SharedBuffer> held;  // what is copied
  };

  void restore_from(const TensorSource& source);
  void bind(const BoundKernel& kernel, const problem::Instance& instance);
  void make_workspaces(const BoundKernel& kernel);
  // Where a tensor lies, or behind them a workspace.
  Place place(std::size_t i) const;

  device::Device& device_;
  DeviceInputCache* input_cache_ = nullptr;
  std::shared_ptr<const Buffers> held_;
  const std::vector<Place>& places_;
  // The kernel's own: those of kernels that are compared are as large as each needs.
  std::vector<problem::Tensor> workspaces_;
  std::deque<DeviceBuffer> workspace_buffers_;
  Restore restore_;
  device::Launch launch_;
};

}  // namespace fa_tune::gate
