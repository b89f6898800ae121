#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

// The part of the CUDA driver API that is used here, declared anew so that neither building nor
// starting needs CUDA: the library is opened when a GPU is asked for. Names, values and layouts are
// those of cuda.h (CUDA 12 and 13); a test compares them with the header where one is installed.
namespace fa_tune::cuda {

using Result = int;  // CUresult
inline constexpr Result kSuccess = 0;
inline constexpr Result kErrorInvalidValue = 1;
inline constexpr Result kErrorNotFound = 500;
inline constexpr Result kErrorOutOfMemory = 2;
inline constexpr Result kErrorNoDevice = 100;
inline constexpr Result kErrorNotReady = 600;

using DeviceOrdinal = int;                                       // CUdevice
using DevicePointer = std::uint64_t;                             // CUdeviceptr
using Context = struct ContextTag*;                              // CUcontext
using Module = struct ModuleTag*;                                // CUmodule
using Function = struct FunctionTag*;                            // CUfunction
using Stream = struct StreamTag*;                                // CUstream
using Event = struct EventTag*;                                  // CUevent
using Graph = struct GraphTag*;                                  // CUgraph
using GraphExec = struct GraphExecTag*;                          // CUgraphExec
using GreenContext = struct GreenContextTag*;                    // CUgreenCtx
using DevResourceDescriptor = struct DevResourceDescriptorTag*;  // CUdevResourceDesc

// CUdevice_attribute
inline constexpr int kDeviceClockRate = 13;  // kHz: the highest of the SMs
inline constexpr int kDeviceMultiprocessorCount = 16;
inline constexpr int kDeviceL2CacheSize = 38;
inline constexpr int kDeviceComputeCapabilityMajor = 75;
inline constexpr int kDeviceComputeCapabilityMinor = 76;
inline constexpr int kDeviceMaxSharedPerBlockOptin = 97;
// CUfunction_attribute
inline constexpr int kFunctionMaxDynamicShared = 8;
inline constexpr int kFunctionNonPortableClusterSize = 14;
// CUjit_option
inline constexpr int kJitErrorLogBuffer = 5;
inline constexpr int kJitErrorLogBufferSize = 6;
// CUstream_flags, CUstreamCaptureMode, CUlaunchAttributeID, CUevent_flags
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr int kLaunchCooperative = 2;
inline constexpr int kLaunchClusterDimension = 4;
inline constexpr int kLaunchProgrammatic = 6;  // ..._PROGRAMMATIC_STREAM_SERIALIZATION
inline constexpr unsigned kEventDefault = 0;

// CUdevResourceType, CUdevSmResourceSplit_flags, CUgreenCtxCreate_flags
inline constexpr int kDevResourceSm = 1;
inline constexpr unsigned kSplitIgnoreCoscheduling = 1;
inline constexpr unsigned kGreenContextDefaultStream = 1;

// CUdevResource, of SMs: a union of 48 bytes, of which it takes the first twelve.
struct DevResource {
  int type = 0;
  unsigned char pad[92] = {};
  struct {
    unsigned count = 0;
    unsigned least = 0;
    unsigned alignment = 0;
    unsigned char pad[36] = {};
  } sm;
};

// CUlaunchAttribute: the value is a union of 64 bytes, of which a cluster takes the first twelve,
// and the cooperative and the programmatic launch, yes or no, the first four.
struct LaunchAttribute {
  int id = 0;
  char pad[4] = {};
  union Value {
    char bytes[64];
    std::uint32_t cluster[3];
    int cooperative;
    int programmatic;
  } value = {};
};

// CUlaunchConfig
struct LaunchSettings {
  std::uint32_t grid_x = 1, grid_y = 1, grid_z = 1;
  std::uint32_t block_x = 1, block_y = 1, block_z = 1;
  std::uint32_t shared_bytes = 0;
  Stream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  std::uint32_t attribute_count = 0;
};

// CUtensorMap
struct alignas(64) TensorMapBits {
  char bytes[128];
};
// CUtensorMapL2promotion, CUtensorMapInterleave
inline constexpr int kTensorMapL2Promotion128 = 2;
inline constexpr int kTensorMapInterleaveNone = 0;

// The entry points, each under the name it has in the library. Those with _v2 are what cuda.h's
// macros turn the plain names into.
struct DriverApi {
  Result (*cuInit)(unsigned flags);
  Result (*cuDriverGetVersion)(int* version);
  Result (*cuGetErrorName)(Result code, const char** name);
  Result (*cuGetErrorString)(Result code, const char** text);

