#include "engine/device/cuda/driver_api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::cuda {
namespace {

class Library {
 public:
  explicit Library(std::string path) : path_(std::move(path)) {
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      const char* reason = dlerror();
      throw MachineError(
          fmt::format("no CUDA driver: {}; install the NVIDIA driver, or use an "
                      "emulator device",
                      reason == nullptr ? path_ : reason));
    }
  }

  template <typename Pointer>
  void optional(Pointer& pointer, const char* name) const {
    pointer = reinterpret_cast<Pointer>(dlsym(handle_, name));
  }

  template <typename Pointer>
  void required(Pointer& pointer, const char* name) const {
    optional(pointer, name);
    if (pointer == nullptr) {
      throw MachineError(fmt::format(
          "the CUDA driver {} has no function {}: a driver of CUDA 12 or newer is needed", path_,
          name));
    }
  }

 private:
  std::string path_;
  void* handle_ = nullptr;
};

std::string library_path() {
  const std::string path = environment("FA_TUNE_LIBCUDA");
  return path.empty() ? "libcuda.so.1" : path;
}

void resolve(const Library& library, DriverApi& api) {
  library.required(api.cuInit, "cuInit");
  library.required(api.cuDriverGetVersion, "cuDriverGetVersion");
  library.required(api.cuGetErrorName, "cuGetErrorName");
  library.required(api.cuGetErrorString, "cuGetErrorString");
  library.required(api.cuDeviceGetCount, "cuDeviceGetCount");
  library.required(api.cuDeviceGet, "cuDeviceGet");
  library.required(api.cuDeviceGetName, "cuDeviceGetName");
  library.required(api.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  library.optional(api.cuDeviceGetUuid_v2, "cuDeviceGetUuid_v2");
  library.optional(api.cuDeviceGetUuid, "cuDeviceGetUuid");
  library.optional(api.cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId");
  library.required(api.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  library.required(api.cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease_v2");
  library.required(api.cuCtxSetCurrent, "cuCtxSetCurrent");
  library.optional(api.cuDeviceGetDevResource, "cuDeviceGetDevResource");
  library.optional(api.cuDevSmResourceSplitByCount, "cuDevSmResourceSplitByCount");
  library.optional(api.cuDevResourceGenerateDesc, "cuDevResourceGenerateDesc");
  library.optional(api.cuGreenCtxCreate, "cuGreenCtxCreate");
  library.optional(api.cuGreenCtxDestroy, "cuGreenCtxDestroy");
  library.optional(api.cuCtxFromGreenCtx, "cuCtxFromGreenCtx");
  library.required(api.cuModuleLoadDataEx, "cuModuleLoadDataEx");
  library.required(api.cuModuleUnload, "cuModuleUnload");
  library.required(api.cuModuleGetGlobal_v2, "cuModuleGetGlobal_v2");
  library.required(api.cuModuleGetFunction, "cuModuleGetFunction");
  library.required(api.cuFuncGetAttribute, "cuFuncGetAttribute");
  library.required(api.cuFuncSetAttribute, "cuFuncSetAttribute");
  library.optional(api.cuFuncGetParamInfo, "cuFuncGetParamInfo");
  library.required(api.cuMemAlloc_v2, "cuMemAlloc_v2");
  library.required(api.cuMemFree_v2, "cuMemFree_v2");
  library.required(api.cuMemHostAlloc, "cuMemHostAlloc");
  library.required(api.cuMemFreeHost, "cuMemFreeHost");
  library.required(api.cuMemHostRegister_v2, "cuMemHostRegister_v2");
  library.required(api.cuMemHostUnregister, "cuMemHostUnregister");
  library.required(api.cuMemGetInfo_v2, "cuMemGetInfo_v2");
  library.required(api.cuMemsetD8Async, "cuMemsetD8Async");
  library.required(api.cuMemsetD32Async, "cuMemsetD32Async");
  library.required(api.cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync_v2");
  library.required(api.cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync_v2");
  library.required(api.cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync_v2");
  library.required(api.cuStreamCreate, "cuStreamCreate");
  library.required(api.cuStreamDestroy_v2, "cuStreamDestroy_v2");
  library.required(api.cuStreamBeginCapture_v2, "cuStreamBeginCapture_v2");
  library.required(api.cuStreamEndCapture, "cuStreamEndCapture");
  library.required(api.cuEventCreate, "cuEventCreate");
  library.required(api.cuEventDestroy_v2, "cuEventDestroy_v2");
  library.required(api.cuEventRecord, "cuEventRecord");
  library.required(api.cuEventQuery, "cuEventQuery");
  library.required(api.cuEventElapsedTime, "cuEventElapsedTime");
  library.required(api.cuOccupancyMaxActiveBlocksPerMultiprocessor,
                   "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  library.required(api.cuLaunchKernelEx, "cuLaunchKernelEx");
  library.required(api.cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
  library.required(api.cuGraphLaunch, "cuGraphLaunch");
  library.required(api.cuGraphExecDestroy, "cuGraphExecDestroy");
  library.required(api.cuGraphDestroy, "cuGraphDestroy");
  library.optional(api.cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled");
}

}  // namespace

std::string DriverApi::describe(Result code) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(code, &name) != kSuccess || name == nullptr) name = "CUDA error";
  if (cuGetErrorString(code, &text) != kSuccess || text == nullptr) text = "no description";
  return fmt::format("{} ({}): {}", name, code, text);
}

std::shared_ptr<const DriverApi> load_driver() {
  const Library library(library_path());
  auto api = std::make_shared<DriverApi>();
  resolve(library, *api);
  const Result code = api->cuInit(0);
  if (code != kSuccess) {
    throw MachineError(fmt::format("the CUDA driver does not start: {}", api->describe(code)));
  }
  return api;
}

}  // namespace fa_tune::cuda
