#pragma once

#include <optional>

#include "engine/device/device.hpp"
#include "engine/gate/memory_refresh.hpp"
#include "engine/measure/sampler.hpp"
#include "engine/model/rejection.hpp"

namespace fa_tune::tuner {

// A timed kernel, and what find_life_on_memory() needs to time it again.
struct MemoryProof {
  const device::Launch& launch;
  const device::BufferChanges& restore;  // done before each launch, as when it was timed
  const gate::MemoryRefresh& refresh;
  const measure::Measurement& measured;  // of the first timing
  measure::Effort effort = measure::Effort::screen;
  bool slow = false;  // its time is of no interest, so as few launches as will do
};

// Finds a kernel that saves work by what the launch before has left in memory. Under the clock one
// launch follows another, and outputs and workspaces stay as they are. A kernel that checks whether
// its work is done already, by a mark in them or by a part of the result, would be timed idle and
// yet pass wherever it is gated. So it is timed twice more: with its memory refreshed ahead of each
// launch, and with the same work done on decoys. The rejection says what it takes with fresh memory
// and what without.
//
// What the launch before has left may make a launch faster by a twentieth, or 0.2 us: two ways to
// fill a cache differ by that much. Beyond that the timings are repeated, twice; the kernel fails
// if none comes out well. Then, and always for what may be published, it is timed as usual in
// between: a kernel that counts launches in its workspace could be idle while it is timed and busy
// later on.
//
// Tensors that the kernel writes over are restored before every launch, so no kernel can save work
// by them.
//
// For a device that predicts, outputs must be as a launch on the same inputs has left them.
std::optional<Rejection> find_life_on_memory(device::Device& device, const MemoryProof& proof);

}  // namespace fa_tune::tuner
