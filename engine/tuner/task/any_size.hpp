#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/profile.hpp"
#include "engine/export/any_size.hpp"
#include "engine/gate/gate.hpp"
#include "engine/kernel/template/template.hpp"
#include "engine/problem/problem.hpp"
#include "engine/space_file/space_file.hpp"

namespace fa_tune::tuner {

// What a config's kernels are launched with at any sizes of the problem, with the conditions of its
// template and of the space. Throws UserError with the reason where it is for one size alone: a
// #define rests on sizes, a tensor map is of one, which kernels there are rests on them.
exports::AnySize any_size(const kernel::Template& from, const problem::Problem& problem,
                          const device::DeviceProfile& target, const space::SpaceFile& space,
                          const Config& config);

// Gates a kernel at sizes drawn from the seed that the conditions allow: odd ones, and some that
// are multiples of powers of two. Adds to `any` which they were. Throws UserError where it fails at
// one of them, or no such sizes are found.
void gate_any_size(const problem::Problem& problem, const gate::Binder& bind,
                   device::Device& device, std::uint64_t seed, exports::AnySize& any);

}  // namespace fa_tune::tuner
