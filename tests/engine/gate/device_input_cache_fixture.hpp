#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "engine/device/local/emulated.hpp"
#include "engine/device/profile.hpp"
#include "engine/gate/device_input_cache.hpp"
#include "tests/engine/gate/fake_device.hpp"
#include "tests/engine/tuner/measuring_emulator.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

inline std::unique_ptr<device::Device> measuring_emulator() {
  return std::make_unique<test::MeasuringEmulator>(
      device::open_emulator(device::load_profile("l4", FA_TUNE_ROOT), 1),
      [](const KernelImage&) { return 1.0; });
}

// What the two kernels do, for a device of C++ functions.
inline void teach(FakeDevice& device) {
  const auto bytes_of = [](const FakeDevice::Call& call) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, call.scalars[0].data(), sizeof bytes);
    return bytes;
  };
  device.knows("fa_tune_copy", [=](const FakeDevice::Call& call) -> std::optional<device::Fault> {
    std::memcpy(call.pointers[1], call.pointers[0], bytes_of(call));
    return {};
  });
  device.knows("fa_tune_differ", [=](const FakeDevice::Call& call) -> std::optional<device::Fault> {
    const auto *a = call.pointers[0], *b = call.pointers[1];
    const std::uint64_t at =
        static_cast<std::uint64_t>(std::mismatch(a, a + bytes_of(call), b).first - a);
    const std::uint64_t word = at / 16 * 16;
    if (at < bytes_of(call)) std::memcpy(call.pointers[2], &word, sizeof word);
    return {};
  });
}

inline void teach_sampling(FakeDevice& device) {
  const auto scalar = [](const FakeDevice::Call& call, std::size_t i) {
    std::uint64_t value = 0;
    std::memcpy(&value, call.scalars[i].data(), sizeof value);
    return value;
  };
  const auto at = []<typename T>(const std::byte* from, std::uint64_t i, T) {
    T value{};
    std::memcpy(&value, from + i * sizeof value, sizeof value);
    return value;
  };
  device.knows("fa_tune_limits", [=](const FakeDevice::Call& call) -> std::optional<device::Fault> {
    for (std::uint64_t i = scalar(call, 0); i-- > 0;) {
      const std::uint64_t length = scalar(call, 1);
      const std::uint64_t place = at(call.pointers[1], i / length, 0U) * length + i % length;
      const auto rank = gate::BoundRanks::rank_of(at(call.pointers[0], i, std::uint16_t{}));
      if (rank < at(call.pointers[2], place, std::int16_t{}) ||
          rank > at(call.pointers[3], place, std::int16_t{}))
        std::memcpy(call.pointers[4], &i, sizeof i);
    }
    return {};
  });
  device.knows("fa_tune_rows", [=](const FakeDevice::Call& call) -> std::optional<device::Fault> {
    const std::uint64_t length = scalar(call, 1);
    for (std::uint64_t row = 0; row < scalar(call, 0) / length; ++row)
      std::memcpy(call.pointers[2] + row * length * 2,
                  call.pointers[0] + at(call.pointers[1], row, 0U) * length * 2, length * 2);
    return {};
  });
}

}  // namespace fa_tune::test
