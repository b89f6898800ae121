#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fake_libcuda.hpp"

// What the entry points of the fake driver share: the things it hands out, and its one state.
namespace fa_tune::cuda {
struct ContextTag {
  int sms = 0;  // of a green context; 0: all of the GPU's
};
struct GreenContextTag {
  ContextTag context;
};
struct DevResourceDescriptorTag {
  explicit DevResourceDescriptorTag(int count) : sms(count) {}
  int sms = 0;
};
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
  std::function<void()> memory = {};  // of a node that fills or copies, instead of all that
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
  explicit StreamTag(Context of) : context(of) {}
  Context context = nullptr;
  bool capturing = false;
  std::vector<Node> nodes;
};
}  // namespace fa_tune::cuda

namespace fa_tune::cuda::fake {

inline State& state() {
  static State the;
  return the;
}

// Whatever the driver handed out. What is never given back (as after a hang) goes at the next
// reset.
inline std::map<void*, std::shared_ptr<void>>& objects() {
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

inline void drop(const char* kind, void* object) {
  objects().erase(object);
  --state().live[kind];
}

inline ContextTag the_context;

// Notes the call; the code it must fail with, or success.
inline Result enter(const char* name, bool needs_context = true) {
  State& s = state();
  s.calls.emplace_back(name);
  const int of_name = ++s.call_counts[name];
  const int of_all = ++s.call_counts["*"];
  if (s.dead != kSuccess) return s.dead;
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
  if (needs_context && s.current == nullptr) return 201;
  return kSuccess;
}

inline Result run(const Node& node) {
  if (node.memory) {
    node.memory();
    return kSuccess;
  }
  State& s = state();
  const fake::Kernel& kernel = s.kernels.at(node.kernel);
  std::vector<void*> parameters;
  parameters.reserve(node.values.size());
  for (const auto& value : node.values) parameters.push_back(const_cast<char*>(value.data()));
  ++s.kernels_run;
  s.clock_us += kernel.us;
  if (kernel.hangs) s.hung = true;
  if (kernel.error != kSuccess) {
    s.pending = kernel.error;
  } else if (kernel.body) {
    kernel.body(node.settings, parameters.data());
  }
  return kSuccess;
}

// Work on memory: now, or when the graph that is captured is launched.
inline Result run_or_capture(Stream stream, std::function<void()> memory) {
  if (stream->capturing)
    stream->nodes.push_back({{}, {}, {}, {}, std::move(memory)});
  else
    memory();
  return kSuccess;
}

inline bool inside(DevicePointer pointer, std::size_t bytes) {
  for (const auto& [start, size] : state().blocks) {
    if (pointer >= start && pointer + bytes <= start + size) return true;
  }
  for (const auto& [name, held] : state().variables) {
    const auto start = reinterpret_cast<DevicePointer>(held.data());
    if (pointer >= start && pointer + bytes <= start + held.size()) return true;
  }
  return false;
}

}  // namespace fa_tune::cuda::fake
