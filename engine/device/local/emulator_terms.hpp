#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/emulator/async/tensor_map.hpp"
#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/target/launch.hpp"
#include "engine/device/profile.hpp"

// The emulator includes nothing of the engine: what Device says in the emulator's terms, and back.

namespace fa_tune::device {

emulator::LaunchConfig to_emulator(const LaunchConfig& config);
emulator::KernelResources to_emulator(const KernelResources& resources);
// `buffer`: the address of the map's buffer.
emulator::TensorMapBits to_emulator(const TensorMap& map, std::uint64_t buffer);
FaultKind kind_of(emulator::DiagnosticKind kind);
std::unexpected<Fault> refuse(FaultKind kind, std::string message);

// The arguments as a kernel finds them in its parameter space. `address_of` knows where a buffer lies,
// unless it was released.
std::expected<std::vector<std::byte>, Fault> parameter_block(
    const emulator::Program& program, const std::vector<Argument>& arguments,
    const std::function<std::optional<std::uint64_t>(BufferHandle)>& address_of);

bool is_hopper(const DeviceProfile& profile);
// Whether a GPU of the profile would take the launch: grid, block, shared memory, cluster.
std::expected<void, Fault> check_limits(const DeviceProfile& profile,
                                        const emulator::Program& program,
                                        const LaunchConfig& config);

}  // namespace fa_tune::device
