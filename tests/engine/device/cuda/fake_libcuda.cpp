#include "fake_libcuda.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

using namespace fa_tune::cuda;
using fake::State;

namespace fa_tune::cuda {
struct ContextTag {};
struct FunctionTag {
  std::string name;
  int max_dynamic = 48 * 1024;
};
struct ModuleTag {
  explicit ModuleTag(const char* image) : names(image) {}
  std::string names;  // all of the image, in which a kernel's name is looked for
  std::vector<std::unique_ptr<FunctionTag>> functions;
};
struct EventTag {
  double at_us = -1;
};
struct Node {
  std::string kernel;
  LaunchSettings settings;
  LaunchAttribute attribute;
  std::vector<std::vector<char>> values;
};
struct GraphTag {
  explicit GraphTag(std::vector<Node> all) : nodes(std::move(all)) {}
  std::vector<Node> nodes;
};
struct GraphExecTag {
  explicit GraphExecTag(std::vector<Node> all) : nodes(std::move(all)) {}
  std::vector<Node> nodes;
};
struct StreamTag {
  bool capturing = false;
  std::vector<Node> nodes;
};
}  // namespace fa_tune::cuda

namespace {

State& state() {
  static State the;
  return the;
}

// Whatever the driver handed out. What is never given back (as after a hang) goes at the next
// reset.
std::map<void*, std::shared_ptr<void>>& objects() {
  static std::map<void*, std::shared_ptr<void>> all;
  return all;
}

template <typename T, typename... Args>
T* make(const char* kind, Args&&... args) {
  auto object = std::make_shared<T>(std::forward<Args>(args)...);
  T* raw = object.get();
  objects().emplace(raw, std::move(object));
  ++state().live[kind];
  return raw;
}

void drop(const char* kind, void* object) {
  objects().erase(object);
  --state().live[kind];
}

ContextTag the_context;

// Notes the call; the code it must fail with, or success.
Result enter(const char* name, bool needs_context = true) {
  State& s = state();
  s.calls.emplace_back(name);
  const int of_name = ++s.call_counts[name];
  const int of_all = ++s.call_counts["*"];
  if (s.dead != success) return s.dead;
  if (const char* plan = std::getenv("FAKE_CUDA_FAIL"); plan != nullptr) {
    const std::string text = plan;
    const std::size_t first = text.find(':');
    const std::size_t second = text.find(':', first + 1);
    const std::string which = text.substr(0, first);
    const int nth = std::stoi(text.substr(first + 1));
    const Result code = std::stoi(text.substr(second + 1));
    if ((which == "*" && of_all == nth) || (which == name && of_name == nth)) {
      static const std::set<int> sticky = {700, 702, 714, 715, 716, 717, 718, 719, 721, 911, 999};
      if (sticky.contains(code)) s.dead = code;
      return code;
    }
  }
  if (needs_context && !s.has_context) return 201;
  return success;
}

Result run(const Node& node) {
  State& s = state();
  const fake::Kernel& kernel = s.kernels.at(node.kernel);
  std::vector<void*> parameters;
  parameters.reserve(node.values.size());
  for (const auto& value : node.values) parameters.push_back(const_cast<char*>(value.data()));
  ++s.kernels_run;
  s.clock_us += kernel.us;
  if (kernel.hangs) s.hung = true;
  if (kernel.error != success) {
    s.pending = kernel.error;
  } else if (kernel.body) {
    kernel.body(node.settings, parameters.data());
  }
  return success;
}

bool inside(DevicePointer pointer, std::size_t bytes) {
  for (const auto& [start, size] : state().blocks) {
    if (pointer >= start && pointer + bytes <= start + size) return true;
  }
  return false;
}

}  // namespace

