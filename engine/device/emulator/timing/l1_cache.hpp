#pragma once

#include <array>

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/target/launch.hpp"
#include "engine/device/emulator/target/profile.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// Whether a kernel has loads that L1 may answer: then its neighbours on an SM are to be looked at
// (Sampling::neighbours).
bool reads_through_l1(const Program& program, const DeviceProfile& profile);

// What L1 has of what the CTAs of an SM read.
struct L1Reuse {
  // Of what a CTA reads again, by how long ago it did: the share that L1 still has.
  std::array<double, kReuseClasses> again{};
  double neighbours = 0;  // and of what another CTA of the SM reads too
};

// Room with `blocks` CTAs on an SM: what is left beside one of the sizes that shared memory can have.
double l1_bytes(const DeviceProfile& profile, const KernelResources& resources,
                const LaunchConfig& launch, int blocks);

// `blocks` CTAs are on an SM at a time, of `rounds` times as many in all. Between two reads of one
// sector L1 takes others in. How many different ones follows from how soon reads come back in all
// (StatStack: Eklov and Hagersten, ISPASS 2010).
L1Reuse l1_reuse(const Record& record, int blocks, double rounds, double l1_bytes);

// The sectors of an instruction's loads that L1 has: of those that its CTA has read before, and of
// those that a CTA before it on the same SM has.
double l1_hits(const OpCounters& op, const L1Reuse& l1);

// Shares of an instruction's executions.
struct LoadSources {
  double l1 = 0;     // has all their sectors
  double first = 0;  // they want something that no CTA of the SM has read before
};
LoadSources load_sources(const OpCounters& op, const L1Reuse& l1);

}  // namespace fa_tune::emulator
