#include "engine/tuner/task/kernel_identity.hpp"

#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/util/hash.hpp"

namespace fa_tune::tuner {
namespace {

std::string text_of(const Dim3& dims) { return fmt::format("{}x{}x{}", dims.x, dims.y, dims.z); }

}  // namespace

void KernelIdentity::add_shape(std::string_view code, const PlannedLaunch& planned) {
  const LaunchConfig& launch = planned.config;
  auto end = std::back_inserter(text_);
  fmt::format_to(end, "code {} grid {} block {} cluster {} shared {} arguments {}\n", code,
                 text_of(launch.grid), text_of(launch.block), text_of(launch.cluster),
                 launch.dynamic_shared_bytes, fmt::join(planned.arguments, ","));
  for (const MappedTensor& map : planned.maps) {
    fmt::format_to(end, "map {} of {} box {} swizzle {} axes", map.argument, map.tensor,
                   fmt::join(map.box, "x"), map.swizzle_bytes);
    for (const MapAxis& axis : map.axes)
      fmt::format_to(end, " {}%{}/{}", axis.letter, axis.modulo, axis.divisor);
    text_ += "\n";
  }
}

std::string KernelIdentity::hash() const { return sha256(text_); }

}  // namespace fa_tune::tuner
