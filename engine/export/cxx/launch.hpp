
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
  enum Kind { tensor, map, scalar, option, computed } kind;
  int index;                             // of the tensor, the map, the option or the value
  std::uint64_t bits;                    // of a scalar, or of an option that is not set
  const unsigned char* bytes = nullptr;  // of a scalar of more than these
};

struct Constant {
  const char* name;
  int tensor;
  std::size_t bytes;
};

struct Kernel {
  const char* const* entries;
  const unsigned char* code;
};

// A kernel, or memory that is set or copied.
struct Step {
  enum Kind { kernel, set, copy } kind;
  int to, from;  // tensors
  std::size_t bytes;
  unsigned char value;
  int entry;
  unsigned grid[3], block[3], cluster[3], shared;
  bool cooperative;   // all blocks run at once
  bool programmatic;  // begins before the kernel in front of it has ended
  const Argument* arguments;
  int argument_count;
  const Map* maps;
  int map_count;
};

// What is launched at some sizes.
struct Sized {
  Step steps[most_steps];
  std::size_t bytes[most_tensors];    // of each tensor
  std::uint64_t values[most_values];  // of scalars that follow from the sizes
  Map maps[most_steps][most_maps];
};

struct Call {
  int kernel;
  int choice;          // the number by which dispatch() asks for it
  int major, minor;    // compute capability
  const char* device;  // that it was tuned on
  Sizes sizes;
  const Step* steps;  // one after another
  int step_count;
  const Constant* constants;
  int constant_count;
  const std::size_t* bytes;  // of each tensor
  // Where it is for any sizes: changes what rests on them, or says why it is not for these.
  const char* (*compute)(const Sizes& sizes, Sized& at);
};

// Why a call is not for these sizes; nullptr and what it launches where it is.
inline const char* at_sizes(const Call& call, const Sizes& sizes, Sized& at) {
  if (call.compute == nullptr && !same(call.sizes, sizes))
    return "no kernel was tuned for these sizes";
  for (int i = 0; i < call.step_count; ++i) {
    at.steps[i] = call.steps[i];
    for (int j = 0; j < call.steps[i].map_count; ++j) at.maps[i][j] = call.steps[i].maps[j];
  }
  for (std::size_t i = 0; i < most_tensors; ++i) at.bytes[i] = call.bytes[i];
  return call.compute == nullptr ? nullptr : call.compute(sizes, at);
}

struct Loaded {
  CUmodule module = nullptr;
  CUfunction functions[most_steps] = {};  // of each step that is a kernel
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

inline unsigned blocks_of_cluster(const Step& step) {
  return step.cluster[0] * step.cluster[1] * step.cluster[2];
}

inline CUresult load(const Kernel& kernel, const Call& call, Loaded& loaded) {
  const Relaxed relaxed;
  CUresult code = cuModuleLoadData(&loaded.module, kernel.code);
  for (int i = 0; i < call.step_count && code == CUDA_SUCCESS; ++i) {
    const Step& step = call.steps[i];
    if (step.kind != Step::kernel) continue;
    CUfunction& function = loaded.functions[i];
    code = cuModuleGetFunction(&function, loaded.module, kernel.entries[step.entry]);
    if (code == CUDA_SUCCESS && blocks_of_cluster(step) > 8)
      code = cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    // A kernel may be there twice, with different sizes.
    unsigned shared = 0;
    for (int j = 0; j < call.step_count; ++j)
      if (call.steps[j].kind == Step::kernel && call.steps[j].entry == step.entry &&
          call.steps[j].shared > shared)
        shared = call.steps[j].shared;
    if (code == CUDA_SUCCESS)
      code = cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                static_cast<int>(shared));
  }
  return code;
}

// Of the current context, loaded at its first use. Calls that share a kernel may want different
// sizes of shared memory, so each call has functions of its own.
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
  if (code == CUDA_SUCCESS) all[{id, &call}] = loaded;
  return code;
}

// What is for these sizes on the current device: first what dispatch() names, then what was tuned
// for them before what is for any, then what was tuned on a device of its name before others of its
// compute capability.
inline CUresult choose(const Call* calls, int count, const Sizes& sizes, const Call*& chosen,
                       Sized& at) {
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
  bool is_tuned = false;
  const int wanted = dispatch(sizes);
  for (int i = 0; i < count; ++i) {
    const Call& call = calls[i];
    if (call.major != major || call.minor != minor || at_sizes(call, sizes, at) != nullptr)
      continue;
    if (wanted >= 0) {
      if (chosen == nullptr || (call.choice == wanted && chosen->choice != wanted)) chosen = &call;
      continue;
    }
    const bool tuned = same(call.sizes, sizes);
    if (chosen == nullptr || (tuned && !is_tuned)) {
      chosen = &call;
      is_tuned = tuned;
      continue;
    }
    if (is_tuned && !tuned) continue;
    if (name[0] == 0) code = cuDeviceGetName(name, sizeof name, device);
    if (code != CUDA_SUCCESS) return code;
    if (std::strcmp(call.device, name) == 0) chosen = &call;
  }
  if (chosen == nullptr) return CUDA_ERROR_NOT_FOUND;
  at_sizes(*chosen, sizes, at);
  return CUDA_SUCCESS;
}

