#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/state/global_memory.hpp"

namespace fa_tune::device {

// The buffers of an emulated device, by handle, in its global memory. Sizes and offsets in bytes.
// What names a buffer that was released, or bytes outside of one, is answered with a fault.
class EmulatorBuffers {
 public:
  // `memory` must outlive it.
  explicit EmulatorBuffers(emulator::GlobalMemory& memory) : memory_(memory) {}

  void allocate(BufferHandle handle, std::size_t bytes);
  void release(BufferHandle buffer);
  // Counts as written.
  std::expected<void, Fault> write(BufferHandle buffer, std::size_t offset,
                                   std::span<const std::byte> bytes);
  std::expected<void, Fault> read(BufferHandle buffer, std::size_t offset,
                                  std::span<std::byte> bytes) const;
  // False: nobody has written some of these bytes of a buffer of which an account is kept. Of one
  // that was released none is.
  bool written(BufferHandle buffer, std::size_t offset, std::size_t bytes) const;

  // Nothing if it was released.
  std::optional<std::uint64_t> address_of(BufferHandle buffer) const;
  std::expected<std::vector<std::uint64_t>, Fault> addresses_of(
      const std::vector<BufferHandle>& buffers) const;
  // Bytes of the allocations that pointers and tensor maps among the arguments reach, each once for
  // its pointers and, if no pointer reaches it, once for its maps.
  double bytes_behind(const std::vector<Argument>& arguments) const;

  // Copies what a launch gives to constants of its program; those that it does not have are left.
  std::expected<void, Fault> fill_constants(const emulator::Program& program,
                                            const std::vector<ConstantData>& constants);

 private:
  std::expected<std::byte*, Fault> locate(BufferHandle buffer, std::size_t offset,
                                          std::size_t size) const;
  const emulator::Allocation* reached_by(const Argument& argument) const;
  const emulator::Allocation* mapped_by(const Argument& argument) const;

  emulator::GlobalMemory& memory_;
  std::map<BufferHandle, const emulator::Allocation*> buffers_;
};

}  // namespace fa_tune::device
