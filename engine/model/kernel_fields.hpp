#pragma once

#include "engine/model/kernel_image.hpp"
#include "engine/util/serializer.hpp"

// Kernels and their launches as bytes (serializer.hpp).
namespace fa_tune::wire {

constexpr BinaryKind last_of(const Getter&, BinaryKind) { return BinaryKind::ptx; }
constexpr DType last_of(const Getter&, DType) { return DType::boolean; }

void fields(auto& archive, KernelResources& resources) {
  archive(resources.registers, resources.spill_store_bytes, resources.spill_load_bytes,
          resources.stack_bytes, resources.static_shared_bytes);
}
void fields(auto& archive, KernelEntry& entry) { archive(entry.kernel, entry.resources); }
void fields(auto& archive, MachineInstruction& instruction) {
  archive(instruction.low, instruction.high, instruction.ptx_line);
}
void fields(auto& archive, KernelImage& image) {
  archive(image.kind, image.arch, image.kernel, image.bytes, image.resources, image.more,
          image.machine_code);
}

void fields(auto& archive, Dim3& dim) { archive(dim.x, dim.y, dim.z); }
void fields(auto& archive, LaunchConfig& config) {
  archive(config.grid, config.block, config.cluster, config.dynamic_shared_bytes,
          config.cooperative, config.programmatic);
}
void fields(auto& archive, MapAxis& axis) { archive(axis.letter, axis.modulo, axis.divisor); }
void fields(auto& archive, MappedTensor& map) {
  archive(map.argument, map.tensor, map.box, map.swizzle_bytes, map.axes);
}
void fields(auto& archive, PlannedKernel& kernel) {
  archive(kernel.entry, kernel.config, kernel.arguments, kernel.maps);
}
void fields(auto& archive, PlannedFill& fill) { archive(fill.tensor, fill.value); }
void fields(auto& archive, PlannedCopy& copy) { archive(copy.from, copy.to); }
void fields(auto& archive, PlannedWorkspace& workspace) {
  archive(workspace.name, workspace.type, workspace.dims);
}
void fields(auto& archive, PlannedScalar& scalar) {
  archive(scalar.name, scalar.type, scalar.bytes);
}
void fields(auto& archive, PlannedLaunch& launch) {
  archive(launch.config, launch.arguments, launch.maps, launch.steps, launch.workspaces,
          launch.scalars);
}

}  // namespace fa_tune::wire
