#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fake_libcuda_state.hpp"

using namespace fa_tune::cuda;
using namespace fa_tune::cuda::fake;

extern "C" {

State* fake_cuda_state() { return &state(); }
void fake_cuda_reset() {
  for (const auto& [start, bytes] : state().blocks) std::free(reinterpret_cast<void*>(start));
  state() = State{};
  objects().clear();
}

Result cuInit(unsigned) {
  const Result failed = enter("cuInit", false);
  return failed != kSuccess ? failed : state().init;
}
Result cuDriverGetVersion(int* version) {
  *version = 13000;
  return enter("cuDriverGetVersion", false);
}
Result cuGetErrorName(Result code, const char** name) {
  static std::string text;
  text = "FAKE_ERROR_" + std::to_string(code);
  *name = text.c_str();
  return kSuccess;
}
Result cuGetErrorString(Result, const char** text) {
  *text = "told by the fake driver";
  return kSuccess;
}

Result cuDeviceGetCount(int* count) {
  *count = state().gpus;
  return enter("cuDeviceGetCount", false);
}
Result cuDeviceGet(DeviceOrdinal* device, int ordinal) {
  *device = ordinal;
  return enter("cuDeviceGet", false);
}
Result cuDeviceGetName(char* name, int length, DeviceOrdinal device) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %d", device);
  return enter("cuDeviceGetName", false);
}
Result cuDeviceGetUuid_v2(char* uuid, DeviceOrdinal device) {
  std::fill_n(uuid, 16, static_cast<char>(device));
  return enter("cuDeviceGetUuid_v2", false);
}
Result cuDeviceGetAttribute(int* value, int attribute, DeviceOrdinal) {
  const Result failed = enter("cuDeviceGetAttribute", false);
  switch (attribute) {
    case kDeviceClockRate:
      *value = state().highest_khz;
      break;
    case kDeviceMultiprocessorCount:
      *value = state().sms;
      break;
    case kDeviceL2CacheSize:
      *value = state().l2_bytes;
      break;
    case kDeviceComputeCapabilityMajor:
      *value = 9;
      break;
    case kDeviceComputeCapabilityMinor:
      *value = 0;
      break;
    case kDeviceMaxSharedPerBlockOptin:
      *value = state().max_shared;
      break;
    default:
      return kErrorInvalidValue;
  }
  return failed;
}
Result cuDeviceGetPCIBusId(char* id, int length, DeviceOrdinal device) {
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02d:00.0", device);
  return enter("cuDeviceGetPCIBusId", false);
}
Result cuDevicePrimaryCtxRetain(Context* context, DeviceOrdinal) {
  if (const Result failed = enter("cuDevicePrimaryCtxRetain", false)) return failed;
  ++state().live["context"];
  *context = &the_context;
  return kSuccess;
}
Result cuDevicePrimaryCtxRelease_v2(DeviceOrdinal) {
  --state().live["context"];
  return enter("cuDevicePrimaryCtxRelease_v2", false);
}
Result cuCtxSetCurrent(Context context) {
  if (const Result failed = enter("cuCtxSetCurrent", false)) return failed;
  state().current = context;
  return kSuccess;
}

Result cuModuleLoadDataEx(Module* module, const void* image, unsigned options, const int* names,
                          void** values) {
  const Result failed = enter("cuModuleLoadDataEx");
  if (failed != kSuccess) {
    for (unsigned i = 0; i + 1 < options; ++i) {
      if (names[i] != kJitErrorLogBuffer) continue;
      const auto size = reinterpret_cast<std::size_t>(values[i + 1]);
      std::snprintf(static_cast<char*>(values[i]), size, "%s", state().jit_log.c_str());
    }
    return failed;
  }
  *module = make<ModuleTag>("module", static_cast<const char*>(image));
  return kSuccess;
}
Result cuModuleUnload(Module module) {
  drop("module", module);
  return enter("cuModuleUnload");
}
Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  if (const Result failed = enter("cuModuleGetFunction")) return failed;
  if (module->names.find(name) == std::string::npos || !state().kernels.contains(name)) return 500;
  auto& made = module->functions.emplace_back(std::make_unique<FunctionTag>());
  made->name = name;
  *function = made.get();
  return kSuccess;
}
Result cuModuleGetGlobal_v2(DevicePointer* pointer, std::size_t* bytes, Module, const char* name) {
  if (const Result failed = enter("cuModuleGetGlobal_v2")) return failed;
  const auto found = state().variables.find(name);
  if (found == state().variables.end()) return kErrorNotFound;
  *pointer = reinterpret_cast<DevicePointer>(found->second.data());
  *bytes = found->second.size();
  return kSuccess;
}
Result cuFuncGetAttribute(int* value, int attribute, Function function) {
  if (const Result failed = enter("cuFuncGetAttribute")) return failed;
  if (attribute != kFunctionMaxDynamicShared) return kErrorInvalidValue;
  *value = function->max_dynamic;
  return kSuccess;
}
Result cuFuncSetAttribute(Function function, int attribute, int value) {
  if (const Result failed = enter("cuFuncSetAttribute")) return failed;
  if (attribute == kFunctionNonPortableClusterSize) return kSuccess;
  if (attribute != kFunctionMaxDynamicShared || value > state().max_shared) {
    return kErrorInvalidValue;
  }
  function->max_dynamic = value;
  return kSuccess;
}
Result cuFuncGetParamInfo(Function function, std::size_t index, std::size_t* offset,
                          std::size_t* size) {
  if (const Result failed = enter("cuFuncGetParamInfo")) return failed;
  const auto& sizes = state().kernels.at(function->name).parameter_sizes;
  if (index >= sizes.size()) return kErrorInvalidValue;
  *offset = 8 * index;
  *size = sizes[index];
  return kSuccess;
}

