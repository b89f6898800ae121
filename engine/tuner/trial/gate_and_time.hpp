#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "engine/measure/sampler.hpp"
#include "engine/tuner/task/kernel_under_test.hpp"
#include "engine/tuner/trial/validated_timing.hpp"

namespace fa_tune {

// A kernel under test that is right, timed by itself with the proof that it works under the clock;
// else what is wrong, with its name. It is gated on the cases of a trial that it can be bound for,
// and on the timed shape too where that leaves some out. `bind` is what on() gave for `device`.
std::expected<Measurement, Rejection> gate_and_time(const KernelUnderTest& tested,
                                                    const Binder& bind, Device& device,
                                                    TruthCache& truth, ValidatedTimer& timer,
                                                    std::uint64_t seed);

}  // namespace fa_tune
