// Compares the declarations of driver_api.hpp with cuda.h, where one is installed to compare with.
#include <doctest/doctest.h>

#if __has_include(<cuda.h>)

#include <cstddef>
#include <type_traits>

// Before cuda.h, whose macros give functions other names.
// clang-format off
#include "engine/device/cuda/driver_api.hpp"
#include <cuda.h>
// clang-format on

#include "engine/device/tensor_map.hpp"

namespace {

namespace ours = fa_tune::cuda;

// Two types are passed alike if both are pointers, or both are not and have one size and sort.
template <typename A, typename B>
constexpr bool kAlike =
    // NOLINTNEXTLINE(bugprone-sizeof-expression): the size of a pointer is what is asked for
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> ==
                                  std::is_pointer_v<B>&& std::is_floating_point_v<A> ==
                                  std::is_floating_point_v<B>;

template <typename A, typename B>
struct SameCall : std::false_type {};
template <typename RA, typename... A, typename RB, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<RA (*)(A...), RB (*)(B...)>
    : std::bool_constant<kAlike<RA, RB> && (kAlike<A, B> && ...)> {
};

template <auto theirs, typename Member>
struct SameAs;
template <auto theirs, typename Pointer>
struct SameAs<theirs, Pointer ours::DriverApi::*> : SameCall<decltype(theirs), Pointer> {};

template <auto theirs, auto member>
constexpr bool kSame = SameAs<theirs, decltype(member)>::value;

static_assert(kSame<&::cuInit, &ours::DriverApi::cuInit>);
static_assert(kSame<&::cuDriverGetVersion, &ours::DriverApi::cuDriverGetVersion>);
static_assert(kSame<&::cuGetErrorName, &ours::DriverApi::cuGetErrorName>);
static_assert(kSame<&::cuGetErrorString, &ours::DriverApi::cuGetErrorString>);
static_assert(kSame<&::cuDeviceGetCount, &ours::DriverApi::cuDeviceGetCount>);
static_assert(kSame<&::cuDeviceGet, &ours::DriverApi::cuDeviceGet>);
static_assert(kSame<&::cuDeviceGetName, &ours::DriverApi::cuDeviceGetName>);
static_assert(kSame<&::cuDeviceGetUuid_v2, &ours::DriverApi::cuDeviceGetUuid_v2>);
static_assert(kSame<&::cuDeviceGetAttribute, &ours::DriverApi::cuDeviceGetAttribute>);
static_assert(kSame<&::cuDeviceGetPCIBusId, &ours::DriverApi::cuDeviceGetPCIBusId>);
static_assert(kSame<&::cuDevicePrimaryCtxRetain, &ours::DriverApi::cuDevicePrimaryCtxRetain>);
static_assert(
    kSame<&::cuDevicePrimaryCtxRelease_v2, &ours::DriverApi::cuDevicePrimaryCtxRelease_v2>);
static_assert(kSame<&::cuCtxSetCurrent, &ours::DriverApi::cuCtxSetCurrent>);
// Green contexts came with CUDA 12.4.
#if CUDA_VERSION >= 12040
static_assert(kSame<&::cuDeviceGetDevResource, &ours::DriverApi::cuDeviceGetDevResource>);
static_assert(kSame<&::cuDevSmResourceSplitByCount, &ours::DriverApi::cuDevSmResourceSplitByCount>);
static_assert(kSame<&::cuDevResourceGenerateDesc, &ours::DriverApi::cuDevResourceGenerateDesc>);
static_assert(kSame<&::cuGreenCtxCreate, &ours::DriverApi::cuGreenCtxCreate>);
static_assert(kSame<&::cuGreenCtxDestroy, &ours::DriverApi::cuGreenCtxDestroy>);
static_assert(kSame<&::cuCtxFromGreenCtx, &ours::DriverApi::cuCtxFromGreenCtx>);
static_assert(sizeof(ours::DevResource) == sizeof(CUdevResource));
static_assert(offsetof(ours::DevResource, type) == offsetof(CUdevResource, type));
static_assert(offsetof(ours::DevResource, sm.count) == offsetof(CUdevResource, sm.smCount));
static_assert(offsetof(ours::DevResource, sm.least) ==
              offsetof(CUdevResource, sm.minSmPartitionSize));
static_assert(offsetof(ours::DevResource, sm.alignment) ==
              offsetof(CUdevResource, sm.smCoscheduledAlignment));
static_assert(ours::kDevResourceSm == int{CU_DEV_RESOURCE_TYPE_SM});
static_assert(ours::kSplitIgnoreCoscheduling ==
              unsigned{CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING});
static_assert(ours::kGreenContextDefaultStream == unsigned{CU_GREEN_CTX_DEFAULT_STREAM});
#endif

static_assert(kSame<&::cuModuleLoadDataEx, &ours::DriverApi::cuModuleLoadDataEx>);
static_assert(kSame<&::cuModuleUnload, &ours::DriverApi::cuModuleUnload>);
static_assert(kSame<&::cuModuleGetFunction, &ours::DriverApi::cuModuleGetFunction>);
static_assert(kSame<&::cuModuleGetGlobal_v2, &ours::DriverApi::cuModuleGetGlobal_v2>);
static_assert(kSame<&::cuFuncGetAttribute, &ours::DriverApi::cuFuncGetAttribute>);
static_assert(kSame<&::cuFuncSetAttribute, &ours::DriverApi::cuFuncSetAttribute>);
static_assert(kSame<&::cuFuncGetParamInfo, &ours::DriverApi::cuFuncGetParamInfo>);
static_assert(kSame<&::cuMemAlloc_v2, &ours::DriverApi::cuMemAlloc_v2>);
static_assert(kSame<&::cuMemFree_v2, &ours::DriverApi::cuMemFree_v2>);
static_assert(kSame<&::cuMemGetInfo_v2, &ours::DriverApi::cuMemGetInfo_v2>);
static_assert(kSame<&::cuMemsetD8Async, &ours::DriverApi::cuMemsetD8Async>);
static_assert(kSame<&::cuMemsetD32Async, &ours::DriverApi::cuMemsetD32Async>);
static_assert(kSame<&::cuMemcpyHtoDAsync_v2, &ours::DriverApi::cuMemcpyHtoDAsync_v2>);
static_assert(kSame<&::cuMemcpyDtoDAsync_v2, &ours::DriverApi::cuMemcpyDtoDAsync_v2>);
static_assert(kSame<&::cuMemcpyDtoHAsync_v2, &ours::DriverApi::cuMemcpyDtoHAsync_v2>);
static_assert(kSame<&::cuStreamCreate, &ours::DriverApi::cuStreamCreate>);
static_assert(kSame<&::cuStreamDestroy_v2, &ours::DriverApi::cuStreamDestroy_v2>);
static_assert(kSame<&::cuStreamBeginCapture_v2, &ours::DriverApi::cuStreamBeginCapture_v2>);
static_assert(kSame<&::cuStreamEndCapture, &ours::DriverApi::cuStreamEndCapture>);
static_assert(kSame<&::cuEventCreate, &ours::DriverApi::cuEventCreate>);
static_assert(kSame<&::cuEventDestroy_v2, &ours::DriverApi::cuEventDestroy_v2>);
static_assert(kSame<&::cuEventRecord, &ours::DriverApi::cuEventRecord>);
static_assert(kSame<&::cuEventQuery, &ours::DriverApi::cuEventQuery>);
static_assert(kSame<&::cuOccupancyMaxActiveBlocksPerMultiprocessor,
                    &ours::DriverApi::cuOccupancyMaxActiveBlocksPerMultiprocessor>);
static_assert(kSame<&::cuLaunchKernelEx, &ours::DriverApi::cuLaunchKernelEx>);
static_assert(kSame<&::cuGraphInstantiateWithFlags, &ours::DriverApi::cuGraphInstantiateWithFlags>);
static_assert(kSame<&::cuGraphLaunch, &ours::DriverApi::cuGraphLaunch>);
static_assert(kSame<&::cuGraphExecDestroy, &ours::DriverApi::cuGraphExecDestroy>);
static_assert(kSame<&::cuGraphDestroy, &ours::DriverApi::cuGraphDestroy>);

static_assert(kSame<&::cuTensorMapEncodeTiled, &ours::DriverApi::cuTensorMapEncodeTiled>);

static_assert(kAlike<ours::Result, CUresult>);
static_assert(sizeof(ours::TensorMapBits) == sizeof(CUtensorMap));
static_assert(int{CU_TENSOR_MAP_DATA_TYPE_BFLOAT16} ==
              int(fa_tune::device::TensorMap::Element::bf16));
static_assert(int{CU_TENSOR_MAP_DATA_TYPE_INT32} == int(fa_tune::device::TensorMap::Element::s32));
static_assert(int{CU_TENSOR_MAP_SWIZZLE_128B} ==
              int(fa_tune::device::TensorMap::Swizzle::bytes128));
static_assert(ours::kTensorMapL2Promotion128 == int{CU_TENSOR_MAP_L2_PROMOTION_L2_128B});
static_assert(ours::kTensorMapInterleaveNone == int{CU_TENSOR_MAP_INTERLEAVE_NONE});
static_assert(int{CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA} == 1);
static_assert(sizeof(ours::LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(ours::LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(ours::LaunchSettings) == sizeof(CUlaunchConfig));
static_assert(offsetof(ours::LaunchSettings, shared_bytes) ==
              offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(ours::LaunchSettings, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(ours::LaunchSettings, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(ours::LaunchSettings, attribute_count) ==
              offsetof(CUlaunchConfig, numAttrs));

static_assert(ours::kErrorInvalidValue == int{CUDA_ERROR_INVALID_VALUE});
static_assert(ours::kErrorOutOfMemory == int{CUDA_ERROR_OUT_OF_MEMORY});
static_assert(ours::kErrorNoDevice == int{CUDA_ERROR_NO_DEVICE});
static_assert(ours::kErrorNotReady == int{CUDA_ERROR_NOT_READY});
static_assert(ours::kDeviceClockRate == int{CU_DEVICE_ATTRIBUTE_CLOCK_RATE});
static_assert(ours::kDeviceL2CacheSize == int{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE});
static_assert(ours::kDeviceMultiprocessorCount == int{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT});
static_assert(ours::kDeviceComputeCapabilityMajor ==
              int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR});
static_assert(ours::kDeviceComputeCapabilityMinor ==
              int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR});
static_assert(ours::kDeviceMaxSharedPerBlockOptin ==
              int{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN});
static_assert(ours::kFunctionMaxDynamicShared ==
              int{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES});
static_assert(ours::kFunctionNonPortableClusterSize ==
              int{CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED});
static_assert(ours::kJitErrorLogBuffer == int{CU_JIT_ERROR_LOG_BUFFER});
static_assert(ours::kJitErrorLogBufferSize == int{CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES});
static_assert(ours::kStreamNonBlocking == unsigned{CU_STREAM_NON_BLOCKING});
static_assert(ours::kCaptureThreadLocal == int{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL});
static_assert(ours::kLaunchCooperative == int{CU_LAUNCH_ATTRIBUTE_COOPERATIVE});
static_assert(ours::kLaunchClusterDimension == int{CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION});
static_assert(ours::kEventDefault == unsigned{CU_EVENT_DEFAULT});

}  // namespace

TEST_CASE("our declarations of the driver API are those of cuda.h") {
  MESSAGE("compared when compiled, with cuda.h of CUDA ", CUDA_VERSION);
}

#else

TEST_CASE("our declarations of the driver API are those of cuda.h") {
  MESSAGE("skipped: there is no cuda.h here to compare with");
}

#endif