Result cuStreamCreate(Stream* stream, unsigned flags) {
  if (const Result failed = enter("cuStreamCreate")) return failed;
  if (flags != kStreamNonBlocking) return kErrorInvalidValue;
  *stream = make<StreamTag>("stream", state().current);
  return kSuccess;
}
Result cuStreamDestroy_v2(Stream stream) {
  drop("stream", stream);
  return enter("cuStreamDestroy_v2");
}
Result cuStreamBeginCapture_v2(Stream stream, int) {
  if (const Result failed = enter("cuStreamBeginCapture_v2")) return failed;
  if (stream->capturing) return 901;
  stream->capturing = true;
  stream->nodes.clear();
  return kSuccess;
}
Result cuStreamEndCapture(Stream stream, Graph* graph) {
  const Result failed = enter("cuStreamEndCapture");
  if (!stream->capturing) return 903;
  stream->capturing = false;
  if (failed != kSuccess) return failed;
  *graph = make<GraphTag>("graph", std::move(stream->nodes));
  return kSuccess;
}
Result cuEventCreate(Event* event, unsigned) {
  if (const Result failed = enter("cuEventCreate")) return failed;
  *event = make<EventTag>("event");
  return kSuccess;
}
Result cuEventDestroy_v2(Event event) {
  drop("event", event);
  return enter("cuEventDestroy_v2");
}
Result cuEventRecord(Event event, Stream stream) {
  if (const Result failed = enter("cuEventRecord")) return failed;
  if (stream->capturing) return 907;
  event->at_us = state().clock_us;
  return kSuccess;
}
Result cuEventQuery(Event) {
  if (const Result failed = enter("cuEventQuery")) return failed;
  State& s = state();
  if (s.pending != kSuccess) {
    s.dead = s.pending;
    return s.dead;
  }
  return s.hung ? kErrorNotReady : kSuccess;
}
Result cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  if (const Result failed = enter("cuEventElapsedTime")) return failed;
  *milliseconds = static_cast<float>((end->at_us - start->at_us) / 1e3);
  return kSuccess;
}

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function function, int,
                                                   std::size_t) {
  if (const Result failed = enter("cuOccupancyMaxActiveBlocksPerMultiprocessor")) return failed;
  *blocks = state().kernels.at(function->name).blocks_an_sm;
  return kSuccess;
}
Result cuLaunchKernelEx(const LaunchSettings* settings, Function function, void** parameters,
                        void**) {
  if (const Result failed = enter("cuLaunchKernelEx")) return failed;
  State& s = state();
  const auto threads = std::uint64_t{settings->block_x} * settings->block_y * settings->block_z;
  if (threads == 0 || threads > 1024) return kErrorInvalidValue;
  if (static_cast<int>(settings->shared_bytes) > function->max_dynamic) return kErrorInvalidValue;

  Node node{function->name, *settings, {}, {}};
  fake::LaunchRecord record{function->name,
                            *settings,
                            {1, 1, 1},
                            false,
                            false,
                            settings->stream->capturing,
                            settings->stream->context->sms};
  for (std::uint32_t i = 0; i < settings->attribute_count; ++i) {
    const LaunchAttribute& attribute = settings->attributes[i];
    if (attribute.id == kLaunchClusterDimension)
      std::copy_n(attribute.value.cluster, 3, record.cluster);
    if (attribute.id == kLaunchCooperative) record.cooperative = attribute.value.cooperative != 0;
    if (attribute.id == kLaunchProgrammatic)
      record.programmatic = attribute.value.programmatic != 0;
  }
  s.launches.push_back(record);
  const auto& sizes = s.kernels.at(function->name).parameter_sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const char* bytes = static_cast<const char*>(parameters[i]);
    node.values.emplace_back(bytes, bytes + sizes[i]);
  }
  if (!settings->stream->capturing) return run(node);
  settings->stream->nodes.push_back(std::move(node));
  return kSuccess;
}
Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  if (const Result failed = enter("cuGraphInstantiateWithFlags")) return failed;
  *exec = make<GraphExecTag>("exec", graph->nodes);
  return kSuccess;
}
Result cuGraphLaunch(GraphExec exec, Stream) {
  if (const Result failed = enter("cuGraphLaunch")) return failed;
  ++state().graph_launches;
  state().clock_us += state().graph_gap_us;
  for (const Node& node : exec->nodes) run(node);
  return kSuccess;
}
Result cuGraphExecDestroy(GraphExec exec) {
  drop("exec", exec);
  return enter("cuGraphExecDestroy");
}
Result cuGraphDestroy(Graph graph) {
  drop("graph", graph);
  return enter("cuGraphDestroy");
}

}  // extern "C"
