// Compares the declarations of driver_api.hpp with cuda.h, where one is installed to compare with.
#include <doctest/doctest.h>

#if __has_include(<cuda.h>)

#include <cstddef>
#include <type_traits>

#include <cuda.h>

#include "engine/device/cuda/driver_api.hpp"
#include "engine/device/tensor_map.hpp"

namespace {

namespace ours = fa_tune::cuda;

// Two types are passed alike if both are pointers, or both are not and have one size and sort.
template <typename A, typename B>
constexpr bool alike = sizeof(A) == sizeof(B) &&
                       std::is_pointer_v<A> == std::is_pointer_v<B>&& std::is_floating_point_v<A> ==
                           std::is_floating_point_v<B>;

template <typename A, typename B>
struct SameCall : std::false_type {};
template <typename RA, typename... A, typename RB, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<RA (*)(A...), RB (*)(B...)>
    : std::bool_constant<alike<RA, RB> && (alike<A, B> && ...)> {
};

template <auto theirs, typename Member>
struct SameAs;
template <auto theirs, typename Pointer>
struct SameAs<theirs, Pointer ours::DriverApi::*> : SameCall<decltype(theirs), Pointer> {};

template <auto theirs, auto member>
constexpr bool same = SameAs<theirs, decltype(member)>::value;

static_assert(same<&::cuInit, &ours::DriverApi::cuInit>);
static_assert(same<&::cuDriverGetVersion, &ours::DriverApi::cuDriverGetVersion>);
static_assert(same<&::cuGetErrorName, &ours::DriverApi::cuGetErrorName>);
static_assert(same<&::cuGetErrorString, &ours::DriverApi::cuGetErrorString>);
static_assert(same<&::cuDeviceGetCount, &ours::DriverApi::cuDeviceGetCount>);
static_assert(same<&::cuDeviceGet, &ours::DriverApi::cuDeviceGet>);
static_assert(same<&::cuDeviceGetName, &ours::DriverApi::cuDeviceGetName>);
static_assert(same<&::cuDeviceGetUuid_v2, &ours::DriverApi::cuDeviceGetUuid_v2>);
static_assert(same<&::cuDeviceGetAttribute, &ours::DriverApi::cuDeviceGetAttribute>);
static_assert(same<&::cuDeviceGetPCIBusId, &ours::DriverApi::cuDeviceGetPCIBusId>);
static_assert(same<&::cuDevicePrimaryCtxRetain, &ours::DriverApi::cuDevicePrimaryCtxRetain>);
static_assert(
    same<&::cuDevicePrimaryCtxRelease_v2, &ours::DriverApi::cuDevicePrimaryCtxRelease_v2>);
static_assert(same<&::cuCtxSetCurrent, &ours::DriverApi::cuCtxSetCurrent>);
static_assert(same<&::cuModuleLoadDataEx, &ours::DriverApi::cuModuleLoadDataEx>);
static_assert(same<&::cuModuleUnload, &ours::DriverApi::cuModuleUnload>);
static_assert(same<&::cuModuleGetFunction, &ours::DriverApi::cuModuleGetFunction>);
static_assert(same<&::cuModuleGetGlobal_v2, &ours::DriverApi::cuModuleGetGlobal_v2>);
static_assert(same<&::cuFuncGetAttribute, &ours::DriverApi::cuFuncGetAttribute>);
static_assert(same<&::cuFuncSetAttribute, &ours::DriverApi::cuFuncSetAttribute>);
static_assert(same<&::cuFuncGetParamInfo, &ours::DriverApi::cuFuncGetParamInfo>);
static_assert(same<&::cuMemAlloc_v2, &ours::DriverApi::cuMemAlloc_v2>);
static_assert(same<&::cuMemFree_v2, &ours::DriverApi::cuMemFree_v2>);
static_assert(same<&::cuMemGetInfo_v2, &ours::DriverApi::cuMemGetInfo_v2>);
static_assert(same<&::cuMemsetD8Async, &ours::DriverApi::cuMemsetD8Async>);
static_assert(same<&::cuMemsetD32Async, &ours::DriverApi::cuMemsetD32Async>);
static_assert(same<&::cuMemcpyHtoDAsync_v2, &ours::DriverApi::cuMemcpyHtoDAsync_v2>);
static_assert(same<&::cuMemcpyDtoDAsync_v2, &ours::DriverApi::cuMemcpyDtoDAsync_v2>);
static_assert(same<&::cuMemcpyDtoHAsync_v2, &ours::DriverApi::cuMemcpyDtoHAsync_v2>);
static_assert(same<&::cuStreamCreate, &ours::DriverApi::cuStreamCreate>);
static_assert(same<&::cuStreamDestroy_v2, &ours::DriverApi::cuStreamDestroy_v2>);
static_assert(same<&::cuStreamBeginCapture_v2, &ours::DriverApi::cuStreamBeginCapture_v2>);
static_assert(same<&::cuStreamEndCapture, &ours::DriverApi::cuStreamEndCapture>);
static_assert(same<&::cuEventCreate, &ours::DriverApi::cuEventCreate>);
static_assert(same<&::cuEventDestroy_v2, &ours::DriverApi::cuEventDestroy_v2>);
static_assert(same<&::cuEventRecord, &ours::DriverApi::cuEventRecord>);
static_assert(same<&::cuEventQuery, &ours::DriverApi::cuEventQuery>);
static_assert(same<&::cuLaunchKernelEx, &ours::DriverApi::cuLaunchKernelEx>);
static_assert(same<&::cuGraphInstantiateWithFlags, &ours::DriverApi::cuGraphInstantiateWithFlags>);
static_assert(same<&::cuGraphLaunch, &ours::DriverApi::cuGraphLaunch>);
static_assert(same<&::cuGraphExecDestroy, &ours::DriverApi::cuGraphExecDestroy>);
static_assert(same<&::cuGraphDestroy, &ours::DriverApi::cuGraphDestroy>);

static_assert(same<&::cuTensorMapEncodeTiled, &ours::DriverApi::cuTensorMapEncodeTiled>);

static_assert(alike<ours::Result, CUresult>);
static_assert(sizeof(ours::TensorMapBits) == sizeof(CUtensorMap));
static_assert(int{CU_TENSOR_MAP_DATA_TYPE_BFLOAT16} ==
              int(fa_tune::device::TensorMap::Element::bf16));
static_assert(int{CU_TENSOR_MAP_DATA_TYPE_INT32} == int(fa_tune::device::TensorMap::Element::s32));
static_assert(int{CU_TENSOR_MAP_SWIZZLE_128B} ==
              int(fa_tune::device::TensorMap::Swizzle::bytes128));
static_assert(ours::tensor_map_l2_promotion_128 == int{CU_TENSOR_MAP_L2_PROMOTION_L2_128B});
static_assert(ours::tensor_map_interleave_none == int{CU_TENSOR_MAP_INTERLEAVE_NONE});
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

static_assert(ours::error_invalid_value == int{CUDA_ERROR_INVALID_VALUE});
static_assert(ours::error_out_of_memory == int{CUDA_ERROR_OUT_OF_MEMORY});
static_assert(ours::error_no_device == int{CUDA_ERROR_NO_DEVICE});
static_assert(ours::error_not_ready == int{CUDA_ERROR_NOT_READY});
static_assert(ours::device_clock_rate == int{CU_DEVICE_ATTRIBUTE_CLOCK_RATE});
static_assert(ours::device_l2_cache_size == int{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE});
static_assert(ours::device_multiprocessor_count == int{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT});
static_assert(ours::device_compute_capability_major ==
              int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR});
static_assert(ours::device_compute_capability_minor ==
              int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR});
static_assert(ours::device_max_shared_per_block_optin ==
              int{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN});
static_assert(ours::function_max_dynamic_shared ==
              int{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES});
static_assert(ours::function_non_portable_cluster_size ==
              int{CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED});
static_assert(ours::jit_error_log_buffer == int{CU_JIT_ERROR_LOG_BUFFER});
static_assert(ours::jit_error_log_buffer_size == int{CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES});
static_assert(ours::stream_non_blocking == unsigned{CU_STREAM_NON_BLOCKING});
static_assert(ours::capture_thread_local == int{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL});
static_assert(ours::launch_cluster_dimension == int{CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION});
static_assert(ours::event_default == unsigned{CU_EVENT_DEFAULT});

}  // namespace

TEST_CASE("our declarations of the driver API are those of cuda.h") {
  MESSAGE("compared when compiled, with cuda.h of CUDA ", CUDA_VERSION);
}

#else

TEST_CASE("our declarations of the driver API are those of cuda.h") {
  MESSAGE("skipped: there is no cuda.h here to compare with");
}

#endif
