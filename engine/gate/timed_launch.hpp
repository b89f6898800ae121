#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/gate/arguments.hpp"
#include "engine/gate/device_input_cache.hpp"
#include "engine/gate/gate.hpp"
#include "engine/gate/memory_refresh.hpp"
#include "engine/gate/tensor_source.hpp"

namespace fa_tune {

// A kernel with its arguments at one shape with real data, for the clock, and the proof that the
// clock timed the whole work: a kernel that is right while it is watched and idle while it is timed
// would win every search. Outputs begin as NaN, integers as in the gate's second run, and tensors
// lie as they do in the gate. Holds the buffers; the Launch is valid as long as it lives. The
// device must outlive it.
class TimedLaunch {
 public:
  using EntryPtr = std::shared_ptr<const TruthCache::Entry>;

  // Throws UserError if an argument's name is neither a tensor nor a scalar of the instance nor a
  // map, MachineError if the device cannot be given the arguments.
  TimedLaunch(Device& device, const BoundKernel& kernel, const Instance& instance);
  // Large inputs come from the input cache, and so do those that are exchanged; null: from the
  // host.
  TimedLaunch(Device& device, const BoundKernel& kernel, const EntryPtr& truth,
              DeviceInputCache* input_cache);
  // Another kernel with the very buffers of `beside`, made with the same instance: kernels that are
  // to be told apart by a percent must not differ in where their data lie.
  TimedLaunch(const TimedLaunch& beside, const BoundKernel& kernel, const Instance& instance);
  ~TimedLaunch();
  TimedLaunch(const TimedLaunch&) = delete;
  TimedLaunch& operator=(const TimedLaunch&) = delete;

  const Launch& launch() const { return launch_; }
  // To be done before each launch that is timed: gives back what the launch before wrote over.
  const BufferChanges& restore() const { return restore_.changes; }

  // Are the outputs, as the last launch left them, the truth of the inputs?
  std::optional<Rejection> check(const EntryPtr& truth);
  // In the midst of launches that follow one another as they do under the clock, exchanges all
  // inputs for those of `other`, of the same shape, and leaves the outputs as they are: right for
  // the inputs before. The one launch that comes after must give other's truth. The inputs are
  // other's from then on. `us`: how long a launch takes, if that is known.
  std::optional<Rejection> check_exchanged(const EntryPtr& other, double us = 0);

  // Are the inputs still those of `inputs`? A kernel could leave notes in them as well.
  std::optional<Rejection> check_inputs(const EntryPtr& inputs) const;
  // For a time that is to owe nothing to the launch before it, restored as it is.
  MemoryRefresh refresh(const EntryPtr& inputs) const;

 private:
  std::optional<Rejection> compare_outputs(const EntryPtr& truth, const std::string& when);

  class Buffers;
  struct Restore {
    BufferChanges changes;
    std::vector<SharedBuffer> held;  // what is copied
  };

  void restore_from(const TensorSource& source);
  void bind(const BoundKernel& kernel, const Instance& instance);

  Device& device_;
  DeviceInputCache* input_cache_ = nullptr;
  std::shared_ptr<const Buffers> held_;
  const std::vector<Place>& places_;
  Restore restore_;
  Launch launch_;
};

}  // namespace fa_tune
