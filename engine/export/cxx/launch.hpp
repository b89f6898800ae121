
struct Map {
  int tensor;
  CUtensorMapDataType type;
  cuuint32_t rank;
  cuuint64_t dims[5];
  cuuint64_t strides[5];
  cuuint32_t box[5];
  CUtensorMapSwizzle swizzle;
};

struct Argument {
  enum Kind { tensor, map, scalar, option } kind;
  int index;                             // of the tensor, the map or the option
  std::uint64_t bits;                    // of a scalar, or of an option that is not set
  const unsigned char* bytes = nullptr;  // of a scalar of more than these
};

struct Constant {
  const char* name;
  int tensor;
  std::size_t bytes;
};

struct Kernel {
  const char* entry;
  const unsigned char* code;
};

struct Call {
  int kernel;
  int major, minor;    // compute capability
  const char* device;  // that it was tuned on
  Sizes sizes;
  unsigned grid[3], block[3], cluster[3], shared;
  const Argument* arguments;
  int argument_count;
  const Map* maps;
  int map_count;
  const Constant* constants;
  int constant_count;
};

struct Loaded {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
};

// While this lives, what the thread does may not spoil a graph that is being captured.
class Relaxed {
 public:
  Relaxed() { cuThreadExchangeStreamCaptureMode(&mode_); }
  ~Relaxed() { cuThreadExchangeStreamCaptureMode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

inline CUresult load(const Kernel& kernel, const Call& call, Loaded& loaded) {
  const Relaxed relaxed;
  CUresult code = cuModuleLoadData(&loaded.module, kernel.code);
  if (code != CUDA_SUCCESS) return code;
  code = cuModuleGetFunction(&loaded.function, loaded.module, kernel.entry);
  if (code == CUDA_SUCCESS && call.cluster[0] * call.cluster[1] * call.cluster[2] > 8)
    code =
        cuFuncSetAttribute(loaded.function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  return code;
}

// Of the current context, loaded at its first use. Calls that share a kernel may want different
// sizes of shared memory, so each call has a function of its own.
inline CUresult loaded_for(const Kernel* kernels, const Call& call, Loaded& loaded) {
  static std::mutex mutex;
  static std::map<std::pair<unsigned long long, const Call*>, Loaded> all;
  CUcontext context = nullptr;
  unsigned long long id = 0;
  CUresult code = cuCtxGetCurrent(&context);
  if (code == CUDA_SUCCESS) code = cuCtxGetId(context, &id);
  if (code != CUDA_SUCCESS) return code;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = all.find({id, &call});
  if (found != all.end()) {
    loaded = found->second;
    return CUDA_SUCCESS;
  }
  code = load(kernels[call.kernel], call, loaded);
  if (code == CUDA_SUCCESS)
    code = cuFuncSetAttribute(loaded.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                              static_cast<int>(call.shared));
  if (code == CUDA_SUCCESS) all[{id, &call}] = loaded;
  return code;
}

// What was tuned for these sizes on the current device: on one of its name first, else of its
// compute capability.
inline CUresult choose(const Call* calls, int count, const Sizes& sizes, const Call*& chosen) {
  CUdevice device = 0;
  int major = 0, minor = 0;
  char name[256] = "";
  CUresult code = cuCtxGetDevice(&device);
  if (code == CUDA_SUCCESS)
    code = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (code == CUDA_SUCCESS)
    code = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  if (code != CUDA_SUCCESS) return code;
  chosen = nullptr;
  for (int i = 0; i < count; ++i) {
    const Call& call = calls[i];
    if (call.major != major || call.minor != minor || !same(call.sizes, sizes)) continue;
    if (chosen == nullptr) {
      chosen = &call;
      continue;
    }
    if (name[0] == 0) code = cuDeviceGetName(name, sizeof name, device);
    if (code != CUDA_SUCCESS) return code;
    if (std::strcmp(call.device, name) == 0) chosen = &call;
  }
  return chosen == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

inline CUresult encode(const Map& map, CUdeviceptr address, CUtensorMap& encoded) {
  const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  return cuTensorMapEncodeTiled(
      &encoded, map.type, map.rank, reinterpret_cast<void*>(address), map.dims, map.strides,
      map.box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, map.swizzle,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// An option's bits where it is set.
using Chosen = std::optional<std::uint64_t>;

template <typename T>
Chosen bits_of(const std::optional<T>& value) {
  if (!value) return std::nullopt;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &*value, sizeof *value);
  return bits;
}

inline CUresult start(const Call& call, const Loaded& loaded, const CUdeviceptr* tensors,
                      const Chosen* options, CUstream stream) {
  CUresult code = CUDA_SUCCESS;
  for (int i = 0; i < call.constant_count && code == CUDA_SUCCESS; ++i) {
    const Constant& constant = call.constants[i];
    CUdeviceptr variable = 0;
    code = cuModuleGetGlobal(&variable, nullptr, loaded.module, constant.name);
    if (code == CUDA_SUCCESS)
      code = cuMemcpyDtoDAsync(variable, tensors[constant.tensor], constant.bytes, stream);
  }
  // Room that does not move while the launch points to it.
  CUtensorMap maps[most_maps];
  std::uint64_t values[most_arguments];
  void* parameters[most_arguments];
  for (int i = 0; i < call.argument_count && code == CUDA_SUCCESS; ++i) {
    const Argument& argument = call.arguments[i];
    parameters[i] = &values[i];
    values[i] = argument.bits;
    if (argument.kind == Argument::tensor) values[i] = tensors[argument.index];
    if (argument.bytes != nullptr) parameters[i] = const_cast<unsigned char*>(argument.bytes);
    if (argument.kind == Argument::option)
      values[i] = options[argument.index].value_or(argument.bits);
    if (argument.kind != Argument::map) continue;
    const Map& map = call.maps[argument.index];
    code = encode(map, tensors[map.tensor], maps[argument.index]);
    parameters[i] = &maps[argument.index];
  }
  if (code != CUDA_SUCCESS) return code;
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = call.cluster[0];
  cluster.value.clusterDim.y = call.cluster[1];
  cluster.value.clusterDim.z = call.cluster[2];
  CUlaunchConfig config{};
  config.gridDimX = call.grid[0];
  config.gridDimY = call.grid[1];
  config.gridDimZ = call.grid[2];
  config.blockDimX = call.block[0];
  config.blockDimY = call.block[1];
  config.blockDimZ = call.block[2];
  config.sharedMemBytes = call.shared;
  config.hStream = stream;
  config.attrs = &cluster;
  config.numAttrs = call.cluster[0] * call.cluster[1] * call.cluster[2] > 1 ? 1 : 0;
  return cuLaunchKernelEx(&config, loaded.function, parameters, nullptr);
}

inline CUresult launch(const Kernel* kernels, const Call* calls, int count, const Sizes& sizes,
                       const CUdeviceptr* tensors, int tensor_count, const Chosen* options,
                       CUstream stream) {
  for (int i = 0; i < tensor_count; ++i)
    if (tensors[i] == 0 || tensors[i] % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  const Call* call = nullptr;
  Loaded loaded;
  CUresult code = choose(calls, count, sizes, call);
  if (code == CUDA_SUCCESS) code = loaded_for(kernels, *call, loaded);
  return code == CUDA_SUCCESS ? start(*call, loaded, tensors, options, stream) : code;
}