inline const char* why_not(const Call* calls, int count, const Sizes& sizes) {
  Sized at;
  const char* why = nullptr;
  for (int i = 0; i < count; ++i) {
    const char* const other = at_sizes(calls[i], sizes, at);
    if (other == nullptr) return nullptr;
    if (why == nullptr || calls[i].compute != nullptr) why = other;
  }
  return why;
}

// Of a tensor, for these sizes on the current device; 0 if there is no kernel for them.
inline std::size_t bytes_of(const Call* calls, int count, const Sizes& sizes, int tensor) {
  const Call* call = nullptr;
  Sized at;
  return choose(calls, count, sizes, call, at) == CUDA_SUCCESS ? at.bytes[tensor] : 0;
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

inline CUresult start(const Step& step, const Map* step_maps, CUfunction function, const Sized& at,
                      const CUdeviceptr* tensors, const Chosen* options, CUstream stream) {
  if (step.kind == Step::set)
    return cuMemsetD8Async(tensors[step.to], step.value, step.bytes, stream);
  if (step.kind == Step::copy)
    return cuMemcpyDtoDAsync(tensors[step.to], tensors[step.from], step.bytes, stream);
  CUresult code = CUDA_SUCCESS;
  // Room that does not move while the launch points to it.
  CUtensorMap maps[most_maps];
  std::uint64_t values[most_arguments];
  void* parameters[most_arguments];
  for (int i = 0; i < step.argument_count && code == CUDA_SUCCESS; ++i) {
    const Argument& argument = step.arguments[i];
    parameters[i] = &values[i];
    values[i] = argument.bits;
    if (argument.kind == Argument::tensor) values[i] = tensors[argument.index];
    if (argument.bytes != nullptr) parameters[i] = const_cast<unsigned char*>(argument.bytes);
    if (argument.kind == Argument::computed) values[i] = at.values[argument.index];
    if (argument.kind == Argument::option)
      values[i] = options[argument.index].value_or(argument.bits);
    if (argument.kind != Argument::map) continue;
    const Map& map = step_maps[argument.index];
    code = encode(map, tensors[map.tensor], maps[argument.index]);
    parameters[i] = &maps[argument.index];
  }
  if (code != CUDA_SUCCESS) return code;
  CUlaunchAttribute attributes[3] = {};
  CUlaunchConfig config{};
  config.attrs = attributes;
  if (blocks_of_cluster(step) > 1) {
    CUlaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = step.cluster[0];
    cluster.value.clusterDim.y = step.cluster[1];
    cluster.value.clusterDim.z = step.cluster[2];
  }
  if (step.cooperative) {
    CUlaunchAttribute& cooperative = attributes[config.numAttrs++];
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
  }
  if (step.programmatic) {
    CUlaunchAttribute& programmatic = attributes[config.numAttrs++];
    programmatic.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    programmatic.value.programmaticStreamSerializationAllowed = 1;
  }
  config.gridDimX = step.grid[0];
  config.gridDimY = step.grid[1];
  config.gridDimZ = step.grid[2];
  config.blockDimX = step.block[0];
  config.blockDimY = step.block[1];
  config.blockDimZ = step.block[2];
  config.sharedMemBytes = step.shared;
  config.hStream = stream;
  return cuLaunchKernelEx(&config, function, parameters, nullptr);
}

inline CUresult start(const Call& call, const Sized& at, const Loaded& loaded,
                      const CUdeviceptr* tensors, const Chosen* options, CUstream stream) {
  CUresult code = CUDA_SUCCESS;
  for (int i = 0; i < call.constant_count && code == CUDA_SUCCESS; ++i) {
    const Constant& constant = call.constants[i];
    CUdeviceptr variable = 0;
    code = cuModuleGetGlobal(&variable, nullptr, loaded.module, constant.name);
    if (code == CUDA_SUCCESS)
      code = cuMemcpyDtoDAsync(variable, tensors[constant.tensor], constant.bytes, stream);
  }
  for (int i = 0; i < call.step_count && code == CUDA_SUCCESS; ++i)
    code = start(at.steps[i], at.maps[i], loaded.functions[i], at, tensors, options, stream);
  return code;
}

inline CUresult launch(const Kernel* kernels, const Call* calls, int count, const Sizes& sizes,
                       const CUdeviceptr* tensors, int tensor_count, const Chosen* options,
                       CUstream stream) {
  for (int i = 0; i < tensor_count; ++i)
    if (tensors[i] == 0 || tensors[i] % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  const Call* call = nullptr;
  Loaded loaded;
  Sized at;
  CUresult code = choose(calls, count, sizes, call, at);
  if (code == CUDA_SUCCESS) code = loaded_for(kernels, *call, loaded);
  return code == CUDA_SUCCESS ? start(*call, at, loaded, tensors, options, stream) : code;
}
