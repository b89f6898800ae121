/* A libcuda that runs nothing: it tells whoever asked what was launched, as the real header has it.
   So the structures that a module makes by hand are held against cuda.h. */
#include <cuda.h>
#include <string.h>

typedef struct {
  unsigned int grid[3], block[3], shared, attributes, cluster[3];
  CUstream stream;
  void** parameters;
} Seen;

/* In the place of a tensor map's bits. */
typedef struct {
  void* address;
  unsigned int type, rank, box[5], swizzle;
  unsigned long long dims[5];
  unsigned int strides[4];
} Map;

typedef void (*Told)(const Seen*);
static Told told;
/* Of memory that is set or copied: to where, with or from what, how many bytes. */
typedef void (*ToldOfMove)(const char*, CUdeviceptr, unsigned long long, size_t);
static ToldOfMove told_of_move;
static int loads;
static CUcontext current;

void fake_tell(Told teller) { told = teller; }
void fake_tell_moves(ToldOfMove teller) { told_of_move = teller; }
int fake_loads(void) { return loads; }

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : "an error";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = (CUcontext)(size_t)(0x1000 + device);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  *mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (current == NULL || memcmp(image, "\177ELF", 4) != 0) return CUDA_ERROR_INVALID_IMAGE;
  *module = (CUmodule)(size_t)(0x2000 + ++loads);
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  *function = (CUfunction)module;
  return name[0] == 0 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  (void)function;
  return attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value >= 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return current == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  *id = (unsigned long long)(size_t)context;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  (void)device;
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  (void)device;
  strncpy(name, "second GPU", (size_t)length);
  return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  (void)bytes, (void)module;
  *address = 0x5000;
  return strcmp(name, "table") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  (void)stream;
  if (told_of_move != NULL) {
    told_of_move("copy", to, from, bytes);
    return CUDA_SUCCESS;
  }
  return to == 0x5000 && from == 0x7000 && bytes == 64 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  (void)stream;
  if (told_of_move == NULL) return CUDA_ERROR_INVALID_VALUE;
  told_of_move("set", to, value, bytes);
  return CUDA_SUCCESS;
}
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
  Map made;
  unsigned int i;
  if ((size_t)map % 64 != 0 || (size_t)address % 16 != 0 || rank < 1 || rank > 5 ||
      interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || promotion != CU_TENSOR_MAP_L2_PROMOTION_L2_128B ||
      fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
    return CUDA_ERROR_INVALID_VALUE;
  memset(&made, 0, sizeof made);
  made.address = address;
  made.type = type;
  made.rank = rank;
  made.swizzle = swizzle;
  for (i = 0; i < rank; ++i) {
    if (steps[i] != 1) return CUDA_ERROR_INVALID_VALUE;
    made.dims[i] = dims[i];
    made.box[i] = box[i];
    if (i > 0 && strides[i - 1] % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
    if (i > 0) made.strides[i - 1] = (unsigned int)strides[i - 1];
  }
  memset(map, 0, sizeof *map);
  memcpy(map, &made, sizeof made);
  return sizeof made <= sizeof *map ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  Seen seen = {{config->gridDimX, config->gridDimY, config->gridDimZ},
               {config->blockDimX, config->blockDimY, config->blockDimZ},
               config->sharedMemBytes,
               config->numAttrs,
               {1, 1, 1},
               config->hStream,
               parameters};
  if (extra != NULL || function == NULL || current == NULL) return CUDA_ERROR_INVALID_VALUE;
  if (config->numAttrs == 1 && config->attrs[0].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
    seen.cluster[0] = config->attrs[0].value.clusterDim.x;
    seen.cluster[1] = config->attrs[0].value.clusterDim.y;
    seen.cluster[2] = config->attrs[0].value.clusterDim.z;
  }
  told(&seen);
  return CUDA_SUCCESS;
}
