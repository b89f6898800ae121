#pragma once

#include <optional>

#include "engine/device/device.hpp"
#include "engine/gate/memory_refresh.hpp"
#include "engine/measure/sampler.hpp"
#include "engine/model/rejection.hpp"

namespace fa_tune {

// How a kernel is asked whether it lives on what the launch before has left in memory.
struct MemoryProof {
  const Launch& launch;
  const BufferChanges& restore;  // before each launch, as when it was timed
  const MemoryRefresh& refresh;
  const Measurement& measured;  // how it was timed, and what came of it
  Effort effort = Effort::screen;
  bool slow = false;  // so slow that its time is of no interest: as few launches as will do
};

// Under the clock one launch follows another, and outputs and workspaces stay as they are. A kernel
// that looks whether its work is done already, at a mark in them or at a part of the result, would
// be timed idle, and be right wherever it is checked. So it is timed twice more, with its memory
// refreshed ahead of each launch and with the same work done on decoys. A refusal says what it
// takes with its memory fresh and what without.
//
// What is left of the launch before may make a launch faster by less than a twentieth, or 0.2 us:
// that much two ways to fill a cache may differ. Beyond that it is asked again, twice; it is
// refused if it never comes out well. Then, and always for what may be published, it is timed as
// usual in between: a kernel that counts launches in its workspace could be idle while it is timed
// and busy later on.
//
// What is written over is restored before every launch, so nobody lives on it.
//
// For a device that predicts outputs must be as a launch on the same inputs has left them.
std::optional<Rejection> find_life_on_memory(Device& device, const MemoryProof& proof);

}  // namespace fa_tune
