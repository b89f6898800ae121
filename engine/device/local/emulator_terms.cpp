#include "engine/device/local/emulator_terms.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace fa_tune::device {
namespace {

// With the attribute that allows clusters beyond 8 (CUDA C++ Programming Guide, "Thread Block
// Clusters").
constexpr std::uint64_t kMostClusterBlocks = 16;

emulator::Dim3 to_emulator(const Dim3& dim) { return {dim.x, dim.y, dim.z}; }

std::expected<void, Fault> check_cluster(const DeviceProfile& profile,
                                         const emulator::Program& program,
                                         const LaunchConfig& config) {
  const std::uint64_t size = config.cluster.count();
  if (size == 1) return {};
  if (!is_hopper(profile) || size == 0 || size > kMostClusterBlocks) {
    return refuse(FaultKind::resources,
                  fmt::format("{}: a cluster of {} blocks; {} allows {}", program.kernel, size,
                              profile.title, is_hopper(profile) ? kMostClusterBlocks : 1));
  }
  if (config.grid.x % config.cluster.x != 0 || config.grid.y % config.cluster.y != 0 ||
      config.grid.z % config.cluster.z != 0) {
    return refuse(FaultKind::resources,
                  fmt::format("{}: a grid of {}x{}x{} blocks cannot be divided into clusters of "
                              "{}x{}x{}",
                              program.kernel, config.grid.x, config.grid.y, config.grid.z,
                              config.cluster.x, config.cluster.y, config.cluster.z));
  }
  return {};
}

}  // namespace

emulator::LaunchConfig to_emulator(const LaunchConfig& config) {
  return {to_emulator(config.grid),    to_emulator(config.block), to_emulator(config.cluster),
          config.dynamic_shared_bytes, config.cooperative,        config.programmatic};
}

emulator::KernelResources to_emulator(const KernelResources& resources) {
  return {resources.registers, resources.spill_store_bytes, resources.spill_load_bytes,
          resources.stack_bytes, resources.static_shared_bytes};
}

emulator::TensorMapBits to_emulator(const TensorMap& map, std::uint64_t buffer) {
  emulator::TensorMapBits bits;
  bits.address = buffer + map.offset;
  bits.rank = static_cast<std::uint8_t>(map.dims.size());
  for (std::size_t i = 0; i < map.dims.size(); ++i) {
    bits.last[i] = static_cast<std::uint32_t>(map.dims[i] - 1);
    bits.box_last[i] = static_cast<std::uint8_t>(map.box[i] - 1);
    bits.steps[i] = static_cast<std::uint8_t>(map.element_steps.empty() ? 1 : map.element_steps[i]);
    if (i > 0) bits.strides[i - 1] = map.strides[i - 1];
  }
  bits.element_bytes = static_cast<std::uint8_t>(size_of(map.element));
  bits.element = static_cast<emulator::TensorElement>(map.element);
  bits.swizzle = static_cast<std::uint8_t>(1U << static_cast<unsigned>(map.swizzle) >> 1U);
  bits.nan_fill = map.nan_fill ? 1 : 0;
  return bits;
}

FaultKind kind_of(emulator::DiagnosticKind kind) {
  switch (kind) {
    case emulator::DiagnosticKind::load_failed:
      return FaultKind::load_failed;
    case emulator::DiagnosticKind::unknown_instruction:
      return FaultKind::unknown_instruction;
    case emulator::DiagnosticKind::resources:
      return FaultKind::resources;
    case emulator::DiagnosticKind::out_of_bounds:
      return FaultKind::out_of_bounds;
    case emulator::DiagnosticKind::misaligned:
      return FaultKind::misaligned;
    case emulator::DiagnosticKind::freed:
      return FaultKind::freed;
    case emulator::DiagnosticKind::uninitialized:
      return FaultKind::uninitialized;
    case emulator::DiagnosticKind::race:
      return FaultKind::race;
    case emulator::DiagnosticKind::barrier:
      return FaultKind::barrier;
    case emulator::DiagnosticKind::sync:
      return FaultKind::sync;
    case emulator::DiagnosticKind::deadlock:
      return FaultKind::deadlock;
    case emulator::DiagnosticKind::timeout:
      return FaultKind::timeout;
    case emulator::DiagnosticKind::trap:
      return FaultKind::trap;
    case emulator::DiagnosticKind::read_only:
      return FaultKind::read_only;
    case emulator::DiagnosticKind::unfinished:
      return FaultKind::unfinished;
  }
  return FaultKind::load_failed;
}

std::unexpected<Fault> refuse(FaultKind kind, std::string message) {
  return std::unexpected(Fault{kind, std::move(message)});
}

std::expected<std::vector<std::byte>, Fault> parameter_block(
    const emulator::Program& program, const std::vector<Argument>& arguments,
    const std::function<std::optional<std::uint64_t>(BufferHandle)>& address_of) {
  if (arguments.size() != program.parameter_sizes.size())
    return refuse(FaultKind::resources,
                  fmt::format("{}: {} arguments where the kernel has {} parameters", program.kernel,
                              arguments.size(), program.parameter_sizes.size()));
  std::vector<std::byte> block(program.parameter_bytes);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::span<const std::byte> bytes;
    std::optional<std::uint64_t> address;
    if (const auto* buffer = std::get_if<BufferHandle>(&arguments[i])) {
      address = address_of(*buffer);
      if (!address)
        return refuse(
            FaultKind::out_of_bounds,
            fmt::format("{}: argument {} is a buffer that was released", program.kernel, i));
      bytes = std::as_bytes(std::span(&*address, 1));
    } else {
      bytes = std::get<std::vector<std::byte>>(arguments[i]);
    }
    if (bytes.size() != program.parameter_sizes[i])
      return refuse(FaultKind::resources,
                    fmt::format("{}: argument {} has {} bytes where the kernel takes {}",
                                program.kernel, i, bytes.size(), program.parameter_sizes[i]));
    std::copy(bytes.begin(), bytes.end(), block.begin() + program.parameter_offsets[i]);
  }
  return block;
}

bool is_hopper(const DeviceProfile& profile) { return profile.arch.starts_with("sm_90"); }

std::expected<void, Fault> check_limits(const DeviceProfile& profile,
                                        const emulator::Program& program,
                                        const LaunchConfig& config) {
  const std::uint64_t threads = config.block.count();
  if (threads == 0 || config.grid.count() == 0) {
    return refuse(FaultKind::resources, "a grid or a block of nothing");
  }
  if (threads > static_cast<std::uint64_t>(profile.max_threads_per_block)) {
    return refuse(FaultKind::resources,
                  fmt::format("{}: {} threads a block; {} allows {}", program.kernel, threads,
                              profile.title, profile.max_threads_per_block));
  }
  const std::uint64_t shared =
      std::uint64_t{program.dynamic_shared_begin - emulator::kSharedReserved} +
      config.dynamic_shared_bytes;
  if (shared > static_cast<std::uint64_t>(profile.shared_per_block)) {
    return refuse(FaultKind::resources,
                  fmt::format("{}: {} bytes of shared memory a block; {} allows {}", program.kernel,
                              shared, profile.title, profile.shared_per_block));
  }
  return check_cluster(profile, program, config);
}

}  // namespace fa_tune::device