extern "C" {

State* fake_cuda_state() { return &state(); }
void fake_cuda_reset() {
  for (const auto& [start, bytes] : state().blocks) std::free(reinterpret_cast<void*>(start));
  state() = State{};
  objects().clear();
}

Result cuInit(unsigned) {
  const Result failed = enter("cuInit", false);
  return failed != success ? failed : state().init;
}
Result cuDriverGetVersion(int* version) {
  *version = 13000;
  return enter("cuDriverGetVersion", false);
}
Result cuGetErrorName(Result code, const char** name) {
  static std::string text;
  text = "FAKE_ERROR_" + std::to_string(code);
  *name = text.c_str();
  return success;
}
Result cuGetErrorString(Result, const char** text) {
  *text = "told by the fake driver";
  return success;
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
Result cuDeviceGetAttribute(int* value, int attribute, DeviceOrdinal) {
  const Result failed = enter("cuDeviceGetAttribute", false);
  switch (attribute) {
    case device_clock_rate:
      *value = state().highest_khz;
      break;
    case device_multiprocessor_count:
      *value = 132;
      break;
    case device_l2_cache_size:
      *value = state().l2_bytes;
      break;
    case device_compute_capability_major:
      *value = 9;
      break;
    case device_compute_capability_minor:
      *value = 0;
      break;
    case device_max_shared_per_block_optin:
      *value = state().max_shared;
      break;
    default:
      return error_invalid_value;
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
  return success;
}
Result cuDevicePrimaryCtxRelease_v2(DeviceOrdinal) {
  --state().live["context"];
  return enter("cuDevicePrimaryCtxRelease_v2", false);
}
Result cuCtxSetCurrent(Context context) {
  if (const Result failed = enter("cuCtxSetCurrent", false)) return failed;
  state().has_context = context != nullptr;
  return success;
}

Result cuModuleLoadDataEx(Module* module, const void* image, unsigned options, const int* names,
                          void** values) {
  const Result failed = enter("cuModuleLoadDataEx");
  if (failed != success) {
    for (unsigned i = 0; i + 1 < options; ++i) {
      if (names[i] != jit_error_log_buffer) continue;
      const auto size = reinterpret_cast<std::size_t>(values[i + 1]);
      std::snprintf(static_cast<char*>(values[i]), size, "%s", state().jit_log.c_str());
    }
    return failed;
  }
  *module = make<ModuleTag>("module", static_cast<const char*>(image));
  return success;
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
  return success;
}
Result cuFuncGetAttribute(int* value, int attribute, Function function) {
  if (const Result failed = enter("cuFuncGetAttribute")) return failed;
  if (attribute != function_max_dynamic_shared) return error_invalid_value;
  *value = function->max_dynamic;
  return success;
}
Result cuFuncSetAttribute(Function function, int attribute, int value) {
  if (const Result failed = enter("cuFuncSetAttribute")) return failed;
  if (attribute == function_non_portable_cluster_size) return success;
  if (attribute != function_max_dynamic_shared || value > state().max_shared) {
    return error_invalid_value;
  }
  function->max_dynamic = value;
  return success;
}
Result cuFuncGetParamInfo(Function function, std::size_t index, std::size_t* offset,
                          std::size_t* size) {
  if (const Result failed = enter("cuFuncGetParamInfo")) return failed;
  const auto& sizes = state().kernels.at(function->name).parameter_sizes;
  if (index >= sizes.size()) return error_invalid_value;
  *offset = 8 * index;
  *size = sizes[index];
  return success;
}

Result cuMemAlloc_v2(DevicePointer* pointer, std::size_t bytes) {
  if (const Result failed = enter("cuMemAlloc_v2")) return failed;
  State& s = state();
  if (bytes == 0) return error_invalid_value;
  if (s.used + bytes > s.memory) return error_out_of_memory;
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  *pointer = reinterpret_cast<DevicePointer>(memory);
  s.blocks[*pointer] = bytes;
  s.used += bytes;
  ++s.live["memory"];
  return success;
}
Result cuMemFree_v2(DevicePointer pointer) {
  State& s = state();
  if (const auto block = s.blocks.find(pointer); block != s.blocks.end()) {
    s.used -= block->second;
    --s.live["memory"];
    std::free(reinterpret_cast<void*>(pointer));
    s.blocks.erase(block);
  }
  return enter("cuMemFree_v2");
}
Result cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  if (const Result failed = enter("cuMemHostAlloc")) return failed;
  *memory = std::malloc(bytes);
  ++state().live["host memory"];
  return success;
}
Result cuMemFreeHost(void* memory) {
  std::free(memory);
  --state().live["host memory"];
  return enter("cuMemFreeHost");
}
Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = state().memory - state().used;
  *total = state().memory;
  return enter("cuMemGetInfo_v2");
}
Result cuMemsetD32Async(DevicePointer to, std::uint32_t value, std::size_t count, Stream) {
  if (const Result failed = enter("cuMemsetD32Async")) return failed;
  if (!inside(to, count * sizeof value)) return error_invalid_value;
  std::fill_n(reinterpret_cast<std::uint32_t*>(to), count, value);
  state().clock_us += state().memset_us;
  return success;
}
Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, Stream) {
  if (const Result failed = enter("cuMemcpyHtoDAsync_v2")) return failed;
  if (!inside(to, bytes)) return error_invalid_value;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return success;
}
Result cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes, Stream) {
  if (const Result failed = enter("cuMemcpyDtoDAsync_v2")) return failed;
  if (!inside(from, bytes) || !inside(to, bytes)) return error_invalid_value;
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return success;
}
Result cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, Stream) {
  if (const Result failed = enter("cuMemcpyDtoHAsync_v2")) return failed;
  if (!inside(from, bytes)) return error_invalid_value;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return success;
}

