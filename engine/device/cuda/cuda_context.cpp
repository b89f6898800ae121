#include "engine/device/cuda/cuda_context.hpp"

#include <thread>

#include <fmt/format.h>

#include "engine/util/error.hpp"

namespace fa_tune::cuda {
namespace {

// What a driver's error says about the kernel that was being loaded or run. An error that says
// nothing about it is device_lost.
device::FaultKind fault_kind(Result code) {
  switch (code) {
    case 200:  // INVALID_IMAGE
    case 209:  // NO_BINARY_FOR_GPU
    case 218:  // INVALID_PTX
    case 221:  // JIT_COMPILER_NOT_FOUND
    case 222:  // UNSUPPORTED_PTX_VERSION
    case 223:  // JIT_COMPILATION_DISABLED
    case 300:  // INVALID_SOURCE
    case 301:  // FILE_NOT_FOUND
    case 302:  // SHARED_OBJECT_SYMBOL_NOT_FOUND
    case 303:  // SHARED_OBJECT_INIT_FAILED
    case 500:  // NOT_FOUND: no such entry in the module
    case 913:  // FUNCTION_NOT_LOADED
      return device::FaultKind::load_failed;
    case 1:  // INVALID_VALUE: how a launch with too large a grid, block or shared memory is refused
    case 2:  // OUT_OF_MEMORY: at a launch, no room for the threads' local memory
    case 701:  // LAUNCH_OUT_OF_RESOURCES
    case 720:  // COOPERATIVE_LAUNCH_TOO_LARGE
    case 801:  // NOT_SUPPORTED: a cluster where the GPU has none
    case 912:  // INVALID_CLUSTER_SIZE
    case 914:  // INVALID_RESOURCE_TYPE
    case 915:  // INVALID_RESOURCE_CONFIGURATION
      return device::FaultKind::resources;
    case 700:  // ILLEGAL_ADDRESS
    case 714:  // HARDWARE_STACK_ERROR: a call stack that left its bounds
    case 717:  // INVALID_ADDRESS_SPACE
      return device::FaultKind::out_of_bounds;
    case 716:  // MISALIGNED_ADDRESS
      return device::FaultKind::misaligned;
    case 702:  // LAUNCH_TIMEOUT: a display's watchdog
      return device::FaultKind::timeout;
    case 710:  // ASSERT
    case 715:  // ILLEGAL_INSTRUCTION
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
    case 721:  // TENSOR_MEMORY_LEAK
      return device::FaultKind::trap;
    default:
      return device::FaultKind::device_lost;
  }
}

// After these every later call in the process's context fails too: the GPU killed the context.
// Source: the comments of CUresult in cuda.h ("leaves the process in an inconsistent state").
bool is_sticky(Result code) {
  switch (code) {
    case 4:    // DEINITIALIZED
    case 214:  // ECC_UNCORRECTABLE
    case 220:  // NVLINK_UNCORRECTABLE
    case 226:  // CONTAINED
    case 700:
    case 702:
    case 709:  // CONTEXT_IS_DESTROYED
    case 710:
    case 714:
    case 715:
    case 716:
    case 717:
    case 718:
    case 719:
    case 721:
    case 911:  // EXTERNAL_DEVICE
    case 999:  // UNKNOWN
      return true;
    default:
      return fault_kind(code) == device::FaultKind::device_lost;
  }
}

// One line: what was being done, and what the driver says.
device::Fault make_fault(const DriverApi& api, Result code, const std::string& doing) {
  return {fault_kind(code), fmt::format("{}: {}", doing, api.describe(code))};
}

}  // namespace

void CudaContext::need(Result code, const std::string& doing) const {
  if (code == kSuccess) return;
  throw MachineError(
      fmt::format("cuda:{} cannot be used: {}: {}", index_, doing, api_->describe(code)));
}

CudaContext::CudaContext(std::shared_ptr<const DriverApi> api, int index,
                         std::chrono::milliseconds deadline, int sms)
    : api_(std::move(api)), index_(index), deadline_(deadline) {
  int count = 0;
  need(api_->cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (index < 0 || index >= count) {
    throw MachineError(count == 0
                           ? fmt::format("there is no cuda:{}: the driver sees no GPU", index)
                           : fmt::format("there is no cuda:{}: the driver sees {} GPU{}, cuda:0{}",
                                         index, count, count == 1 ? "" : "s",
                                         count == 1 ? "" : fmt::format(" to cuda:{}", count - 1)));
  }
  need(api_->cuDeviceGet(&device_, index), "cuDeviceGet");
  need(api_->cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  try {
    if (sms != 0) {
      part_ = std::make_unique<SmPartition>(api_, index, device_, sms);
      context_ = part_->context();
    }
    need(api_->cuCtxSetCurrent(context_), "cuCtxSetCurrent");
    need(api_->cuStreamCreate(&stream_, kStreamNonBlocking), "cuStreamCreate");
    need(api_->cuEventCreate(&done_, kEventDefault), "cuEventCreate");
  } catch (const MachineError&) {
    if (stream_ != nullptr) api_->cuStreamDestroy_v2(stream_);
    part_.reset();
    api_->cuDevicePrimaryCtxRelease_v2(device_);
    throw;
  }
}

CudaContext::~CudaContext() {
  if (!may_free()) {
    // Destroying it would wait too.
    static_cast<void>(part_.release());
    return;
  }
  make_current();
  api_->cuEventDestroy_v2(done_);
  api_->cuStreamDestroy_v2(stream_);
  api_->cuCtxSetCurrent(nullptr);
  part_.reset();
  api_->cuDevicePrimaryCtxRelease_v2(device_);
}

std::expected<void, device::Fault> CudaContext::enter() {
  if (lost()) {
    return std::unexpected(
        device::Fault{device::FaultKind::device_lost,
                      fmt::format("cuda:{} was lost: {}", index_, lost_because_)});
  }
  return check(api_->cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

std::expected<void, device::Fault> CudaContext::check(Result code, const std::string& doing) {
  if (code == kSuccess) return {};
  device::Fault fault = make_fault(*api_, code, doing);
  if (is_sticky(code) && !lost()) lost_because_ = fault.message;
  return std::unexpected(std::move(fault));
}

std::expected<void, device::Fault> CudaContext::wait(Event event, const std::string& doing) {
  using Clock = std::chrono::steady_clock;
  constexpr auto spin = std::chrono::milliseconds(2);
  const auto start = Clock::now();
  for (;;) {
    const Result code = api_->cuEventQuery(event);
    if (code != kErrorNotReady) return check(code, doing);
    const auto waited = Clock::now() - start;
    if (waited > deadline_) break;
    if (waited < spin) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  hung_ = true;
  device::Fault fault{device::FaultKind::timeout,
                      fmt::format("{}: not done after {} ms", doing, deadline_.count())};
  lost_because_ = fault.message;
  return std::unexpected(std::move(fault));
}

std::expected<void, device::Fault> CudaContext::synchronize(const std::string& doing) {
  if (auto recorded = check(api_->cuEventRecord(done_, stream_), doing); !recorded) {
    return recorded;
  }
  return wait(done_, doing);
}

}  // namespace fa_tune::cuda
