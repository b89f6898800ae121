#include "engine/model/kernel_image.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace fa_tune {

std::vector<PlannedKernel> PlannedLaunch::kernels() const {
  if (steps.empty()) return {{0, config, arguments, maps}};
  std::vector<PlannedKernel> all;
  for (const PlannedStep& step : steps)
    if (const auto* kernel = std::get_if<PlannedKernel>(&step)) all.push_back(*kernel);
  return all;
}

KernelResources most_of(const KernelResources& a, const KernelResources& b) {
  return {.registers = std::max(a.registers, b.registers),
          .spill_store_bytes = std::max(a.spill_store_bytes, b.spill_store_bytes),
          .spill_load_bytes = std::max(a.spill_load_bytes, b.spill_load_bytes),
          .stack_bytes = std::max(a.stack_bytes, b.stack_bytes),
          .static_shared_bytes = std::max(a.static_shared_bytes, b.static_shared_bytes)};
}

KernelResources most_of(const KernelImage& image) {
  KernelResources most = image.resources;
  for (const KernelEntry& entry : image.more) most = most_of(most, entry.resources);
  return most;
}

std::string plain_name(const std::string& kernel) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(kernel.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return kernel;
  std::string name = text.get();
  // An instance of a template has its result's type in front.
  if (name.starts_with("void ")) name.erase(0, 5);
  int depth = 0;
  for (std::size_t i = 1; i < name.size(); ++i) {
    if (name[i] == '(' && depth == 0) return name.substr(0, i);
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
  }
  return name;
}

}  // namespace fa_tune
