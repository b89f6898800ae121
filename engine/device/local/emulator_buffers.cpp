#include "engine/device/local/emulator_buffers.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "engine/device/emulator/async/tensor_map.hpp"
#include "engine/device/local/emulator_terms.hpp"

namespace fa_tune::device {

void EmulatorBuffers::allocate(BufferHandle handle, std::size_t bytes) {
  const emulator::Allocation& allocation = memory_.allocate(bytes);
  memory_.track(allocation.address);
  buffers_[handle] = &allocation;
}

void EmulatorBuffers::release(BufferHandle buffer) {
  const auto found = buffers_.find(buffer);
  if (found == buffers_.end()) return;
  memory_.release(found->second->address);
  buffers_.erase(found);
}

std::expected<void, Fault> EmulatorBuffers::write(BufferHandle buffer, std::size_t offset,
                                                  std::span<const std::byte> bytes) {
  const auto to = locate(buffer, offset, bytes.size());
  if (!to) return std::unexpected(to.error());
  std::copy(bytes.begin(), bytes.end(), *to);
  const emulator::Allocation& allocation = *buffers_.at(buffer);
  if (allocation.written) allocation.written->mark(offset, bytes.size());
  return {};
}

std::expected<void, Fault> EmulatorBuffers::read(BufferHandle buffer, std::size_t offset,
                                                 std::span<std::byte> bytes) const {
  const auto from = locate(buffer, offset, bytes.size());
  if (!from) return std::unexpected(from.error());
  std::copy_n(*from, bytes.size(), bytes.begin());
  return {};
}

bool EmulatorBuffers::written(BufferHandle buffer, std::size_t offset, std::size_t bytes) const {
  const auto found = buffers_.find(buffer);
  return found == buffers_.end() || !found->second->written ||
         found->second->written->all(offset, bytes);
}

std::optional<std::uint64_t> EmulatorBuffers::address_of(BufferHandle buffer) const {
  const auto found = buffers_.find(buffer);
  return found == buffers_.end() ? std::nullopt : std::optional(found->second->address);
}

std::expected<std::vector<std::uint64_t>, Fault> EmulatorBuffers::addresses_of(
    const std::vector<BufferHandle>& buffers) const {
  std::vector<std::uint64_t> addresses;
  for (const BufferHandle buffer : buffers) {
    const auto address = address_of(buffer);
    if (!address)
      return refuse(FaultKind::out_of_bounds, "a buffer that was released is to be read");
    addresses.push_back(*address);
  }
  return addresses;
}

const emulator::Allocation* EmulatorBuffers::reached_by(const Argument& argument) const {
  if (const auto* buffer = std::get_if<BufferHandle>(&argument)) {
    const auto found = buffers_.find(*buffer);
    return found == buffers_.end() ? nullptr : found->second;
  }
  const auto& value = std::get<std::vector<std::byte>>(argument);
  std::uint64_t address = 0;
  if (value.size() != sizeof(address)) return nullptr;
  std::memcpy(&address, value.data(), sizeof(address));
  return memory_.find(address);
}

const emulator::Allocation* EmulatorBuffers::mapped_by(const Argument& argument) const {
  const auto* value = std::get_if<std::vector<std::byte>>(&argument);
  if (value == nullptr || value->size() != sizeof(emulator::TensorMapBits)) return nullptr;
  const auto map = emulator::tensor_map_from(
      std::span<const std::byte, sizeof(emulator::TensorMapBits)>(*value));
  return map ? memory_.find(map->address) : nullptr;
}

double EmulatorBuffers::bytes_behind(const std::vector<Argument>& arguments) const {
  std::set<const emulator::Allocation*> reached;
  double bytes = 0;
  for (const Argument& argument : arguments)
    if (const emulator::Allocation* allocation = reached_by(argument)) {
      bytes += static_cast<double>(allocation->size);
      reached.insert(allocation);
    }
  for (const Argument& argument : arguments)
    if (const emulator::Allocation* allocation = mapped_by(argument);
        allocation != nullptr && reached.insert(allocation).second)
      bytes += static_cast<double>(allocation->size);
  return bytes;
}

std::expected<std::byte*, Fault> EmulatorBuffers::locate(BufferHandle buffer, std::size_t offset,
                                                         std::size_t size) const {
  const auto found = buffers_.find(buffer);
  if (found == buffers_.end())
    return refuse(FaultKind::out_of_bounds, "a copy to or from a buffer that was released");
  const emulator::Allocation& allocation = *found->second;
  if (offset > allocation.size || size > allocation.size - offset)
    return refuse(
        FaultKind::out_of_bounds,
        fmt::format("a copy of {} bytes at {} of a buffer of {}", size, offset, allocation.size));
  return allocation.bytes + offset;
}

std::expected<void, Fault> EmulatorBuffers::fill_constants(
    const emulator::Program& program, const std::vector<ConstantData>& constants) {
  for (const ConstantData& data : constants) {
    const auto variable = program.constant_variables.find(data.name);
    if (variable == program.constant_variables.end()) continue;
    const emulator::Allocation& to = *memory_.find(variable->second);
    if (data.bytes > to.size) return std::unexpected(too_small(data, to.size));
    const auto from = locate(data.from, data.offset, data.bytes);
    if (!from) return std::unexpected(from.error());
    std::copy_n(*from, data.bytes, to.bytes);
  }
  return {};
}

}  // namespace fa_tune::device
