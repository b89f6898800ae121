#pragma once

#include <expected>
#include <vector>

#include "engine/device/cuda/cuda_launch.hpp"

namespace fa_tune::cuda {

// The SMs' clock as the GPU itself counts it: a kernel of one thread an SM between two samples, in
// which SM 0 writes down its cycle counter and the GPU's clock of nanoseconds; two of these give
// the mean between. NVML's figure is no match for it: the driver samples it every few
// milliseconds, while a sample takes a fifth of one. The probe touches 16 bytes, and lies outside
// the events that time.
class ClockProbe {
 public:
  // Has the driver compile the kernel. A Fault says that there is no probe on this GPU; only a lost
  // context is more than that.
  static std::expected<ClockProbe, device::Fault> make(CudaContext& context, int sms);

  // Makes room for `marks` marks; earlier ones are forgotten.
  std::expected<void, device::Fault> begin(CudaContext& context, int marks);
  // Puts the next mark into the stream.
  std::expected<void, device::Fault> mark(CudaContext& context);
  // The mean clock in MHz between each two marks that follow one another, once all have happened.
  // Empty if that makes no sense: a kernel may have written over them.
  std::expected<std::vector<double>, device::Fault> read(CudaContext& context);

 private:
  LoadedImage image_;
  LaunchConfig config_;
  OwnedMemory memory_;
  std::size_t room_ = 0;  // marks
  std::size_t marks_ = 0;
};

}  // namespace fa_tune::cuda
