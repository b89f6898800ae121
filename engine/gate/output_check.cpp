#include "engine/gate/output_check.hpp"

namespace fa_tune::gate {

std::expected<Comparison, device::Fault> compare_on_device(
    device::Device& device, DeviceInputCache* input_cache, const Place& place,
    const problem::Tensor& output, const std::shared_ptr<const TruthCache::Entry>& truth) {
  const std::shared_ptr<const problem::Expectation> expectation(truth,
                                                                &truth->expectation_of(output));
  if (input_cache != nullptr && input_cache->can_sample(output, *expectation)) {
    const auto within = input_cache->within_limits(place, output, expectation);
    if (!within) return std::unexpected(within.error());
    if (*within) {
      const auto rows = input_cache->sampled_rows(place, output, expectation);
      if (!rows) return std::unexpected(rows.error());
      return compare_rows(output, rows->bytes(), *expectation);
    }
  }
  HostMemory memory(static_cast<std::size_t>(output.elements()) * size_of(output.type));
  if (const auto done = device.read(place.buffer, place.offset, memory.bytes()); !done)
    return std::unexpected(done.error());
  return compare(output, memory.bytes(), *expectation);
}

}  // namespace fa_tune::gate
