#include "engine/device/cuda/cuda_fault.hpp"

#include <fmt/format.h>

namespace fa_tune::cuda {

FaultKind fault_kind(Result code) {
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
      return FaultKind::load_failed;
    case 1:  // INVALID_VALUE: how a launch with too large a grid, block or shared memory is refused
    case 2:  // OUT_OF_MEMORY: at a launch, no room for the threads' local memory
    case 701:  // LAUNCH_OUT_OF_RESOURCES
    case 720:  // COOPERATIVE_LAUNCH_TOO_LARGE
    case 801:  // NOT_SUPPORTED: a cluster where the GPU has none
    case 912:  // INVALID_CLUSTER_SIZE
    case 914:  // INVALID_RESOURCE_TYPE
    case 915:  // INVALID_RESOURCE_CONFIGURATION
      return FaultKind::resources;
    case 700:  // ILLEGAL_ADDRESS
    case 714:  // HARDWARE_STACK_ERROR: a call stack that left its bounds
    case 717:  // INVALID_ADDRESS_SPACE
      return FaultKind::out_of_bounds;
    case 716:  // MISALIGNED_ADDRESS
      return FaultKind::misaligned;
    case 702:  // LAUNCH_TIMEOUT: a display's watchdog
      return FaultKind::timeout;
    case 710:  // ASSERT
    case 715:  // ILLEGAL_INSTRUCTION
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
    case 721:  // TENSOR_MEMORY_LEAK
      return FaultKind::trap;
    default:
      return FaultKind::device_lost;
  }
}

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
      return fault_kind(code) == FaultKind::device_lost;
  }
}

Fault make_fault(const DriverApi& api, Result code, const std::string& doing) {
  return {fault_kind(code), fmt::format("{}: {}", doing, api.describe(code))};
}

}  // namespace fa_tune::cuda