  Result (*cuDeviceGetCount)(int* count);
  Result (*cuDeviceGet)(DeviceOrdinal* device, int ordinal);
  Result (*cuDeviceGetName)(char* name, int length, DeviceOrdinal device);
  Result (*cuDeviceGetAttribute)(int* value, int attribute, DeviceOrdinal device);
  // 16 bytes, of a MIG instance its own; older drivers may have none of the two.
  Result (*cuDeviceGetUuid_v2)(char* uuid, DeviceOrdinal device);
  Result (*cuDeviceGetUuid)(char* uuid, DeviceOrdinal device);
  // "0000:1B:00.0", as NVML knows a GPU.
  Result (*cuDeviceGetPCIBusId)(char* id, int length, DeviceOrdinal device);
  Result (*cuDevicePrimaryCtxRetain)(Context* context, DeviceOrdinal device);
  Result (*cuDevicePrimaryCtxRelease_v2)(DeviceOrdinal device);
  Result (*cuCtxSetCurrent)(Context context);
  // Since 12.4; all null in an older driver.
  Result (*cuDeviceGetDevResource)(DeviceOrdinal device, DevResource* resource, int type);
  Result (*cuDevSmResourceSplitByCount)(DevResource* parts, unsigned* count,
                                        const DevResource* whole, DevResource* rest, unsigned flags,
                                        unsigned least);
  Result (*cuDevResourceGenerateDesc)(DevResourceDescriptor* descriptor, DevResource* resources,
                                      unsigned count);
  Result (*cuGreenCtxCreate)(GreenContext* context, DevResourceDescriptor descriptor,
                             DeviceOrdinal device, unsigned flags);
  Result (*cuGreenCtxDestroy)(GreenContext context);
  Result (*cuCtxFromGreenCtx)(Context* context, GreenContext from);

  Result (*cuModuleLoadDataEx)(Module* module, const void* image, unsigned options, int* names,
                               void** values);
  Result (*cuModuleUnload)(Module module);
  Result (*cuModuleGetGlobal_v2)(DevicePointer* pointer, std::size_t* bytes, Module module,
                                 const char* name) = nullptr;
  Result (*cuModuleGetFunction)(Function* function, Module module, const char* name);
  Result (*cuFuncGetAttribute)(int* value, int attribute, Function function);
  Result (*cuFuncSetAttribute)(Function function, int attribute, int value);
  // Since 12.4; null in an older driver. Answers error_invalid_value past the last parameter.
  Result (*cuFuncGetParamInfo)(Function function, std::size_t index, std::size_t* offset,
                               std::size_t* size);

  Result (*cuMemAlloc_v2)(DevicePointer* pointer, std::size_t bytes);
  Result (*cuMemFree_v2)(DevicePointer pointer);
  Result (*cuMemHostAlloc)(void** memory, std::size_t bytes, unsigned flags);
  Result (*cuMemFreeHost)(void* memory);
  Result (*cuMemHostRegister_v2)(void* memory, std::size_t bytes, unsigned flags);
  Result (*cuMemHostUnregister)(void* memory);
  Result (*cuMemGetInfo_v2)(std::size_t* free, std::size_t* total);
  Result (*cuMemsetD8Async)(DevicePointer to, unsigned char value, std::size_t count,
                            Stream stream);
  Result (*cuMemsetD32Async)(DevicePointer to, std::uint32_t value, std::size_t count,
                             Stream stream);
  Result (*cuMemcpyHtoDAsync_v2)(DevicePointer to, const void* from, std::size_t bytes,
                                 Stream stream);
  Result (*cuMemcpyDtoDAsync_v2)(DevicePointer to, DevicePointer from, std::size_t bytes,
                                 Stream stream);
  Result (*cuMemcpyDtoHAsync_v2)(void* to, DevicePointer from, std::size_t bytes, Stream stream);

  Result (*cuStreamCreate)(Stream* stream, unsigned flags);
  Result (*cuStreamDestroy_v2)(Stream stream);
  Result (*cuStreamBeginCapture_v2)(Stream stream, int mode);
  Result (*cuStreamEndCapture)(Stream stream, Graph* graph);
  Result (*cuEventCreate)(Event* event, unsigned flags);
  Result (*cuEventDestroy_v2)(Event event);
  Result (*cuEventRecord)(Event event, Stream stream);
  Result (*cuEventQuery)(Event event);
  Result (*cuEventElapsedTime)(float* milliseconds, Event start, Event end);

  Result (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, Function function, int threads,
                                                        std::size_t shared_bytes);
  Result (*cuLaunchKernelEx)(const LaunchSettings* settings, Function function, void** parameters,
                             void** extra);
  Result (*cuGraphInstantiateWithFlags)(GraphExec* exec, Graph graph, unsigned long long flags);
  Result (*cuGraphLaunch)(GraphExec exec, Stream stream);
  Result (*cuGraphExecDestroy)(GraphExec exec);
  Result (*cuGraphDestroy)(Graph graph);

  // Since 12.0, for sm_90 and newer.
  Result (*cuTensorMapEncodeTiled)(TensorMapBits* map, int element, std::uint32_t rank,
                                   void* address, const std::uint64_t* dims,
                                   const std::uint64_t* strides, const std::uint32_t* box,
                                   const std::uint32_t* element_steps, int interleave, int swizzle,
                                   int l2_promotion, int fill);

  // "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered".
  std::string describe(Result code) const;
};

// Opens libcuda.so.1, or the file that the environment variable FA_TUNE_LIBCUDA names, and starts
// the driver. The library is never closed: it keeps threads of its own. Throws MachineError (one
// line) where the library, a function of it, or a device is missing.
std::shared_ptr<const DriverApi> load_driver();

}  // namespace fa_tune::cuda
