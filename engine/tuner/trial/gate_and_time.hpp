#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "engine/measure/sampler.hpp"
#include "engine/tuner/task/kernel_under_test.hpp"
#include "engine/tuner/trial/validated_timing.hpp"

namespace fa_tune::tuner {

// Gates a kernel under test and times it alone, with the proof that it works under the clock. The
// error says why it failed, and names the kernel. It is gated on the cases of a trial that it can
// be bound for, and on the timed shape too if those leave some out. `bind` is what on() gave for
// `device`.
std::expected<measure::Measurement, Rejection> gate_and_time(
    const KernelUnderTest& tested, const gate::Binder& bind, device::Device& device,
    gate::TruthCache& truth, ValidatedTimer& timer, std::uint64_t seed);

}  // namespace fa_tune::tuner