Result cuStreamCreate(Stream* stream, unsigned flags) {
  if (const Result failed = enter("cuStreamCreate")) return failed;
  if (flags != stream_non_blocking) return error_invalid_value;
  *stream = make<StreamTag>("stream");
  return success;
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
  return success;
}
Result cuStreamEndCapture(Stream stream, Graph* graph) {
  const Result failed = enter("cuStreamEndCapture");
  if (!stream->capturing) return 903;
  stream->capturing = false;
  if (failed != success) return failed;
  *graph = make<GraphTag>("graph", std::move(stream->nodes));
  return success;
}
Result cuEventCreate(Event* event, unsigned) {
  if (const Result failed = enter("cuEventCreate")) return failed;
  *event = make<EventTag>("event");
  return success;
}
Result cuEventDestroy_v2(Event event) {
  drop("event", event);
  return enter("cuEventDestroy_v2");
}
Result cuEventRecord(Event event, Stream stream) {
  if (const Result failed = enter("cuEventRecord")) return failed;
  if (stream->capturing) return 907;
  event->at_us = state().clock_us;
  return success;
}
Result cuEventQuery(Event) {
  if (const Result failed = enter("cuEventQuery")) return failed;
  State& s = state();
  if (s.pending != success) {
    s.dead = s.pending;
    return s.dead;
  }
  return s.hung ? error_not_ready : success;
}
Result cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  if (const Result failed = enter("cuEventElapsedTime")) return failed;
  *milliseconds = static_cast<float>((end->at_us - start->at_us) / 1e3);
  return success;
}

Result cuLaunchKernelEx(const LaunchSettings* settings, Function function, void** parameters,
                        void**) {
  if (const Result failed = enter("cuLaunchKernelEx")) return failed;
  State& s = state();
  const auto threads = std::uint64_t{settings->block_x} * settings->block_y * settings->block_z;
  if (threads == 0 || threads > 1024) return error_invalid_value;
  if (static_cast<int>(settings->shared_bytes) > function->max_dynamic) return error_invalid_value;

  Node node{function->name, *settings, {}, {}};
  fake::LaunchRecord record{function->name, *settings, {1, 1, 1}, settings->stream->capturing};
  if (settings->attribute_count == 1 && settings->attributes->id == launch_cluster_dimension) {
    std::copy_n(settings->attributes->value.cluster, 3, record.cluster);
  }
  s.launches.push_back(record);
  const auto& sizes = s.kernels.at(function->name).parameter_sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const char* bytes = static_cast<const char*>(parameters[i]);
    node.values.emplace_back(bytes, bytes + sizes[i]);
  }
  if (!settings->stream->capturing) return run(node);
  settings->stream->nodes.push_back(std::move(node));
  return success;
}
Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  if (const Result failed = enter("cuGraphInstantiateWithFlags")) return failed;
  *exec = make<GraphExecTag>("exec", graph->nodes);
  return success;
}
Result cuGraphLaunch(GraphExec exec, Stream) {
  if (const Result failed = enter("cuGraphLaunch")) return failed;
  ++state().graph_launches;
  state().clock_us += state().graph_gap_us;
  for (const Node& node : exec->nodes) run(node);
  return success;
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
