#include "engine/tuner/task/kernel_identity.hpp"

#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/util/hash.hpp"

namespace fa_tune::tuner {
namespace {

std::string text_of(const Dim3& dims) { return fmt::format("{}x{}x{}", dims.x, dims.y, dims.z); }

}  // namespace

// How one kernel is started. `planned` has the config, arguments and maps.
void KernelIdentity::add_kernel(std::string_view code, const auto& planned) {
  const LaunchConfig& launch = planned.config;
  auto end = std::back_inserter(text_);
  fmt::format_to(end, "code {} grid {} block {} cluster {} shared {} arguments {}\n", code,
                 text_of(launch.grid), text_of(launch.block), text_of(launch.cluster),
                 launch.dynamic_shared_bytes, fmt::join(planned.arguments, ","));
  if (launch.cooperative) text_ += "cooperative\n";
  if (launch.programmatic) text_ += "programmatic\n";
  for (const MappedTensor& map : planned.maps) {
    fmt::format_to(end, "map {} of {} box {} swizzle {} axes", map.argument, map.tensor,
                   fmt::join(map.box, "x"), map.swizzle_bytes);
    for (const MapAxis& axis : map.axes)
      fmt::format_to(end, " {}%{}/{}", axis.letter, axis.modulo, axis.divisor);
    text_ += "\n";
  }
}

void KernelIdentity::add_shape(std::string_view code, const PlannedLaunch& planned) {
  auto end = std::back_inserter(text_);
  for (const PlannedWorkspace& workspace : planned.workspaces)
    fmt::format_to(end, "workspace {} {} {}\n", workspace.name, type_name(workspace.type),
                   fmt::join(workspace.dims, "x"));
  for (const PlannedScalar& scalar : planned.scalars) {
    fmt::format_to(end, "scalar {} {}", scalar.name, type_name(scalar.type));
    for (const std::byte each : scalar.bytes)
      fmt::format_to(end, " {:02x}", std::to_integer<int>(each));
    text_ += "\n";
  }
  if (planned.steps.empty()) return add_kernel(code, planned);
  for (const PlannedStep& step : planned.steps) {
    if (const auto* kernel = std::get_if<PlannedKernel>(&step))
      add_kernel(fmt::format("{} entry {}", code, kernel->entry), *kernel);
    else if (const auto* fill = std::get_if<PlannedFill>(&step))
      fmt::format_to(end, "set {} {}\n", fill->tensor, fill->value);
    else if (const auto* copy = std::get_if<PlannedCopy>(&step))
      fmt::format_to(end, "copy {} {}\n", copy->from, copy->to);
  }
}

std::string KernelIdentity::hash() const { return sha256(text_); }

}  // namespace fa_tune::tuner
